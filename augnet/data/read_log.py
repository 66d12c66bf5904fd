"""Record what was skipped while reading, and why."""

from collections.abc import Iterator

from augnet.text import printable

EXAMPLE = 300
"""Characters of an example, at most."""


class DataError(ValueError):
    """Data that cannot be used, with the reason and the likely fix."""


class ReadLog:
    """Count skipped items by reason, with an example of each, and keep notes on changed data."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}
        self.notes: list[str] = []

    def skip(self, reason: str, example: object, count: int = 1) -> None:
        """Count skipped items."""
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count
            self.examples.setdefault(reason, printable(example)[:EXAMPLE])

    def note(self, text: str) -> None:
        """Add a note on what was done to the data, once."""
        text = printable(text)
        if text not in self.notes:
            self.notes.append(text)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[str]:
        """Yield one line per note and per reason."""
        yield from self.notes
        for reason, count in self.counts.items():
            example = self.examples[reason]
            yield f"skipped {count}: {reason}" + (f" (such as {example})" if example else "")

    def __str__(self) -> str:
        return "\n".join(self)
