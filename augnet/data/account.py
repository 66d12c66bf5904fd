"""An account of what was not used, and why."""

from collections.abc import Iterator


class DataError(ValueError):
    """Data that cannot be learned from, with the reason and the likely fix."""


class Account:
    """Counts what was skipped by reason, with an example of each; and notes what was changed."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, str] = {}
        self.notes: list[str] = []

    def skip(self, reason: str, example: object, count: int = 1) -> None:
        """Count something that is left out."""
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count
            self.examples.setdefault(reason, str(example))

    def note(self, text: str) -> None:
        """Say once what was done to the data."""
        if text not in self.notes:
            self.notes.append(text)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def __iter__(self) -> Iterator[str]:
        """Give one line per note and per reason."""
        yield from self.notes
        for reason, count in self.counts.items():
            example = self.examples[reason]
            yield f"skipped {count}: {reason}" + (f" (such as {example})" if example else "")

    def __str__(self) -> str:
        return "\n".join(self)
