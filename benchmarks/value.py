"""Is the net of `learn` better than others with the same trunk and steps? results/value.*.

    python benchmarks/value.py --seeds 5 [--only mnist cifar-10] [--methods none learn]
    python benchmarks/value.py --report

Every method trains the default trunk of nets with the recipe of `learn` for the same number of
steps. Test samples are those of other drawers, speakers, subjects or slides where there are groups.
Missing data is skipped, with the reason. Resumable, as benchmarks/recovery.py is.
"""

import argparse
import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import recovery_real_data as real
import torch
import value_data as data
from recovery_cells import RESULTS, SHOWN, Cell, CellFile, Key, refuse_mixed
from torch import Generator, Tensor, nn

from augnet import Augerino, AugNet, MagnitudeNorm, identity
from augnet.layers import Policy, Step
from augnet.layers.published import crop_flip, randaugment, trivialaugment
from augnet.learn import LearnConfig, Learner, inputs
from augnet.learn.net import NetTraining
from augnet.learn.reference import Reference
from augnet.net import Augment
from augnet.training import descend
from augnet.transforms import build_transforms
from augnet.trunks import TRUNKS

CODE = (
    *(f"augnet/{name}" for name in ("learn", "layers", "transforms", "trunks", "training")),
    "augnet/net.py", "augnet/aggregate.py",
    ":!augnet/layers/tuner.py", ":!augnet/trunks/sleep.py", *SHOWN,
    *(f"benchmarks/{name}.py" for name in ("value", "value_data", "recovery_real_data")),
)  # fmt: skip
FILE = CellFile("value", ("data", "method", "seed"), code=CODE)
CONFIG = LearnConfig()
BUILDERS = dict(TRUNKS)


class Counter:
    """Count the samples that pass through trunks and their copies."""

    def __init__(self) -> None:
        self.trained = self.evaluated = 0

    def __call__(self, module: nn.Module, given: tuple[Tensor, ...]) -> None:
        """Count one call of the trunk."""
        if module.training:
            self.trained += len(given[0])
        else:
            self.evaluated += len(given[0])

    def __deepcopy__(self, memo: object) -> "Counter":
        return self


def count_passes() -> dict[str, Counter]:
    """Count the samples that pass through the default trunks that are built from now on."""
    counters = {name: Counter() for name in ("small", "medium")}
    for name, counter in counters.items():
        TRUNKS[name] = _counted(BUILDERS[name], counter)
    return counters


def _counted(build: Callable[..., nn.Module], counter: Counter) -> Callable[..., nn.Module]:
    def built(*given: Any, **named: Any) -> nn.Module:
        trunk = build(*given, **named)
        trunk.register_forward_pre_hook(counter)
        return trunk

    return built


def passes_of(counters: dict[str, Counter]) -> Cell:
    """Return what was counted: samples that were trained on, and others."""
    trained = {name: counter.trained for name, counter in counters.items()}
    return {
        "passes": sum(trained.values()),
        "passes of the net's trunk": trained["medium"],
        "evaluated": sum(counter.evaluated for counter in counters.values()),
    }


def by_learn(train: real.RealData, known: dict[str, Any], seed: int) -> tuple[AugNet, Cell]:
    """Return the net of `learn`, with all its defaults and all transforms that fit."""
    counters = count_passes()
    groups = {} if train.groups is None else {"groups": train.groups}
    learner = Learner(train.x, train.y, seed=seed, **groups, **known)
    list(learner)
    result = learner.result
    gain = result.gain
    return result.net, passes_of(counters) | {
        "kept": {row.transform.name: row.benefit for row in result.invariances if row.kept},
        "draws": None if gain is None else gain.draws,
        "held-out scores": [] if gain is None else list(gain.scores),
        "phases": {name: round(seconds, 1) for name, seconds in learner.seconds.items()},
    }


