"""How far may a 6 turn before it is a 9?
======================================

A 6 that is turned by 180° is a 9, so that at 90° it could be either. People do not write sixes that
are nines upside down, though: where the border is depends on who wrote. `learn` is asked about the
digits that come with scikit-learn, of 8 by 8 pixels; what it said of MNIST, of 28 by 28, is kept in
results/real.json, because MNIST is not on every machine.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits

import augnet
from augnet import learn
from augnet.transforms import Rotate

digits = load_digits()
rows = (digits.target == 6) | (digits.target == 9)
x = torch.tensor(digits.images[rows][:, None] / 16).float()
y = torch.tensor(digits.target[rows] == 9).long()
x, y, fresh, truth = x[:280], y[:280], x[280:], y[280:]

found = learn(x, y, [{"name": "rotate", "limit": 180}], seed=0)
print(found)

# %%
# What MNIST says
# ---------------
#
# The same question, with other writers, more pixels and 4000 images of the two. The runs are kept
# as ``python benchmarks/real.py`` made them:

kept = json.loads((Path(augnet.__file__).parents[1] / "results" / "real.json").read_text("utf-8"))
for name in ("digits, 6 and 9", "MNIST, 6 and 9"):
    for cell in kept["tasks"][name]:
        print(f"{name}, {cell['samples']} samples, seed {cell['seed']}:", cell["found"][0]["said"])

# %%
# What the network makes of turned digits
# ---------------------------------------
#
# Fresh digits, turned from upside down to upside down, and what the trained trunk says. (The whole
# network would turn them further by as much as the range, and average.) The range found is gray.


@torch.no_grad()
def told(angle: float, digit: int) -> float:
    """Give the share of a digit's fresh images that are told right when they are turned."""
    mine = fresh[truth == digit]
    views = Rotate(limit=180).transform(mine, torch.full((len(mine),), angle))
    return (found.net.trunk(views).argmax(1) == digit).float().mean()


_, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
angles = kept["angles"]
mnist = kept["tasks"]["MNIST, 6 and 9"][0]
curves = {
    "scikit-learn's digits": (
        [[told(a, d) for a in angles] for d in (0, 1)],
        found["rotate"].strength,
    ),
    "MNIST": (mnist["turned"], mnist["found"][0]["strength"]),
}
for axis, (name, (shares, reach)) in zip(axes, curves.items(), strict=True):
    axis.axvspan(-reach, reach, color="0.93")
    for digit, share in zip("69", shares, strict=True):
        axis.plot(angles, share, lw=2, label=digit)
    axis.set(
        title=f"{name}: ±{reach:.0f}°", xlabel="turned by, degrees", xticks=range(-180, 181, 90)
    )
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("told right")
axes[0].legend(frameon=False)
plt.show()
