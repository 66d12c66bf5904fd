"""Audit five models with a planted weakness: results/audit.json.

Each model is trained here, with its weakness, on samples of its own; the audit sees others. A
finding is right if the weakness is found, and the transform that is none of it matches. Resumable:
seeds that are in the file already are not run again, unless they ran at another commit.

    python benchmarks/audit.py --seeds 5
    python benchmarks/audit.py --passes     # forward passes of 2 000 images and 20 transforms
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet import audit
from augnet.learn import Invariance
from augnet.paper.run import commit
from augnet.transforms import TransformSpec, build_transforms

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "audit.json"
Samples = tuple[Tensor, Tensor]
NOISE: TransformSpec = {"name": "gaussian_noise", "limit": 0.02}
"""The transform that is no weakness of any model."""


LETTERS = "ABEFHKPR"
"""Letters that are alike, and that nobody confuses when they are turned by 30°."""


def letters(count: int, seed: int) -> Samples:
    """Draw upright letters: a little off the center, dark or bright, with noise."""
    from PIL import Image, ImageDraw, ImageFont

    source = Generator().manual_seed(seed)
    font, images = ImageFont.load_default(size=15), []
    for letter in LETTERS:
        image = Image.new("L", (20, 20))
        ImageDraw.Draw(image).text((10, 10), letter, fill=255, font=font, anchor="mm")
        images.append(torch.tensor(list(image.tobytes())).reshape(20, 20) / 255)
    y = torch.arange(count) % len(LETTERS)
    moves = torch.randint(-1, 2, (count, 2), generator=source).tolist()
    x = torch.stack([images[k].roll(move, (0, 1)) for k, move in zip(y, moves, strict=True)])
    x = x * (0.6 + 0.4 * torch.rand(count, 1, 1, generator=source))
    x = x + 0.03 * torch.randn(count, 20, 20, generator=source)
    return x.clamp(0, 1)[:, None], y


def grid(size: int) -> tuple[Tensor, Tensor]:
    """Return the places of pixels, from -1 to 1: down, and to the right."""
    places = torch.linspace(-1, 1, size)
    return places[:, None].expand(size, size), places[None].expand(size, size)


def arrows(count: int, seed: int) -> Samples:
    """Draw a bar on the left or on the right, dark or bright: sides matter, four classes."""
    source = Generator().manual_seed(seed)
    y = torch.arange(count) % 4
    _, across = grid(16)
    place = 0.5 * (2.0 * (y % 2) - 1) + 0.2 * torch.rand(count, generator=source) - 0.1
    near = (across - place[:, None, None]).abs() < 0.2
    level = (0.45 + 0.45 * (y // 2))[:, None, None]
    x = 0.03 * torch.randn(count, 16, 16, generator=source) + near * level
    return x.clamp(0, 1)[:, None], y


def shapes(count: int, seed: int) -> Samples:
    """Draw a disk, a ring or a cross of some size in the center of an image."""
    source = Generator().manual_seed(seed)
    y = torch.arange(count) % 3
    down, across = grid(24)
    radius = (0.3 + 0.12 * torch.rand(count, generator=source))[:, None, None]
    distance = (down.square() + across.square()).sqrt()
    disk = distance < radius
    ring = disk & (distance > 0.6 * radius)
    cross = (torch.minimum(down.abs(), across.abs()) < 0.3 * radius) & (distance < 1.2 * radius)
    drawn = torch.stack((disk, ring, cross))[y, torch.arange(count)]
    x = 0.8 * drawn + 0.05 * torch.randn(count, 24, 24, generator=source)
    return x.clamp(0, 1)[:, None], y


def evoked(count: int, seed: int) -> Samples:
    """Draw a bump up or down on a rhythm, slow or fast: four classes of signals."""
    source = Generator().manual_seed(seed)
    y = torch.arange(count) % 4
    time_ = torch.arange(128) / 128
    up = 2.0 * (y % 2) - 1
    bump = torch.exp(-0.5 * ((time_ - 0.5) / 0.06) ** 2)
    phase = 2 * torch.pi * torch.rand(count, 1, generator=source)
    rhythm = torch.sin(2 * torch.pi * (8 + 12 * (y // 2))[:, None] * time_ + phase)
    x = 2 * up[:, None] * bump + rhythm
    x = x[:, None].repeat(1, 2, 1) + 0.3 * torch.randn(count, 2, 128, generator=source)
    return x / x.std(), y


def spots(count: int, seed: int) -> Samples:
    """Draw a spot at half the height of an image; the value is how far it is to the right."""
    source = Generator().manual_seed(seed)
    y = 1.2 * torch.rand(count, generator=source) - 0.6
    down, across = grid(16)
    squared = (across - y[:, None, None]).square() + down.square()
    x = torch.exp(-squared / 0.03) + 0.03 * torch.randn(count, 16, 16, generator=source)
    return x.clamp(0, 1)[:, None], y


def cnn(outputs: int) -> nn.Module:
    """Build a small network for gray images."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, outputs),
    )  # fmt: skip


