"""Write requirements.lock from a report of pip: every version with the SHA-256 of its file."""

import json
import sys
from pathlib import Path

HEAD = """\
# The files that the tests run with: Python 3.11 on Linux, x86_64, torch for CPUs.
# `make lock` writes this file; `make locked` installs it, and refuses files with another SHA-256.
"""


def main(report: Path, lock: Path) -> None:
    """Write the lock file."""
    found = {}
    for each in json.loads(report.read_text())["install"]:
        if "archive_info" in each["download_info"]:  # all but the checkout itself
            pinned = f"{each['metadata']['name']}=={each['metadata']['version']}"
            found[pinned] = each["download_info"]["archive_info"]["hashes"]["sha256"]
    lines = [f"{name} --hash=sha256:{found[name]}\n" for name in sorted(found, key=str.lower)]
    lock.write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
