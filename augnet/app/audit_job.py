"""The job of `augnet audit`: its directory can be left at any moment, and resumed."""

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

import augnet
from augnet.app.audit_page import page
from augnet.app.audit_settings import AuditSettings
from augnet.app.job import describe_collection, saving
from augnet.audit import Auditor, AuditResult, load_model
from augnet.audit.pytest_file import write_test
from augnet.audit.read import fitted_spec, read_collection
from augnet.data import Collection
from augnet.training import DirectoryError, ResumableDirectory, Row, keep_freed_memory

SCHEMA = 1
"""The version of the format of audit.json."""
TEST = "test_invariance.py"


class AuditJob:
    """Read, audit and write. Iterate within `open` to audit; then call `finish`."""

    def __init__(self, settings: AuditSettings, out: Path) -> None:
        self.settings = settings
        self.directory = ResumableDirectory(out, "audit", settings.values)
        self.auditor: Auditor | None = None

    def read(self) -> Collection:
        """Load the model and read the data; refuse a directory that holds anything else."""
        self.directory.check()
        common = self.settings.common
        trunk = str(common.learn.trunk)
        self.loaded = load_model(self.settings.model, self.settings.trust, trunk)
        options: dict[str, Any] = asdict(common.read)
        self.samples = read_collection(common.data, self.loaded, common.learn.seed, **options)
        self.spec = fitted_spec(self.samples, self.loaded)
        return self.samples

    @contextmanager
    def open(self) -> Iterator[Self]:
        """Lock the directory, and resume what was left; the data must be the same as then."""
        if not self.directory.finished:  # refuse a model before creating the directory
            self.auditor = self._auditor()
        about: dict[str, Any] = {"augnet": augnet.__version__, "torch": torch.__version__}
        given, described = describe_collection(self.samples)
        about |= described
        with self.directory.open(given, python=platform.python_version(), **about):
            state = None if self.auditor is None else self.directory.load_state()
            if self.auditor is not None and state is not None:
                self._resume(self.auditor, state)
            yield self

    @property
    def finished(self) -> bool:
        """Whether all files are there; raise DirectoryError if one of them is damaged."""
        return self.directory.finished and bool(self.directory.files())

    def __iter__(self) -> Iterator[Row]:
        """Audit, and yield rows; save the state now and then, and when it is left."""
        assert self.auditor is not None
        yield from saving(self.auditor, self.save)

    def save(self) -> None:
        """Save the state."""
        assert self.auditor is not None
        self.directory.save_state(self.auditor.state_dict())

    def finish(self) -> AuditResult:
        """Write all files."""
        assert self.auditor is not None
        result, settings = self.auditor.result, self.settings
        about = {"schema": SCHEMA, "augnet": augnet.__version__, "data": settings.common.data}
        values = about | result.values | {"notes": list(self.samples.log)}
        self.directory.finish(
            {
                "audit.json": f"{json.dumps(values, indent=1, allow_nan=False)}\n",
                "index.html": page(result, settings, self.samples, self.spec),
            }
        )
        return result

    def values(self) -> dict[str, Any]:
        """Return the result as it was written."""
        return json.loads(self.directory.read("audit.json") or b"{}")

    def write_test(self) -> None:
        """Write the test file into the directory, which must be finished."""
        settings = self.settings
        options = {
            "outputs": list(settings.outputs),
            "input": asdict(settings.input),
            "read": asdict(settings.common.read),
            "seed": settings.common.learn.seed,
            "trust": settings.trust,
        }
        data = str(Path(settings.common.data).resolve())
        path = Path(settings.model)
        model = str(path.resolve()) if path.exists() else settings.model
        self.directory.write({TEST: write_test(self.values(), model, data, options=options)})

    def _auditor(self) -> Auditor:
        keep_freed_memory()
        settings, samples = self.settings, self.samples
        return Auditor(
            self.loaded,
            self.spec.prepare(samples.x),
            samples.y,
            None
            if settings.common.learn.transforms == "auto"
            else settings.common.learn.transforms,
            learned=settings.learned,
            input=settings.input,
            classes=samples.classes,
            outputs=settings.outputs,
            groups=self._groups(),
            spec=self.spec,
            config=settings.common.learn,
            **self.spec.shared,
        )

    def _groups(self) -> Tensor | None:
        """Return the groups; a single recording has none."""
        groups = self.samples.groups
        single = groups is not None and len(groups.unique()) < 2
        return None if single and self.samples.grouped_by is None else groups

    def _resume(self, auditor: Auditor, state: dict[str, Any]) -> None:
        try:
            auditor.load_state_dict(state)
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise DirectoryError(
                f"{self.directory.path / 'state.pt'} is of another version of augnet or torch "
                f"({error}): remove it to begin again"
            ) from None
