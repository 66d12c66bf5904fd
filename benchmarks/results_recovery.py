"""Make the pages of results of benchmarks/recovery.py and benchmarks/recovery_real.py."""

import math
import re
from collections import defaultdict
from pathlib import Path

from results_files import Kept, count, lines_of, made_at, read, seeds_of, seen

from augnet.app.style import COLORS, INK, canvas, tidy
from augnet.paper.report.result_page import Picture, ResultPage
from augnet.paper.report.tables import Table

FORMS = {
    "clean": "as they are",
    "all": "all transforms offered",
    "wrong-10": "10 % wrong labels",
    "wrong-20": "20 % wrong labels",
    "wrong-30": "30 % wrong labels",
    "noisy": "noisy inputs",
    "200": "200 samples",
    "500": "500 samples",
    "imbalanced": "classes 1:10",
    "random-labels": "random labels",
    "real-life forms": "all changed forms, labels not random",
    "real-life, not noisy": "the same without noisy inputs",
    "clean, held-out tasks": "as they are, tasks named `held-…`",
}
EXPECTED = {
    "accept": "label is kept",
    "refuse": "label is lost",
    "bounded": "range",
    "limited": "label is lost, or range",
    "costed": "label is lost, or the cost is a point or more",
}
ANSWERS = (("limit at", "label is kept at"), ("limit", "limit of"), ("refused", "label is lost"))


def recovery(folder: Path) -> ResultPage:
    """Make the page of tasks whose truth is known."""
    kept = read(folder, "recovery")
    ours = kept["forms"]["learn"]
    if ours.get("real-life forms") == ours.get("real-life, not noisy"):
        ours = {form: line for form, line in ours.items() if form != "real-life, not noisy"}
    shows = [_recovered("The tasks as they are", ours["clean"])] if "clean" in ours else []
    if "real-life forms" in ours:
        shows.append(_recovered("In forms closer to real data", ours["real-life forms"]))
    if random := kept.get("random labels"):
        shows.append(
            f"Random labels: {random['confident answers']} answers are confident. Each of these is "
            "wrong, because there is nothing to learn."
        )
    columns = ("form", "right status", "unclear", "ranges within 10 %", "ranges within 15 %",
               "intervals that contain the truth", "cells")  # fmt: skip
    rows = [(FORMS.get(form, form), *_counts(line)) for form, line in ours.items()]
    others = {method: table for method, table in kept["forms"].items() if method != "learn"}
    details = {
        f"The method {method}": Table(columns, [
            (FORMS.get(form, form), *_counts(line)) for form, line in table.items()
        ]).markdown for method, table in others.items()
    }  # fmt: skip
    wrong = kept["wrong answers of learn"]
    details[f"All {len(wrong)} answers that are wrong, or ranges off by more than 15 %"] = lines_of(
        [f"{each.rstrip('.')}" for each in wrong]
    )
    return ResultPage(
        "recovery",
        "Recovery: does `learn` find known ranges?",
        "Made-up tasks whose invariances are known: is the status right, and is the range?",
        shows,
        [(
            Table(columns, rows),
            f"{seeds_of(kept['cells'])}. A cell is one task with one seed. Intervals of counts are "
            "90 % intervals that take all answers as independent. They are not: transforms of one "
            "task share a network, and forms share tasks.",
        )],
        [kept["command"]],
        made_at(kept),
        Picture("Answers by form, and measured ranges as multiples of the truth",
                seen(folder, "recovery.png"), "The gray band is 15 % around the truth."),
        more="The study: [recovery](../studies/recovery.md).",
        details=details,
    )  # fmt: skip


def _recovered(where: str, line: Kept) -> str:
    """Say how many answers are right."""
    covered = "" if line["covered"] is None else (
        f" {100 * line['covered']:.0f} % of the intervals contain the truth (90 % should)."
    )  # fmt: skip
    return (
        f"{where}: the status is right in {round(line['right status'] * line['answers'])} of "
        f"{line['answers']} answers, and {round(line['within 15 %'] * line['ranges'])} of "
        f"{line['ranges']} ranges are within 15 % of the truth.{covered}"
    )


def _counts(line: Kept) -> tuple[str, ...]:
    covered = "-" if line["covered"] is None else f"{100 * line['covered']:.0f} %"
    return (
        count(line, "right status", "answers"),
        count(line, "unclear", "answers").split(" (")[0],
        count(line, "within 10 %", "ranges").split(" (")[0],
        count(line, "within 15 %", "ranges"),
        covered,
        str(line["cells"]),
    )


