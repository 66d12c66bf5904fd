"""A page of results: what it shows, a figure, a table, how it was made; the rest is folded."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from augnet.paper.report.tables import Table


class Picture(NamedTuple):
    """A figure that is kept: its title, its file as seen from the page, and its caption."""

    title: str
    file: str
    caption: str

    @property
    def markdown(self) -> str:
        """The figure and its caption in Markdown."""
        return f"![{self.title}]({self.file})\n\n{self.title}. {self.caption}\n"


class ResultPage(NamedTuple):
    """What is kept of one experiment or benchmark."""

    name: str  # of its file
    title: str
    asked: str
    shows: Sequence[str]  # sentences; the index has the first, unless there is a brief one
    tables: Sequence[tuple[Table, str]]  # each with a note on how to read it
    commands: Sequence[str]
    provenance: str  # commit and machine
    picture: Picture | None = None
    notes: Sequence[str] = ()
    more: str = ""  # where to read more, in Markdown
    brief: str = ""
    details: Mapping[str, str] = {}  # Markdown that is folded, by its title

    @property
    def markdown(self) -> str:
        """The page in Markdown."""
        commands = "\n".join(f"    {command}" for command in self.commands)
        return "\n".join((
            f"# {self.title}\n",
            *(f"- {line}" for line in (self.asked, *self.shows)),
            "",
            *(f"{note}\n" for note in self.notes),
            *([self.picture.markdown] if self.picture else []),
            *(f"{table.markdown}\n{reading}\n" for table, reading in self.tables),
            "## How it was made\n",
            f"{commands}\n",
            f"{self.provenance}\n",
            *([f"{self.more}\n"] if self.more else []),
            *(folded(title, text) for title, text in self.details.items()),
        ))  # fmt: skip


def folded(title: str, text: str) -> str:
    """Return Markdown that a reader opens by its title."""
    return f"<details>\n<summary>{title}</summary>\n\n{text.rstrip()}\n\n</details>\n"
