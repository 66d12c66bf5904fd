"""What `import augnet` and `augnet --help` import: they are quick because they import little."""

import inspect
import subprocess
import sys
from importlib import import_module

import augnet
from augnet.__main__ import PAPER
from augnet.app.commands import COMMANDS

MAY_IMPORT = {"click", "typer", "rich", "shellingham", "pygments", "markdown_it", "mdurl", "attr"}
MAY_IMPORT |= {"typing_extensions", "annotated_doc"}
"""Packages that `augnet --help` may import beside the standard library: typer, and what it uses."""


def imported(statement: str) -> set[str]:
    """Return the modules that a statement imports in a new process, beside the standard library."""
    lines = (
        "import sys",
        "before = set(sys.modules)",
        statement,
        "new = sys.modules.keys() - before",
        "own = {name for name in new if name.split('.')[0] not in sys.stdlib_module_names}",
        "print(*sorted(own), sep='\\n', file=sys.stderr)",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return set(done.stderr.split())


def test_import_augnet_imports_nothing_else():
    assert imported("import augnet") == {"augnet"}


def test_help_imports_no_torch_and_no_command():
    names = imported(
        "from augnet.__main__ import app\nimport os\nos.environ['TERM'] = 'dumb'\n"
        "app(['--help'], standalone_mode=False)"
    )
    own = {name for name in names if name.split(".")[0] == "augnet"}
    assert own == {
        "augnet",
        "augnet.__main__",
        "augnet.app",
        "augnet.app.cli",
        "augnet.app.commands",
        "augnet.app.lazy",
    }
    others = {name.split(".")[0] for name in names - own}
    assert {"typer", "rich"} <= others <= MAY_IMPORT


def test_names_of_modules_are_functions_even_if_the_modules_come_first():
    names = imported(
        "import augnet.learn.config, augnet.invariance\nfrom augnet import invariance, learn\n"
        "assert learn is augnet.learn and callable(learn) and callable(invariance)\n"
        "assert augnet.transforms.TRANSFORMS is augnet.TRANSFORMS"
    )
    assert "augnet.learn.learner" in names


def test_all_public_names_can_be_imported():
    assert set(augnet.__all__) == set(augnet._MODULES)
    for name in augnet.__all__:
        assert getattr(augnet, name) is not None
        assert name in dir(augnet)
    assert not hasattr(augnet, "no_such_name")
    for name in ("aggregate", "layers", "net", "training", "transforms", "trunks", "validation"):
        assert getattr(augnet, name) is import_module(f"augnet.{name}")


def test_the_list_of_commands_has_the_first_lines_of_their_help():
    for target, text in COMMANDS.values():
        module, name = target.split(":")
        function = getattr(import_module(f"augnet.app.commands.{module}"), name)
        assert (inspect.getdoc(function) or "").splitlines()[0] == text
    assert import_module("augnet.paper.cli").app.info.help == PAPER