class Patches(nn.Module):
    """A small vision transformer: patches with places, attention, a mean."""

    def __init__(self, outputs: int, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Conv2d(1, width, 4, stride=4)
        self.places = nn.Parameter(0.1 * torch.randn(1, 36, width))
        self.layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        self.head = nn.Linear(36 * width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Predict the class."""
        tokens = self.embed(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.layer(tokens).flatten(1))


class Power(nn.Module):
    """A network of signals that squares its filters' outputs: it cannot see a sign."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.filters = nn.Conv1d(2, 16, 25, bias=False)
        self.head = nn.Linear(16, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Predict the class from the power of each filter."""
        return self.head(self.filters(x).square().mean(2).log1p())


def values(outputs: int) -> nn.Module:
    """Build a network that predicts one value per image."""
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(64), nn.ReLU(), nn.Linear(64, outputs),
                         nn.Flatten(0))  # fmt: skip


@dataclass(frozen=True)
class Task:
    """Data, a network with a weakness, the transform that shows it, and the right finding."""

    draw: Callable[[int, int], Samples]
    network: Callable[[int], nn.Module]
    outputs: int
    transform: TransformSpec
    expected: str
    samples: int = 600
    trained: int = 1200
    flips: bool = False
    """Whether it is trained with flips."""


TASKS = {
    "CNN without rotation, letters that allow 30°": Task(
        letters, cnn, 8, {"name": "rotate", "limit": 30.0}, "fragile"
    ),
    "CNN with flips, sides matter": Task(arrows, cnn, 4, "horizontal_flip", "blind", flips=True),
    "transformer, objects in the center": Task(
        shapes, Patches, 3, {"name": "translate_x", "limit": 0.25}, "fragile"
    ),
    "EEG network blind to sign": Task(evoked, Power, 4, "sign_flip", "blind"),
    "regression, spots at one height": Task(
        spots, values, 1, {"name": "translate_y", "limit": 0.25}, "fragile"
    ),
}


def train(task: Task, seed: int, epochs: int = 12) -> nn.Module:
    """Train the network of a task on samples that the audit does not see."""
    torch.manual_seed(seed)
    x, y = task.draw(task.trained, 1000 + seed)
    network = task.network(task.outputs)
    network(x[:2])
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            batch = x[rows]
            if task.flips:
                batch = torch.where(torch.rand(len(batch), 1, 1, 1) < 0.5, batch.flip(3), batch)
            output = network(batch)
            loss = F.mse_loss(output, y[rows]) if task.outputs == 1 else F.cross_entropy(
                output, y[rows])  # fmt: skip
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return network.eval()


def run(name: str, seed: int) -> dict[str, Any]:
    """Train a model, audit it, and return what was found."""
    task = TASKS[name]
    model = train(task, seed)
    x, y = task.draw(task.samples, seed)
    found = audit(model, x, y, [task.transform, NOISE], seed=seed, threads=1)
    weak, other = (found[each.name] for each in build_transforms([task.transform, NOISE]))
    return {
        "task": name,
        "seed": seed,
        "score": found.score,
        "transform": weak.name,
        "expected": task.expected,
        "finding": weak.finding,
        "text": str(weak),
        "cost": weak.cost,
        "labels": {"status": weak.labels.status, "strength": weak.labels.strength},
        "control": other.finding,
        "control_text": str(other),
        "passes": found.predicted / found.planned,
        "right": weak.finding == task.expected,
        "commit": commit(),
    }


def passes() -> dict[str, Any]:
    """Count the forward passes of an audit of 2 000 images with 20 transforms."""
    names = [
        "translate_x", "translate_y", "shear_x", "shear_y", "rotate", "scale", "horizontal_flip",
        "vertical_flip", "brightness", "contrast", "saturation", "hue", "sharpness", "solarize",
        "posterize", "invert", "gray", "autocontrast", "equalize", "cutout",
    ]  # fmt: skip
    x, y = shapes(2000, 0)
    x = x.repeat(1, 3, 1, 1)
    labels = [
        Invariance(each, "bounded", float(each.strength(0.5)), (
            float(each.strength(0.4)), float(each.strength(0.6))))
        for each in build_transforms(names)
    ]  # fmt: skip
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 576, 3)).eval()
    found = audit(model, x, y, learned=labels, threads=1)
    return {
        "images": len(x),
        "transforms": len(found.rows),
        "passes": found.predicted,
        "strengths_times_samples": found.planned,
        "ratio": found.predicted / found.planned,
        "commit": commit(),
    }


def main() -> None:
    """Run all tasks with all seeds, and write each result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--tasks", default="", help="words of their names, separated by commas")
    parser.add_argument("--passes", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = json.loads(given.out.read_text()) if given.out.exists() else {"runs": []}
    done["command"] = "python benchmarks/audit.py"
    done["machine"] = f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}"
    if given.passes:
        done["passes"] = passes()
        print(done["passes"])
    known = {(run["task"], run["seed"]) for run in done["runs"] if run["commit"] == commit()}
    done["runs"] = [run for run in done["runs"] if (run["task"], run["seed"]) in known]
    words = [word for word in given.tasks.split(",") if word]
    for seed in range(given.first, given.first + (0 if given.passes else given.seeds)):
        for name in TASKS:
            if (name, seed) in known or (words and not any(word in name for word in words)):
                continue
            start = time.process_time()
            row = run(name, seed) | {"cpu_seconds": round(time.process_time() - start, 1)}
            print("right" if row["right"] else "WRONG", row["text"], "|", row["control_text"])
            done["runs"].append(row)
            given.out.write_text(f"{json.dumps(done, indent=1)}\n")
    given.out.write_text(f"{json.dumps(done, indent=1)}\n")


if __name__ == "__main__":
    main()
