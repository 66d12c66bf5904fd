"""Keep the files of a job that can be killed at any moment and resumed.

    manifest.json   schema, kind, settings, data fingerprint, about, SHA-256 of each file, finished
    state.pt        what is needed to go on; removed when the job is finished
    .lock           locked by the process that writes; .lock.holder says which one that is

Files are replaced one by one, each atomically. Before a file is replaced, the manifest lists the
digests of both its old and its new content, so that either is accepted after a kill.
"""

import hashlib
import io
import json
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from augnet.files import write as write_file
from augnet.training.lock import HOLDER, LOCK, LockedError, locked
from augnet.training.manifest import begin, differences, digest, parse, to_json

MANIFEST, STATE = "manifest.json", "state.pt"
OLD_MANIFESTS = ("run.json", "settings.json", "search.json")
DATA = ("samples", "classes")
"""What `about` may say about the data; `digests` has the SHA-256 of each of its parts."""
DRAFT = re.compile(r"\..*\.\d+\.draft")  # of augnet.files.write


class DirectoryError(ValueError):
    """A directory cannot be used: it is another job's, damaged, or in use."""


class ResumableDirectory:
    """Files of one resumable job: what is there already must be this very job's.

    `settings` are JSON values that decide what comes out: a directory made with others is refused.
    Writing needs `open`, which locks the directory; reading works without.
    """

    def __init__(
        self,
        path: Path,
        kind: str,
        settings: Mapping[str, Any],
        hint: str = "Choose another --out",
    ) -> None:
        self.path, self.kind, self.hint = Path(path), kind, hint
        self.settings: dict[str, Any] = json.loads(json.dumps(settings))
        self._is_open = False

    @classmethod
    def existing(cls, path: Path, kind: str) -> Self:
        """Return the directory of a job that exists, with the settings it was made with."""
        found = cls(path, kind, {})
        found.settings = found._manifest()["settings"]
        found.check()
        return found

    @property
    def begun(self) -> bool:
        """Whether there is anything at this path, apart from locks and drafts."""
        if not self.path.is_dir():
            return self.path.exists()
        names = (file.name for file in self.path.iterdir())
        return any(name not in (LOCK, HOLDER) and not DRAFT.fullmatch(name) for name in names)

    @property
    def finished(self) -> bool:
        """Whether the job is marked as finished and all its files are there."""
        manifest = self._load()
        if manifest is None or not manifest["finished"]:
            return False
        return all((self.path / name).exists() for name in manifest["files"])

    @property
    def about(self) -> dict[str, Any]:
        """What was said about the job when it began: versions, machine, ..."""
        manifest = self._load()
        return {} if manifest is None else manifest["about"]

    def check(self) -> None:
        """Raise DirectoryError if the path holds anything but this job; change nothing."""
        manifest = self._load()
        if manifest is not None:
            self._compare(manifest)

    @contextmanager
    def open(self, data: str | None = None, **about: Any) -> Iterator[Self]:
        """Lock the directory for writing; begin the job, or resume it on the same data.

        `data` is the fingerprint of the data. `about` is kept when the job begins, not compared.
        """
        self.check()  # before anything is created in a directory of somebody else
        with self._locked():
            self.check()
            manifest = self._load()
            if manifest is None:
                manifest = begin(self.kind, self.settings, data, about)
                self._store(manifest)
            self._compare_data(manifest, data, about)
            if manifest["data"] != data and data is not None:
                self._store(manifest | {"data": data})
            if manifest["finished"] and not self.finished:  # a file was removed
                self._store(self._manifest() | {"finished": False})
            elif manifest["finished"]:
                (self.path / STATE).unlink(missing_ok=True)  # left by a kill in `finish`
            yield self

    def write(self, files: Mapping[str, bytes | str]) -> None:
        """Replace files, each atomically and with its digest in the manifest."""
        self._require_open()
        self._replace(self._manifest(), files)

    def read(self, name: str) -> bytes | None:
        """Return a file of the job, None if it is not there; raise DirectoryError if damaged."""
        while True:
            manifest = self._load()
            digests = [] if manifest is None else manifest["files"].get(name, [])
            file = self.path / name
            content = _read(file) if digests else None
            if content is None or digest(content) in digests:
                return content
            if self._load() == manifest:  # else the job replaced the file in between
                raise DirectoryError(
                    f"{file} is damaged: its SHA-256 is not the one in {MANIFEST}. "
                    "Remove it to compute it again"
                )

    def save_state(self, state: Any, name: str = STATE) -> None:
        """Save what is needed to go on: tensors and plain values."""
        self._require_open()
        try:
            content = io.BytesIO()
            torch.save(state, content)
            self.write({name: content.getvalue()})
        except Exception as error:
            raise DirectoryError(
                f"cannot save {self.path / name} ({_one_line(error)}): make sure that the disk has "
                "space and the directory can be written"
            ) from error

    def load_state(self, name: str = STATE) -> dict[str, Any] | None:
        """Load what was saved, to the CPU; return None if nothing was."""
        content = self.read(name)
        if content is None:
            return None
        try:
            return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except Exception as error:  # torch documents no list of them
            raise DirectoryError(
                f"{self.path / name} cannot be loaded ({_one_line(error)}): "
                "remove it to begin again"
            ) from error

    def finish(self, files: Mapping[str, bytes | str]) -> None:
        """Write the last files, mark the job as finished, and remove its state."""
        self._require_open()
        manifest = self._replace(self._manifest(), files)
        manifest["files"].pop(STATE, None)
        self._store(manifest | {"finished": True})
        # Not before: a job without its state that is not finished would begin again.
        (self.path / STATE).unlink(missing_ok=True)

    def files(self) -> dict[str, bytes]:
        """Return all files of the job with its manifest, for `adopt` on another machine."""
        manifest = self._load()
        if manifest is None:
            return {}
        found = {name: self.read(name) for name in manifest["files"]}
        contents = {name: content for name, content in found.items() if content is not None}
        return {MANIFEST: to_json(manifest), **contents}

    def adopt(self, files: Mapping[str, bytes]) -> None:
        """Write the files that this very job has written elsewhere, as `files` returned them."""
        if not files:
            return
        self.check()
        theirs = self._parse(files.get(MANIFEST, b""))
        self._compare(theirs)
        contents = {name: content for name, content in files.items() if name != MANIFEST}
        for name, content in contents.items():
            if digest(content) not in theirs["files"].get(name, []):
                raise DirectoryError(f"{name} was damaged on the way to {self.path}: copy it again")
        with self._locked():
            mine = self._load() or theirs | {"files": {}}
            self._compare_data(mine, theirs["data"], theirs["about"])
            # Not finished until all files are there.
            self._replace(theirs | {"files": mine["files"], "finished": False}, contents)
            self._store(theirs)
            for name in mine["files"].keys() - theirs["files"].keys():
                (self.path / name).unlink(missing_ok=True)

    def _replace(
        self, manifest: dict[str, Any], files: Mapping[str, bytes | str]
    ) -> dict[str, Any]:
        """Replace files, under a manifest that is right before, between and after."""
        contents = {
            name: content.encode() if isinstance(content, str) else content
            for name, content in files.items()
        }
        listed = dict(manifest["files"])
        for name, content in contents.items():
            if Path(name).name != name or name.startswith(".") or name == MANIFEST:
                raise ValueError(f"{name!r} is no name of a file of a job: use a plain file name")
            if name not in listed:  # nobody knows the digest of a file that is not listed
                (self.path / name).unlink(missing_ok=True)
            listed[name] = list(dict.fromkeys([*listed.get(name, []), digest(content)]))
        self._store(manifest | {"files": listed})
        for name, content in contents.items():
            write_file(self.path / name, content)
        after = {name: [digest(content)] for name, content in contents.items()}
        manifest = manifest | {"files": listed | after}
        self._store(manifest)
        return manifest

    def _load(self) -> dict[str, Any] | None:
        """Read the manifest; return None if nothing has begun."""
        if not self.begun:
            return None
        content = _read(self.path / MANIFEST)
        if content is None:
            for name in OLD_MANIFESTS:
                if (self.path / name).is_file():
                    raise self._refusal(
                        f"an older version of augnet made it (it has {name} and no {MANIFEST})"
                    )
            raise self._refusal(f"it has no {MANIFEST}")
        return self._parse(content)

    def _manifest(self) -> dict[str, Any]:
        """Read the manifest, which must be there."""
        manifest = self._load()
        if manifest is None:
            raise DirectoryError(f"{self.path} does not exist or is empty: no {self.kind} is there")
        return manifest

    def _parse(self, content: bytes) -> dict[str, Any]:
        try:
            return parse(content)
        except ValueError as error:
            raise self._refusal(str(error)) from None

    def _compare(self, manifest: Mapping[str, Any]) -> None:
        if manifest["kind"] != self.kind:
            raise self._refusal(f"it holds a {manifest['kind']}")
        different = list(differences(manifest["settings"], self.settings))
        if different:
            raise self._refusal(f"it was made with other settings: {', '.join(different)}")

    def _compare_data(
        self, manifest: Mapping[str, Any], data: str | None, about: Mapping[str, Any]
    ) -> None:
        """Refuse other data; say what is known to differ."""
        if None in (manifest["data"], data) or manifest["data"] == data:
            return
        there, here = ({key: each.get(key) for key in DATA} for each in (manifest["about"], about))
        parts, now = (each.get("digests", {}) for each in (manifest["about"], about))
        known = ", ".join(differences(there, here)) or ", ".join(
            f"other {name}" for name in parts if name in now and parts[name] != now[name]
        )
        raise DirectoryError(
            f"the data changed since {self.path} was begun{f': {known}' if known else ''}. "
            f"{self.hint}"
        )

    def _refusal(self, reason: str) -> DirectoryError:
        return DirectoryError(
            f"{self.path} is not empty, and not this {self.kind}'s: {reason}. {self.hint}"
        )

    def _store(self, manifest: Mapping[str, Any]) -> None:
        write_file(self.path / MANIFEST, to_json(manifest))

    def _require_open(self) -> None:
        if not self._is_open:
            raise RuntimeError(f"{self.path} is not open: write within `with directory.open():`")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the directory, and remove the drafts of processes that were killed."""
        if self._is_open:
            yield
            return
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with locked(self.path):
                for file in self.path.iterdir():
                    if DRAFT.fullmatch(file.name):
                        file.unlink()
                self._is_open = True
                yield
        except LockedError as holder:
            raise DirectoryError(
                f"{self.path} is in use by process {holder}: wait until it ends, or stop it"
            ) from None
        finally:
            self._is_open = False


def fingerprint(*tensors: Tensor) -> str:
    """Return the SHA-256 of the dtype, shape and bytes of tensors."""
    total = hashlib.sha256()
    for tensor in tensors:
        plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
        total.update(f"{plain.dtype} {tuple(plain.shape)};".encode())
        flat = plain.reshape(-1)
        if flat.stride(0) != 1:  # one element may have any stride, and cannot be viewed as bytes
            flat = flat.clone(memory_format=torch.contiguous_format)
        total.update(flat.view(torch.uint8).numpy().data)
    return total.hexdigest()


def _read(file: Path) -> bytes | None:
    """Return what a file holds, None if it is not there; a pipe would be read for ever."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise DirectoryError(f"{file} is no regular file: remove it")
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
