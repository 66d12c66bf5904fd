"""Draw how the paper's regularizer selects one of two transforms: figure 2 of the paper."""

from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from augnet.app.style import INK, SOFT, canvas, color, legend, tidy
from augnet.regularizers import weighted_norm

ADMISSIBLE = (0.4, 0.8)
"""The magnitudes beyond which each of the two transforms harms the training."""
START = 0.05
STEPS, RATE, COST = 6000, 1e-3, 5.0


def path(admissible: tuple[float, float] = ADMISSIBLE) -> tuple[Tensor, Tensor]:
    """Descend on the regularizer and a cost beyond `admissible`: all weights and magnitudes."""
    logits = nn.Parameter(torch.zeros(2))
    magnitudes = nn.Parameter(torch.full((2,), START))
    groups: list[dict[str, Any]] = [
        {"params": [logits], "lr": 10 * RATE},
        {"params": [magnitudes]},
    ]
    optimizer = torch.optim.SGD(groups, lr=RATE)
    limits = torch.tensor(admissible)
    seen = []
    for _ in range(STEPS):
        weights = logits.softmax(0)
        seen.append((weights.detach(), magnitudes.detach().clone()))
        # A transform costs what it does to the data, so its cost has its weight as a factor.
        cost = COST * (weights * (magnitudes - limits).relu()).sum()
        optimizer.zero_grad()
        (weighted_norm(weights, magnitudes) + cost).backward()
        optimizer.step()
    return torch.stack([each for each, _ in seen]), torch.stack([each for _, each in seen])


def selectivity() -> Figure:
    """Draw w ⊙ μ from the start to the end, and the lines on which it moves if μ is fixed."""
    weights, magnitudes = path()
    points = (weights * magnitudes).numpy()
    figure = canvas(3.6)
    axis = figure.subplots()
    first, second = ADMISSIBLE
    axis.plot([0, START], [START, 0], color=SOFT, lw=1.2, ls=":", label="μ at the start")
    axis.plot([0, first], [first, 0], color=SOFT, lw=1.2, ls="--", label="μ₁ reaches its limit")
    axis.plot([0, first], [second, 0], color=INK, lw=1.2, label="μ₂ reaches its limit")
    axis.plot(*points.T, color=color(1), lw=2.2, label="w ⊙ μ in training")
    axis.plot(*points[0], "o", color=color(1), ms=5)
    axis.plot(*points[-1], "s", color=color(1), ms=6)
    limits = (-0.02, second + 0.05)
    axis.set(xlabel="w₁ μ₁", ylabel="w₂ μ₂", xlim=limits, ylim=limits)
    axis.set_aspect("equal")
    tidy(axis)
    legend(figure, axis)
    return figure
