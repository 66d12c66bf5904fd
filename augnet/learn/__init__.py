"""Measure which transforms preserve the label, and up to which strength. Nothing to tune.

    x, y ──► reference, a network ──► one branch per transform, ──► error that it adds
             without transforms       trained on with it            on held-out samples

    more than the tolerance at once: not_invariant   from a strength on: bounded
    not at all: reached_limit                        cannot be told: unclear

Modules, in the order of the work:

    config      all options and constants
    inputs      validation of data, transforms and trunk
    strengths   a transform at a known fraction of its limit
    evaluate    the errors of a network on held-out samples
    reference   a network trained without transforms
    control     the same training without a transform
    border      where samples of a class have become another
    exchange    two classes that a flip exchanges
    traces      noise that hides what a transform leaves behind
    edge        a range that grows while its edge costs less than a tolerance
    branch      training with one transform, and its range
    decide      the status, the range and its interval
    response    errors and changed predictions against strength
    held        how far an error stays within the tolerance
    sweep       training with one range that grows, for classes and directions
    accounts    what a range costs each class
    meeting     where two classes look the same
    stages      a sweep from stage to stage, and the range of each class or direction
    parts       ranges of classes and directions
    search      the reference, and a branch for each transform
    seeds       the results of several seeds, joined
    net         a net with an augmentation, and its training
    final       how many transforms the final net draws per sample
    selective   layers that select one transform each, instead
    learner     all of it, epoch by epoch, resumable
    progress    how far it is, and how long it will still take
    result      what is returned
"""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from augnet.learn.config import OPTIONS, LearnConfig, with_options
from augnet.learn.learner import Learner
from augnet.learn.progress import Reporter, describe
from augnet.learn.result import Gain, Invariance, InvarianceResult, Status
from augnet.training import Row
from augnet.transforms import TransformSpec

__all__ = [
    "OPTIONS",
    "Gain",
    "Invariance",
    "InvarianceResult",
    "LearnConfig",
    "Learner",
    "Status",
    "learn",
]


@with_options
def learn(
    x: Any,
    y: Any,
    transforms: str | TransformSpec | Iterable[TransformSpec] | None = None,
    *,
    groups: Any = None,
    config: LearnConfig | None = None,
    progress: bool | Callable[[Row], object] = False,
    **options: Any,
) -> InvarianceResult:
    """Measure for each transform up to which strength it preserves the label.

    `x` is a float tensor or array (N, ...), `y` whole numbers or strings (classes) or floats
    (values). Classes of strings are numbered in sorted order. `groups` has the group of each
    sample, such as its subject, as a whole number or string: no group is both fitted and held out.
    Arguments that transforms share, such as `sfreq=100` or `channels=[...]`, are given by name.
    `config` gives options and constants at once; options given by name replace its own.
    `progress` is True for a line about every ten seconds, or a function that is called with each
    row of the history, whose "done" goes from 0 to 1.

    A trunk that is a module is copied; a function is called with no arguments or with (shape,
    outputs). With `layers`, each layer selects one transform at its measured range, and
    the result has one row for the transform that each layer selected.

    One seed gives one result; the global random state does not change. With several `seeds`, from
    `seed` on, ranges are measured once for each and joined: the status by majority, strengths by
    the median, intervals from the least end to the largest. The net is that of the first seed,
    with the joined ranges.

    >>> import torch
    >>> from augnet import learn
    >>> y = torch.arange(64) % 2
    >>> x = 2.0 * y[:, None] - 1 + 0.1 * torch.randn(64, 2, generator=torch.manual_seed(0))
    >>> result = learn(x, y, ["sign_flip", {"name": "gaussian_noise", "limit": 0.2}], budget=60)
    >>> [(row.transform.name, row.status) for row in result.invariances]
    [('sign_flip', 'not_invariant'), ('gaussian_noise', 'reached_limit')]
    >>> print(result["gaussian_noise"])  # doctest: +ELLIPSIS
    gaussian_noise: reached limit, up to 0.2 std (... to 0.2), error +0.000
    >>> result.net(x).argmax(1).equal(y)
    True
    """
    learner = Learner(x, y, transforms, groups=groups, config=config, **options)
    if progress is True:
        with Reporter(lambda line: sys.stderr.write(f"{line}\n")) as reporter:
            for row in learner:
                reporter.update(row, describe(row))
    else:
        for row in learner:
            if callable(progress):
                progress(row)
    return learner.result
