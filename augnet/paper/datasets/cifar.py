"""CIFAR-10 (Krizhevsky 2009), from the official binary version: nothing is unpickled.

The files are read from `root`, else from the directory in the environment variable AUGNET_DATA,
else from the user's cache, into which they are downloaded once.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor

from augnet import validation
from augnet.paper.datasets.splits import Samples, Splits

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
ARCHIVE_SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
FOLDER = "cifar-10-batches-bin"
TRAIN_MD5 = {
    "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
    "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
    "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
    "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
    "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
}
TEST_MD5 = {"test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d"}
SHA256 = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32  # a label, and the pixels channel by channel
IMAGES = 10_000  # per file


def load(
    seed: int = 0,
    *,
    root: str | None = None,
    sizes: tuple[int, int, int] = (40_000, 10_000, 10_000),
) -> Splits:
    """Return images (N, 3, 32, 32) in [0, 1]; `seed` draws train and valid, balanced by class.

    The test set is the official one, or its first samples. All images are in memory and can be
    moved to a device once; there is no loader.
    """
    validation.sizes(sizes)
    for size, most, name in (
        (sizes[0] + sizes[1], 50_000, "train and valid together"),
        (sizes[2], 10_000, "test"),
    ):
        if size > most:
            raise ValueError(f"sizes are at most {most} for {name}; got {sizes}")
    folder = find(root)
    images, labels = read(folder, TRAIN_MD5)
    order = balanced_order(labels, Generator().manual_seed(seed))
    train, valid = order[: sizes[0]], order[sizes[0] : sizes[0] + sizes[1]]
    test_images, test_labels = read(folder, TEST_MD5)
    test = slice(0, sizes[2])
    return Splits(
        Samples(_unit(images[train]), labels[train]),
        Samples(_unit(images[valid]), labels[valid]),
        Samples(_unit(test_images[test]), test_labels[test]),
    )


def find(root: str | None = None) -> Path:
    """Return the folder of the files; download them if no directory was named."""
    named = root or os.environ.get("AUGNET_DATA")
    if not named:
        return download()
    for folder in (Path(named) / FOLDER, Path(named)):
        if (folder / "test_batch.bin").exists():
            return folder
    setting = "data.root" if root else "AUGNET_DATA"
    raise ValueError(
        f"no {FOLDER}/test_batch.bin in {named}, which {setting} names: unpack the official "
        f"cifar-10-binary.tar.gz there, or name no directory to download it from {URL}"
    )


def download(cache: Path | None = None) -> Path:
    """Download and unpack the official archive once; check its checksum."""
    import pooch

    cache = cache or Path(pooch.os_cache("augnet"))
    folder = cache / FOLDER
    names = (*TRAIN_MD5, *TEST_MD5)
    if all((folder / name).exists() for name in names):
        return folder
    unpack = pooch.Untar(members=[f"{FOLDER}/{name}" for name in names], extract_dir=".")
    try:
        pooch.retrieve(URL, f"sha256:{ARCHIVE_SHA256}", "cifar-10-binary.tar.gz", cache,
                       processor=unpack, progressbar=True)  # fmt: skip
    except OSError as error:
        raise ValueError(
            f"{URL} cannot be downloaded ({error}): download it on another machine, unpack it into "
            "a directory and name that by --set data.root=DIR or AUGNET_DATA"
        ) from error
    return folder


def read(folder: Path, files: dict[str, str]) -> tuple[np.ndarray, Tensor]:
    """Read images and labels from files of the official binary version; check their digests."""
    parts = [_read(folder / name, md5) for name, md5 in files.items()]
    records = np.concatenate(parts)
    return records[:, 1:].reshape(-1, *SHAPE), torch.from_numpy(records[:, 0]).long()


def _read(file: Path, md5: str) -> np.ndarray:
    again = f"unpack the official archive ({URL}) again"
    if not file.exists():
        raise ValueError(f"{file} is missing: {again}")
    content = file.read_bytes()
    if len(content) != IMAGES * RECORD:
        raise ValueError(
            f"{file} has {len(content)} bytes instead of {IMAGES * RECORD}: it is truncated or "
            f"another version; {again}"
        )
    if (came := hashlib.md5(content, usedforsecurity=False).hexdigest()) != md5:
        raise ValueError(f"{file} was altered: its md5 is {came} instead of {md5}; {again}")
    if (came := hashlib.sha256(content).hexdigest()) != SHA256[file.name]:
        raise ValueError(f"{file} was altered: its SHA-256 is {came}; {again}")
    return np.frombuffer(content, dtype=np.uint8).reshape(-1, RECORD)


def balanced_order(labels: Tensor, generator: Generator) -> Tensor:
    """Draw an order whose every prefix has as many samples of each class as possible."""
    shuffled = torch.randperm(len(labels), generator=generator)
    ranks = torch.empty_like(shuffled)
    for label in labels.unique():
        mine = (labels[shuffled] == label).nonzero().flatten()
        ranks[mine] = torch.arange(len(mine))
    return shuffled[ranks.argsort(stable=True)]


def _unit(images: np.ndarray | Sequence[int]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(images)).float() / 255
