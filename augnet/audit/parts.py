"""Compare the ranges of classes and of directions."""

from collections.abc import Sequence

from augnet.audit.compare import Comparison, Finding
from augnet.audit.result import AuditedPart
from augnet.learn.held import MIN_PART
from augnet.learn.measure_parts import SIGNS
from augnet.learn.parts import PartRange
from augnet.learn.response import Response
from augnet.learn.result import Invariance


def by_class(
    comparison: Comparison, labels: Invariance, response: Response, classes: Sequence[str]
) -> tuple[AuditedPart, ...]:
    """Compare each class; without ranges of classes, with the range of all."""
    data = comparison.evaluator.data
    if not data.classes:
        return ()
    known = {part.name: part for part in labels.by_class}
    parts = []
    for number, name in enumerate(classes):
        some = response.of((data.y == number).nonzero()[:, 0])
        if len(some.rows):
            parts.append(_part(comparison, name, known.get(name), labels, some))
    return tuple(parts)


def by_direction(
    comparison: Comparison, labels: Invariance, response: Response
) -> tuple[AuditedPart, ...]:
    """Compare each direction, if the model or the labels differ between them."""
    if len(response.added) < 2:
        return ()
    ends = [response.towards(number) for number in range(2)]
    first, second = (comparison.held(each) for each in ends)
    apart = first.high <= second.low or second.high <= first.low
    if not apart and not labels.by_direction:
        return ()
    known = {part.name: part for part in labels.by_direction}
    return tuple(
        _part(comparison, name, known.get(name), labels, each)
        for name, each in zip(SIGNS, ends, strict=True)
    )


def _part(
    comparison: Comparison,
    name: str,
    part: PartRange | None,
    labels: Invariance,
    response: Response,
) -> AuditedPart:
    known = part or labels
    found = comparison.compare(known, response, known.reason)
    finding: Finding = "unclear" if len(response.rows) < MIN_PART else found.finding
    strength, interval = found.held.strengths(labels.transform)
    return AuditedPart(name, finding, part, strength, interval, found.cost, len(response.rows))
