"""Measure the curve of a transform, and the ranges of its directions and of classes."""

import time
from collections.abc import Sequence
from dataclasses import replace

from torch import nn

from augnet.learn.accounts import Accounts
from augnet.learn.branch import Branch
from augnet.learn.config import LearnConfig
from augnet.learn.decide import NO_TIME
from augnet.learn.exchange import exchanged_classes
from augnet.learn.held import TOO_LOW, curve, unclear_part
from augnet.learn.meeting import find_meetings
from augnet.learn.parts import PartRange
from augnet.learn.response import Response, fractions_of, measure_response, to_fraction
from augnet.learn.result import Invariance
from augnet.learn.stages import Stages, stage_ends
from augnet.learn.sweep import Sweep
from augnet.transforms import Bernoulli, Signed

SIGNS = ("−", "+")
INNER = 0.9
"""One direction does not grow beyond this fraction of the range of both."""
START = 0.5
"""The other one grows from this fraction of that on."""
NEAR = 1.25
"""Directions are compared up to this multiple of the range: beyond, a network that was not trained
there errs in one direction or the other by chance."""
CONTRADICTS = "all samples together lose the label, but no class was found to lose it"


def with_parts(
    branch: Branch, found: Invariance, config: LearnConfig, end: float | None
) -> Invariance:
    """Add to an answer its curve, ranges of directions that differ, and ranges of classes.

    Curves are those of the network of the branch. Classes and directions have sweeps, which are
    trained until the time of day `end`.
    """
    reference = branch.reference
    by_class = config.by_class and bool(reference.data.classes)
    doubt = reference.doubt or (NO_TIME if _late(end) or found.reason == NO_TIME else "")
    if doubt:
        return replace(found, by_class=_unknown(branch, doubt)) if by_class else found
    network = branch.average.network if branch.loop.done else reference.network
    response = _measured(branch, network, fractions_of(found))
    found = replace(found, curve=curve(response, reference.evaluator, config))
    if by_class:
        parts = without_contradiction(found, _by_class(branch, config, end))
        found = replace(found, by_class=parts)
    if not _late(end) and _differ(branch, found, response, config):
        found = replace(found, by_direction=_by_direction(branch, found, config, end))
    return found


def _late(end: float | None) -> bool:
    """Whether the time of day is over."""
    return end is not None and time.time() >= end


def _measured(branch: Branch, network: nn.Module, steps: tuple[float, ...]) -> Response:
    reference = branch.reference
    evaluator, rows = reference.evaluator, reference.held_out
    rest = evaluator.outputs(network, reference.data.x[rows])
    response = measure_response(
        evaluator, network, branch.transform, rows, rest, steps, branch.config.seed
    )
    own = evaluator.errors(rest, rows)
    return replace(
        response, added=response.added + own - branch.compared(own, reference.errors, rows)
    )


def _by_class(branch: Branch, config: LearnConfig, end: float | None) -> tuple[PartRange, ...]:
    """Return the range of each class."""
    reference, transform = branch.reference, branch.transform
    sweep = Sweep(reference, transform, config, "classes")
    stages = Stages(sweep, Accounts(reference, config, by_class=True), end)
    fractions = [1.0]
    if isinstance(transform, Bernoulli):
        for pair in exchanged_classes(reference, transform, config):
            for number in pair:
                stages.meetings[number] = 0
    else:
        fractions = stage_ends(config, config.least_stage)
    if isinstance(transform, Signed):
        stages.meetings[:] = find_meetings(reference.data, transform, fractions, config)
        stages.train_control()
    stages.run([(each, (each, each)) for each in fractions])
    return stages.parts(_names(branch))


def without_contradiction(found: Invariance, parts: Sequence[PartRange]) -> tuple[PartRange, ...]:
    """Return ranges of classes; none are known if they contradict the answer for all samples.

    The error of all samples is the mean of what classes pay. So if the label is lost from strength
    0 on, a class loses it. Where none is found, the sweep was right by traces of the transform.
    """
    lost = any(part.status == "not_invariant" or part.reason == TOO_LOW for part in parts)
    if found.status != "not_invariant" or lost:
        return tuple(parts)
    return tuple(
        unclear_part(part.name, part.samples, CONTRADICTS) if part.kept else part for part in parts
    )


def _differ(branch: Branch, found: Invariance, response: Response, config: LearnConfig) -> bool:
    """Whether the network of a branch errs more in one direction than in the other."""
    if len(response.added) < 2:
        return False
    evaluator, rows = branch.reference.evaluator, response.rows
    most = NEAR * to_fraction(found.transform, found.strength) if found.kept else 1.0
    near = [index for index, each in enumerate(response.fractions) if each <= most]
    for difference in response.added[0, near] - response.added[1, near]:
        noise = config.min_deviations * evaluator.deviation(difference, rows)
        if abs(evaluator.mean(difference, rows).item()) > max(noise, branch.reference.tolerance):
            return True
    return False


def _by_direction(
    branch: Branch, found: Invariance, config: LearnConfig, end: float | None
) -> tuple[PartRange, ...]:
    """Return the ranges of both directions if they differ beyond their intervals.

    For each there is a sweep: it grows beyond the range of both, and the other one does not.
    """
    if found.status not in ("bounded", "not_invariant"):
        return ()
    inner = INNER * to_fraction(found.transform, found.strength) if found.kept else 0.0
    ends = stage_ends(config, max(config.least_stage, START * inner))
    parts: list[PartRange] = []
    for number, name in enumerate(SIGNS):
        sweep = Sweep(branch.reference, branch.transform, config, name)
        stages = Stages(sweep, Accounts(branch.reference, config, by_class=False), end)
        stages.train_control()
        others = [min(inner, each) for each in ends]
        pairs = zip(others, ends, strict=True) if number else zip(ends, others, strict=True)
        stages.run(list(zip(ends, pairs, strict=True)), number)
        parts += stages.parts([name])
    first, second = parts
    return (first, second) if apart(first, second) else ()


def apart(first: PartRange, second: PartRange) -> bool:
    """Whether two ranges are known and do not overlap; two that reach the limit are the same."""
    if "unclear" in (first.status, second.status) or first.status == second.status != "bounded":
        return False
    return first.interval[1] <= second.interval[0] or second.interval[1] <= first.interval[0]


def _names(branch: Branch) -> tuple[str, ...]:
    return branch.data.class_names or tuple(map(str, range(branch.data.classes)))


def _unknown(branch: Branch, reason: str) -> tuple[PartRange, ...]:
    """Return that nothing is known about any class, and why."""
    counts = branch.data.y[branch.reference.held_out].bincount(minlength=branch.data.classes)
    return tuple(
        unclear_part(name, count, reason)
        for name, count in zip(_names(branch), counts.tolist(), strict=True)
    )
