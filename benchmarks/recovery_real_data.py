"""Real data sets for benchmarks/recovery_real.py: small, and normalized as a user would.

Each loader takes the folder of shared data and a seed, which draws the subsample where there is
more data than needed. It raises FileNotFoundError where its files are missing.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from real import idx
from torch import Generator, Tensor

SHARED = Path(os.environ.get("AUGNET_SHARED", Path(__file__).parents[2] / "shared")) / "data"
DEBIAN = Path("/usr/share/datasets")
"""Where Debian's dataset-fashion-mnist is installed: apt-get install dataset-fashion-mnist."""


@dataclass(frozen=True)
class RealData:
    """Samples, classes, who or what each sample comes from, and what transforms must know."""

    x: Tensor
    y: Tensor
    groups: Tensor | None = None
    known: dict[str, Any] = field(default_factory=dict)


Loader = Callable[[Path, int], RealData]


def archive(file: Path) -> dict[str, Tensor]:
    """Read the numeric arrays of a file of numpy."""
    with np.load(file) as arrays:
        return {
            name: torch.from_numpy(arrays[name])
            for name in arrays.files
            if arrays[name].dtype.kind in "iuf"
        }


def per_class(y: Tensor, most: int, seed: int) -> Tensor:
    """Draw at most so many rows of each class, in random order."""
    order = torch.randperm(len(y), generator=Generator().manual_seed(seed))
    rows = torch.cat([order[y[order] == c][:most] for c in y.unique()])
    return rows[torch.randperm(len(rows), generator=Generator().manual_seed(seed))]


def halved(x: Tensor) -> Tensor:
    """Resample signals at half their rate; higher frequencies are removed."""
    half = x.shape[-1] // 2
    return torch.fft.irfft(torch.fft.rfft(x)[..., : half // 2 + 1], n=half) / 2


def blood_cells(shared: Path, seed: int) -> RealData:
    """Read three kinds of cells by slide: at most 360 of each, as there are 3 123 red ones."""
    data = archive(shared / "bccd-cells" / "bccd-cells-40.npz")
    rows = per_class(data["y"], 360, seed)
    x = data["x"][rows].permute(0, 3, 1, 2).float() / 255
    return RealData(x.contiguous(), data["y"][rows].long(), data["slide"][rows].long())


KOREAN = range(117, 157)
PAIRS = (
    117, 121, 119, 123, 125, 129, 130, 134, 138, 140,  # ㅏ ㅓ ㅑ ㅕ ㅗ ㅛ ㅜ ㅠ ㄱ ㄴ
    158, 160, 172, 173, 170, 177,  # b d p q n u
)  # fmt: skip
"""Characters of which a flip or a turn makes other ones of the list."""


def omniglot(characters: tuple[int, ...]) -> Loader:
    """Read 20 drawings of each character, by drawer, 28×28."""

    def load(shared: Path, seed: int) -> RealData:
        data = archive(shared / "omniglot-small" / "omniglot-small.npz")
        rows = torch.isin(data["y"], torch.tensor(characters)).nonzero()[:, 0]
        packed = data["packed"][rows].flatten(1).numpy()
        _, first = np.unique(packed, axis=0, return_index=True)  # two alphabets are there twice
        rows = rows[torch.from_numpy(np.sort(first))]
        ink = np.unpackbits(data["packed"][rows].numpy(), axis=2)[..., : int(data["width"])]
        x = F.interpolate(torch.from_numpy(ink)[:, None].float(), (28, 28), mode="area")
        y = data["y"][rows].unique(return_inverse=True)[1]
        return RealData(x, y, data["drawer"][rows].long())

    return load


def spoken_digits(shared: Path, seed: int) -> RealData:
    """Read words by speaker, 1 s at 4 kHz, centered in silence, as loud as can be.

    The files start with the word: without centering, a shift to the left would cut it off.
    """
    data = archive(shared / "fsdd" / "fsdd.npz")
    x = data["x"].float()
    x = x / x.abs().amax(1, keepdim=True)
    late = (x.shape[1] - data["length"].clamp(max=x.shape[1])) // 2
    places = (torch.arange(x.shape[1]) - late[:, None]) % x.shape[1]
    x = halved(x.gather(1, places))[:, None]
    return RealData(x, data["y"].long(), data["speaker"].long(), {"sfreq": 4000.0})


def exercises(shared: Path, seed: int) -> RealData:
    """Read windows of 4 s of a watch by subject: both arms, channels standardized."""
    data = archive(shared / "watch-imu" / "watch-imu-4s.npz")
    x = data["x"].float()
    x = (x - x.mean((0, 2), keepdim=True)) / x.std((0, 2), keepdim=True)
    return RealData(x, data["y"].long(), data["subject"].long(), {"sfreq": 50.0})


def sleep(shared: Path, seed: int) -> RealData:
    """Read windows of 30 s at 64 Hz by subject, 1 000 awake and 1 000 of deep sleep, centered."""
    data = archive(shared / "sleep-ucddb" / "ucddb-wake-deep-30s.npz")
    deep = torch.isin(data["stage"], torch.tensor([4, 5]))
    rows = ((data["flat"] <= 0.5) & (deep | (data["stage"] == 0))).nonzero()[:, 0]
    rows = rows[per_class(deep[rows].long(), 1000, seed)]
    x = halved(data["x"][rows].float())
    x = x - x.mean(1, keepdim=True)
    x = (x / x.std())[:, None]
    return RealData(x, deep[rows].long(), data["subject"][rows].long(), {"sfreq": 64.0})


def like_mnist(name: str, size: int, classes: tuple[int, ...] = tuple(range(10))) -> Loader:
    """Read training images in the format of MNIST, as many of each class."""

    def load(shared: Path, seed: int) -> RealData:
        folder = next((f for f in (shared / name, DEBIAN / name) if f.is_dir()), shared / name)
        y = idx(folder / "train-labels-idx1-ubyte.gz", 8).long()
        x = idx(folder / "train-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
        some = torch.isin(y, torch.tensor(classes)).nonzero()[:, 0]
        rows = some[per_class(y[some], size // len(classes), seed)]
        return RealData(x[rows].float() / 255, torch.searchsorted(torch.tensor(classes), y[rows]))

    return load


def cifar(shared: Path, seed: int, size: int = 5000) -> RealData:
    """Read training images: some of the hundred strips of 500."""
    strips = torch.randperm(100, generator=Generator().manual_seed(seed))[: size // 500]
    return cifar_strips(shared, "train", strips.tolist())


def cifar_strips(shared: Path, part: str, strips: Sequence[int]) -> RealData:
    """Read strips of 500 images."""
    from PIL import Image

    folder = shared / "cifar10"
    labels = archive(folder / "labels.npz")[part].long().view(-1, 500)[torch.tensor([*strips])]
    images = [
        np.asarray(Image.open(folder / f"{part}_{i:03d}.webp").convert("RGB")) for i in strips
    ]
    x = torch.from_numpy(np.concatenate(images)).view(-1, 32, 32, 3).permute(0, 3, 1, 2)
    return RealData(x.float().contiguous() / 255, labels.flatten())
