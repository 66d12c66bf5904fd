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
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from augnet.data.collection import Collection, draw_rows, encode, encode_groups
from augnet.data.folders import walk
from augnet.data.input_spec import InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.data.scales import rescale
from augnet.text import printable

MAX_PIXELS = 64_000_000
"""Larger images are skipped: a few bytes can decompress to more than the memory."""
MAX_SIDE = 64
"""The longer side of images, unless --size is given."""
HEADERS_READ = 200
"""The number of images whose headers decide on the size and on gray or color."""
WHITES = (1.0, 255.0, 1023.0, 4095.0, 16383.0, 65535.0)
"""White in images of more than 8 bits: in floats, and with 8, 10, 12, 14 and 16 bits used."""
TRANSPARENT = ("LA", "PA", "RGBA", "RGBa")
MODES: dict[int, Literal["L", "RGB"]] = {1: "L", 3: "RGB"}
"""How image files are read, by the number of channels."""
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
        how = _choose_spec(chosen, options.size, log) if spec is None else _for_files(spec, root)
        how = _with_white(how, chosen, log)
        pixels, good = _load(chosen, how, log)
    if not good:
        raise DataError(f"none of {len(chosen)} images can be read: {'; '.join(log)}")
    x = torch.from_numpy(pixels)
    x = x if spec is None else rescale(x, spec, log)
    kept = [rows[number] for number in good]
    names = tuple(printable(os.path.relpath(paths[row], root)) for row in kept)
    classes: tuple[str, ...] = ()
    if labels is not None:
        y, classes = encode([labels[row] for row in kept], options.task)
    numbers = None
    if groups is not None:
        numbers = encode_groups([groups[row] for row in kept], len(kept), root, "groups")
    return Collection(x, y, classes, names, how, log, numbers)


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
                width, height = image.size
                shapes.append((width, height) if _is_turned(image) else (height, width))
                gray = gray and (image.mode in ("1", "L", "LA") or _is_deep(image))
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


def _for_files(spec: InputSpec, root: Path) -> InputSpec:
    """Return how image files are read for a model, also if it was learned from arrays."""
    if spec.kind != "images":
        raise DataError(
            f"{root} is read as images; the model takes {spec.kind} of shape {spec.shape}"
        )
    if spec.shape[0] not in MODES:
        raise DataError(
            f"image files are read with 1 or 3 channels; the model takes images of shape "
            f"{spec.shape}: save them as x in a file .npz"
        )
    return spec.model_copy(update={"mode": MODES[spec.shape[0]]})


def _with_white(spec: InputSpec, paths: Sequence[Path], log: ReadLog) -> InputSpec:
    """Choose the value of white of images of more than 8 bits, one for all of them."""
    with _threads() as pool:
        found = [value for value in pool.map(_largest, paths) if value is not None]
    if not found:
        return spec
    largest = max(found)
    white = spec.white or next((white for white in WHITES if white >= largest), largest)
    cut = f" (larger ones, up to {largest:g}, are white, too)" if largest > white else ""
    log.note(f"values of images of more than 8 bits go from 0, black, to {white:g}, white{cut}")
    return spec.model_copy(update={"white": white})


def _largest(path: Path) -> float | None:
    """Return the largest value of an image of more than 8 bits; None for others."""
    try:
        with Image.open(path, formats=_formats()) as image:
            if not _is_deep(image) or image.width * image.height > MAX_PIXELS:
                return None
            values = np.asarray(image, dtype=np.float32)
    except _FAULTS:
        return None  # logged when the image is read
    return float(values.max(where=np.isfinite(values), initial=0.0))


def _is_deep(image: Image.Image) -> bool:
    """Return whether pixels have more than 8 bits."""
    return image.mode == "F" or image.mode.startswith("I")


def _is_turned(image: Image.Image) -> bool:
    """Return whether the EXIF orientation exchanges height and width; Pillow turns TIFF itself."""
    if image.format == "TIFF":
        return False
    if image.format == "PNG" and "exif" not in image.info:
        return False  # it may follow the pixels, and looking for it would decode them
    return image.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)


def _on_white(image: Image.Image) -> tuple[Image.Image, bool]:
    """Put an image with transparent parts on white; return whether there are any, too."""
    if image.mode not in TRANSPARENT and "transparency" not in image.info:
        return image, False
    image = image.convert("RGBA")
    if image.getchannel("A").getextrema() == (255, 255):
        return image, False
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image), True


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(4, os.cpu_count() or 1))


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
    transparent = []

    def one(number: int) -> str | None:
        try:
            pixels[number], has_transparency = _pixels(paths[number], spec)
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
        if has_transparency:
            transparent.append(number)
        return None

    with _threads() as pool:
        for number, fault in enumerate(pool.map(one, range(len(paths)))):
            if fault is None:
                good.append(number)
            else:
                log.skip(fault, paths[number])
    if transparent:
        log.note(f"{len(transparent)} images have transparent parts: these are white")
    return (pixels if len(good) == len(paths) else pixels[good]), good


def _pixels(
    path: Path, spec: InputSpec
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.uint8]], bool]:
    """Return the bytes of an image, and whether it has transparent parts."""
    assert spec.mode is not None
    _, height, width = spec.shape
    with Image.open(path, formats=_formats()) as image:
        if image.width * image.height > MAX_PIXELS:
            raise Image.DecompressionBombError
        wide, high = (height, width) if _is_turned(image) else (width, height)
        image.draft(spec.mode, (2 * wide, 2 * high))  # JPEG: decode no more than needed
        upright = ImageOps.exif_transpose(image)
        if _is_deep(upright):
            deep = np.asarray(upright, dtype=np.float32)
            if not np.isfinite(deep).all():
                raise _NotFiniteError
            scaled = deep * (255 / (spec.white or WHITES[-1]))
            upright = Image.fromarray(scaled.clip(0, 255).round().astype(np.uint8))
        upright, has_transparency = _on_white(upright)
        upright = upright.convert(spec.mode)
        if upright.size != (width, height):
            upright = upright.resize((width, height), Image.Resampling.BILINEAR)
        array = np.asarray(upright, dtype=np.uint8)
    return array[None] if spec.mode == "L" else array.transpose(2, 0, 1), has_transparency
