"""Read arrays x and y: .npz, a pair of .npy files, safetensors. Nothing is ever unpickled."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file

from augnet.data.collection import Collection, draw_rows, encode
from augnet.data.input_spec import DIMENSIONS, InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog

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
    Images may have their channels last.
    """
    log = ReadLog()
    found = _open(path, labeled)
    x, y = found["x"], found.get("y") if labeled else None
    if x.dtype.kind not in "fiub" or x.ndim == 0:
        raise DataError(f"{path}: x must be an array of numbers (N, ...); got {x.dtype} {x.shape}")
    if y is not None and len(y) != len(x):
        raise DataError(f"{path} has {len(x)} samples in x and {len(y)} labels in y")
    if len(x) == 0:
        raise DataError(f"{path} has no samples: x is {x.shape}")
    labels, classes = encode(y, options.task) if y is not None else (None, ())
    rows = draw_rows(labels, len(x), options.max_samples, seed)
    if len(rows) < len(x):
        log.note(f"{len(rows)} of {len(x)} samples were drawn (--max-samples)")
        x, labels = x[rows.numpy()], None if labels is None else labels[rows]
    samples = _with_axes(_tensor(np.ascontiguousarray(x)), spec, log)
    names = tuple(map(str, rows.tolist()))
    if spec is None:
        signals = samples.dim() == 3
        spec = InputSpec(
            kind=DIMENSIONS[samples.dim() - 1],
            shape=tuple(samples.shape[1:]),
            sfreq=options.sfreq if signals else None,
            channels=options.channels if signals else (),
        )
        if spec.channels and len(spec.channels) != spec.shape[0]:
            raise DataError(
                f"--channels has {len(spec.channels)} names; the signals have {spec.shape[0]} "
                f"channels (x has shape {tuple(x.shape)})"
            )
    return Collection(samples, labels, classes, names, spec, log).finite()


def _open(path: Path, labeled: bool) -> dict[str, Any]:
    """Read x, and y if there is one."""
    try:
        if path.suffix == ".safetensors":
            found: dict[str, Any] = dict(load_file(path))
        elif path.suffix == ".npz":
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                found = {name: file[name] for name in ("x", "y", "X", "Y") if name in file}
                keys = list(file)
        else:
            found = {"x": np.load(path, mmap_mode="r", allow_pickle=False)}
            other = _labels_file(path)
            if other is not None:
                found["y"] = np.load(other, allow_pickle=False)
            elif labeled:
                raise DataError(
                    f"{path} has no labels: put them into the same folder, as x.npy and y.npy"
                )
    except (SafetensorError, BadZipFile, EOFError, OSError) as error:
        raise DataError(f"{path} is truncated or of another format: {error}") from None
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise DataError(f"{path} is damaged: {error}") from None
        raise DataError(
            f"{path} contains Python objects, which could execute code and are not read: save "
            "plain arrays, np.savez('data.npz', x=x, y=y.astype(str))"
        ) from None
    keys = keys if path.suffix == ".npz" else list(found)
    found = {key.lower(): value for key, value in found.items()}
    if "x" not in found or (labeled and "y" not in found):
        expected = "x and y" if labeled else "x"
        raise DataError(f"{path} has the arrays {', '.join(keys) or 'none'}; expected {expected}")
    return found


def _labels_file(path: Path) -> Path | None:
    """Return the file of labels of a .npy file of samples."""
    stem = path.stem
    for samples, labels in (("x", "y"), ("X", "y"), ("X", "Y")):
        if stem.endswith(samples):
            candidate = path.with_name(f"{stem[: -len(samples)]}{labels}.npy")
            if candidate.exists():
                return candidate
    return None


def _tensor(x: np.ndarray[Any, Any]) -> torch.Tensor:
    """Keep bytes, and convert everything else to float32."""
    return torch.from_numpy(x if x.dtype == np.uint8 else x.astype(np.float32))


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
