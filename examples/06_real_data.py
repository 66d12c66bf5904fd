"""Known invariances of real data
==============================

Some answers are known: a blood cell may lie at any angle, a mirrored b is a d, and a photo of a
horse may be mirrored. They were written down before `learn` was run on ten real data sets with five
seeds each. Not all data is on every machine, so this page draws the results that are kept in
results/recovery-real.json, right and wrong ones.
"""

import json
from math import log
from pathlib import Path

import matplotlib.pyplot as plt

import augnet

file = Path(augnet.__file__).parents[1] / "results" / "recovery-real.json"
record = json.loads(file.read_text("utf-8"))
cells = record["cells"]
print(f"{record['command']}\ncommit {record['commit']}")
for what, count in record["total"].items():
    print(f"{what}: {count}")

# %%
# How far each range goes
# -----------------------
#
# A dot is the range of one seed, as a fraction of the limit of the search. Its line is the interval
# of 90 %. A cross at 0 is a transform that is not invariant, a question mark is unclear.


def fraction(row: dict, strength: float) -> float:
    """Return a strength as a fraction of the limit; factors by their logarithms."""
    if row["unit"] == "times":
        return log(max(strength, 1.0)) / log(row["limit"])
    return strength / row["limit"]


ranges = {
    (cell["data"], row["transform"]): f"{row['limit']:g} {row['unit']}"
    for cell in cells
    for row in cell["rows"]
    if not row["bernoulli"]
}
_, axis = plt.subplots(figsize=(8, 0.5 * len(ranges) + 1), layout="constrained")
for cell in cells:
    for row in cell["rows"]:
        if row["bernoulli"]:
            continue
        place = list(ranges).index((cell["data"], row["transform"])) + 0.14 * (cell["seed"] - 2)
        if row["status"] == "unclear":
            axis.text(0, place, "?", va="center", ha="center", fontsize=8)
        elif row["status"] == "not_invariant":
            axis.plot(0, place, "x", ms=5, color="C3")
        else:
            low, high = (fraction(row, end) for end in row["interval"])
            axis.plot([low, high], [place, place], color="0.75", lw=2)
            axis.plot(fraction(row, row["strength"]), place, "o", ms=4, color="C0")
axis.set_yticks(
    range(len(ranges)), [f"{data}: {name}\n(limit {ranges[data, name]})" for data, name in ranges]
)
axis.set(xlabel="fraction of the limit", xlim=(-0.04, 1.04))
axis.spines[["top", "right"]].set_visible(False)
axis.invert_yaxis()
plt.show()

# %%
# Right and wrong
# ---------------
#
# All expectations, and in how many seeds they hold. A guess is ours, and not a known answer.

for each in record["expectations"]:
    name = f"{each['data']}: {each['transform']}"
    print(f"{name:32} {each['expected']:28} {each['right']} of {each['seeds']}")

# %%
# What falls short: a person reads a 6 until 80 or 90°, ``learn`` ends near 50°. Reversed words are
# kept, because the network errs on nearly half of the words of unheard speakers anyway, and a
# reversal adds little to that. :doc:`The study <../studies/recovery>` says more.
