"""Measure all transforms: one reference, and one branch for each transform."""

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, replace
from typing import Any

import torch

from augnet.learn.benefit import measure_benefit
from augnet.learn.branch import Branch
from augnet.learn.config import LearnConfig
from augnet.learn.control import train_control
from augnet.learn.decide import NO_TIME
from augnet.learn.measure_parts import with_parts
from augnet.learn.parts import parts_from_plain, parts_to_plain
from augnet.learn.reference import Control, Reference
from augnet.learn.result import Invariance
from augnet.learn.traces import leaves_traces
from augnet.training import Row, keep_freed_memory
from augnet.transforms import Transform

REFERENCE_WORK = 0.15
"""The reference is about this fraction of the work of a search, for the progress."""
PLAIN = (
    "status",
    "strength",
    "interval",
    "seeds_agreeing",
    "cost",
    "reason",
    "response",
    "benefit",
)
"""What is kept of a row in the state."""


class Search:
    """Train the reference, then measure each transform in its own branch."""

    def __init__(
        self, reference: Reference, transforms: Sequence[Transform], config: LearnConfig
    ) -> None:
        self.reference, self.transforms, self.config = reference, transforms, config
        self.invariances: list[Invariance] = []
        self.branch_steps = self.control_steps = 0
        self.control: Control | None = None

    @property
    def finished(self) -> bool:
        """Whether all transforms are measured."""
        return len(self.invariances) == len(self.transforms)

    @property
    def steps(self) -> int:
        """The training steps of the reference, the control and all branches."""
        return self.reference.loop.done + self.control_steps + self.branch_steps

    @property
    def scores(self) -> tuple[float, float]:
        """The score of the reference and of chance: accuracies, or the variance explained."""
        return self.reference.score, self.reference.evaluator.chance_score

    @property
    def warnings(self) -> list[str]:
        """What limits all answers."""
        reference = self.reference
        if reference.doubt:
            return [reference.doubt]
        found = []
        if reference.data.group_counts is not None and reference.data.group_counts[1] == 1:
            found.append(
                "one group is held out: intervals do not say how groups differ, so other groups "
                "may have other ranges"
            )
        if reference.instability > self.config.max_instability:
            found.append(
                f"predictions are unstable: {reference.instability:.0%} change if training just "
                f"goes on. Ranges may add {100 * reference.tolerance:.1f} points of error, and are "
                "less exact"
            )
        return found

    def fit(self, seconds: float | None = None) -> Iterator[Row]:
        """Continue from the current state; yield a row per epoch of the reference, per branch."""
        # The time of day is the same in other processes and, nearly, on other machines.
        end = None if seconds is None else time.time() + seconds
        share = self.config.search_fraction
        loop = self.reference.loop
        limit = None if seconds is None else self.config.reference_fraction * seconds
        for row in self.reference.fit(limit):
            done = share * REFERENCE_WORK * loop.progress
            yield {"phase": "reference", **row, "done": done, "transforms": []}
        self._train_control(seconds)
        left = self.transforms[len(self.invariances) :]
        for found, steps in self._measure(left, end):
            self.invariances.append(found)
            self.branch_steps += steps
            part = len(self.invariances) / len(self.transforms)
            yield {
                "phase": "transforms",
                "epoch": len(loop.history) + len(self.invariances),
                "loss": loop.history[-1]["loss"],
                "done": share * (REFERENCE_WORK + (1 - REFERENCE_WORK) * part),
                "transforms": [
                    {
                        "name": found.transform.name,
                        "strength": found.strength,
                        "status": found.status,
                    }
                ],
            }

    def _train_control(self, seconds: float | None) -> None:
        """Train a control, if anything will be compared with it, or use the one there is."""
        reference, config = self.reference, self.config
        needed = reference.errs or any(map(leaves_traces, self.transforms))
        if self.control is None and needed and not reference.doubt and not self.finished:
            limit = None if seconds is None else config.control_fraction * seconds
            self.control, self.control_steps = train_control(reference, config, limit)
        if self.control is not None:
            reference.control = self.control

    def _measure(
        self, transforms: Sequence[Transform], end: float | None
    ) -> Iterator[tuple[Invariance, int]]:
        """Measure transforms one by one, in several processes, or on a running Ray cluster."""
        if self.config.jobs == 1 or len(transforms) < 2:
            for transform in transforms:
                yield measure(self.reference, transform, self.config, end)
        elif "ray" in sys.modules and sys.modules["ray"].is_initialized():
            yield from _measure_by_ray(self.reference, transforms, self.config, end)
        else:
            yield from _measure_in_processes(self.reference, transforms, self.config, end)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, except the trunk and the generator."""
        return {
            "reference": self.reference.state_dict(),
            "invariances": to_plain(self.invariances),
            "branch_steps": self.branch_steps,
            "control": None if self.control is None else astuple(self.control),
            "control_steps": self.control_steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another search with the same arguments was left."""
        self.reference.load_state_dict(state["reference"])
        self.invariances = from_plain(state["invariances"], self.transforms)
        self.branch_steps, self.control_steps = state["branch_steps"], state["control_steps"]
        if state["control"] is not None:
            self.control = Control(*_on(self.reference.data.x.device, state["control"]))
            self.reference.control = self.control