def recovery_real(folder: Path) -> ResultPage:
    """Make the page of real data with known answers."""
    kept = read(folder, "recovery-real")
    lines = kept["expectations"]
    scores = defaultdict(list)
    for cell in kept["cells"]:
        if cell["score"] is not None:
            scores[cell["data"]].append(cell["score"])
    kinds = {
        (cell["data"], row["transform"]): row for cell in kept["cells"] for row in cell["rows"]
    }
    rows = [
        (line["data"], _transform(line, kinds), _expected(line, kinds),
         "\n".join(map(_answer, line["answers"])) or "none",
         f"{line['right']} of {line['seeds']}")
        for line in lines
    ]  # fmt: skip
    missed = [line for line in lines if line["right"] < line["seeds"] and not line["guess"]]
    total = kept["total"]
    shows = [
        f"{total['known answers right']} known answers are right "
        f"({seeds_of(kept['cells'])}), and {total['guesses right in all seeds']} of our guesses.",
        "Not right in all seeds: " + "; ".join(f"{line['data']}, `{line['transform']}` "
        f"({line['right']} of {line['seeds']})" for line in missed)
        + "." if missed else "None is wrong.",
    ]  # fmt: skip
    accuracy = [
        f"{name}: {', '.join(f'{score:.3f}' for score in found)}" for name, found in scores.items()
    ]
    details = {"Held-out scores of the networks that answered": lines_of(accuracy)}
    if kept["failures"]:
        details["Cells that failed"] = lines_of(kept["failures"])
    overlapping = [
        f"{name}, `{transform}`: {shared} of {of} pairs of seeds"
        for name, found in kept["overlaps"].items() for transform, (shared, of) in found.items()
    ]  # fmt: skip
    if overlapping:
        details["Intervals of two seeds that overlap"] = lines_of(overlapping)
    return ResultPage(
        "recovery-real",
        "Real data with known answers",
        "Real images, sounds, movements and EEG: are the answers that people know right?",
        shows,
        [(
            Table(("data", "transform", "expected", "answers, one per seed", "right"), rows),
            "What is expected was written down before the first run. Answers are strengths with "
            "90 % intervals, and the error that is added there. A guess is ours, and not among the "
            "known answers.",
        )],
        [kept["command"]],
        made_at(kept),
        Picture("Measured ranges, as a part of the largest strength that was tried",
                seen(folder, "recovery-real.png"),
                "Bars are 90 % intervals, one per seed. Gray: what is expected."),
        more="The study: [recovery](../studies/recovery.md).",
        details=details,
    )  # fmt: skip


def _bounds(expected: str) -> tuple[str, float, float]:
    """Return the kind of an expectation, and the strengths between which the range is right."""
    low, high = (re.search(rf"{word} ([\d.]+)", expected) for word in ("from", "to"))
    return expected.split()[0], float(low[1]) if low else 0.0, float(high[1]) if high else math.inf


def _transform(line: Kept, kinds: dict[tuple[str, str], Kept]) -> str:
    """Return the name of a transform, and the unit of its range."""
    row = kinds.get((line["data"], line["transform"]))
    unit = "" if row is None or row["bernoulli"] else f", {row['unit']}"
    return f"`{line['transform']}`{unit}"


def _expected(line: Kept, kinds: dict[tuple[str, str], Kept]) -> str:
    """Write an expectation in words."""
    kind, low, high = _bounds(line["expected"])
    row = kinds.get((line["data"], line["transform"]))
    guess = " (guess)" if line["guess"] else ""
    said = EXPECTED.get(kind, kind)
    if row is not None and row["bernoulli"]:
        return f"{said}{guess}"
    if kind == "accept":
        return f"{said} up to {low:g} or more{guess}"
    ends = [f"from {low:g}"] if low else []
    ends += [f"to {high:g}"] if high < math.inf else []
    return " ".join([said, *ends]) + guess


def _answer(text: str) -> str:
    """Write an answer in words."""
    for short, said in ANSWERS:
        if text.startswith(short):
            text = text.replace(short, said, 1)
            break
    return re.sub(r" at ([+-][\d.]+)$", lambda cost: f", {100 * float(cost[1]):+.1f} points", text)


def draw_recovery_real(folder: Path) -> None:
    """Draw the measured ranges of real data, beside what is expected of them."""
    kept = read(folder, "recovery-real")
    expected = {
        (each["data"], each["transform"]): each["expected"] for each in kept["expectations"]
    }
    ranges: dict[tuple[str, str], list[Kept]] = {}
    for cell in kept["cells"]:
        for row in cell["rows"]:
            place = cell["data"], row["transform"]
            if place in expected and not row["bernoulli"]:
                ranges.setdefault(place, []).append(row)
    figure = canvas(0.9 + 0.32 * len(ranges))
    axis = figure.subplots()
    places = [place for place in expected if place in ranges]
    for height, place in enumerate(places):
        _, low, high = _bounds(expected[place])
        rows = ranges[place]
        limit = rows[0]["limit"]
        end = min(high / limit, 1) - low / limit
        axis.barh(height, end, left=low / limit, height=0.8, color="0.9")
        for index, row in enumerate(rows):
            at = height + 0.5 * ((index + 0.5) / len(rows) - 0.5)
            if row["status"] in ("unclear", "not_invariant"):
                axis.text(0.01, at, row["status"].replace("_", " "), va="center", fontsize=8)
                continue
            axis.hlines(at, *(each / limit for each in row["interval"]), color=COLORS[0], lw=2)
            axis.plot(row["strength"] / limit, at, "o", color=INK, ms=4)
    axis.set(yticks=range(len(places)), xlim=(0, 1.02), xlabel="strength, as a part of the limit")
    axis.set_yticklabels([f"{name}, {transform}" for name, transform in places])
    axis.invert_yaxis()
    tidy(axis)
    figure.savefig(folder / "recovery-real.png", dpi=150)
