"""What each class of digits costs networks that are trained from scratch within one range.

A check of `by_class=True` by other means: labels as they are, no targets of a reference, no noise,
and a network for each strength. Samples and split are those of seed 0 of benchmarks/by_class.py.
Writes `check` into results/by-class.json.

    python benchmarks/by_class_check.py
"""

import copy
import json
from typing import Any

import torch
import torch.nn.functional as F
from by_class import RESULTS
from by_class_tasks import build
from torch import Generator, Tensor, nn

from augnet.data import load_digits
from augnet.learn import LearnConfig, Learner
from augnet.learn.strengths import apply_at_strength
from augnet.paper.run import commit
from augnet.training import WeightAverage
from augnet.transforms import Transform

TRANSFORMS = {
    "rotate": (180.0, (10.0, 20.0, 30.0, 45.0, 60.0, 90.0)),
    "translate_x": (0.5, (0.1, 0.2, 0.3, 0.4)),
}
"""The limit of each transform, and the strengths."""
STEPS, BATCH, LR = 1500, 64, 3e-3
PLACES = (0.9, 1.0)
"""Fractions of a strength at which its edge is measured, as in a sweep."""


def train(trunk: nn.Module, x: Tensor, y: Tensor, transform: Transform, end: float) -> nn.Module:
    """Train a network on samples that are transformed up to a fraction of the limit."""
    generator = Generator().manual_seed(0)
    trunk = copy.deepcopy(trunk).train()
    average = WeightAverage(trunk, 0.99)
    optimizer = torch.optim.AdamW(trunk.parameters(), lr=LR, weight_decay=1e-2)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = LR * min(1.0, (step + 1) / 50, 2 * (1 - step / STEPS))
        rows = torch.randint(len(x), (BATCH,), generator=generator)
        place = end * (2 * torch.rand(BATCH, generator=generator) - 1)
        seen = apply_at_strength(transform, x[rows], place.abs(), generator, place.sign())
        loss = F.cross_entropy(trunk(seen), y[rows], label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(trunk)
    return average.network.eval()


@torch.no_grad()
def errors(network: nn.Module, x: Tensor, y: Tensor, transform: Transform, end: float) -> Tensor:
    """Return what each class pays at both edges: half of what is lost to others, and by others."""
    costs = []
    for place in PLACES:
        for sign in (-1.0, 1.0):
            full = torch.ones(len(x))
            view = apply_at_strength(transform, x, place * end * full, Generator(), sign * full)
            predicted = F.one_hot(network(view).argmax(1), 10)
            true = F.one_hot(y, 10)
            costs.append((predicted != true).float().sum(0) / 2 / true.sum(0))
    return torch.stack(costs).mean(0)


def check(name: str) -> dict[str, Any]:
    """Return the cost of each class at each strength."""
    limit, strengths = TRANSFORMS[name]
    transform = build(name, limit=limit)
    torch.manual_seed(0)
    learner = Learner(*load_digits(), [transform], config=LearnConfig(trunk="small", threads=1))
    data, trunk = learner.data, learner.trunk
    fitted, held_out = ((data.x[rows], data.y[rows]) for rows in (data.fitted, data.held_out))
    plain = errors(train(trunk, *fitted, transform, 0.0), *held_out, transform, 0.0)
    rows = []
    for strength in strengths:
        end = strength / limit
        added = errors(train(trunk, *fitted, transform, end), *held_out, transform, end) - plain
        classes = [round(each, 4) for each in added.tolist()]
        rows.append(
            {"strength": strength, "all": round(added.mean().item(), 4), "classes": classes}
        )
        print(name, rows[-1], flush=True)
    return {"transform": name, "steps": STEPS, "rows": rows, "commit": commit()}


def main() -> None:
    """Check all transforms, and add what was found to the results."""
    torch.set_num_threads(1)
    found = [check(name) for name in TRANSFORMS]
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": []}
    RESULTS.write_text(f"{json.dumps(kept | {'check': found}, indent=1)}\n")


if __name__ == "__main__":
    main()
