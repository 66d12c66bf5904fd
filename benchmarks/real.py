"""Run `learn` on real data: results/real.json.

scikit-learn's digits come with it. MNIST, Fashion-MNIST (Debian's dataset-fashion-mnist) and the
sleep recordings are read from --data; missing ones are skipped, with a message. Resumable: seeds
that are in the file already are not run again.
"""

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from augnet import learn
from augnet.paper.datasets import Samples, sleep
from augnet.paper.datasets.sleep.synthetic import CHANNELS
from augnet.paper.run import commit
from augnet.transforms import Rotate, TransformSpec

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "real.json"
ANGLES = list(range(-180, 181, 15))
ROTATE: list[TransformSpec] = [{"name": "rotate", "limit": 180}]
SHAPES: list[TransformSpec] = [
    *ROTATE,
    {"name": "translate_x", "limit": 0.5},
    {"name": "translate_y", "limit": 0.5},
    {"name": "shear_x", "limit": 1.0},
    {"name": "shear_y", "limit": 1.0},
    {"name": "scale", "limit": 3.0},
    "horizontal_flip",
    "vertical_flip",
]
WAVES: list[TransformSpec] = [
    "time_reverse",
    "sign_flip",
    {"name": "time_mask", "limit": 1500},
    {"name": "gaussian_noise", "limit": 1.0},
    {"name": "amplitude_scale", "limit": 3.0},
    "frequency_shift",
    "ft_surrogate",
    {"name": "bandstop", "limit": 10.0},
    "channel_symmetry",
    "channel_shuffle",
    "channel_dropout",
    {"name": "sensor_rotation_z", "limit": 90.0},
]


