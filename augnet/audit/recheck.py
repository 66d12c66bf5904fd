"""Measure a later model at the strengths of an earlier audit, for test files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Generator

from augnet.audit.load import load_model
from augnet.audit.model_input import ModelInput
from augnet.audit.predictor import Predictor
from augnet.learn.config import DEFAULTS
from augnet.learn.evaluate import Evaluator
from augnet.learn.inputs import prepare_data
from augnet.learn.response import measure_response
from augnet.transforms import Transform, build_transforms


class Recheck:
    """A model and held-out samples: `score`, and the error `added` by a transform.

    `data` is a path, read as `augnet audit` reads it, or a pair (x, y). `input` holds the fields
    of `ModelInput`, `read` those of reading data.
    """

    def __init__(
        self,
        model: Any,
        data: Any,
        *,
        input: Mapping[str, Any] | None = None,
        read: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        seed: int = 0,
        trust: bool = False,
    ) -> None:
        self.seed = seed
        loaded, spec = load_model(model, trust), None
        classes: tuple[str, ...] = ()
        if outputs:
            loaded = replace(loaded, classes=tuple(outputs))
        if isinstance(data, str | Path):
            from augnet.audit.read import read_samples

            x, y, spec, classes = read_samples(data, loaded, seed, **(read or {}))
        else:
            x, y = data
        prepared = prepare_data(x, y, Generator().manual_seed(seed))
        rows = torch.arange(len(prepared.x))
        self.rows, data = rows, replace(prepared, fitted=rows, held_out=rows)
        self.evaluator = Evaluator(data, DEFAULTS.max_class_weight)
        given = ModelInput.of_plain(input or {})
        self.predictor = Predictor(loaded, data, given, spec, classes)

    @cached_property
    def rest(self) -> torch.Tensor:
        """The outputs without any transform."""
        return self.evaluator.outputs(self.predictor, self.evaluator.data.x)

    @property
    def score(self) -> float:
        """The accuracy, each class weighted the same; for values the variance explained."""
        return self.evaluator.score(self.rest, self.rows)

    def added(self, transform: Mapping[str, Any] | Transform, fraction: float) -> float:
        """Return the error that a transform adds at a fraction of its limit."""
        (built,) = build_transforms([transform])
        response = measure_response(
            self.evaluator, self.predictor, built, self.rows, self.rest, (fraction,), self.seed
        )
        return self.evaluator.mean(response.added.mean(0)[0], self.rows).item()
