"""Write the findings of an audit as plain text, from the values of `audit.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

MEANINGS = {
    "fragile": "the model gives up earlier than the labels do",
    "matches": "the model holds as far as the labels do",
    "blind": "the model does not react where labels change",
    "unclear": "the samples, the labels or the model cannot tell",
}


def strength(row: Mapping[str, Any], value: float) -> str:
    """Write a strength with its unit: `27°`, `0.12 of the width`."""
    return f"{value:.3g}{'°' if row['unit'] == 'degrees' else ' ' + row['unit']}"


def labels(row: Mapping[str, Any]) -> str:
    """Write how far labels allow a transform: `27° (24 to 31)`, `yes`, `no`."""
    found = row["labels"]
    if found["status"] == "unclear":
        return "unclear"
    if found["status"] == "not_invariant":
        return "no"
    if row["unit"] == "probability" and found["interval"][0] == found["interval"][1]:
        return "yes"
    low, high = found["interval"]
    more = "".join(
        f", {part['name']}{strength(row, part['strength'])}" for part in found["by_direction"]
    )
    return f"{strength(row, found['strength'])} ({low:.3g} to {high:.3g}){more}"


def model(row: Mapping[str, Any]) -> str:
    """Write how far the model holds."""
    if row["unit"] == "probability" and len(row["curve"]) == 2:
        return "holds" if row["reached_limit"] else "does not hold"
    if row["reached_limit"]:
        return f"{strength(row, row['strength'])}, the limit"
    low, high = row["interval"]
    more = "".join(
        f", {part['name']}{strength(row, part['strength'])}" for part in row["by_direction"]
    )
    return f"{strength(row, row['strength'])} ({low:.3g} to {high:.3g}){more}"


def cost(row: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Write what a finding costs: `12.3 points`; what rounds to nothing is `0`."""
    if row["finding"] == "unclear":
        return row["reason"]
    value = round(100 * row["cost"], 1) + 0.0
    unit = "points" if classes else "% of the spread"
    if row["finding"] == "blind":
        return f"{value:.1f} {unit} stay"
    return f"{'−' if value < 0 else ''}{abs(value):.1f} {unit}"


def headline(values: Mapping[str, Any]) -> str:
    """Write how many transforms have each finding, the costly ones by name."""
    rows = values["transforms"]
    sentences = []
    for finding in ("fragile", "blind"):
        names = [row["name"] for row in rows if row["finding"] == finding]
        if names:
            to = "to" if finding == "blind" else "under"
            sentences.append(
                f"The model is {finding} {to} {', '.join(names)}: {MEANINGS[finding]}."
            )
    counts = {each: sum(row["finding"] == each for row in rows) for each in MEANINGS}
    unclear = f"{counts['unclear']} {'is' if counts['unclear'] == 1 else 'are'} unclear"
    sentences.append(f"{counts['matches']} of {len(rows)} transforms match, {unclear}.")
    return " ".join(sentences)


def score(values: Mapping[str, Any]) -> str:
    """Write the score of the model and of chance."""
    if values["classes"]:
        return f"{100 * values['score']:.1f} % (chance {100 * values['chance']:.1f} %)"
    return f"{values['score']:.3f} of the variance explained"
