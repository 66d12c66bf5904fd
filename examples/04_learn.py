"""Measure which transforms preserve a label
=========================================

One call, nothing to tune. Arrows point right or left, each rotated by up to 15°. So another 75° in
either direction preserve the label, a vertical shift changes nothing, and a horizontal flip turns
one class into the other. `learn` measures this from the data alone.
"""

import matplotlib.pyplot as plt
import torch

from augnet import learn
from augnet.transforms import Rotate, TranslateY

generator = torch.Generator().manual_seed(0)
y = torch.arange(240) % 2
arrow = torch.zeros(1, 20, 20)
arrow[:, 9:11, 3:12] = 1
for column in range(5):
    arrow[:, 5 + column : 15 - column, 12 + column] = 1
x = torch.where(y[:, None, None, None] == 0, arrow, arrow.flip(-1))
x = Rotate(limit=15)(TranslateY(limit=0.05)(x, generator=generator), generator=generator)

candidates = [
    {"name": "rotate", "limit": 180},
    {"name": "translate_y", "limit": 0.1},
    "horizontal_flip",
]
result = learn(x, y, candidates, budget=150, seed=0)
print(result)
for row in result.invariances:
    print(row.transform.name, row.status, row.strength, row.interval, row.unit, sep=" | ")

accuracy = (result.net(x).argmax(1) == y).float().mean().item()
print(f"{result.steps} training steps; accuracy of the net with these ranges: {accuracy:.3f}")

plt.imshow(torch.cat(list(x[:6, 0]), dim=1), cmap="gray")
plt.show()
