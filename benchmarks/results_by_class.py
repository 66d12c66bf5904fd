"""Make the page of the ranges of classes and directions."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from results_files import Kept, lines_of, made_at, read, seeds_of, share

from augnet.paper.report.result_page import ResultPage
from augnet.paper.report.tables import Table

TOLERANCE = 0.03
"""What a class of ten may cost."""
POINT = 0.01
"""What all samples may cost."""


def by_class(folder: Path) -> ResultPage:
    """Make the page of ranges of classes and directions."""
    kept = read(folder, "by-class")
    runs = kept["runs"]
    known = [run for run in runs if "right" in run]
    held_out = [run for run in known if run["held_out"]]
    others = [run for run in known if not run["held_out"]]
    digits = [run for run in runs if "right" not in run]
    parts = [(held_out, "that no setting was chosen on"), (others, "that some were chosen on")]
    shown = ", ".join(f"{_whole(runs)} {what}" for runs, what in parts if runs)
    shows = [
        f"All ranges of a task are right in {_whole(known)}, {seeds_of(known)}. Of tasks: {shown}.",
        f"Of single classes and directions, {share(*_single(known))} are right; "
        f"{_wrong_but_sure(known)} are wrong and not `unclear`.",
    ]
    checks = kept.get("check", ())
    if checks:
        shows.append(
            "Networks that are trained from scratch add a point to the error of all digits at "
            + _joined([f"`{each['transform']}` {_one_point(each)}" for each in checks])
            + "."
        )
    tables = [(
        Table(("task", "transform", "truth", "found", "all right"), _tasks(known)),
        "Truths and strengths are in the unit of the transform; *limit*: any strength up to its "
        "limit; 0: none; ?: unclear. Found: the median over seeds that are clear. Right: the "
        "status, and a strength within 20 %; where no strength is allowed, `unclear` is right, "
        "too. Directions that do not differ have no ranges of their own. No setting was chosen on "
        "tasks with a *.",
    )]  # fmt: skip
    if digits:
        tables.append((
            Table(("digits", *map(str, range(10)), "all samples"), _digits(digits)),
            "Digits have no known truth. ≥: no end up to the limit. *yes* and *no*: whether a flip "
            "keeps the label; ?: unclear. In brackets: 90 % intervals.",
        ))  # fmt: skip
    for check in checks:
        tables.append((
            Table(("`" + check["transform"] + "`", *map(str, range(10)), "all"), _check(check)),
            f"What each digit costs networks that were trained from scratch for {check['steps']} "
            "steps within this strength, in points (`python benchmarks/by_class_check.py`, commit "
            f"{check['commit']}). A range ends at {100 * TOLERANCE:.0f} points of a class.",
        ))  # fmt: skip
    return ResultPage(
        "by-class",
        "Ranges of classes and directions",
        "How far may each class go, and each direction? Is it right where that is known?",
        shows,
        tables,
        [f"{kept['command']} --seeds {len({run['seed'] for run in runs})}"],
        made_at(kept),
        more="How it works: [classes and directions](../how-learn-works.md#classes-and-directions)"
        "; what it means: [per class and per direction](../audit.md#per-class-and-per-direction).",
        details={"What is wrong": lines_of(_mistakes(known) or ["nothing"])},
    )


def _one_point(check: Kept) -> str:
    """Write between which strengths, or from which on, the error of all samples rises by 0.01."""
    rows = check["rows"]
    below = [row["strength"] for row in rows if row["all"] <= POINT]
    above = [row["strength"] for row in rows if row["all"] > POINT]
    if not above or not below:
        return f"{'above' if below else 'below'} {(below or above)[-1 if below else 0]:g}"
    return f"{below[-1]:g} to {above[0]:g}"


def _joined(texts: Sequence[str]) -> str:
    return " and ".join(texts)


def _whole(runs: Sequence[Kept]) -> str:
    return share(sum(run["all_right"] for run in runs), len(runs))


def _single(runs: Sequence[Kept]) -> tuple[int, int]:
    judged = [right for run in runs for right in run["right"].values()]
    return sum(judged), len(judged)


def _wrong_but_sure(runs: Sequence[Kept]) -> int:
    return sum(
        not run["right"][part["name"]] and part["status"] != "unclear"
        for run in runs
        for part in run["parts"]
    )


def _by_task(runs: Sequence[Kept]) -> dict[str, list[Kept]]:
    found: dict[str, list[Kept]] = {}
    for run in runs:
        found.setdefault(run["task"], []).append(run)
    return found


def _tasks(runs: Sequence[Kept]) -> list[tuple[str, ...]]:
    rows = []
    for task, mine in _by_task(runs).items():
        first = mine[0]
        truths = ", ".join(_truth(name, truth) for name, truth in first["truths"].items())
        names = first["truths"] or dict.fromkeys(p["name"] for run in mine for p in run["parts"])
        found = ", ".join(_median(name, mine, bool(first["truths"])) for name in names)
        rows.append(
            (
                f"{task}{' *' if first['held_out'] else ''}",
                f"`{first['transform']}`",
                truths or "no difference",
                found or "no difference",
                f"{sum(run['all_right'] for run in mine)} of {len(mine)}",
            )
        )
    return rows


def _truth(name: str, truth: float | str) -> str:
    sign = name if name in ("−", "+") else ""
    return f"{sign}{truth}" if isinstance(truth, str) else f"{sign}{truth:g}"


def _median(name: str, runs: Sequence[Kept], expected: bool) -> str:
    parts = [part for run in runs for part in run["parts"] if part["name"] == name]
    clear = [part for part in parts if part["status"] != "unclear"]
    sign = name if name in ("−", "+") else ""
    if not parts or (not expected and not clear):
        return f"{sign}-"
    if not clear:
        return f"{sign}?"
    limit = [part for part in clear if part["status"] == "reached_limit"]
    if 2 * len(limit) > len(clear):
        return f"{sign}limit"
    return f"{sign}{median(part['strength'] for part in clear):.3g}"


def _digits(runs: Sequence[Kept]) -> list[tuple[str, ...]]:
    return [
        (
            f"`{run['transform']}`, seed {run['seed']}",
            *class_ranges(run["transform"], run["parts"]),
            run["all"].partition(": ")[2],
        )
        for run in runs
    ]


def class_ranges(transform: str, parts: Sequence[Kept]) -> list[str]:
    """Write the range of each class in a few characters."""
    return [_range(part, transform.endswith("_flip")) for part in parts]


def _range(part: Kept, flip: bool) -> str:
    low, high = part["interval"]
    if part["status"] == "unclear":
        return "?"
    if part["status"] == "not_invariant":
        return "no"
    if flip:
        return "yes"
    sign = "≥ " if part["status"] == "reached_limit" else ""
    return f"{sign}{part['strength']:.3g} ({low:.3g} to {high:.3g})"


def _check(check: Kept) -> list[tuple[str, ...]]:
    return [
        (f"{row['strength']:g}", *(f"{100 * cost:.1f}" for cost in (*row["classes"], row["all"])))
        for row in check["rows"]
    ]


def _mistakes(runs: Sequence[Kept]) -> list[str]:
    lines = []
    for run in runs:
        wrong = [part for part in run["parts"] if not run["right"][part["name"]]]
        where = f"{run['task']}, seed {run['seed']}"
        for part in wrong:
            truth = run["truths"].get(part["name"], "no range of its own")
            said = part["reason"] or f"{part['strength']:.3g}"
            status = part["status"].replace("_", " ")
            lines.append(f"{where}, {part['name']}: {status}, {said}; the truth is {truth}")
        if len(run["parts"]) < len(run["truths"]):
            lines.append(f"{where}: no difference was found between directions")
    return lines