def measure(
    reference: Reference,
    transform: Transform,
    config: LearnConfig,
    end: float | None,
    threads: int | None = None,
) -> tuple[Invariance, int]:
    """Measure one transform, until the time of day `end`; return also the steps that it took."""
    if threads is not None:  # in a process of its own
        torch.set_num_threads(threads)
        keep_freed_memory()
    branch = Branch(reference, transform, config)
    row = branch.measure(None if end is None else end - time.time())
    if config.curves or config.by_class:
        row = with_parts(branch, row, config, end)
    if config.layers is not None:  # they select by the ranges
        return row, branch.loop.done
    benefit, steps = measure_benefit(branch, row, end)
    return replace(row, benefit=benefit), branch.loop.done + steps


def _measure_in_processes(
    reference: Reference, transforms: Sequence[Transform], config: LearnConfig, end: float | None
) -> Iterator[tuple[Invariance, int]]:
    """Measure transforms in processes of this machine, `config.jobs` at a time."""
    context = torch.multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(config.jobs, len(transforms)), context)
    try:
        jobs = [pool.submit(measure, reference, each, config, end, 1) for each in transforms]
        yield from (job.result() for job in jobs)
    finally:  # what is left needs no further answers
        pool.shutdown(cancel_futures=True)


def _measure_by_ray(
    reference: Reference, transforms: Sequence[Transform], config: LearnConfig, end: float | None
) -> Iterator[tuple[Invariance, int]]:
    """Measure transforms on a Ray cluster, `config.jobs` at a time."""
    ray = sys.modules["ray"]
    remote, shared = ray.remote(measure), ray.put(reference)
    waiting = list(transforms)
    running: list[Any] = []
    while waiting or running:
        while waiting and len(running) < config.jobs:
            running.append(remote.remote(shared, waiting.pop(0), config, end, 1))
        yield ray.get(running.pop(0))


def warnings_of(rows: Iterable[Invariance]) -> list[str]:
    """Return what limits some answers."""
    late = [row.transform.name for row in rows if row.reason == NO_TIME]
    return [f"the budget was too short to measure {', '.join(late)}"] if late else []


def _on(device: torch.device, values: Iterable[Any]) -> Iterator[Any]:
    """Move the tensors among some values to a device."""
    return (value.to(device) if isinstance(value, torch.Tensor) else value for value in values)


def to_plain(rows: Iterable[Invariance]) -> list[tuple[Any, ...]]:
    """Return rows as plain values, in the order of the transforms."""
    return [
        (
            *(getattr(row, name) for name in PLAIN),
            *parts_to_plain(row.by_class, row.by_direction, row.curve),
        )
        for row in rows
    ]


def from_plain(
    rows: Iterable[tuple[Any, ...]], transforms: Sequence[Transform]
) -> list[Invariance]:
    """Build rows from plain values; there may be fewer than transforms."""
    return [
        Invariance(
            transform,
            **dict(zip(PLAIN, values, strict=False)),
            **parts_from_plain(*values[len(PLAIN) :]),
        )
        for transform, values in zip(transforms, rows, strict=False)
    ]
