"""Take a sweep from stage to stage, and decide the range of each part: class or direction."""

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from augnet.learn.accounts import Accounts, Costs
from augnet.learn.config import LearnConfig
from augnet.learn.decide import NO_TIME
from augnet.learn.held import PartCosts, part_range, unclear_part
from augnet.learn.parts import PartRange
from augnet.learn.sweep import Ends, Stage, Sweep

CONTROL = 2
"""How often the steps of a stage are trained without the transform, before the first one."""
TIMES = 3
"""How often the steps of a stage are trained before it is measured.

With one, the digit 8 could be turned by 13° (4 to 16), seed 100. Networks that are trained from
scratch lose two points of it at 60°.
"""
AMBIGUOUS = 0.2
"""Classes that pay so much for being taken for each other are no longer told apart."""


def stage_ends(config: LearnConfig, start: float) -> list[float]:
    """Return the fractions of the limit at which stages end, from `start` to 1."""
    count = max(1, round(config.stages * math.log(start) / math.log(config.least_stage)))
    return [start ** (1 - index / count) for index in range(count)] + [1.0]


class Stages:
    """Train a sweep stage by stage, until all parts are lost; keep what each stage costs.

    Ranges that cost too little without any training are not trained. Others are trained on while
    the cost of a part falls that is too high, unless it was in the stage before, too.
    """

    def __init__(self, sweep: Sweep, accounts: Accounts, end: float | None) -> None:
        self.sweep, self.accounts, self.end = sweep, accounts, end
        self.config = sweep.config
        self.fractions: list[float] = []
        self.costs: list[Costs] = []
        self.late = False
        """Whether the time of day `end` came before the last stage."""
        parts = len(accounts.samples)
        self.meetings: list[float] = [math.inf] * parts
        """The number of the stage in which each class meets another."""
        self.merged = torch.eye(parts, dtype=torch.bool, device=accounts.owned.device)
        """Which classes are no longer told from which (P, P)."""

    def train_control(self) -> None:
        """Compare with a network that was trained in the same way, transform excepted."""
        stage = self.sweep.train((0.0, 0.0), self.end, CONTROL)
        if stage is not None:
            self.accounts.before = self.accounts.errors(stage.rest)

    def run(self, ranges: Sequence[tuple[float, Ends]], towards: int | None = None) -> None:
        """Measure each range, which ends at a fraction of the limit."""
        trained = False
        for fraction, ends in ranges:
            if not trained:
                measured = self.accounts.costs(self.sweep.measure(ends), towards)
            if trained or bool((measured.excess[0] > 0).any()):
                if not trained:
                    self.sweep.train(ends, self.end, self.config.warm_stages)
                trained, stage = True, self._train(ends, towards)
                if stage is None:
                    self.late = True
                    return
                measured = self.accounts.costs(stage, towards)
                if self.accounts.by_class:
                    self._merge(measured, self.accounts.confused(stage))
            met = [len(self.fractions) >= first for first in self.meetings]
            self.fractions.append(fraction)
            self.costs.append(replace(measured, met=torch.tensor(met).to(measured.met)))
            if bool(self.lost.all()):
                return

    @property
    def lost(self) -> Tensor:
        """Which parts cost more than twice of what is allowed, in the last two stages."""
        much = [each.met | (each.worst[0] > 2 * each.worst[1]) for each in self.costs[-2:]]
        return much[0] & much[1] if len(much) == 2 else torch.zeros_like(self.merged[0])

    def _train(self, ends: Ends, towards: int | None) -> Stage | None:
        """Train within a range until no cost falls any more that is newly too high."""
        before: Tensor | None = None
        stage = None
        for number in range(1 + self.config.stage_extensions):
            stage = self.sweep.train(ends, self.end, 1 if number else TIMES)
            if stage is None:
                return None
            costs = self.accounts.costs(stage, towards)
            new, added = costs.excess[0] > 0, costs.worst[0]
            if self.costs:
                new = new & (self.costs[-1].excess[0] <= 0)
            if before is not None:
                new = new & (added < self.config.stage_falling * before)
            if not bool(new.any()):
                break
            before = added
        return stage

    def _merge(self, costs: Costs, confused: Tensor) -> None:
        """Merge classes that cost too much with those for which they pay most of it."""
        added, allowed = costs.worst
        much = added > 2 * allowed
        for number in much.nonzero()[:, 0].tolist():
            shares = self.merged.to(confused) @ confused[number]
            shares = shares.masked_fill(self.merged[number] | ~much, 0.0)
            other = int(shares.argmax())
            if shares[other] > max(AMBIGUOUS, added[number].item() / 2):
                group = self.merged[number] | self.merged[other]
                self.merged[group] = group
                self.sweep.merge(group)

    def parts(self, names: Sequence[str]) -> tuple[PartRange, ...]:
        """Return the range of each part."""
        counts = self.accounts.samples
        return tuple(
            self._part(number, name, count)
            for number, (name, count) in enumerate(zip(names, counts, strict=True))
        )

    def _part(self, number: int, name: str, samples: int) -> PartRange:
        if self.late and not (self.costs and self.lost[number]):
            return unclear_part(name, samples, NO_TIME)
        costs = [
            PartCosts(each.excess[:, number], each.worst[0][number].item()) for each in self.costs
        ]
        return part_range(
            name,
            self.sweep.transform,
            self.fractions,
            costs,
            samples,
            self.accounts.tolerance,
            self.config,
        )
