"""Wrap a model of your own
========================

The network learns how far a bar may be rotated. Bars are vertical or horizontal, each rotated by up
to ±15°. At 45° the two classes meet, so another rotation by up to ±30° keeps the class. The network
does not know this.
"""

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import nn

from augnet import AugmentationLayer, AugmentationModule, AugNet, WeightedNorm
from augnet.transforms import Rotate

torch.manual_seed(0)
bar = torch.zeros(1, 25, 25)
bar[:, 4:-4, 11:14] = 1
y = torch.randint(2, (1024,))
x = Rotate(limit=15)(torch.where(y[:, None, None, None] == 0, bar, bar.mT))

# Your model: any module. Here a small convolutional network.
trunk = nn.Sequential(
    nn.Conv2d(1, 16, 7, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Linear(256, 32), nn.ReLU(), nn.Linear(32, 2),
)  # fmt: skip

# What augnet adds: a layer of transforms before it, an average over copies, and a regularizer.
augment = AugmentationModule([AugmentationLayer(Rotate(limit=90))])
net = AugNet(augment, trunk, copies=20, train_copies=1)
regularizer = WeightedNorm()

optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(25):
    for rows in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(net(x[rows]), y[rows]) + 0.2 * regularizer(net.augment, x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1:2d}  loss {loss.item():+.3f}  {net.augment}")

print("accuracy", (net.eval()(x).argmax(1) == y).float().mean().item())

plt.imshow(torch.cat(list(x[:6, 0]), dim=1), cmap="gray")
plt.show()
