"""Run `learn` on real data with known answers: results/recovery-real.*.

    python benchmarks/recovery_real.py --seeds 5 [--known] [--only mnist cifar-10]
    python benchmarks/recovery_real.py --report

All transforms that fit are offered, with their default limits unless `limits` says otherwise. With
--known only those with a known answer are: the answers are the same, and come sooner. What
must be accepted and refused was written down before the first run: docs/studies/recovery.md.
Missing data is skipped, with the reason. Resumable, as benchmarks/recovery.py is.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import recovery_real_data as data
from recovery_cells import SEARCH, Cell, CellFile, Key, refuse_mixed
from recovery_methods import answers, rows_of
from torch import Tensor

from augnet.learn import inputs
from augnet.transforms import Bernoulli, Transform

MINE = ("benchmarks/recovery_real_data.py", "benchmarks/recovery_methods.py")
FILE = CellFile("recovery-real", ("data", "seed"), code=(*SEARCH, *MINE))
Row = dict[str, Any]


@dataclass(frozen=True)
class Expected:
    """What must be said of one transform.

    accept: reached_limit, or bounded at `low` or more. refuse: not_invariant. bounded: bounded
    within `low` and `high`. limited: not_invariant, or bounded up to `high`. costed: not_invariant,
    or kept at a stated cost of a point or more.
    """

    kind: Literal["accept", "refuse", "bounded", "limited", "costed"]
    low: float = 0.0
    high: float = float("inf")
    guess: bool = False
    """Ours, and not among the answers that are known."""

    def right(self, row: Row) -> bool:
        """Say whether a row is as expected."""
        status, strength = row["status"], row["strength"]
        bounded = status == "bounded" and self.low <= strength <= self.high
        refused = status == "not_invariant"
        costed = status in ("bounded", "reached_limit") and (row["cost"] or 0.0) >= 0.01
        return {
            "accept": status == "reached_limit" or bounded,
            "refuse": refused,
            "bounded": bounded,
            "limited": refused or bounded,
            "costed": refused or costed,
        }[self.kind]

    def __str__(self) -> str:
        ends = [f"from {self.low:g}"] if self.low else []
        ends += [f"to {self.high:g}"] if self.high < float("inf") else []
        return " ".join([self.kind, *ends]) + (" (guess)" if self.guess else "")


@dataclass(frozen=True)
class DataSet:
    """Data, limits other than the default ones, and what is expected by transform."""

    load: data.Loader
    expected: dict[str, Expected]
    limits: dict[str, float] = field(default_factory=dict)


ACCEPT, REFUSE = Expected("accept", low=0.5), Expected("refuse")  # of Bernoulli transforms
TURNS = {"rotate": 180.0}
DATA = {
    "blood-cells": DataSet(data.blood_cells, {
        "rotate": Expected("accept", low=150), "horizontal_flip": ACCEPT, "vertical_flip": ACCEPT,
    }, TURNS),
    "omniglot-korean": DataSet(data.omniglot(tuple(data.KOREAN)), {
        "rotate": Expected("bounded", 3, 60), "horizontal_flip": REFUSE, "vertical_flip": REFUSE,
    }, TURNS),
    "omniglot-pairs": DataSet(data.omniglot(data.PAIRS), {
        "rotate": Expected("bounded", 3, 60), "horizontal_flip": REFUSE, "vertical_flip": REFUSE,
    }, TURNS),
    "spoken-digits": DataSet(data.spoken_digits, {
        "time_shift": Expected("accept", low=0.1), "time_reverse": REFUSE,
        "sign_flip": replace(ACCEPT, guess=True),
    }),
    "exercises": DataSet(data.exercises, {
        "time_shift": Expected("accept", low=0.1, guess=True),
        "gaussian_noise": Expected("accept", low=0.1, guess=True),
        "channel_shuffle": Expected("limited", high=0.5, guess=True),
    }),
    "sleep": DataSet(data.sleep, {
        "sign_flip": ACCEPT, "time_reverse": ACCEPT,
        "frequency_shift": Expected("bounded", 0.2, 4.5),
        "time_shift": Expected("accept", low=0.1, guess=True),
    }),
    "mnist-6-9": DataSet(data.like_mnist("mnist", 1000, (6, 9)), {
        "rotate": Expected("bounded", 68, 103.5),
    }, TURNS),
    "mnist": DataSet(data.like_mnist("mnist", 1000), {
        "rotate": Expected("bounded", 5, 90), "horizontal_flip": REFUSE, "vertical_flip": REFUSE,
    }, TURNS),
    "fashion-mnist": DataSet(data.like_mnist("fashion-mnist", 3000), {"horizontal_flip": ACCEPT}),
    "cifar-10": DataSet(data.cifar, {
        "horizontal_flip": ACCEPT, "vertical_flip": Expected("costed"),
    }),
}  # fmt: skip


def offered(x: Tensor, limits: dict[str, float], known: dict[str, Any]) -> list[Transform]:
    """Build all transforms that fit, as "auto" does, some with another limit."""
    return [
        replace(each, limit=limits.get(each.name, each.limit))
        for each in inputs.prepare_transforms("auto", x, **known)
    ]


def run(key: Key) -> Cell:
    """Measure all transforms that fit, on one data set with one seed."""
    return measure(key, every=True)


def run_known(key: Key) -> Cell:
    """Measure the transforms with a known answer; it does not depend on what else is offered."""
    return measure(key, every=False)


def measure(key: Key, every: bool) -> Cell:
    """Run `learn` with its defaults, without its net."""
    name, seed = key
    chosen = DATA[name]
    real = chosen.load(data.SHARED, seed)
    transforms = offered(real.x, chosen.limits, real.known)
    if not every:
        transforms = [each for each in transforms if each.name in chosen.expected]
    groups = {} if real.groups is None else {"groups": real.groups}
    learner = answers(real.x, real.y, transforms, seed=seed, **groups)
    score, chance = learner.search.scores
    extra = [
        {"limit": each.limit, "unit": each.unit, "bernoulli": isinstance(each, Bernoulli)}
        for each in transforms
    ]
    return {
        "every": every,
        "samples": len(real.x),
        "score": score,
        "chance": chance,
        "steps": learner.search.steps,
        "warnings": list(learner.search.warnings),
        "rows": [row | more for row, more in zip(rows_of(learner.invariances), extra, strict=True)],
    }


def rows_by_seed(cells: Sequence[Cell], transform: str) -> list[Row]:
    """Return the rows of one transform, one per seed that has it."""
    return [row for cell in cells for row in cell["rows"] if row["transform"] == transform]


def overlapping(rows: Sequence[Row]) -> tuple[int, int]:
    """Count the pairs of seeds whose intervals overlap, of how many. Unclear rows say nothing."""
    clear = [row for row in rows if row["status"] != "unclear"]
    pairs = list(combinations(clear, 2))
    return sum(agree(*pair) for pair in pairs), len(pairs)


def agree(a: Row, b: Row) -> bool:
    """Say whether two answers agree: both refused, or intervals that share a strength."""
    if a["status"] == b["status"] == "not_invariant":
        return True
    lows, highs = zip(a["interval"], b["interval"], strict=True)
    return max(lows) <= min(highs)


def expectations(name: str, cells: Sequence[Cell]) -> list[Row]:
    """Compare the answers about one data set with what is expected.

    A transform that has no row in a cell, because it is missing or the cell failed, is wrong.
    """
    lines = []
    for transform, expected in DATA[name].expected.items():
        rows = rows_by_seed(cells, transform)
        lines.append(
            {
                "data": name,
                "transform": transform,
                "expected": str(expected),
                "guess": expected.guess,
                "right": sum(expected.right(row) for row in rows),
                "unclear": sum(row["status"] == "unclear" for row in rows),
                "seeds": len(cells),
                "answers": [describe(row) for row in rows],
            }
        )
    return lines


def describe(row: Row) -> str:
    """Return an answer in a few words."""
    short = {"not_invariant": "refused", "unclear": "unclear", "reached_limit": "limit"}
    if row["bernoulli"] or row["status"] not in ("bounded", "reached_limit"):
        text = short.get(row["status"], row["status"])
    else:
        low, high = row["interval"]
        limit = "limit " if row["status"] == "reached_limit" else ""
        text = f"{limit}{row['strength']:.3g} ({low:.3g} to {high:.3g})"
    return text if row["cost"] is None else f"{text} at {row['cost']:+.3f}"


def overlaps(name: str, cells: Sequence[Cell]) -> dict[str, tuple[int, int]]:
    """Count overlapping pairs of seeds by transform; Bernoulli transforms have no range."""
    ranged = {row["transform"]: 0 for c in cells for row in c["rows"] if not row["bernoulli"]}
    counts = {transform: overlapping(rows_by_seed(cells, transform)) for transform in ranged}
    return {transform: pair for transform, pair in counts.items() if pair[1]}


def report(cells: list[Cell]) -> None:
    """Print the tables and write the document."""
    by_name = {name: [c for c in cells if c["data"] == name] for name in DATA}
    by_name = {name: sorted(some, key=seed_of) for name, some in by_name.items() if some}
    lines = [line for name, some in by_name.items() for line in expectations(name, some)]
    pairs = {name: overlaps(name, some) for name, some in by_name.items()}
    known = [line for line in lines if not line["guess"]]
    shared, of = (sum(p[i] for some in pairs.values() for p in some.values()) for i in (0, 1))
    total = {
        "known answers right in all seeds": f"{whole(known)} of {len(known)}",
        "known answers right": " of ".join(
            str(sum(line[key] for line in known)) for key in ("right", "seeds")
        ),
        "guesses right in all seeds": f"{whole(lines) - whole(known)} of {len(lines) - len(known)}",
        "pairs of seeds whose ranges overlap": f"{shared} of {of}",
        "ranges that are unclear": unclear_ranges(cells),
    }
    failures = [f"{c['data']}, seed {c['seed']}: {c['failure']}" for c in cells if "failure" in c]
    for name, some in by_name.items():
        print_data_set(name, some, [line for line in lines if line["data"] == name], pairs[name])
    print(*(f"{key}: {value}" for key, value in total.items()), *failures, sep="\n")
    document = {"total": total, "expectations": lines, "overlaps": pairs, "failures": failures}
    seeds = 1 + max((cell["seed"] for cell in cells), default=-1)
    known = "" if any(cell.get("every", True) for cell in cells) else " --known"
    command = f"recovery_real.py --only {' '.join(by_name)} --seeds {seeds}{known}"
    FILE.write(command, document, cells)


def unclear_ranges(cells: Sequence[Cell]) -> str:
    """Count unclear answers about ranged transforms, which are in no pair of seeds."""
    rows = [row for cell in cells for row in cell["rows"] if not row["bernoulli"]]
    return f"{sum(row['status'] == 'unclear' for row in rows)} of {len(rows)}"


def seed_of(cell: Cell) -> int:
    """Return the seed."""
    return cell["seed"]


def whole(lines: Sequence[Row]) -> int:
    """Count the expectations that are met in every seed."""
    return sum(line["right"] == line["seeds"] for line in lines)


def print_data_set(
    name: str, cells: Sequence[Cell], lines: Sequence[Row], pairs: dict[str, tuple[int, int]]
) -> None:
    """Print what is expected of one data set, what came, and how seeds agree."""
    scores = ", ".join(f"{c['score']:.3f}" for c in cells if c["score"] is not None)
    seconds = ", ".join(f"{cell['seconds']:.0f}" for cell in cells)
    print(f"\n{name}: scores {scores}; seconds {seconds}")
    for line in lines:
        met = f"{line['right']} of {line['seeds']}"
        answers = "; ".join(line["answers"]) or "not offered"
        print(f"  {line['transform']:18}{line['expected']:28}{met:8}", answers)
    apart = [f"{each} {hits} of {of}" for each, (hits, of) in pairs.items() if hits < of]
    print("  intervals that do not all overlap:", ", ".join(apart) or "none")


def present(names: Sequence[str], shared: Path) -> list[str]:
    """Return the data sets whose files are there; name the others."""
    found = []
    for name in names:
        try:
            DATA[name].load(shared, 0)
        except FileNotFoundError as error:
            print(f"{name} is skipped: {error}; set the folder by --shared or AUGNET_SHARED")
            continue
        found.append(name)
    return found


def main() -> None:
    """Run what is missing, then report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--only", nargs="+", choices=DATA, default=list(DATA))
    options.add_argument("--shared", type=Path, default=data.SHARED.parent)
    options.add_argument("--processes", type=int, default=os.cpu_count())
    options.add_argument(
        "--known", action="store_true", help="offer only the transforms with a known answer"
    )
    options.add_argument("--restart", action="store_true", help="remove existing cells")
    options.add_argument("--report", action="store_true", help="run nothing, rebuild the tables")
    options.add_argument("--mix-commits", action="store_true", help="allow cells of other commits")
    options = options.parse_args()
    os.environ["AUGNET_SHARED"] = str(options.shared)  # for the processes that run cells
    if options.restart:
        FILE.restart()
    if not options.report:
        names = present(options.only, options.shared / "data")
        keys = [(name, seed) for seed in range(options.seeds) for name in names]
        function = run_known if options.known else run
        FILE.run_missing(function, keys, options.processes, options.mix_commits)
    cells = FILE.read()
    refuse_mixed(cells, options.mix_commits)
    report(cells)


if __name__ == "__main__":
    main()
