"""Are the default trunks as good as what people would use without thinking? results/trunks.json.

    python benchmarks/trunks.py [--seeds 5] [--only wine mnist]

All networks are trained without augmentation, by the recipe of `learn` and for as many steps.
Images: beside a plain network of four convolutions. Values: beside logistic regression and a random
forest of scikit-learn. Resumable, as benchmarks/recovery.py is.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import recovery_real_data as real
import torch
import value_data
from recovery_cells import Cell, CellFile, Key, refuse_mixed
from torch import Generator, nn

from augnet import AugNet, identity
from augnet.learn import LearnConfig, inputs
from augnet.learn.net import NetTraining
from augnet.learn.reference import Reference
from augnet.trunks import build_trunk

CONFIG = LearnConfig()
FILE = CellFile(
    "trunks",
    ("data", "method", "seed"),
    code=("augnet/trunks", "augnet/training", "augnet/learn/net.py", "benchmarks/trunks.py"),
)
VALUES = ("wine", "breast_cancer", "digits")
IMAGES = ("mnist", "fashion-mnist", "cifar-10")
SIGNALS = ("exercises", "sleep")
TRAIN = 0.7
"""The part of samples of scikit-learn that is trained on; a seed draws it."""


def values(name: str, seed: int) -> value_data.Pair:
    """Read a data set that comes with scikit-learn; columns are standardized as trained."""
    import sklearn.datasets

    x, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    samples, labels = torch.tensor(x).float(), torch.tensor(y).long()
    order = torch.randperm(len(y), generator=Generator().manual_seed(seed))
    some, others = order[: round(TRAIN * len(y))], order[round(TRAIN * len(y)) :]
    return (
        real.RealData(samples[some], labels[some]),
        real.RealData(samples[others], labels[others]),
    )


def plain_cnn(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build what tutorials build: twice two convolutions and a pooling, then a hidden layer."""

    def two(inputs: int, filters: int) -> list[nn.Module]:
        first, second = (nn.Conv2d(i, filters, 3, padding=1) for i in (inputs, filters))
        return [first, nn.ReLU(), second, nn.ReLU(), nn.MaxPool2d(2)]

    side = shape[1] // 4
    return nn.Sequential(
        *two(shape[0], 32), *two(32, 64),
        nn.Flatten(), nn.Linear(64 * side * side, 128), nn.ReLU(), nn.Linear(128, outputs),
    )  # fmt: skip


def by_network(
    build: Callable[[tuple[int, ...], int], nn.Module], train: real.RealData, test: Any, seed: int
) -> float:
    """Train a network without augmentation; return the mean accuracy over classes."""
    torch.manual_seed(seed)
    generator = Generator().manual_seed(seed)
    data = inputs.prepare_data(train.x, train.y, generator, CONFIG, train.groups)
    trunk = build(tuple(train.x.shape[1:]), data.outputs)
    steps = round(CONFIG.net_steps * Reference(data, trunk, generator, CONFIG).planned)
    net = AugNet(identity, trunk, data.aggregate, copies=1)
    for _ in NetTraining(data, net, generator, CONFIG, steps).fit(1):
        pass
    with torch.no_grad():
        output = torch.cat([net.eval()(chunk) for chunk in test.x.split(500)])
    return balanced(output.argmax(1), test.y)


def by_sklearn(method: str, train: real.RealData, test: real.RealData, seed: int) -> float:
    """Fit a classifier of scikit-learn."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    model = logistic if method.startswith("log") else RandomForestClassifier(random_state=seed)
    model.fit(train.x.numpy(), train.y.numpy())
    return balanced(torch.tensor(model.predict(test.x.numpy())), test.y)


def balanced(predicted: torch.Tensor, y: torch.Tensor) -> float:
    """Return the mean accuracy over classes."""
    right = (predicted == y).double()
    return float(torch.stack([right[y == each].mean() for each in y.unique()]).mean())


def run(key: Key) -> Cell:
    """Train and test one method on one data set with one seed."""
    name, method, seed = key
    table = name in VALUES
    train, test = values(name, seed) if table else value_data.DATA[name](real.SHARED, seed)
    if method in ("logistic regression", "random forest"):
        return {"score": by_sklearn(method, train, test, seed)}
    build = plain_cnn if method == "plain cnn" else None
    trunk = build or (lambda shape, outputs: build_trunk(method, shape, outputs))
    return {"score": by_network(trunk, train, test, seed)}


def methods(name: str) -> list[str]:
    """List what is compared on a data set."""
    if name in VALUES:
        return ["medium", "logistic regression", "random forest"]
    return ["small", "medium", *(["plain cnn"] if name in IMAGES else [])]


def report(cells: list[Cell]) -> None:
    """Print and write the mean scores."""
    scores: dict[str, dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        scores[cell["data"]][cell["method"]].append(cell)
    table = {
        name: {
            method: {
                "score": sum(cell["score"] for cell in mine) / len(mine),
                "processor seconds": sum(cell["processor seconds"] for cell in mine) / len(mine),
                "seeds": len(mine),
            }
            for method, mine in by.items()
        }
        for name, by in scores.items()
    }
    for name, by in table.items():
        found = (
            f"{m} {100 * r['score']:.1f} ({r['processor seconds']:.0f} s)" for m, r in by.items()
        )
        print(f"{name:16}", ", ".join(found))
    seeds = 1 + max((cell["seed"] for cell in cells), default=-1)
    FILE.write(f"trunks.py --only {' '.join(table)} --seeds {seeds}", {"table": table}, cells)


def main() -> None:
    """Run what is missing, then report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*VALUES, *IMAGES, *SIGNALS]
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--only", nargs="+", choices=every, default=every)
    options.add_argument("--processes", type=int, default=os.cpu_count())
    options.add_argument("--restart", action="store_true", help="remove existing cells")
    options.add_argument("--report", action="store_true", help="run nothing, rebuild the tables")
    options = options.parse_args()
    if options.restart:
        FILE.restart()
    if not options.report:
        keys = [(n, m, s) for s in range(options.seeds) for n in options.only for m in methods(n)]
        FILE.run_missing(run, keys, options.processes, False)
    cells = FILE.read()
    refuse_mixed(cells, False)
    report(cells)


if __name__ == "__main__":
    main()
