"""The settings of `augnet audit`."""

import hashlib
import importlib.util
import shlex
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from augnet.app.settings import Settings
from augnet.audit import ModelInput
from augnet.text import printable

OPTIONS = (
    "transforms", "trunk", "budget", "seed", "seeds", "threads", "tolerance", "jobs", "by_class",
)  # fmt: skip
"""Options of `learn`, by which the labels' side is measured."""


@dataclass(frozen=True)
class AuditSettings:
    """Everything that decides what `augnet audit` computes."""

    model: str
    common: Settings
    """The data, how it is read, and how labels are measured."""
    learned: str | None = None
    input: ModelInput = field(default_factory=ModelInput)
    outputs: tuple[str, ...] = ()
    trust: bool = False

    @property
    def values(self) -> dict[str, Any]:
        """All that decides what comes out, as plain values; files are named with their SHA-256."""
        return {
            "model": printable(self.model),
            "model_sha256": _digest(self.model),
            "learned": None if self.learned is None else printable(self.learned),
            "learned_sha256": None if self.learned is None else _digest(self.learned),
            "input": asdict(self.input),
            "outputs": list(self.outputs),
            **self.common.values,
        }

    @property
    def command(self) -> str:
        """The command that has these settings."""
        parts = [f"augnet audit {shlex.quote(printable(self.model))}"]
        parts.append(self.common.command.removeprefix("augnet learn "))
        if self.learned is not None:
            parts.append(f"--learned {shlex.quote(printable(self.learned))}")
        for each in fields(ModelInput):
            value = getattr(self.input, each.name)
            if value != each.default:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else value
                name = {"values": "input", "size": "input-size"}.get(each.name, each.name)
                parts.append(f"--{name} {shlex.quote(str(text))}")
        if self.outputs:
            parts.append(f"--outputs {shlex.quote(','.join(self.outputs))}")
        return " ".join(parts + (["--trust"] if self.trust else []))


def _digest(name: str) -> str | None:
    """Return the SHA-256 of a file, of the model of a directory, or of a module; else None."""
    path = Path(name)
    path = path / "model.safetensors" if path.is_dir() else path
    if ":" in name and not path.exists():
        path = _source(name.partition(":")[0]) or path
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _source(module: str) -> Path | None:
    """Return the file of a module, None if it cannot be imported."""
    try:
        found = importlib.util.find_spec(module)
    except (Exception, SystemExit):  # of the package it is in; loading the model reports it
        return None
    return None if found is None or found.origin is None else Path(found.origin)
