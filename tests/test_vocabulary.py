"""Code and docs use the terms of docs/architecture.md, not those that they replaced."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
REPLACED = re.compile(
    r"\b(dice|coins?|toss(ed)?|heads|door|rolls?|rolled|by heart|vocabulary\(|VOCABULARY|dos(e|es)|"
    r"optimis\w+|colou?rs?(?<!color)(?<!colors)|centres?|penalis\w+|behaviours?)\b"
)
LITERAL = re.compile(r"\.roll\(|## Vocabulary")


def test_replaced_terms_do_not_come_back():
    files = [
        file
        for folder in ("augnet", "docs", "examples", "benchmarks")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".py", ".md", ".toml", ".html") and "_build" not in file.parts
    ]
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in (*files, ROOT / "README.md")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if REPLACED.search(LITERAL.sub("", line))
    ]
    assert not found, "\n".join(found[:20])
