"""Arrays with x and y: .npz, a pair of .npy files, safetensors. Nothing is ever unpickled."""

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load_file

from augnet.data.account import Account, DataError
from augnet.data.collection import MOST, Collection, Task, encode, some
from augnet.data.reading import DIMENSIONS, Reading

CHANNELS = (1, 3, 4)


def arrays(
    path: Path,
    reading: Reading | None = None,
    labeled: bool = True,
    most: int = MOST,
    seed: int = 0,
    task: Task = "auto",
    sfreq: float | None = None,
    channels: tuple[str, ...] = (),
) -> Collection:
    """Read samples (N, ...): vectors (N, D), signals (N, C, T) or images (N, C, H, W).

    A .npy file is x, and its y is beside it: `y.npy` for `x.npy`, `train_y.npy` for `train_x.npy`.
    Images may have their channels last.
    """
    account = Account()
    found = _open(path, labeled)
    x, y = found["x"], found.get("y") if labeled else None
    if x.dtype.kind not in "fiub" or x.ndim == 0:
        raise DataError(f"{path}: x is an array of numbers (N, ...); got {x.dtype} {x.shape}")
    if y is not None and len(y) != len(x):
        raise DataError(f"{path} has {len(x)} samples in x and {len(y)} labels in y")
    if len(x) == 0:
        raise DataError(f"{path} has no samples: x is {x.shape}")
    labels, classes = encode(y, task) if y is not None else (None, ())
    rows = some(labels, len(x), most, seed)
    if len(rows) < len(x):
        account.note(f"{len(rows)} of {len(x)} samples were drawn (--most {most})")
        x, labels = x[rows.numpy()], None if labels is None else labels[rows]
    samples = _shaped(_tensor(np.ascontiguousarray(x)), reading, account)
    names = tuple(map(str, rows.tolist()))
    if reading is None:
        reading = Reading(
            kind=DIMENSIONS[samples.dim() - 1],
            shape=tuple(samples.shape[1:]),
            sfreq=sfreq if samples.dim() == 3 else None,
            channels=channels if samples.dim() == 3 else (),
        )
        if reading.channels and len(reading.channels) != reading.shape[0]:
            raise DataError(
                f"{len(channels)} channels are named; signals have {reading.shape[0]}, "
                f"x being {tuple(x.shape)}"
            )
    return Collection(samples, labels, classes, names, reading, account).finite()


def _open(path: Path, labeled: bool) -> dict[str, Any]:
    """Read x, and y if there is one and it is wanted."""
    try:
        if path.suffix == ".safetensors":
            found: dict[str, Any] = dict(load_file(path))
        elif path.suffix == ".npz":
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                found = {name: file[name] for name in ("x", "y", "X", "Y") if name in file}
                keys = list(file)
        else:
            found = {"x": np.load(path, mmap_mode="r", allow_pickle=False)}
            other = beside(path)
            if other is not None:
                found["y"] = np.load(other, allow_pickle=False)
            elif labeled:
                raise DataError(f"{path} has no labels beside it: name them x.npy and y.npy")
    except (SafetensorError, BadZipFile, EOFError, OSError) as error:
        raise DataError(f"{path} is truncated or no such file: {error}") from None
    except ValueError as error:
        if "pickle" not in str(error) and "Python objects" not in str(error):
            raise DataError(f"{path} is damaged: {error}") from None
        raise DataError(
            f"{path} holds Python objects, which could run anything and are not read: save plain "
            "arrays, np.savez('data.npz', x=x, y=y.astype(str))"
        ) from None
    keys = keys if path.suffix == ".npz" else list(found)
    found = {key.lower(): value for key, value in found.items()}
    if "x" not in found or (labeled and "y" not in found):
        wanted = "x and y" if labeled else "x"
        raise DataError(f"{path} has the arrays {', '.join(keys) or 'none'}; expected {wanted}")
    return found


def beside(path: Path) -> Path | None:
    """Find the labels of a .npy file of samples."""
    stem = path.stem
    for mine, other in (("x", "y"), ("X", "y"), ("X", "Y")):
        if stem.endswith(mine):
            candidate = path.with_name(f"{stem[: -len(mine)]}{other}.npy")
            if candidate.exists():
                return candidate
    return None


def _tensor(x: np.ndarray[Any, Any]) -> torch.Tensor:
    """Keep bytes as bytes, and make floats of everything else."""
    return torch.from_numpy(x if x.dtype == np.uint8 else x.astype(np.float32))


def _shaped(x: torch.Tensor, reading: Reading | None, account: Account) -> torch.Tensor:
    """Give samples their axes: vectors (D), signals (C, T), images (C, H, W)."""
    if reading is not None and tuple(x.shape[1:]) == reading.shape:
        return x
    if x.dim() == 1:
        return x[:, None].float()
    if x.dim() == 3 and x.dtype == torch.uint8:  # (N, H, W): gray images, not signals
        account.note("x in bytes of shape (N, H, W) is read as gray images")
        return x[:, None]
    if x.dim() == 4 and x.shape[1] not in CHANNELS and x.shape[3] in CHANNELS:
        account.note("x of shape (N, H, W, C) is read with its channels last")
        return x.permute(0, 3, 1, 2).contiguous()
    if x.dim() not in (2, 3, 4):
        raise DataError(
            "x is vectors (N, D), signals (N, C, T) or images (N, C, H, W); got shape "
            f"{tuple(x.shape)}"
        )
    return x if x.dim() == 4 else x.float()
