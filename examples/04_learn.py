"""Ask what leaves a label alone
=============================

One call, nothing to tune. Arrows point right or left, each turned by up to 15°. So another 75°
either way leave the answer alone, the height does not matter, and a mirror turns one class into the
other. Nobody says so.
"""

import matplotlib.pyplot as plt
import torch

from augnet import learn
from augnet.transforms import Rotate, TranslateY

dice = torch.Generator().manual_seed(0)
y = torch.arange(240) % 2
arrow = torch.zeros(1, 20, 20)
arrow[:, 9:11, 3:12] = 1
for column in range(5):
    arrow[:, 5 + column : 15 - column, 12 + column] = 1
x = torch.where(y[:, None, None, None] == 0, arrow, arrow.flip(-1))
x = Rotate(limit=15)(TranslateY(limit=0.05)(x, generator=dice), generator=dice)

candidates = [
    {"name": "rotate", "limit": 180},
    {"name": "translate_y", "limit": 0.1},
    "horizontal_flip",
]
found = learn(x, y, candidates, budget=150, seed=0)
print(found)
for row in found.invariances:
    print(row.transform.name, row.verdict, row.strength, row.interval, row.unit, sep=" | ")

accuracy = (found.net(x).argmax(1) == y).float().mean().item()
print(f"{len(found.history)} epochs; accuracy of the net, which has them built in: {accuracy:.3f}")

plt.imshow(torch.cat(list(x[:6, 0]), dim=1), cmap="gray")
plt.show()
