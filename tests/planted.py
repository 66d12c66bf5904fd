"""A small task with a planted invariance: the class is the channel of a wave, whatever its sign.

In the training set few waves are upside down, in the validation set half of them. So a search that
uses the validation set should find the sign flip. Waves are symmetric in time in all sets: a search
for views that look like the training set should find the reversal of time. Strong noise and silent
channels destroy the class.
"""

from collections import Counter
from itertools import chain

import torch
from torch import nn

from augnet.paper.config import Training
from augnet.paper.datasets import Samples, Splits
from augnet.paper.search import Task
from augnet.transforms import build_transforms

UNSEEN, SEEN, HARMFUL = "sign_flip", "time_reverse", ("gaussian_noise", "channel_dropout")
TIMES = 16


def samples(count, upside_down, seed):
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(count) % 2
    bump = torch.exp(-0.5 * ((torch.arange(TIMES) - TIMES / 2 + 0.5) / 3) ** 2)
    sign = 1 - 2 * (torch.rand(count, generator=generator) < upside_down).float()
    x = torch.randn(count, 2, TIMES, generator=generator)
    x[torch.arange(count), y] += 1.5 * sign[:, None] * bump
    return Samples(x, y)


def task(seed=0, epochs=8, size=64, **changes):
    splits = Splits(samples(size, 0.1, seed), samples(128, 0.5, seed + 100), samples(
        256, 0.5, seed + 200))  # fmt: skip
    training = Training(epochs=epochs, batch_size=16, lr=1e-2, **changes)
    candidates = [
        {"name": transform, "limit": 1.0} for transform in (UNSEEN, SEEN, "channel_dropout")
    ]
    candidates.append({"name": "gaussian_noise", "limit": 3.0})
    return Task(splits, trunk, build_transforms(candidates), training, seed=seed)


def trunk():
    return nn.Sequential(nn.Flatten(), nn.Linear(2 * TIMES, 16), nn.ReLU(), nn.Linear(16, 2))


def shares(policy):
    """Return the share of each transform in all that a policy does."""
    used = Counter()
    for step in chain(*policy.subpolicies):
        used[step.transform.name] += step.probability if step.magnitude else 0.0
    total = sum(used.values()) or 1.0
    return {name: value / total for name, value in used.items()}
