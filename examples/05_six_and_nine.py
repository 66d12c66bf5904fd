"""Up to which angle is a 6 still a 6?
===================================

A 6 that is rotated by 180° is a 9, so that at 90° it could be either. But handwritten sixes are not
exactly nines upside down: where the border is depends on the writers. `learn` measures it for the
digits that come with scikit-learn, of 8 by 8 pixels.
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
# MNIST has other writers, more pixels, and here 1000 images of the two digits. It is not on every
# machine, so these are the results of ``python benchmarks/recovery_real.py``, one line per seed:

file = Path(augnet.__file__).parents[1] / "results" / "recovery-real.json"
for cell in json.loads(file.read_text("utf-8"))["cells"]:
    if cell["data"] == "mnist-6-9":
        (row,) = cell["rows"]
        low, high = row["interval"]
        print(f"seed {cell['seed']}: ±{row['strength']:.0f}° ({low:.0f} to {high:.0f}°)")

# %%
# A person would say 80 to 90°. The error rises from about 50° on, before digits become ambiguous.

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


angles = range(-180, 181, 15)
end = result["rotate"].strength
_, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.axvspan(-end, end, color="0.93")
for digit, name in enumerate("69"):
    axis.plot(angles, [accuracy(angle, digit) for angle in angles], lw=2, label=name)
axis.set(xlabel="rotation, degrees", ylabel="accuracy", xticks=range(-180, 181, 90))
axis.set_title(f"scikit-learn's digits: ±{end:.0f}°")
axis.spines[["top", "right"]].set_visible(False)
axis.legend(frameon=False)
plt.show()
