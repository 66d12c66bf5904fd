"""The library does not import the reproduction."""

import ast
import re
from pathlib import Path

import augnet

PACKAGE = Path(augnet.__file__).parent
PAPER = "augnet.paper"


def imported(source: str, package: str) -> set[str]:
    """Return the modules that a source imports anywhere, also within functions and by a string."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and re.fullmatch(r"[\w.]+(:\w+)?", str(node.value)):
            names.add(str(node.value).partition(":")[0])
    return names


def uses_paper(source: str, package: str = "augnet") -> bool:
    return any(f"{name}.".startswith(f"{PAPER}.") for name in imported(source, package))


def test_the_library_does_not_import_the_paper():
    files = [
        file
        for file in PACKAGE.rglob("*.py")
        if PACKAGE / "paper" not in file.parents and file != PACKAGE / "__main__.py"
    ]
    assert len(files) > 50
    package = {
        file: ".".join(["augnet", *file.relative_to(PACKAGE).parent.parts]) for file in files
    }
    using = [file for file in files if uses_paper(file.read_text(encoding="utf-8"), package[file])]
    assert using == []


def test_every_way_to_import_the_paper_is_noticed():
    for source in (
        "import augnet.paper",
        "import augnet.paper.run as run",
        "from augnet import paper",
        "from augnet.paper.cli import app",
        "def f():\n    from augnet.paper import config",
        "from . import paper",
        "from .paper import run",
        "import_module('augnet.paper.run')",
        "add_command(app, 'paper', 'augnet.paper.cli:app')",
    ):
        assert uses_paper(source), source
    assert uses_paper("from ..paper import run", "augnet.app")
    assert uses_paper("from .. import paper", "augnet.app")
    assert uses_paper((PACKAGE / "__main__.py").read_text(encoding="utf-8"))
    assert not uses_paper("from .paper import run", "augnet.app")
    assert not uses_paper("import augnet.papers\nfrom augnet import learn")
