"""Find samples that show a finding, before and after the transform."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from augnet.audit.compare import Finding
from augnet.audit.result import Worst
from augnet.learn.evaluate import CHUNK
from augnet.learn.response import Response, to_fraction, view
from augnet.learn.result import Invariance

if TYPE_CHECKING:
    from augnet.audit.auditor import Auditor

SHOWN = 3


def find_worst(
    auditor: "Auditor", labels: Invariance, response: Response, finding: Finding
) -> tuple[Worst, ...]:
    """Return a few samples that a fragile model loses, or whose prediction a blind one keeps.

    A fragile model loses them at the least strengths. Samples are of different classes.
    """
    if finding not in ("fragile", "blind"):
        return ()
    blind = finding == "blind"
    end = 1.0 if blind else to_fraction(labels.transform, labels.strength)
    within = [k for k, fraction in enumerate(response.fractions) if fraction <= end + 1e-9] or [0]
    index = within[-1]
    wanted = -response.changed[:, index] if blind else response.added[:, within].mean(1)
    direction = int(wanted.mean(1).argmax())
    scores = wanted[direction]
    order = scores.argsort(descending=True, stable=True)
    rows = _of_different_classes(auditor, order)
    fraction, sign = response.fractions[index], response.directions[direction]
    found = []
    for row in rows:
        if not blind and scores[row] <= 0:
            continue
        after = _view(auditor, response, row, fraction, sign)
        before = auditor.data.x[response.rows[row]]
        output = auditor.evaluator.outputs(auditor.predictor, after[None])[0]
        found.append(
            Worst(
                int(response.rows[row]),
                float(labels.transform.strength(sign * fraction)),
                auditor.describe(auditor.data.y[response.rows[row]]),
                auditor.describe(auditor.rest[row], scores=True),
                auditor.describe(output, scores=True),
                torch.stack((before, after)).cpu(),
            )
        )
    return tuple(found)


def _of_different_classes(auditor: "Auditor", order: Tensor) -> list[int]:
    if not auditor.data.classes:
        return order[:SHOWN].tolist()
    first: dict[int, int] = {}
    for row in order[: 50 * SHOWN].tolist():
        first.setdefault(int(auditor.data.y[row]), row)
    return list(first.values())[:SHOWN]


def _view(
    auditor: "Auditor", response: Response, row: int, fraction: float, direction: float
) -> Tensor:
    """Return a sample as it was measured: with the params of its chunk."""
    number = row // CHUNK
    chunk = response.rows.split(CHUNK)[number]
    x = auditor.data.x[chunk]
    seed = auditor.config.seed
    return view(response.transform, x, fraction, direction, seed, number)[row % CHUNK]
