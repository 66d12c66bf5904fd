"""Measure accuracy and invariance against time: results/inference.json.

A net is trained on each data set with transforms that roughly keep its labels. Then each way to
predict is timed in turns within one process, beside 20 independent copies. Its accuracy, and its
invariance to views by the net's own augmentation (median over test samples), are means over seeds
of the params. Data sets that are missing are skipped, with a message.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from copies import digits as small_digits
from copies import train, trunk_of
from real import dream, like_mnist
from recovery_cells import code_commit
from torch import Generator, Tensor, nn

from augnet import AugmentationLayer, AugmentationModule, AugNet, build_transforms, invariance
from augnet import summary as summarize
from augnet.paper.datasets.sleep.synthetic import CHANNELS
from augnet.paper.datasets.splits import Samples, Splits

RESULTS = Path(__file__).parents[1] / "results" / "inference.json"
DEBIAN = Path("/usr/share/datasets")
REFERENCE = "independent, C = 20"
TOLERANCES = (0.4, 0.3, 0.2, 0.1)
TARGET = "the invariance of 20 independent copies, within 0.005, in at most a third of the time"

Layers = tuple[list[dict], ...]


@dataclass(frozen=True)
class Setting:
    """A data set, the layers of its net, and how the trunk is trained."""

    load: Callable[[Path], Splits]
    layers: Layers
    epochs: int
    lr: float
    width: int = 16


def digits(data: Path) -> Splits:
    """Return the digits of scikit-learn."""
    return small_digits()[0]


def fashion(data: Path) -> Splits:
    """Return 4000 training images of Fashion-MNIST, and 500 fresh ones."""
    folder = next((each for each in (data, DEBIAN) if (each / "fashion-mnist").is_dir()), data)
    first, fresh = like_mnist("fashion-mnist")(folder, 0)
    parts = (Samples(s.x[:most], s.y[:most]) for s, most in ((first, 4000), (fresh, 500)))
    train, test = parts
    return Splits(train, test, test)


def sleep(data: Path) -> Splits:
    """Return windows of sleep: of four fifths of the subjects, and fresh ones of the others."""
    first, fresh = dream(data, 0)
    return Splits(first, fresh, Samples(fresh.x[:500], fresh.y[:500]))


SETTINGS = {
    "digits": Setting(digits, ([{"name": "rotate", "limit": 40.0}],), 30, 3e-3, width=4),
    "fashion-mnist": Setting(
        fashion,
        (
            [
                {"name": "rotate", "limit": 20.0},
                {"name": "translate_x", "limit": 0.1},
                {"name": "translate_y", "limit": 0.1},
                {"name": "scale", "limit": 1.2},
            ],
            [{"name": "horizontal_flip", "limit": 0.5}],
        ),
        8,
        3e-3,
        width=8,
    ),
    "sleep": Setting(
        sleep,
        (
            [
                {"name": "time_reverse", "limit": 0.5},
                {"name": "gaussian_noise", "limit": 0.2},
                {"name": "ft_surrogate", "limit": 1.0},
                {"name": "bandstop", "limit": 2.0},
            ],
            [{"name": "sign_flip", "limit": 0.5}],
        ),
        40,
        2e-3,
        width=8,
    ),
}


def build(setting: Setting, data: Splits) -> AugNet:
    """Train a net with one transform per sample and layer."""
    shape, classes = tuple(data.train.x.shape[1:]), int(data.train.y.max()) + 1
    shared = {"sfreq": 100.0, "channels": CHANNELS} if len(shape) == 2 else {}
    layers = [
        AugmentationLayer(*build_transforms(each, **shared), magnitude=1.0, mixing="drawn")
        for each in setting.layers
    ]
    for layer in layers:
        layer.requires_grad_(False)
    trunk = trunk_of(shape, classes, width=setting.width)
    net = AugNet(AugmentationModule(*layers), trunk)
    train(net, data, setting.epochs, setting.lr)
    return net.eval()


def ways(net: AugNet, distilled: nn.Module) -> dict[str, Callable[[Tensor, Generator], Tensor]]:
    """Return all ways to predict: functions of samples and a generator."""

    def copies(x: Tensor, generator: Generator, sampling: str, count: int) -> Tensor:
        net.sampling = sampling
        return net(x, generator, count)

    def adaptive(x: Tensor, generator: Generator, tolerance: float) -> Tensor:
        return net.predict(x, tolerance, generator, copies=20).output

    found: dict[str, Callable[[Tensor, Generator], Tensor]] = {
        REFERENCE: partial(copies, sampling="independent", count=20),
        "independent, C = 5": partial(copies, sampling="independent", count=5),
        "stratified, C = 5": partial(copies, sampling="stratified", count=5),
        "stratified, C = 20": partial(copies, sampling="stratified", count=20),
    }
    for tolerance in TOLERANCES:
        found[f"predict, tolerance {tolerance}"] = partial(adaptive, tolerance=tolerance)
    found["distilled into a larger trunk, one pass"] = lambda x, generator: distilled(x)
    found["the trunk, one pass"] = lambda x, generator: net.trunk(x)
    return found


def _call(way: Callable[[Tensor, Generator], Tensor], source: Generator, x: Tensor) -> Tensor:
    """Predict with a generator of its own, so that views do not depend on how many it draws."""
    return way(x, source)


@torch.no_grad()
def measure(net: AugNet, distilled: nn.Module, test: Samples, repeats: int) -> Iterator[dict]:
    """Time all ways in turns, by processor time; score each with the same seeds."""
    x, y = test
    all_ways = ways(net, distilled)
    times: dict[str, list[float]] = {name: [] for name in all_ways}
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in all_ways}
    for seed in range(repeats):
        for name, way in all_ways.items():
            generator = Generator().manual_seed(seed)
            start = time.process_time()
            answers = way(x, generator)
            times[name].append(time.process_time() - start)
            right = (answers.argmax(1) == y).float().mean().item()
            pairs = Generator().manual_seed(1000 + seed)  # the same views for all
            seeded = partial(_call, way, generator)
            score = invariance(seeded, net.augment, x, pairs)
            scores[name].append((right, summarize(score).median))
    base = statistics.median(times[REFERENCE])
    for name in all_ways:
        accuracy, score = map(statistics.mean, zip(*scores[name], strict=True))
        row = {
            "way": name,
            "accuracy": round(accuracy, 4),
            "invariance": round(score, 4),
            "time": round(statistics.median(times[name]) / base, 3),
        }
        if name.startswith("predict"):
            tolerance = float(name.split()[-1])
            made = net.predict(x, tolerance, Generator().manual_seed(0), copies=20).copies
            row["mean copies"] = round(made.float().mean().item(), 2)
        yield row


def main() -> None:
    """Measure the named data sets; keep the results of others."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help=f"some of {', '.join(SETTINGS)}; all by default")
    options.add_argument("--data", type=Path, default=Path("data"), help="the folder of data sets")
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    torch.set_num_threads(1)
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document |= {"command": "python benchmarks/inference.py", "target": TARGET}
    for name in given.names or SETTINGS:
        setting = SETTINGS[name]
        try:
            data = setting.load(given.data)
        except (OSError, ValueError) as error:
            print(f"{name}: skipped, {error}")
            continue
        print(name)
        torch.manual_seed(0)
        net = build(setting, data)
        into = trunk_of(tuple(data.train.x.shape[1:]), int(data.train.y.max()) + 1)
        with torch.enable_grad():
            distilled = net.distill(data.train.x, epochs=10, lr=setting.lr, into=into)
        rows = []
        for row in measure(net, distilled, data.test, given.repeats):
            print(" ", *row.values())
            rows.append(row)
        document.setdefault("data", {})[name] = {"commit": code_commit(), "rows": rows}
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
