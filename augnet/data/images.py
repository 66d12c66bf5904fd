"""Folders of images with one sub-folder per class, and images by their paths."""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from augnet.data.account import Account, DataError
from augnet.data.collection import MOST, Collection, Task, encode, some
from augnet.data.folders import walk
from augnet.data.reading import Reading

PIXELS = 64_000_000
"""Larger images are taken for bombs: a few bytes that fill all memory."""
SIDE = 64
"""Sides are at most so long, unless somebody says otherwise."""
LOOKED_AT = 200
"""So many images decide on the size and on gray or color."""
SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing"}
RUN_PROGRAMS = {"EPS"}
"""Formats that Pillow hands to another program (Ghostscript): not for files of strangers."""


def folder(
    path: Path,
    reading: Reading | None = None,
    labeled: bool = True,
    size: int | None = None,
    most: int = MOST,
    seed: int = 0,
    task: Task = "auto",
) -> Collection:
    """Read images; the first folder below `path` that a file is in is its class."""
    account = Account()
    found = [file for file in walk(path, account) if _wanted(file, path, labeled, account)]
    if not found:
        example = f"{path}/cat/1.png" if labeled else f"{path}/1.png"
        raise DataError(f"no images in {path}: expected files such as {example}. {account}".strip())
    labels = [file.relative_to(path).parts[0] for file in found] if labeled else None
    if labels and set(map(str.lower, labels)) <= SPLITS:
        raise DataError(f"{path} is split into {', '.join(sorted(set(labels)))}: give one of them")
    return files(found, labels, path, account, reading, size, most, seed, "classes")


def files(
    paths: Sequence[Path],
    labels: Sequence[object] | None,
    root: Path,
    account: Account,
    reading: Reading | None = None,
    size: int | None = None,
    most: int = MOST,
    seed: int = 0,
    task: Task = "auto",
) -> Collection:
    """Read images by their paths, at most so many, evenly from all classes."""
    y, _ = encode(labels, task) if labels is not None else (None, ())
    rows = some(y, len(paths), most, seed).tolist()
    if len(rows) < len(paths):
        account.note(f"{len(rows)} of {len(paths)} images were drawn (--most {most})")
    chosen = [paths[row] for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.simplefilter("ignore", UserWarning)  # of odd tags, which do no harm
        if reading is None:
            reading = _look(chosen, size, account)
        pixels, good = _load(chosen, reading, account)
    if not good:
        raise DataError(f"none of {len(chosen)} images can be read: {'; '.join(account)}")
    kept = [rows[number] for number in good]
    names = tuple(os.path.relpath(paths[row], root) for row in kept)
    classes: tuple[str, ...] = ()
    if labels is not None:
        y, classes = encode([labels[row] for row in kept], task)
    return Collection(torch.from_numpy(pixels), y, classes, names, reading, account)


def _wanted(file: Path, root: Path, labeled: bool, account: Account) -> bool:
    if file.name.startswith(".") or file.name == "Thumbs.db":
        account.skip("hidden files", file.name)
    elif file.suffix.lower() not in Image.registered_extensions():
        account.skip("not named like an image", file.name)
    elif labeled and file.parent == root:
        account.skip("not in a folder of a class", file.name)
    else:
        return True
    return False


def _formats() -> list[str]:
    Image.init()
    return [name for name in Image.OPEN if name not in RUN_PROGRAMS]


def _look(paths: Sequence[Path], size: int | None, account: Account) -> Reading:
    """Decide on a size and on gray or color, by the headers of some images."""
    step = max(1, len(paths) // LOOKED_AT)
    shapes, gray = [], True
    for path in paths[::step]:
        try:
            with Image.open(path, formats=_formats()) as image:
                shapes.append((image.height, image.width))
                gray = gray and (image.mode in ("1", "L", "LA") or image.mode.startswith("I"))
        except _FAULTS:
            continue  # told of when it is read
    if not shapes:
        shapes = [(SIDE, SIDE)]
    height, width = (int(np.median([shape[side] for shape in shapes])) for side in (0, 1))
    shrink = min(1.0, (size or SIDE) / max(height, width))
    if size:
        shrink = size / max(height, width)
    height, width = (max(1, round(side * shrink)) for side in (height, width))
    if set(shapes) != {(height, width)}:
        mixed = "images of mixed sizes" if len(set(shapes)) > 1 else "images"
        account.note(f"{mixed} were resized to {height} × {width} pixels (--size changes that)")
    mode: Literal["L", "RGB"] = "L" if gray else "RGB"
    return Reading(kind="images", shape=(1 if gray else 3, height, width), mode=mode)


_FAULTS = (
    OSError, ValueError, SyntaxError, EOFError, UnidentifiedImageError,
    Image.DecompressionBombWarning, Image.DecompressionBombError,
)  # fmt: skip


def _load(
    paths: Sequence[Path], reading: Reading, account: Account
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint8]], list[int]]:
    """Read images into one array of bytes; give the numbers of those that could be read."""
    pixels = np.empty((len(paths), *reading.shape), dtype=np.uint8)
    good = []

    def one(number: int) -> str | None:
        try:
            pixels[number] = _pixels(paths[number], reading)
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            return "too many pixels: an image bomb?"
        except PermissionError:
            return "no permission to read"
        except UnidentifiedImageError:
            return "not an image inside, or empty"
        except _FAULTS:
            return "damaged"
        return None

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for number, fault in enumerate(pool.map(one, range(len(paths)))):
            if fault is None:
                good.append(number)
            else:
                account.skip(fault, paths[number])
    return (pixels if len(good) == len(paths) else pixels[good]), good


def _pixels(path: Path, reading: Reading) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    _, height, width = reading.shape
    with Image.open(path, formats=_formats()) as image:
        if image.width * image.height > PIXELS:
            raise Image.DecompressionBombError
        image.draft(reading.mode, (2 * width, 2 * height))  # JPEG decodes to what is needed
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I") or upright.mode == "F":  # of 16 bits or more
            deep = np.asarray(upright, dtype=np.float32)
            top = 65535.0 if deep.max() > 255 else 255.0 if deep.max() > 1 else 1.0
            upright = Image.fromarray((deep * (255 / top)).clip(0, 255).astype(np.uint8))
        upright = upright.convert(reading.mode)
        if upright.size != (width, height):
            upright = upright.resize((width, height), Image.Resampling.BILINEAR)
        array = np.asarray(upright, dtype=np.uint8)
    return array[None] if reading.mode == "L" else array.transpose(2, 0, 1)
