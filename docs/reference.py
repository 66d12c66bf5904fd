"""Write the pages that are made from the code: `python docs/reference.py`.

They are docs/transforms.md, from the registry of transforms, and docs/command-line.md, from the
commands. A test compares the pages with what this script would write.
"""

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from typer.main import get_command

from augnet.__main__ import app
from augnet.transforms import COLOR_IMAGES, TRANSFORMS, Transform

TRANSFORMS_PAGE = """\
# Transforms

All transforms, made from the code by `python docs/reference.py`. The pictures show a sample before,
and at a third, two thirds and all of the default limit, in the positive direction; gray is the
signal before. The [gallery](gallery/07_transforms.rst) has larger ones.
[Your own transform](your-own-transform.md) is one class.

- *limit* is the default limit. `learn` searches up to the limit. Set another one in Python with
  `{"name": "rotate", "limit": 180}`.
- ± means both directions. A factor of 1.5 means from 1 / 1.5 to 1.5.
- A *probability* says how often the whole transform is applied. Such a transform has no range:
  `learn` only decides whether it preserves the label.
- *needs* are facts about the data: `sfreq` is the sampling rate in Hz, `channels` are the names of
  the electrodes. `augnet learn` reads them from recordings. For arrays, give `--sfreq` and
  `--channels`.
"""
DOMAINS = {
    "images": "Images are float tensors (B, C, H, W) in [0, 1].",
    "signals": "Signals are float tensors (B, C, T).",
    "samples of any shape": "Samples are float tensors (B, ...).",
}
COMMANDS_PAGE = """\
# Command line

All commands and options, made from the code by `python docs/reference.py`. `augnet COMMAND --help`
prints the same. Results go to stdout. Progress, notes and errors go to stderr. The exit code is 0
after success, 1 if an audit finds what `--fail-on` names, 2 after an error that you can fix (it is
one line), and 130 after Ctrl-C.
"""


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ("---",) * len(header), *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def transforms_page() -> str:
    """Return the page of transforms."""
    # Users' transforms may be registered too, when tests call this.
    own = [cls for cls in TRANSFORMS.values() if cls.__module__.startswith("augnet.")]
    parts = [TRANSFORMS_PAGE]
    for kind, note in DOMAINS.items():
        rows = [_transform(cls) for cls in own if _kind(cls) == kind]
        header = ("name, class", "what it does", "limit", "needs", "before, and at three strengths")
        parts.append(f"## For {kind}\n\n{note}\n\n{table(header, rows)}")
    return "\n".join(parts)


def _kind(cls: type[Transform]) -> str:
    """Return which table a transform is in."""
    name = cls.domain.name.removeprefix("color ")
    return name if name in DOMAINS else "samples of any shape"


def _transform(cls: type[Transform]) -> tuple[str, ...]:
    """Return a row of the table."""
    needs = [f"`{each.name}`" for each in fields(cls) if each.default is MISSING]
    if cls.domain == COLOR_IMAGES:
        needs.append("3 channels")
    first = (cls.__doc__ or "").splitlines()[0]
    picture = f"![{cls.name}](_static/transforms/{cls.name}.png)"
    return f"`{cls.name}`<br>`{cls.__name__}`", first, _limit(cls), ", ".join(needs), picture


def _limit(cls: type[Transform]) -> str:
    """Return the default limit with its sign and unit."""
    limit = next(each.default for each in fields(cls) if each.name == "limit")
    sign = cls.prefix.strip() if cls.prefix.startswith("±") else ""
    if cls.unit == "probability":
        return f"probability {limit:g}"
    return f"{sign}{limit:.3g} {cls.unit}"


def command_line_page() -> str:
    """Return the page of commands."""
    return "\n".join((COMMANDS_PAGE, *_commands(get_command(app), "augnet")))


def _commands(command: Any, path: str) -> Iterator[str]:
    """Yield a section for each command that can be run, in the order of --help."""
    # The context knows the command itself, also where it is imported only when it is called.
    command = command.make_context(path, [], resilient_parsing=True).command
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from _commands(command.get_command(None, name), f"{path} {name}")
        return
    arguments = [each for each in command.params if not _is_option(each)]
    options = [each for each in command.params if _is_option(each)]
    usage = " ".join([path, *map(_metavar, arguments), *(["[OPTIONS]"] if options else [])])
    help = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    yield f"## {path}\n\n{help}\n\n    {usage}\n"
    rows = [(f"`{_metavar(each)}`", "required", each.help or "") for each in arguments]
    rows += map(_option, options)
    if rows:
        yield table(("argument or option", "default", "meaning"), rows)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _metavar(argument: Any) -> str:
    """Return an argument as the usage shows it."""
    return f"{argument.name.upper()}{'...' if argument.nargs == -1 else ''}"


def _option(option: Any) -> tuple[str, ...]:
    """Return a row of the table."""
    default = "required" if option.required else ""
    given = option.default is not None and option.default is not False and option.default != ""
    if given and not option.required:
        default = f"`{option.default}`"
    return f"`{option.opts[0]}`", default, " ".join((option.help or "").split())


PAGES = {"transforms.md": transforms_page, "command-line.md": command_line_page}
"""The pages, by their name in this folder."""

if __name__ == "__main__":
    for name, page in PAGES.items():
        (Path(__file__).parent / name).write_text(page(), encoding="utf-8")
