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

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
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

# What augnet adds: a layer of transforms before it, an average over copies, and a tuner. The range
# grows while samples at its edge cost less than 0.1 nats more than others.
net = AugNet(AugmentationModule(AugmentationLayer(Rotate(limit=90))), trunk, copies=20)
tuner = RangeTuner(net.augment)
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
degrees = []
for _ in range(25):
    for rows in torch.randperm(len(x)).split(64):
        losses = F.cross_entropy(net(x[rows]), y[rows], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        tuner.step(losses)
        degrees.append(90 * tuner.magnitudes.item())

print(tuner.finish())
print("accuracy", (net.eval()(x).argmax(1) == y).float().mean().item())

bars, course = plt.subplots(2, figsize=(6, 4))[1]
course.plot(degrees)
course.axhline(30, color="gray", linestyle=":")
course.set(xlabel="step", ylabel="range in degrees")
bars.imshow(torch.cat(list(x[:6, 0]), dim=1), cmap="gray")
plt.tight_layout()
plt.show()
