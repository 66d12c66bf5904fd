"""Up to which angle is a 6 still a 6?
===================================

A 6 that is rotated by 180° is a 9, so that at 90° it could be either. But handwritten sixes are not
exactly nines upside down: where the border is depends on the writers. `learn` measures it for the
digits that come with scikit-learn, of 8 by 8 pixels. The results for MNIST, of 28 by 28, are kept
in results/real.json, because MNIST is not on every machine.
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

result = learn(x, y, [{"name": "rotate", "limit": 180}], seed=0)
print(result)

# %%
# The same for MNIST
# ------------------
#
# MNIST has other writers, more pixels, and here 4000 images of the two digits. These runs were made
# by ``python benchmarks/real.py`` with an earlier version, whose commit is in the file:

kept = json.loads((Path(augnet.__file__).parents[1] / "results" / "real.json").read_text("utf-8"))
for name in ("digits, 6 and 9", "MNIST, 6 and 9"):
    for cell in kept["tasks"][name]:
        print(
            f"{name}, {cell['samples']} samples, seed {cell['seed']}:",
            cell["invariances"][0]["text"],
        )

# %%
# How the network predicts rotated digits
# ---------------------------------------
#
# Accuracy of the trained trunk on fresh digits at all angles. (The whole network would rotate them
# further, within the range, and average.) The measured range is gray.


@torch.no_grad()
def accuracy(angle: float, digit: int) -> float:
    """Return the accuracy on a digit's fresh images when they are rotated."""
    mine = fresh[truth == digit]
    views = Rotate(limit=180).transform(mine, torch.full((len(mine),), angle))
    return (result.net.trunk(views).argmax(1) == digit).float().mean()


_, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
angles = kept["angles"]
mnist = kept["tasks"]["MNIST, 6 and 9"][0]
curves = {
    "scikit-learn's digits": (
        [[accuracy(a, d) for a in angles] for d in (0, 1)],
        result["rotate"].strength,
    ),
    "MNIST": (mnist["accuracy_by_angle"], mnist["invariances"][0]["strength"]),
}
for axis, (name, (accuracies, end)) in zip(axes, curves.items(), strict=True):
    axis.axvspan(-end, end, color="0.93")
    for digit, values in zip("69", accuracies, strict=True):
        axis.plot(angles, values, lw=2, label=digit)
    axis.set(title=f"{name}: ±{end:.0f}°", xlabel="rotation, degrees", xticks=range(-180, 181, 90))
    axis.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("accuracy")
axes[0].legend(frameon=False)
plt.show()
