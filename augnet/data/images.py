"""Read folders of images with one sub-folder per class, and images by their paths."""

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from augnet.data.collection import Collection, draw_rows, encode, encode_groups
from augnet.data.folders import walk
from augnet.data.input_spec import InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.text import printable

MAX_PIXELS = 64_000_000
"""Larger images are skipped: a few bytes can decompress to more than the memory."""
MAX_SIDE = 64
"""The longer side of images, unless --size is given."""
HEADERS_READ = 200
"""The number of images whose headers decide on the size and on gray or color."""
SPLITS = {"train", "training", "val", "valid", "validation", "test", "testing"}
UNSAFE_FORMATS = {"EPS"}
"""Pillow passes these to another program (Ghostscript): not safe for files from others."""


def folder(
    path: Path,
    options: ReadOptions,
    spec: InputSpec | None = None,
    labeled: bool = True,
    seed: int = 0,
) -> Collection:
    """Read images; the class of a file is the first folder below `path` that contains it."""
    log = ReadLog()
    found = [
        file
        for file in walk(path, log, options.follow_links)
        if _is_sample(file, path, labeled, log)
    ]
    if not found:
        example = f"{path}/cat/1.png" if labeled else f"{path}/1.png"
        raise DataError(f"no images in {path}: expected files such as {example}. {log}".strip())
    labels = [file.relative_to(path).parts[0] for file in found] if labeled else None
    if labels and set(map(str.lower, labels)) <= SPLITS:
        raise DataError(f"{path} is split into {', '.join(sorted(set(labels)))}: use one of them")
    if options.task == "auto":  # folders are classes, also if their names are numbers
        options = replace(options, task="classification")
    return files(found, labels, path, log, options, spec, seed)


def files(
    paths: Sequence[Path],
    labels: Sequence[object] | None,
    root: Path,
    log: ReadLog,
    options: ReadOptions,
    spec: InputSpec | None = None,
    seed: int = 0,
    groups: Sequence[object] | None = None,
) -> Collection:
    """Read images by their paths, evenly from all classes."""
    y, _ = encode(labels, options.task) if labels is not None else (None, ())
    rows = draw_rows(y, len(paths), options.max_samples, seed).tolist()
    if len(rows) < len(paths):
        log.note(f"{len(rows)} of {len(paths)} images were drawn (--max-samples)")
    chosen = [paths[row] for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.simplefilter("ignore", UserWarning)  # about metadata that is not used
        if spec is None:
            spec = _choose_spec(chosen, options.size, log)
        pixels, good = _load(chosen, spec, log)
    if not good:
        raise DataError(f"none of {len(chosen)} images can be read: {'; '.join(log)}")
    kept = [rows[number] for number in good]
    names = tuple(printable(os.path.relpath(paths[row], root)) for row in kept)
    classes: tuple[str, ...] = ()
    if labels is not None:
        y, classes = encode([labels[row] for row in kept], options.task)
    numbers = None
    if groups is not None:
        numbers = encode_groups([groups[row] for row in kept], len(kept), root, "groups")
    return Collection(torch.from_numpy(pixels), y, classes, names, spec, log, numbers)


def _is_sample(file: Path, root: Path, labeled: bool, log: ReadLog) -> bool:
    if file.name.startswith(".") or file.name == "Thumbs.db":
        log.skip("hidden files", file.name)
    elif file.suffix.lower() not in Image.registered_extensions():
        log.skip("not the name of an image", file.name)
    elif labeled and file.parent == root:
        log.skip("not in the folder of a class", file.name)
    else:
        return True
    return False


def _formats() -> list[str]:
    Image.init()
    return [name for name in Image.OPEN if name not in UNSAFE_FORMATS]


def _choose_spec(paths: Sequence[Path], size: int | None, log: ReadLog) -> InputSpec:
    """Choose a size, and gray or color, from the headers of some images."""
    step = max(1, len(paths) // HEADERS_READ)
    shapes, gray = [], True
    for path in paths[::step]:
        try:
            with Image.open(path, formats=_formats()) as image:
                shapes.append((image.height, image.width))
                gray = gray and (image.mode in ("1", "L", "LA") or image.mode.startswith("I"))
        except _FAULTS:
            continue  # logged when the image is read
    if not shapes:
        shapes = [(MAX_SIDE, MAX_SIDE)]
    height, width = (int(np.median([shape[side] for shape in shapes])) for side in (0, 1))
    shrink = min(1.0, (size or MAX_SIDE) / max(height, width))
    if size:
        shrink = size / max(height, width)
    height, width = (max(1, round(side * shrink)) for side in (height, width))
    if set(shapes) != {(height, width)}:
        mixed = "images of mixed sizes" if len(set(shapes)) > 1 else "images"
        log.note(f"{mixed} were resized to {height} × {width} pixels (--size changes that)")
    mode: Literal["L", "RGB"] = "L" if gray else "RGB"
    return InputSpec(kind="images", shape=(1 if gray else 3, height, width), mode=mode)


_FAULTS = (
    OSError, ValueError, SyntaxError, EOFError, UnidentifiedImageError,
    Image.DecompressionBombWarning, Image.DecompressionBombError,
)  # fmt: skip


class _NotFiniteError(ValueError):
    """An image has NaN or infinite values."""


def _load(
    paths: Sequence[Path], spec: InputSpec, log: ReadLog
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint8]], list[int]]:
    """Read images into one array of bytes; return it and the indices of those that were read."""
    pixels = np.empty((len(paths), *spec.shape), dtype=np.uint8)
    good = []

    def one(number: int) -> str | None:
        try:
            pixels[number] = _pixels(paths[number], spec)
        except (Image.DecompressionBombWarning, Image.DecompressionBombError):
            return "too many pixels: an image bomb?"
        except PermissionError:
            return "no permission to read"
        except UnidentifiedImageError:
            return "not an image, or empty"
        except _NotFiniteError:
            return "NaN or infinite values"
        except _FAULTS:
            return "damaged"
        return None

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for number, fault in enumerate(pool.map(one, range(len(paths)))):
            if fault is None:
                good.append(number)
            else:
                log.skip(fault, paths[number])
    return (pixels if len(good) == len(paths) else pixels[good]), good


def _pixels(path: Path, spec: InputSpec) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    _, height, width = spec.shape
    with Image.open(path, formats=_formats()) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Image.DecompressionBombError
        image.draft(spec.mode, (2 * width, 2 * height))  # JPEG: decode no more than needed
        upright = ImageOps.exif_transpose(image)
        if upright.mode.startswith("I") or upright.mode == "F":  # of 16 bits or more
            deep = np.asarray(upright, dtype=np.float32)
            if not np.isfinite(deep).all():
                raise _NotFiniteError
            top = 65535.0 if deep.max() > 255 else 255.0 if deep.max() > 1 else 1.0
            upright = Image.fromarray((deep * (255 / top)).clip(0, 255).astype(np.uint8))
        upright = upright.convert(spec.mode)
        if upright.size != (width, height):
            upright = upright.resize((width, height), Image.Resampling.BILINEAR)
        array = np.asarray(upright, dtype=np.uint8)
    return array[None] if spec.mode == "L" else array.transpose(2, 0, 1)