class AugerinoTraining(NetTraining):
    """Train the widths of Augerino together with the trunk, with its regularizer (Benton 2020)."""

    def _views(self, rows: Tensor) -> Tensor:
        return self.data.x[rows]

    def _step(self, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        rows, x = batch
        augment = self.net.augment
        if not hasattr(self, "widths"):
            self.widths = torch.optim.Adam(augment.parameters(), lr=1e-2)
        loss = self.data.loss(self.net(x, self.generator), self.data.y[rows])
        loss = loss + 0.05 * MagnitudeNorm()(augment)
        self.widths.zero_grad()
        descend(self.optimizer, loss)
        self.widths.step()
        return {"loss": loss.detach()}


def trained_with(train: real.RealData, augment: Augment, seed: int) -> tuple[AugNet, Cell]:
    """Train with an augmentation; that of policies is active in training only."""
    counters = count_passes()
    torch.manual_seed(seed)
    generator = Generator().manual_seed(seed)
    prepared = inputs.prepare_data(train.x, train.y, generator, CONFIG, train.groups)
    trunk = inputs.prepare_trunk(CONFIG.net_trunk, prepared)
    planned = Reference(prepared, trunk, generator, CONFIG).planned
    steps = max(1, int(CONFIG.net_steps * planned + 1e-9))
    learned = isinstance(augment, Augerino)
    net = AugNet(augment, trunk, prepared.aggregate, copies=CONFIG.copies if learned else 1)
    training = AugerinoTraining if learned else NetTraining
    generator.manual_seed(seed)  # the same batches as in `learn`
    torch.manual_seed(seed)
    for _ in training(prepared, net, generator, CONFIG, steps).fit(1):
        pass
    return net.eval(), passes_of(counters)


def by_hand(name: str, shape: Sequence[int]) -> Policy | None:
    """Return what people use: padded crops, and flips where objects have no side."""
    if len(shape) == 3:
        flips = name.startswith(("cifar-10", "fashion-mnist", "blood-cells"))
        crop = crop_flip(padding=max(1, shape[1] // 8), side=shape[1])
        return crop if flips else Policy([crop.subpolicies[0][:2]])
    return None


def usual_for_signals(known: dict[str, Any]) -> Policy:
    """Return one of the augmentations of braindecode per sample, at the defaults of braindecode."""
    rate = known["sfreq"]
    table: list[dict[str, Any]] = [
        {"name": "time_reverse"}, {"name": "sign_flip"}, {"name": "ft_surrogate"},
        {"name": "gaussian_noise", "limit": 0.1}, {"name": "channel_dropout", "limit": 0.2},
        {"name": "channel_shuffle", "limit": 0.2}, {"name": "time_mask", "limit": 100.0},
        {"name": "frequency_shift", "limit": 2.0, "sfreq": rate},
        {"name": "bandstop", "limit": 1.0, "sfreq": rate},
    ]  # fmt: skip
    steps = [Step(each) for each in build_transforms(table)]
    return Policy([[step] for step in [*steps, replace(steps[0], magnitude=0.0)]])


def accepted(policy: Policy, x: Tensor) -> Policy:
    """Leave out the transforms that do not fit: saturation of gray images, channels of one."""

    def fits(steps: Sequence[Step]) -> bool:
        try:
            for step in steps:
                step.transform.check(x)
        except (ValueError, TypeError):
            return False
        return True

    return Policy([steps for steps in policy.subpolicies if fits(steps)], policy.rounds)


def policies(name: str, train: real.RealData) -> dict[str, Augment]:
    """Return the augmentations that are compared."""
    shape = train.x.shape[1:]
    some: dict[str, Augment] = {"none": identity}
    hand = by_hand(name, shape)
    if hand is not None:
        some |= {
            "by hand": hand,
            "randaugment": accepted(randaugment(rounds=2, level=9), train.x[:2]),
            "trivialaugment": accepted(trivialaugment(), train.x[:2]),
            "augerino": Augerino(),
        }
    if len(shape) == 2:
        some["braindecode"] = accepted(usual_for_signals(train.known), train.x[:2])
    return some


METHODS = (
    "none", "by hand", "randaugment", "trivialaugment", "augerino", "braindecode", "learn"
)  # fmt: skip


@torch.no_grad()
def accuracy(net: AugNet, test: real.RealData, seed: int) -> float:
    """Return the mean accuracy over classes."""
    generator = Generator().manual_seed(seed)
    output = torch.cat([net(chunk, generator) for chunk in test.x.split(500)])
    right = (output.argmax(1) == test.y).double()
    return float(torch.stack([right[test.y == each].mean() for each in test.y.unique()]).mean())


def run(key: Key) -> Cell:
    """Train and test one method on one data set with one seed."""
    name, method, seed = key
    train, test = data.DATA[name](real.SHARED, seed)
    if method == "learn":
        net, more = by_learn(train, train.known, seed)
    else:
        net, more = trained_with(train, policies(name, train)[method], seed)
    plain = AugNet(identity, net.trunk, copies=1).eval()
    return more | {
        "samples": len(train.x),
        "test samples": len(test.x),
        "score": accuracy(net, test, seed),
        "score of one view": accuracy(plain, test, seed),
        "rows": [],
    }


def keys(options: argparse.Namespace) -> list[Key]:
    """List the cells whose data is there and whose method fits it."""
    found = []
    for name in options.only:
        try:
            train, _ = data.DATA[name](real.SHARED, 0)
        except FileNotFoundError as error:
            print(f"{name} is skipped: {error}")
            continue
        fitting = [*policies(name, train), "learn"]
        found += [(name, method) for method in options.methods if method in fitting]
    return [(*pair, seed) for seed in range(options.seeds) for pair in found]


def mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean of paired differences and half of its 90 % interval (Student), if any."""
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, None
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    student = {2: 6.314, 3: 2.920, 4: 2.353, 5: 2.132}.get(count, 1.9)
    return mean, student * deviation / math.sqrt(count)


def table(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return for each data set the scores of each method, and how learn differs from each."""
    by: dict[str, dict[str, dict[int, Cell]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        by[cell["data"]][cell["method"]][cell["seed"]] = cell
    return {name: rows_of(methods) for name, methods in by.items()}


def rows_of(methods: dict[str, dict[int, Cell]]) -> dict[str, Any]:
    """Return the rows of one data set, in the order of METHODS."""
    ours, plain = methods.get("learn", {}), methods.get("none", {})
    rows: dict[str, Any] = {}
    for method in METHODS:
        mine = methods.get(method, {})
        if not mine:
            continue
        scores = [cell["score"] for cell in mine.values()]
        row: dict[str, Any] = {"score": sum(scores) / len(scores), "seeds": len(scores)}
        row["seconds"] = sum(cell["seconds"] for cell in mine.values()) / len(mine)
        both = sorted(set(mine) & set(ours))
        if method != "learn" and both:
            differences = [ours[seed]["score"] - mine[seed]["score"] for seed in both]
            row["learn less this"], row["half of the interval"] = mean_and_half(differences)
        both = sorted(set(mine) & set(plain))
        if both:
            passes = [mine[seed]["passes"] / plain[seed]["passes"] for seed in both]
            row["passes of plain trainings"] = sum(passes) / len(passes)
        rows[method] = row
    return rows


def half_of(row: dict[str, Any]) -> float:
    """Return half of the interval of a difference; 0 if there is one seed."""
    return row["half of the interval"] or 0.0


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return the mean rank of each method, and how often learn is first or close to the first.

    Close: the interval of the paired difference to the first includes 0. One seed has no interval:
    the difference itself counts. Ranks are of the methods that fit images, over the data sets with
    images; a data set without `learn` does not count.
    """
    found = {name: rows for name, rows in found.items() if "learn" in rows}
    ranks: dict[str, list[int]] = defaultdict(list)
    first = close = above = 0
    for rows in found.values():
        order = sorted(rows, key=lambda method: -rows[method]["score"])
        first += order[0] == "learn"
        best = rows[order[0]]
        close += order[0] == "learn" or best["learn less this"] + half_of(best) >= 0
        plain = rows.get("none", {})
        if "learn less this" in plain:
            above += plain["learn less this"] - half_of(plain) > -0.003
        if "by hand" in rows:
            for method in order:
                ranks[method].append(1 + order.index(method))
    return {
        "data sets": len(found),
        "learn is first": first,
        "learn is first or within the interval of the first": close,
        "learn is not below none by more than 0.3 points": above,
        "mean rank on images": {name: sum(all) / len(all) for name, all in ranks.items()},
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """Draw how the score of each method differs from that without augmentation."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 0.45 * len(found) + 1.6), layout="constrained")
    markers = dict(zip(METHODS, "|os^vDP", strict=True))
    for method in METHODS[1:]:
        rows = [(i, r[method], r["none"]) for i, r in enumerate(found.values()) if method in r]
        x = [100 * (row["score"] - plain["score"]) for _, row, plain in rows]
        y = [height for height, _, _ in rows]
        size, color = (9, "tab:red") if method == "learn" else (5, None)
        axes.plot(x, y, markers[method], label=method, markersize=size, color=color)
    axes.axvline(0, color="0.5", linewidth=0.8)
    axes.set(yticks=range(len(found)), yticklabels=found, xlabel="points of accuracy above none")
    axes.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def report(cells: list[Cell]) -> None:
    """Print the table; write the document and the figure."""
    found = table(cells)
    print(f"{'accuracy in %':16}" + "".join(f"{method:>16}" for method in METHODS))
    for name, rows in found.items():
        scores = [f"{100 * rows[m]['score']:.1f}" if m in rows else "–" for m in METHODS]
        print(f"{name:16}" + "".join(f"{each:>16}" for each in scores))
    for name, rows in found.items():
        for method, row in rows.items():
            if "learn less this" in row:
                half = f" ± {100 * half_of(row):.1f}" if half_of(row) else ", one seed"
                mean = 100 * row["learn less this"]
                print(f"{name:16} learn less {method:16} {mean:+.1f}{half} points")
    seeds = 1 + max((cell["seed"] for cell in cells), default=-1)
    names = " ".join(found)
    counts = summary(found)
    print(*(f"{key}: {value}" for key, value in counts.items()), sep="\n")
    document = {"summary": counts, "table": found}
    FILE.write(f"value.py --only {names} --seeds {seeds}", document, cells)
    draw(found, RESULTS / "value.png")
    print(f"wrote {RESULTS / 'value.json'} and value.png")


def main() -> None:
    """Run what is missing, then report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--only", nargs="+", choices=data.DATA, default=list(data.DATA))
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    options.add_argument("--shared", type=Path, default=real.SHARED.parent)
    options.add_argument("--processes", type=int, default=os.cpu_count())
    options.add_argument("--restart", action="store_true", help="remove existing cells")
    options.add_argument("--report", action="store_true", help="run nothing, rebuild the tables")
    options.add_argument("--mix-commits", action="store_true", help="allow cells of other commits")
    options = options.parse_args()
    os.environ["AUGNET_SHARED"] = str(options.shared.resolve())
    if options.restart:
        FILE.restart()
    if not options.report:
        FILE.run_missing(run, keys(options), options.processes, options.mix_commits)
    cells = FILE.read()
    refuse_mixed(cells, options.mix_commits)
    report(cells)


if __name__ == "__main__":
    main()
