"""Run an audit transform by transform: it can be watched, left, and resumed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Generator, Tensor

from augnet.audit.compare import Comparison, labels_curve
from augnet.audit.load import load_model
from augnet.audit.model_input import ModelInput
from augnet.audit.parts import by_class, by_direction
from augnet.audit.predictor import Predictor
from augnet.audit.result import ORDER, Audited, AuditResult
from augnet.audit.worst import find_worst
from augnet.learn.config import LearnConfig, configure, with_options
from augnet.learn.evaluate import Evaluator
from augnet.learn.held import curve
from augnet.learn.inputs import LearnData, prepare_data, prepare_transforms
from augnet.learn.learner import Learner
from augnet.learn.response import Response, fractions_of, measure_response
from augnet.learn.result import Invariance, InvarianceResult, name_classes
from augnet.training import Row, choose_threads, use_threads
from augnet.transforms import Transform, TransformSpec

if TYPE_CHECKING:
    from augnet.data.input_spec import InputSpec

LABELS = 0.7
"""The fraction of the progress that labels are, if they are learned."""


@with_options
class Auditor:
    """Iterate over rows of progress; `result` is available after the last one.

    The arguments are those of `audit`. Between two rows `state_dict` holds all that changes.
    """

    def __init__(
        self,
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
        spec: "InputSpec | None" = None,
        device: Any = None,
        trust: bool = False,
        config: LearnConfig | None = None,
        **options: Any,
    ) -> None:
        self.config, shared = configure(config, transforms, options)
        loaded = load_model(model, trust)
        if outputs:
            loaded = replace(loaded, classes=tuple(outputs))
        if device is not None:
            x = torch.as_tensor(x).to(device)
            if isinstance(loaded.function, torch.nn.Module):
                loaded.function.to(device)
        generator = Generator().manual_seed(self.config.seed)
        halves = prepare_data(x, y, generator, self.config, groups)
        rows = torch.arange(len(halves.x), device=halves.x.device)
        self.data: LearnData = replace(halves, fitted=rows, held_out=rows)
        self.rows = rows
        self.evaluator = Evaluator(self.data, self.config.max_class_weight)
        self.predictor = Predictor(loaded, self.data, ModelInput.of(input), spec, classes)
        self.classes = tuple(classes) or self.data.class_names
        if self.data.classes and not self.classes:
            self.classes = tuple(map(str, range(self.data.classes)))
        self.threads = choose_threads(self.config.threads)
        self.learned, self.learner = self._prepare_labels(x, y, transforms, learned, groups, shared)
        with use_threads(self.threads):
            self.rest = self.evaluator.outputs(self.predictor, self.data.x)
        self.responses: list[Response] = []
        self._result: AuditResult | None = None
        self.history: list[Row] = []

    def _prepare_labels(
        self,
        x: Any,
        y: Any,
        transforms: Any,
        learned: Any,
        groups: Any,
        shared: Mapping[str, Any],
    ) -> tuple[list[Invariance], Learner | None]:
        """Return what is known about labels, or a Learner that finds out."""
        if learned is None:
            # All of the budget is for the search, as no net is needed.
            config = replace(self.config, search_fraction=1.0, curves=True, layers=None)
            learner = Learner(x, y, groups=groups, config=config, **shared)
            self.transforms: list[Transform] = learner.transforms
            return [], learner
        rows = name_classes(read_invariances(learned), self.classes)
        if transforms is not None and transforms != "auto":
            wanted = prepare_transforms(transforms, self.data.x, **shared)
            known = {row.transform.name: row for row in rows}
            missing = [each.name for each in wanted if each.name not in known]
            if missing:
                raise ValueError(
                    f"nothing was learned about {', '.join(missing)}: learn again with it, or "
                    "leave learned out"
                )
            rows = [known[each.name] for each in wanted]
        if not rows:
            raise ValueError("learned has no transforms: give the result of learn for them")
        self.transforms = [row.transform for row in rows]
        for transform in self.transforms:
            transform.check(self.data.x[:2])
        return rows, None

    def __iter__(self) -> Iterator[Row]:
        """Measure the labels, then the model; yield a row for each step."""
        if self.learner is not None and not self.learned:
            yield from self._learn(self.learner)
        share = 1.0 if self.learner is None else 1 - LABELS
        for number in range(len(self.responses), len(self.transforms)):
            transform, labels = self.transforms[number], self.learned[number]
            with use_threads(self.threads):
                self.responses.append(
                    measure_response(
                        self.evaluator,
                        self.predictor,
                        transform,
                        self.rows,
                        self.rest,
                        fractions_of(labels),
                        self.config.seed,
                    )
                )
            done = 1 - share * (1 - (number + 1) / len(self.transforms))
            yield self._row("model", transform.name, done)

    def _learn(self, learner: Learner) -> Iterator[Row]:
        """Measure the labels; no net is trained on them."""
        rows = iter(learner)
        while not (learner.search.finished and len(learner.other_seeds) == self.config.seeds - 1):
            row = next(rows)
            names = ", ".join(each["name"] for each in row["transforms"])
            yield self._row("labels", names or "reference", LABELS * min(1.0, row["done"]))
        self.learned = name_classes(learner.invariances, self.classes)

    def _row(self, phase: str, name: str, done: float) -> Row:
        row = {"phase": phase, "transform": name, "done": done}
        self.history.append(row)
        return row

    @property
    def result(self) -> AuditResult:
        """The result, once there are no more rows."""
        if len(self.responses) < len(self.transforms) or not self.learned:
            raise RuntimeError("the result is available after all rows: list(auditor)")
        if self._result is None:
            self._result = self._build()
        return self._result

    def _build(self) -> AuditResult:
        comparison = Comparison.of(self.evaluator, self.config, self.rest, self.rows)
        rows = [
            self._audited(labels, response, comparison)
            for labels, response in zip(self.learned, self.responses, strict=True)
        ]
        rows.sort(key=lambda row: (ORDER[row.finding], -row.cost))
        planned = sum(len(each.fractions) for each in self.responses) * len(self.rows)
        warnings = [] if self.learner is None else self.learner.search.warnings
        return AuditResult(
            tuple(rows),
            self.predictor.loaded.name,
            self.evaluator.score(self.rest, self.rows),
            self.evaluator.chance_score,
            len(self.rows),
            self.predictor.predicted,
            planned,
            self.classes,
            comparison.tolerance,
            tuple(warnings),
        )

    def describe(self, value: Tensor, scores: bool = False) -> str:
        """Write a label, or a prediction, for readers."""
        if not self.data.classes:
            return ", ".join(f"{each:.3g}" for each in value.reshape(-1).tolist())
        number = int(value.argmax() if scores else value)
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    def _audited(self, labels: Invariance, response: Response, comparison: Comparison) -> Audited:
        transform, config = labels.transform, self.config
        found = comparison.compare(labels, response, labels.reason, labels_curve(labels))
        strength, interval = found.held.strengths(transform)
        return Audited(
            labels,
            found.finding,
            strength,
            interval,
            found.cost,
            found.reason,
            curve(response, self.evaluator, config),
            find_worst(self, labels, response, found.finding),
            by_class(comparison, labels, response, self.classes) if config.by_class else (),
            by_direction(comparison, labels, response),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, as tensors and plain values."""
        return {
            "responses": [(each.added, each.changed) for each in self.responses],
            "predicted": self.predictor.predicted,
            "history": self.history,
            "labels_known": bool(self.learned),
            "learner": None if self.learner is None else self.learner.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another Auditor with the same arguments was left."""
        self.history = list(state["history"])
        self.predictor.predicted = state["predicted"]
        if self.learner is not None:
            self.learner.load_state_dict(state["learner"])
            if state["labels_known"]:
                self.learned = name_classes(self.learner.invariances, self.classes)
        self.responses = [
            Response(
                row.transform,
                fractions_of(row),
                self.rows,
                added.to(self.rows.device),
                changed.to(self.rows.device),
            )
            for row, (added, changed) in zip(self.learned, state["responses"], strict=False)
        ]


def read_invariances(learned: Any) -> list[Invariance]:
    """Return the invariances of a result, a model, a list, or the directory of `augnet learn`."""
    if isinstance(learned, InvarianceResult):
        return list(learned.invariances)
    if isinstance(learned, Sequence) and all(isinstance(row, Invariance) for row in learned):
        return list(learned)
    if hasattr(learned, "invariances"):
        return list(learned.invariances)
    from pathlib import Path

    from augnet.model import read_header

    return [record.build() for record in read_header(Path(learned)).invariances]
