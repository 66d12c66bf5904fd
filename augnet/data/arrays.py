"""Read arrays x and y: .npz, a pair of .npy files, safetensors. Nothing is ever unpickled."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load as deserialize

from augnet.data.collection import Collection, draw_rows, encode, encode_groups, to_float
from augnet.data.input_spec import DIMENSIONS, InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.data.scales import rescale
from augnet.text import one_line

CHANNELS = (1, 3, 4)


def arrays(
    path: Path,
    options: ReadOptions,
    spec: InputSpec | None = None,
    labeled: bool = True,
    seed: int = 0,
) -> Collection:
    """Read samples (N, ...): vectors (N, D), signals (N, C, T) or images (N, C, H, W).

    The labels of `x.npy` are in `y.npy` of the same folder; `train_x.npy` has `train_y.npy`.
    Groups are in `groups.npy`, or in the array `options.groups`. Images may have their channels
    last.
    """
    log = ReadLog()
    name = options.groups or "groups"
    found = _open(path, labeled, name if labeled else None)
    x, y = found["x"], found.get("y") if labeled else None
    if x.dtype.kind not in "fiub" or x.ndim == 0 or 0 in x.shape[1:]:
        raise DataError(f"{path}: x must be an array of numbers (N, ...); got {x.dtype} {x.shape}")
    if y is not None and y.ndim == 0:
        raise DataError(f"{path}: y must have one label per sample; it is a single value")
    if y is not None and len(y) != len(x):
        raise DataError(f"{path} has {len(x)} samples in x and {len(y)} labels in y")
    if len(x) == 0:
        raise DataError(f"{path} has no samples: x is {x.shape}")
    labels, classes = encode(y, options.task) if y is not None else (None, ())
    groups = _groups(found, options.groups, path) if labeled else None
    rows = draw_rows(labels, len(x), options.max_samples, seed)
    if len(rows) < len(x):
        log.note(f"{len(rows)} of {len(x)} samples were drawn (--max-samples)")
        x, labels = x[rows.numpy()], None if labels is None else labels[rows]
        groups = None if groups is None else groups[rows]
    samples = _with_axes(_tensor(np.ascontiguousarray(x)), spec, log)
    names = tuple(map(str, rows.tolist()))
    if spec is not None:
        samples = rescale(samples, spec, log)
        if spec.window is not None:
            log.note("the model was learned from recordings: x is taken in their unit, such as V")
    else:
        signals = samples.dim() == 3
        for option in ("sfreq", "channels"):
            if not signals and getattr(options, option):
                raise DataError(
                    f"--{option} is for signals (N, C, T); x of {path} has shape {tuple(x.shape)}"
                )
        if signals and options.channels and len(options.channels) != samples.shape[1]:
            raise DataError(
                f"--channels has {len(options.channels)} names; the signals have "
                f"{samples.shape[1]} channels (x has shape {tuple(x.shape)})"
            )
        spec = InputSpec(
            kind=DIMENSIONS[samples.dim() - 1],
            shape=tuple(samples.shape[1:]),
            sfreq=options.sfreq if signals else None,
            channels=options.channels if signals else (),
        )
    by = name if groups is not None else None
    return Collection(samples, labels, classes, names, spec, log, groups, by).finite()


def _groups(found: dict[str, Any], given: str | None, path: Path) -> torch.Tensor | None:
    """Return the groups by the array that was named, or by `groups` if it is there."""
    name = given or "groups"
    if name.lower() in found:
        return encode_groups(found[name.lower()], len(found["x"]), path, name)
    if given is not None:
        raise DataError(f"{path} has no array {given} for --groups: save it with x and y")
    return None


def _load(path: Path, wanted: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the arrays with the wanted names, and the names of all."""
    if path.suffix.lower() == ".safetensors":
        try:
            found: dict[str, Any] = deserialize(path.read_bytes())
        except KeyError as error:
            raise DataError(f"{path} has arrays of type {error}: save them as float32") from None
        return found, list(found)
    if path.suffix.lower() == ".npz":
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            found = {
                name: file[name]
                for name in file
                if name.lower() in {each.lower() for each in wanted}
            }
            return found, list(file)
    found = {"x": np.load(path, mmap_mode="r", allow_pickle=False)}
    for name in ("Y", *sorted(wanted - {"x"})):
        beside = path.with_name(f"{path.stem[:-1]}{name}.npy")
        if path.stem.lower().endswith("x") and beside.is_file():
            found[name] = np.load(beside, allow_pickle=False)
    return found, list(found)


def _open(path: Path, labeled: bool, groups: str | None) -> dict[str, Any]:
    """Read x, and y and the array of groups if there are such; by names in lower case."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of other versions
            found, keys = _load(path, {"x", "y"} | ({groups} if groups else set()))
    except DataError:
        raise
    except MemoryError:
        raise DataError(f"{path} says that it is larger than the memory: is it damaged?") from None
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise DataError(f"{path} is damaged: {one_line(error)}") from None
        raise DataError(
            f"{path} contains Python objects, which could execute code and are not read: save "
            "plain arrays, np.savez('data.npz', x=x, y=y.astype(str))"
        ) from None
    except Exception as error:  # numpy, zipfile and zlib raise all kinds of errors
        raise DataError(f"{path} is truncated or of another format: {one_line(error)}") from None
    for name, value in found.items():
        if not isinstance(value, np.ndarray):
            raise DataError(f"{path}: {name} is no array: np.savez('data.npz', x=x, y=y) saves one")
    for name in ("x", "y", *([groups.lower()] if groups else [])):
        if (count := [key.removesuffix(".npy").lower() for key in keys].count(name)) > 1:
            raise DataError(f"{path} has {count} arrays {name}: keep one of them")
    found = {key.lower(): value for key, value in found.items()}
    if labeled and "y" not in found and path.suffix.lower() == ".npy":
        raise DataError(f"{path} has no labels: put them into the same folder, as x.npy and y.npy")
    if "x" not in found or (labeled and "y" not in found):
        expected = "x and y" if labeled else "x"
        raise DataError(f"{path} has the arrays {', '.join(keys) or 'none'}; expected {expected}")
    return found


def _tensor(x: np.ndarray[Any, Any]) -> torch.Tensor:
    """Keep bytes, and convert everything else to float32."""
    return torch.from_numpy(x if x.dtype == np.uint8 else to_float(x))


def _with_axes(x: torch.Tensor, spec: InputSpec | None, log: ReadLog) -> torch.Tensor:
    """Return samples as vectors (D), signals (C, T) or images (C, H, W)."""
    if spec is not None and tuple(x.shape[1:]) == spec.shape:
        return x
    if x.dim() == 1:
        return x[:, None].float()
    if x.dim() == 3 and x.dtype == torch.uint8:  # (N, H, W): gray images, not signals
        log.note("x in bytes of shape (N, H, W) is read as gray images")
        return x[:, None]
    if x.dim() == 4 and x.shape[1] not in CHANNELS and x.shape[3] in CHANNELS:
        log.note("x of shape (N, H, W, C) is read with its channels last")
        return x.permute(0, 3, 1, 2).contiguous()
    if x.dim() not in (2, 3, 4):
        raise DataError(
            "x must be vectors (N, D), signals (N, C, T) or images (N, C, H, W); got shape "
            f"{tuple(x.shape)}"
        )
    return x if x.dim() == 4 else x.float()
