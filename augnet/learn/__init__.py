"""Which transformations leave the label alone, and how far? One call, nothing to tune.

    x, y, transforms ──► doses of one transform per sample ──► one trunk ──► error against dose, on samples
                                                                   that were not fitted
    error rises at once: none    rises at a dose: within that    does not rise: at least the limit

Read on in this order:

    door      what comes in, checked
    trunks    small networks, where the user brings none
    dose      a transform at a known part of its limit
    profile   the training, and the ranges that grow with it
    measure   the error against the dose, and the verdicts
    curve     where the error begins to rise
    seeds     what several seeds found, as one
    compose   the net at the end
    layers    the paper's selective layers instead
    learning  all of it, epoch by epoch, so that it can be left and taken up again
    found     what comes out
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from augnet.learn.inputs import Trunk
from augnet.learn.learner import Learner
from augnet.learn.result import Invariance, InvarianceResult, Row, Status
from augnet.transforms import TransformSpec

__all__ = ["InvarianceResult", "Invariance", "Learner", "Status", "learn"]


def learn(
    x: Any,
    y: Any,
    transforms: str | TransformSpec | Iterable[TransformSpec] = "auto",
    *,
    layers: Iterable[Iterable[TransformSpec]] | None = None,
    trunk: Trunk = None,
    budget: int | float | str | None = None,
    seed: int = 0,
    seeds: int = 1,
    progress: bool | Callable[[Row], object] = False,
    **shared: Any,
) -> InvarianceResult:
    """Find for each transform how far it may go before the label can no longer be told.

    `x` is a float tensor or array (N, ...), `y` whole numbers (classes) or floats (values).
    `transforms` are names, tables or Transforms, or "auto": all that fit; what they share, such as
    `sfreq=100` or `channels=[...]`, is given by name. `trunk` is a module, of which a copy is
    trained, or a function that makes one, of nothing or of (shape, outputs). `budget` is a whole
    number of epochs, or a time for all of it: "90s", "10m", "1h", or seconds as 30.0. `progress` is
    True for a line now and then, or a function that is called with each row of the history, whose
    "done" goes from 0 to 1.
    With `layers`, lists of transforms, the paper's selective layers are trained on the ranges found, and
    there is one row for the transform that each layer selected.

    One seed gives one result; the global random state is left alone. With several `seeds`, from
    `seed` on, ranges are measured once for each, and joined: verdicts by majority, strengths by the
    median, intervals from the least end to the largest. The net is that of the first seed, with the
    joined ranges.

    >>> import torch
    >>> from augnet import learn
    >>> y = torch.arange(64) % 2
    >>> x = 2.0 * y[:, None] - 1 + 0.1 * torch.randn(64, 2, generator=torch.manual_seed(0))
    >>> found = learn(x, y, ["sign_flip", {"name": "gaussian_noise", "limit": 0.2}], budget=60)
    >>> print(found)
    sign_flip: not invariant
    gaussian_noise: reached limit, 0.2 std (0.2 to 0.2)
    >>> found.net(x).argmax(1).equal(y)
    True
    """
    learning = Learner(
        x,
        y,
        transforms,
        layers=layers,
        trunk=trunk,
        budget=budget,
        seed=seed,
        seeds=seeds,
        **shared,
    )
    tell = _teller(progress)
    for row in learning:
        tell(row)
    return learning.result


def _teller(progress: bool | Callable[[Row], object]) -> Callable[[Row], object]:
    """Tell someone about each row, or nobody."""
    if callable(progress):
        return progress
    said = 0.0

    def tell(row: Row) -> None:
        nonlocal said
        if row["done"] < said + 0.05 and row["done"] < 1:
            return
        said = row["done"]
        told = ("phase", "epoch", "done", "seed")
        parts = [f"{key} {value:.3g}" for key, value in row.items() if key not in told]
        sys.stderr.write(f"{said:4.0%} {row['phase']} epoch {row['epoch']}: {', '.join(parts)}\n")

    return tell if progress else lambda row: None
