"""Write the page of results: `python -m augnet.paper.report results docs/results.md`."""

import sys
from pathlib import Path

from augnet.paper.config import ConfigError
from augnet.paper.report.results import results


def main(arguments: list[str]) -> str | None:
    """Write the page; return an error message if that fails."""
    if len(arguments) != 2:
        return "usage: python -m augnet.paper.report RESULTS_FOLDER PAGE.md"
    folder, page = map(Path, arguments)
    try:
        page.write_text(results(folder), encoding="utf-8")
    except (ConfigError, OSError) as error:
        return f"augnet.paper.report: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