def digits(data: Path, seed: int) -> tuple[Samples, Samples]:
    """Return scikit-learn's digits, 8 by 8: the first four fifths, and fresh ones from the rest."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x, y = torch.tensor(bunch.images[:, None] / 16).float(), torch.tensor(bunch.target)
    return Samples(x[:1437], y[:1437]), Samples(x[1437:], y[1437:])


def idx(file: Path, header: int) -> Tensor:
    """Read bytes in the format of MNIST."""
    return torch.tensor(np.frombuffer(gzip.decompress(file.read_bytes())[header:], np.uint8))


def like_mnist(name: str) -> Callable[[Path, int], tuple[Samples, Samples]]:
    """Read four files of the format of MNIST: 4000 training images, and fresh ones of the test."""

    def load(data: Path, seed: int) -> tuple[Samples, Samples]:
        def read(part: str) -> Samples:
            x = idx(data / name / f"{part}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
            return Samples(x, idx(data / name / f"{part}-labels-idx1-ubyte.gz", 8).long())

        train, test = read("train"), read("t10k")
        rows = torch.randperm(len(train.x), generator=torch.Generator().manual_seed(seed))
        return Samples(train.x[rows] / 255, train.y[rows]), Samples(test.x / 255, test.y)

    return load


def dream(data: Path, seed: int) -> tuple[Samples, Samples]:
    """Read windows of sleep: of four fifths of the 28 subjects, and fresh ones of the others."""
    parts = sleep.load(seed, source="dream", root=str(data / "sleep-dream"), nights=(20, 2, 6))
    both = (torch.cat(values) for values in zip(parts.train, parts.valid, strict=True))
    return Samples(*both), parts.test


@dataclass(frozen=True)
class Task:
    """A data set, some of its classes or all, and the transforms to measure."""

    load: Callable[[Path, int], tuple[Samples, Samples]]
    transforms: list[TransformSpec]
    folder: str = ""
    classes: tuple[int, ...] = ()
    budget: int | None = None
    rotated: bool = False


MNIST, FASHION = like_mnist("mnist"), like_mnist("fashion-mnist")
TASKS = {
    "digits, 6 and 9": Task(digits, ROTATE, classes=(6, 9), rotated=True),
    "MNIST, 6 and 9": Task(MNIST, ROTATE, "mnist", (6, 9), rotated=True),
    "digits, rotated": Task(digits, ROTATE, rotated=True),
    "MNIST, rotated": Task(MNIST, ROTATE, "mnist", rotated=True),
    "digits, rotated, three times as long": Task(digits, ROTATE, budget=245),
    "MNIST, rotated, three times as long": Task(MNIST, ROTATE, "mnist", budget=87),
    "digits": Task(digits, SHAPES),
    "MNIST": Task(MNIST, SHAPES, "mnist"),
    "Fashion-MNIST": Task(FASHION, SHAPES, "fashion-mnist"),
    "sleep": Task(dream, WAVES, "sleep-dream"),
}


def some(samples: Samples, classes: tuple[int, ...], most: int) -> Samples:
    """Take the first samples of some classes, which are counted from 0."""
    x, y = samples
    if classes:
        rows = torch.isin(y, torch.tensor(classes))
        x, y = x[rows], torch.searchsorted(torch.tensor(classes), y[rows])
    return Samples(x[:most], y[:most])


@torch.no_grad()
def accuracy_by_angle(trunk: nn.Module, x: Tensor, y: Tensor) -> list[list[float]]:
    """Return the accuracy of each class at each of the ANGLES.

    Of the trunk alone: the net would rotate its copies further.
    """
    rows = []
    for angle in ANGLES:
        views = Rotate(limit=180).transform(x, torch.full((len(x),), float(angle)))
        right = trunk(views).argmax(1) == y
        rows.append([round(right[y == c].float().mean().item(), 3) for c in y.unique()])
    return [list(column) for column in zip(*rows, strict=True)]


def run(task: Task, data: Path, seed: int) -> dict[str, object]:
    """Run `learn` once."""
    known, fresh = task.load(data, seed)
    known, fresh = some(known, task.classes, 4000), some(fresh, task.classes, 2000)
    shared = {} if known.x.dim() == 4 else {"sfreq": 100, "channels": CHANNELS}
    begun = time.perf_counter()
    options = {"budget": task.budget, "seed": seed, **shared}
    result = learn(*known, task.transforms, progress=True, **options)
    seconds = time.perf_counter() - begun
    with torch.no_grad():
        averaged = result.net(fresh.x, torch.Generator().manual_seed(0)).argmax(1)
        plain = result.net.trunk(fresh.x).argmax(1)
    cell: dict[str, object] = {
        "seed": seed,
        "samples": len(known.x),
        "fresh": len(fresh.x),
        "chance": round(float(fresh.y.bincount().max()) / len(fresh.y), 3),
        "accuracy": round((averaged == fresh.y).float().mean().item(), 3),
        "accuracy without copies": round((plain == fresh.y).float().mean().item(), 3),
        "seconds": round(seconds),
        "commit": commit(),
        "invariances": [
            {
                "transform": row.transform.name,
                "status": row.status,
                "strength": float(f"{row.strength:.4g}"),
                "interval": [float(f"{end:.4g}") for end in row.interval],
                "limit": row.transform.limit,
                "unit": row.unit,
                "text": str(row),
            }
            for row in result.invariances
        ],
    }
    if task.rotated:
        cell["accuracy_by_angle"] = accuracy_by_angle(result.net.trunk, *fresh)
    return cell


def save(kept: dict[str, list[dict[str, object]]]) -> None:
    """Write all cells, tasks in order."""
    record = {
        "command": "python benchmarks/real.py",
        "machine": f"{os.cpu_count()} cores, one thread used, torch {torch.__version__}",
        "angles": ANGLES,
        "tasks": {name: kept[name] for name in TASKS if name in kept},
    }
    text = json.dumps(record, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Run the cells that are not in the file yet."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--only", choices=TASKS, nargs="*", default=list(TASKS))
    options = options.parse_args()
    torch.set_num_threads(1)
    kept = json.loads(RESULTS.read_text())["tasks"] if RESULTS.exists() else {}
    for seed in range(options.seeds):
        for name in options.only:
            if any(cell["seed"] == seed for cell in kept.get(name, [])):
                continue
            folder = options.data / TASKS[name].folder
            if TASKS[name].folder and not folder.is_dir():
                print(f"{name} is skipped: there is no {folder}; set its place with --data DIR")
                continue
            cell = run(TASKS[name], options.data, seed)
            kept.setdefault(name, []).append(cell)
            save(kept)
            print(
                name,
                seed,
                cell["accuracy"],
                *(row["text"] for row in cell["invariances"]),
                sep="\n  ",
            )


if __name__ == "__main__":
    main()
