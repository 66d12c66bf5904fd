"""Make the pages of the demo, of the default networks, of the net of learn, and of audits."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from results_by_class import class_ranges
from results_files import Kept, lines_of, made_at, read, seeds_of, seen, share

from augnet.paper.report.result_page import Picture, ResultPage
from augnet.paper.report.tables import Table


def digits(folder: Path) -> ResultPage:
    """Make the page of the demo."""
    kept = read(folder, "digits")
    measured, evaluated = kept["measurement"], kept["evaluation"]
    gain = measured["gain"]
    rows = [
        (f"`{row['name']}`", row["status"].replace("_", " "), *_range(row), _points(row["cost"]))
        for row in kept["invariances"]
    ]
    low, high = gain["interval"]
    ranges = [f"`{row['name']}` ({_range(row)[0]})" for row in kept["invariances"]
              if row["status"] in ("bounded", "reached_limit")]  # fmt: skip
    lost = [f"`{row['name']}`" for row in kept["invariances"] if row["status"] == "not_invariant"]
    return ResultPage(
        "digits",
        "Digits: the demo",
        "How far may handwritten digits turn and be flipped before the label is lost?",
        [
            f"The label is kept within a range by {_joined(ranges)}. "
            f"It is lost by {_joined(lost)}.",
            f"Training with these ranges: {100 * gain['score']:.1f} % on held-out digits, "
            f"{100 * gain['plain_score']:.1f} % without (difference {100 * low:+.1f} to "
            f"{100 * high:+.1f} points, 90 % interval). The transforms were chosen on the same "
            "digits, so the gain is rather too large. On "
            f"{evaluated['samples']} other digits: {100 * evaluated['score']:.1f} %.",
        ],
        [
            (
                Table(("transform", "status", "range", "90 % interval", "error added there"), rows),
                "The error that is added is in points of the held-out error. "
                f"The network: {100 * measured['score']:.1f} % on held-out digits, chance "
                f"{100 * measured['chance']:.0f} %, {measured['steps']} steps in all.",
            ),
            *_classes(kept["invariances"]),
        ],
        [kept["command"]],
        made_at(kept),
        Picture("Digits at the edge of the range and beyond", "../_static/digits.png",
                "Below: the error that each strength adds."),
        more="The tutorial: [five minutes with digits](../start.md).",
        details={"What was printed": lines_of([row["text"] for row in kept["invariances"]]),
                 "Data": lines_of(kept["notes"])},
    )  # fmt: skip


def _classes(rows: Sequence[Kept]) -> list[tuple[Table, str]]:
    """Return the table of classes, if they were measured."""
    rows = [row for row in rows if row["by_class"]]
    if not rows:
        return []
    names = [part["name"] for part in rows[0]["by_class"]]
    cells = [(f"`{row['name']}`", *class_ranges(row["name"], row["by_class"])) for row in rows]
    note = (
        "Each digit. All samples are transformed up to this strength. ≥: no end up to the limit; "
        "?: unclear; yes and no: whether a flip keeps the label. In brackets: 90 % intervals."
    )
    return [(Table(("", *names), cells), note)]


def _range(row: Kept) -> tuple[str, str]:
    """Write a range and its interval."""
    if row["status"] not in ("bounded", "reached_limit"):
        return "-", "-"
    low, high = row["interval"]
    return f"{row['strength']:.3g} {row['unit']}", f"{low:.3g} to {high:.3g}"


def _points(cost: float | None) -> str:
    return "-" if cost is None else f"{100 * cost:+.1f} points"


def _joined(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def value(folder: Path) -> ResultPage:
    """Make the page of what the net of `learn` is worth."""
    kept = read(folder, "value")
    found, total = kept["table"], kept["summary"]
    methods = list(dict.fromkeys(method for rows in found.values() for method in rows))
    others = [method for method in methods if method != "learn"]
    rows = [
        (name, _score(rows.get("learn")), *(_score(rows.get(method)) for method in others))
        for name, rows in found.items()
    ]
    order = sorted(total["mean rank on images"].items(), key=lambda item: item[1])
    ranks = ", ".join(f"{method} {rank:.1f}" for method, rank in order)
    passes = [
        rows["learn"]["passes of plain trainings"] for rows in found.values()
        if "passes of plain trainings" in rows.get("learn", {})
    ]  # fmt: skip
    cost = f" It costs {_span(passes)} times the passes of a plain training" if passes else ""
    times = _times(kept["cells"])
    cost += f", and {_span(times)} times its processor time" if times else ""
    cost += "." if cost else ""
    return ResultPage(
        "value",
        "Is the network of `learn` better?",
        "With the same network and steps: is the net of `learn` more accurate than others?",
        [
            f"`learn` is first on {total['learn is first']} of {total['data sets']} data sets, and "
            "first or not clearly below the first on "
            f"{total['learn is first or within the interval of the first']}.",
            "It is not below training without augmentation by more than 0.3 points on "
            f"{total['learn is not below none by more than 0.3 points']} of {total['data sets']}."
            f"{cost}" + (f" Mean rank on images: {ranks}." if ranks else ""),
        ],
        [(
            Table(("data", "learn", *others), rows),
            f"Mean accuracy over classes on test samples, in %, {seeds_of(kept['cells'])}. In "
            "brackets: how much `learn` is above, in points, with the 90 % interval of the paired "
            "difference.",
        )],
        [kept["command"]],
        made_at(kept),
        Picture("Points of accuracy above training without augmentation",
                seen(folder, "value.png"), "One line per data set.")
        if (folder / "value.png").exists() else None,
    )  # fmt: skip


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def _times(cells: Sequence[Kept]) -> list[float]:
    """Return the processor time of `learn` in plain trainings, for each data set and seed."""
    spent = {
        (cell["data"], cell["seed"], cell["method"]): cell.get("processor seconds")
        for cell in cells
    }
    pairs = (
        (seconds, spent.get((name, seed, "none")))
        for (name, seed, method), seconds in spent.items()
        if method == "learn"
    )
    return [ours / plain for ours, plain in pairs if ours and plain]


def trunks(folder: Path) -> ResultPage:
    """Make the page of the default networks beside others."""
    kept = read(folder, "trunks")
    found = kept["table"]
    methods = list(dict.fromkeys(method for rows in found.values() for method in rows))

    def cell(row: Kept | None) -> str:
        if row is None:
            return "-"
        return f"{100 * row['score']:.1f} ({row['processor seconds']:.0f} s)"

    rows = [(name, *(cell(by.get(method)) for method in methods)) for name, by in found.items()]
    return ResultPage(
        "trunks",
        "Are the default networks good?",
        "Without augmentation: are the default networks as accurate as what people use?",
        [
            f"{name}: " + _joined([f"{m} {100 * r['score']:.1f} %" for m, r in by.items()]) + "."
            for name, by in found.items()
        ],
        [(
            Table(("data", *methods), rows),
            f"Mean accuracy over classes on test samples, in %, {seeds_of(kept['cells'])}; in "
            "brackets the processor time of the training.",
        )],
        [kept["command"]],
        made_at(kept),
        more="The study: [the default networks](../studies/trunks.md).",
    )  # fmt: skip


def _score(row: Kept | None) -> str:
    """Write a score, and how `learn` differs from it."""
    if row is None:
        return "-"
    text = f"{100 * row['score']:.1f}"
    if "learn less this" not in row:
        return text
    half = row["half of the interval"]
    interval = "" if half is None else f" ± {100 * half:.1f}"
    return f"{text} ({100 * row['learn less this']:+.1f}{interval})"


def audit(folder: Path) -> ResultPage:
    """Make the page of models with a planted weakness."""
    kept = read(folder, "audit")
    runs = kept["runs"]
    by_task: dict[str, list[Kept]] = {}
    for run in runs:
        by_task.setdefault(run["task"], []).append(run)
    rows = [
        (task, f"`{mine[0]['transform']}`", mine[0]["expected"],
         f"{sum(run['right'] for run in mine)} of {len(mine)}",
         f"{sum(run['control'] == 'matches' for run in mine)} of {len(mine)}", _costs(mine))
        for task, mine in by_task.items()
    ]  # fmt: skip
    right = sum(run["right"] for run in runs)
    calm = sum(run["control"] == "matches" for run in runs)
    shows = [
        f"The planted weakness is found in {share(right, len(runs), ' models')}, {seeds_of(runs)}.",
        f"A transform that is no weakness matches in {share(calm, len(runs))}. The tasks are easy: "
        "real models have weaknesses that are less clear.",
    ]
    details = {"What was printed": lines_of(
        [f"{run['task']}, seed {run['seed']}: {run['text']}" for run in runs])}  # fmt: skip
    if passes := kept.get("passes"):
        details["Forward passes"] = (
            f"{passes['transforms']} transforms of {passes['images']} images take "
            f"{passes['passes']} passes, {passes['ratio']:.2f} times strengths × samples "
            f"(`{kept['command']} --passes`, commit {passes['commit']}).\n"
        )
    seeds = [run["seed"] for run in runs]
    first = f" --first {min(seeds)}" if min(seeds) else ""
    return ResultPage(
        "audit",
        "Audit: are planted weaknesses found?",
        "Models that are trained to be fragile or blind: does `audit` say so?",
        shows,
        [(
            Table(("model", "transform", "expected", "found", "other transform matches",
                   "cost"), rows),
            "The cost of *fragile* is the error that the model adds where the range of the labels "
            "ends. That of *blind* is the part of the predictions that stay though the label "
            "changes. Medians over the seeds, and the range.",
        )],
        [f"{kept['command']} --seeds {len(set(seeds))}{first}"],
        made_at(kept),
        more="How to audit a model: [audit](../audit.md).",
        details=details,
    )  # fmt: skip


def _costs(runs: Sequence[Kept]) -> str:
    costs = sorted(100 * run["cost"] for run in runs if run["cost"] is not None)
    if not costs:
        return "-"
    return f"{median(costs):.1f} ({costs[0]:.1f} to {costs[-1]:.1f}) points"
