"""Audit a trained model: compare its invariances with those that its labels allow.

    model ──► error and changed predictions against strength ──┐
                                                               ├──► fragile, matches, blind, unclear
    x, y  ──► learn: how far labels allow each transform ──────┘

Nothing is trained for the side of the model.

    load          a model: augnet's own, ONNX, torch.export, module:function, any callable
    model_input   what it expects: scale, mean and std, layout, size
    predictor     its outputs, checked
    auditor       all of it, transform by transform, resumable
    compare       the finding for a transform, a class, or a direction
    parts         the same for classes and directions
    worst         samples that show it
    result        what is returned
    read          held-out samples from files
    recheck       a later model at the strengths of an earlier audit
    pytest_file   a test that fails if a later model is less invariant
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from augnet.audit.auditor import Auditor
from augnet.audit.compare import Finding
from augnet.audit.load import AuditError, Loaded, load_model
from augnet.audit.model_input import ModelInput
from augnet.audit.result import Audited, AuditedPart, AuditResult, Worst
from augnet.learn.config import LearnConfig, with_options
from augnet.training import Row
from augnet.transforms import TransformSpec

__all__ = [
    "AuditError",
    "AuditResult",
    "Audited",
    "AuditedPart",
    "Auditor",
    "Finding",
    "Loaded",
    "ModelInput",
    "Worst",
    "audit",
    "load_model",
]


@with_options
def audit(
    model: Any,
    x: Any,
    y: Any,
    transforms: str | TransformSpec | Iterable[TransformSpec] | None = None,
    *,
    learned: Any = None,
    input: Any = "auto",
    classes: Sequence[str] = (),
    outputs: Sequence[str] = (),
    groups: Any = None,
    device: Any = None,
    trust: bool = False,
    config: LearnConfig | None = None,
    progress: bool | Callable[[Row], object] = False,
    **options: Any,
) -> AuditResult:
    """Compare how far labels allow each transform with how far a trained model holds.

    `model` is a function from a batch to scores (B, K) or values, an object with `predict_proba`
    (which gets arrays), a `Model`, or the path of a model: a directory of `augnet learn`, an
    `.onnx` file, a `.pt2` program (which torch unpickles: `trust=True`), or `module:function`.
    `x` and `y` are held-out samples, as `learn` takes them. `input` is a `ModelInput`, or one of
    its values: how the model wants its samples.

    `learned` tells how far labels allow transforms: the result of `learn`, or the directory of
    `augnet learn`. Without it, this is measured on `x` and `y`, within `budget`; options are those
    of `learn`. `classes` are the names of classes 0, 1, ..., and `outputs` those of the outputs of
    the model, if it has them in another order. `device` is where transforms and a torch model run.

    >>> import torch
    >>> from augnet import audit
    >>> y = torch.arange(200) % 2
    >>> x = (1 + y)[:, None] * (2.0 * (torch.arange(200) % 7 > 0)[:, None] - 1)
    >>> x = x + 0.05 * torch.randn(200, 2, generator=torch.manual_seed(0))
    >>> result = audit(lambda x: torch.stack((1.5 - x[:, 0], x[:, 0] - 1.5), 1), x, y, "sign_flip")
    >>> result["sign_flip"].finding  # the size is the class, and the model ignores negative ones
    'fragile'
    """
    auditor = Auditor(
        model,
        x,
        y,
        transforms,
        learned=learned,
        input=input,
        classes=classes,
        outputs=outputs,
        groups=groups,
        device=device,
        trust=trust,
        config=config,
        **options,
    )
    report = progress if callable(progress) else _reporter(progress)
    for row in auditor:
        report(row)
    return auditor.result


def _reporter(progress: bool) -> Callable[[Row], object]:
    """Return a function that writes a line for each twentieth, or does nothing."""
    reported = 0.0

    def report(row: Row) -> None:
        nonlocal reported
        if row["done"] >= reported + 0.05 or row["done"] >= 1:
            reported = row["done"]
            sys.stderr.write(f"{reported:4.0%} {row['phase']}: {row['transform']}\n")

    return report if progress else lambda row: None
