"""Measure the curve of a transform, and the ranges of its directions and of classes."""

import time
from dataclasses import replace

from torch import nn

from augnet.learn.branch import Branch
from augnet.learn.config import LearnConfig
from augnet.learn.held import curve, find_held, part_range
from augnet.learn.parted import PartedBranch
from augnet.learn.parts import PartRange
from augnet.learn.response import Response, fractions_of, measure_response
from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli

SIGNS = ("−", "+")
CHECKED = 0.5
"""Ranges of parts are searched for from this fraction of what their training came to."""


def with_parts(
    branch: Branch, found: Invariance, config: LearnConfig, end: float | None
) -> Invariance:
    """Add to an answer its curve, ranges of directions that differ, and ranges of classes.

    Curves are those of the network of the branch. Classes and directions have a further branch in
    which each has its own range; it is trained until the time of day `end`.
    """
    reference = branch.reference
    by_class = config.by_class and bool(reference.data.classes)
    if reference.doubt:
        return replace(found, by_class=_unknown(branch)) if by_class else found
    network = branch.average.network if branch.loop.done else reference.network
    steps = fractions_of(found)
    response = _measured(branch, network, steps)
    found = replace(found, curve=curve(response, reference.evaluator, config))
    found = replace(found, by_direction=_by_direction(branch, response, config, end))
    if by_class:
        found = replace(found, by_class=_by_class(branch, response, config, end))
    return found


def _measured(branch: Branch, network: nn.Module, steps: tuple[float, ...]) -> Response:
    reference = branch.reference
    evaluator, rows = reference.evaluator, reference.held_out
    rest = evaluator.outputs(network, reference.data.x[rows])
    response = measure_response(
        evaluator, network, branch.transform, rows, rest, steps, branch.config.seed
    )
    # Errors are compared with those of the reference, unless the network makes fewer.
    own = evaluator.errors(rest, rows)
    if reference.error <= evaluator.mean(own, rows).item():
        return replace(response, added=response.added + own - reference.errors)
    return response


def _by_direction(
    branch: Branch, response: Response, config: LearnConfig, end: float | None
) -> tuple[PartRange, ...]:
    """Return the ranges of both directions if they differ beyond their intervals."""
    reference = branch.reference
    if len(response.added) < 2 or not _apart(branch, response, config):
        return ()
    parted = PartedBranch(reference, branch.transform, config, True)
    network = parted.train(_left(end))
    if network is None:
        return ()
    response = _measured(branch, network, response.fractions)
    if not _apart(branch, response, config):
        return ()
    low, high = (
        part_range(
            response.towards(number).beyond(CHECKED * parted.range_of(number)),
            reference.evaluator,
            reference.tolerance,
            config,
            SIGNS[number],
        )
        for number in range(2)
    )
    return low, high


def _apart(branch: Branch, response: Response, config: LearnConfig) -> bool:
    """Whether the intervals of both directions do not overlap."""
    evaluator, tolerance = branch.reference.evaluator, branch.reference.tolerance
    first, second = (
        find_held(response.towards(number), evaluator, tolerance, config) for number in range(2)
    )
    return first.high <= second.low or second.high <= first.low


def _by_class(
    branch: Branch, response: Response, config: LearnConfig, end: float | None
) -> tuple[PartRange, ...]:
    """Return the range of each class; of a Bernoulli transform, by the network of its branch."""
    reference, data = branch.reference, branch.data
    names, labels = _names(branch), data.y[reference.held_out]
    starts = [0.0] * data.classes
    if not isinstance(branch.transform, Bernoulli):
        parted = PartedBranch(reference, branch.transform, config, False)
        network = parted.train(_left(end))
        if network is None:
            return _unknown(branch)
        response = _measured(branch, network, response.fractions)
        starts = [CHECKED * parted.range_of(number) for number in range(data.classes)]
    return tuple(
        part_range(
            response.of((labels == number).nonzero()[:, 0]).beyond(starts[number]),
            reference.evaluator,
            reference.tolerance,
            config,
            name,
        )
        for number, name in enumerate(names)
    )


def _names(branch: Branch) -> tuple[str, ...]:
    return branch.data.class_names or tuple(map(str, range(branch.data.classes)))


def _unknown(branch: Branch) -> tuple[PartRange, ...]:
    """Return that nothing is known about any class."""
    counts = branch.data.y[branch.reference.held_out].bincount(minlength=branch.data.classes)
    return tuple(
        PartRange(name, "unclear", 0.0, (0.0, 0.0), count)
        for name, count in zip(_names(branch), counts.tolist(), strict=True)
    )


def _left(end: float | None) -> float | None:
    return None if end is None else end - time.time()
