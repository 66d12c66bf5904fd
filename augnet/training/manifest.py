"""Read and compare the manifest of a resumable directory."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

SCHEMA = 2
FIELDS = {
    "kind": str,
    "settings": dict,
    "data": str | None,
    "about": dict,
    "files": dict,
    "finished": bool,
}
DIGEST = "sha256"
"""The key of the digest of all others."""


def begin(
    kind: str, settings: Mapping[str, Any], data: str | None, about: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the manifest of a job that has written nothing yet."""
    return {
        "schema": SCHEMA,
        "kind": kind,
        "settings": dict(settings),
        "data": data,
        "about": dict(about),
        "files": {},
        "finished": False,
    }


def parse(content: bytes) -> dict[str, Any]:
    """Read a manifest; raise ValueError if this version cannot."""
    try:
        manifest = json.loads(content)
        schema = manifest["schema"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("its manifest.json cannot be read") from None
    if schema != SCHEMA:
        raise ValueError(f"its schema is {schema!r}, and this version reads {SCHEMA}")
    given = manifest.pop(DIGEST, None)  # not in directories of older versions
    for field, kind in FIELDS.items():
        if field not in manifest or not isinstance(manifest[field], kind):
            raise ValueError(f"its manifest.json cannot be read: {field!r} is missing or wrong")
    unknown = manifest.keys() - FIELDS.keys() - {"schema"}
    if unknown or (given is not None and given != _digest(manifest)):
        raise ValueError("its manifest.json is damaged: its SHA-256 is not the one in it")
    return manifest


def to_json(manifest: Mapping[str, Any]) -> bytes:
    """Write a manifest with its own SHA-256, for `parse`."""
    return (json.dumps({**manifest, DIGEST: _digest(manifest)}, indent=1) + "\n").encode()


def _digest(manifest: Mapping[str, Any]) -> str:
    return digest(json.dumps(manifest, sort_keys=True).encode())


def digest(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    """Name the settings that differ, with both values."""
    for key in sorted({*there, *here}):
        was, now = there.get(key), here.get(key)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from differences(was, now, f"{prefix}{key}.")
        elif was != now:
            yield f"{prefix}{key} ({was!r} there, {now!r} now)"
