"""The final net: compare how many transforms are drawn per sample, then train on all samples."""

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from augnet.layers import identity
from augnet.learn.config import LearnConfig
from augnet.learn.evaluate import CHUNK, Evaluator
from augnet.learn.net import DrawnTraining, Flips, build_augment, least_costly_flip
from augnet.learn.reference import Reference
from augnet.learn.result import Gain, Invariance
from augnet.net import AugNet
from augnet.training import Row
from augnet.transforms import Bernoulli


@dataclass(frozen=True)
class Compared:
    """A net that was trained on the fitted samples, on the held-out samples."""

    losses: Tensor
    """What its score lacks, per sample: an error, or a part of the variance."""
    plain: Tensor
    """The same without augmentation, for one view."""
    distance: float
    """How far its probabilities, or values, are from the truth: by this nets are compared."""


class Plan(NamedTuple):
    """How a net is augmented."""

    draws: int
    """Transforms that are drawn per sample."""
    flips: Flips = "drawn"
    """How transforms that are applied as a whole are used."""


class FinalNet:
    """Train nets that draw 0, 1, 2 or 3 transforms per sample, then the best one on all samples.

    Those that are compared go on from one plain training, and take the same steps: from scratch,
    few steps would favor plain training. That training is the reference, if the net has its trunk;
    else it comes first. Three draws are tried if two are better than one; then the
    best number with one flip for half of all samples, and without transforms that are applied as a
    whole. A net that draws none is plain training: it is taken if all others are worse.
    """

    def __init__(
        self,
        reference: Reference,
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig,
        steps: int,
    ) -> None:
        self.data, self.evaluator = reference.data, reference.evaluator
        self.reference, self.held_out = reference, reference.held_out
        self.kept = [row for row in rows if row.kept]
        self.trunk, self.generator, self.config, self.planned = trunk, generator, config, steps
        self.compared: dict[Plan, Compared] = {}
        self.base = _fitting_state(reference.best, trunk)
        """The weights from which compared nets go on; None before they are trained."""
        self.own_base = self.base is None
        self.choice = None if self.kept else Plan(0)
        self.uses = self._uses_of_flips()
        whole = all(isinstance(row.transform, Bernoulli) for row in self.kept)
        self.max_draws = 1 if whole else config.max_draws
        self.steps_before = 0
        self.plan = self.choice or Plan(0)
        """The net that is being trained."""
        self.training = self._begin()

    @property
    def net(self) -> AugNet:
        """The net that is being trained; the final one at the end."""
        return self.training.net

    @property
    def steps(self) -> int:
        """The steps that were taken, those of compared nets included."""
        return self.steps_before + self.training.steps

    @property
    def gain(self) -> Gain | None:
        """What the transforms brought; None if there were none to compare."""
        if not self.compared or self.choice is None:
            return None
        plain, best = self.compared[Plan(0)], self.compared[self.choice]
        mean = self._mean
        difference = mean(plain.losses - best.losses)
        half = 1.645 * self.evaluator.deviation(plain.losses - best.losses, self.held_out)
        return Gain(
            draws=self.choice.draws,
            score=1 - mean(best.losses),
            plain_score=1 - mean(plain.losses),
            difference=difference,
            interval=(difference - half, difference + half) if self.choice.draws else (0.0, 0.0),
            averaging=mean(best.plain - best.losses),
            scores=tuple(
                1 - mean(e.losses) for plan, e in self.compared.items() if plan.flips == "drawn"
            ),
            flips=self.choice.flips,
        )

    def _uses_of_flips(self) -> list[Flips]:
        """Return how transforms that are applied as a whole can be used, beside being drawn."""
        whole = [isinstance(row.transform, Bernoulli) for row in self.kept]
        uses: list[Flips] = []
        if len(whole) > 1 and least_costly_flip(self.data, self.kept):
            uses.append("half")
        if any(whole) and not all(whole):
            uses.append("none")
        return uses

    def fit(self, first_epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train from the current state; yield one row per epoch, counted from `first_epoch`."""
        end = None if seconds is None else time.monotonic() + seconds
        epoch = first_epoch
        while True:
            left = None if end is None else (end - time.monotonic()) * self._part()
            for row in self.training.fit(epoch, left):
                epoch = row["epoch"] + 1
                last = self.choice is not None and row["done"] >= 1
                phase = "net" if self.choice is not None else "compared"
                yield row | {"phase": phase, "draws": self.plan.draws, "done": self._done(last)}
            if self.choice is not None:
                return
            if self.base is None:
                self._keep_base()
            else:
                self._compare()

    def _part(self) -> float:
        """Return the part of the work left that the current training is."""
        if self.choice is not None:
            return 1.0
        left = self._most - self._finished
        one = self.config.compared_fraction
        return one / (left * one + 1)

    @property
    def _most(self) -> int:
        """How many nets are trained before the last one, at most."""
        return self.max_draws + 1 + len(self.uses) + self.own_base

    @property
    def _finished(self) -> int:
        """How many of them are trained."""
        return len(self.compared) + (self.own_base and self.base is not None)

    def _done(self, last: bool) -> float:
        """Return the part of all work of `learn` that is done."""
        if last:
            return 1.0
        one, begin = self.config.compared_fraction, self.config.search_fraction
        total = self._most * one + 1 if self.kept else 1.0
        before = total - 1 if self.choice is not None else one * self._finished
        now = self.training.loop.progress * (1.0 if self.choice is not None else one)
        return begin + (1 - begin) * min(0.999, (before + now) / total)

    def _begin(self) -> DrawnTraining:
        """Prepare the training of the next net."""
        final = self.choice is not None
        augment = build_augment(self.data, self.kept, *self.plan)
        copies = 1 if augment is identity else self.config.copies
        trunk = copy.deepcopy(self.trunk)
        if not final and self.base is not None:
            trunk.load_state_dict(self.base)
        net = AugNet(augment, trunk, self.data.aggregate, copies=copies)
        steps = (
            self.planned if final else max(1, round(self.config.compared_fraction * self.planned))
        )
        rows = torch.arange(len(self.data.x)) if final else self.data.fitted
        return DrawnTraining(self.data, net, self.generator, self.config, steps, rows)

    def _keep_base(self) -> None:
        """Keep the weights of the plain training from which compared nets go on."""
        self.base = copy.deepcopy(self.net.trunk.state_dict())
        self.steps_before += self.training.steps
        self.training = self._begin()

    def _compare(self) -> None:
        """Measure the net that was trained, and plan the next one."""
        self.compared[self.plan] = self._measure(self.net)
        self.steps_before += self.training.steps
        following = self._next()
        if following is None:
            best = self._best()
            self.choice = following = best if self._is_as_good(best) else Plan(0)
        self.plan = following
        self.training = self._begin()

    def _next(self) -> Plan | None:
        """Return the net to compare next, if any."""
        best, tried = self._best(), [plan.flips for plan in self.compared]
        count = tried.count("drawn")
        drawn = count == len(tried)
        if drawn and count <= self.max_draws and best.draws == max(0, count - 1):
            return Plan(count)
        uses = (use for use in self.uses if use not in tried)
        return next((Plan(best.draws, use) for use in uses), None)

    def _best(self) -> Plan:
        """Return the best net so far; plain training only if there is no other."""
        plans = [plan for plan in self.compared if plan.draws] or [Plan(0)]
        return min(plans, key=lambda plan: self.compared[plan].distance)

    def _is_as_good(self, best: Plan) -> bool:
        """Whether a net is not worse than the plain one, by its score or by its distance."""
        plain, other = self.compared[Plan(0)], self.compared[best]
        same = self._mean(other.losses) <= self._mean(plain.losses)
        return same or other.distance < plain.distance

    def _mean(self, losses: Tensor) -> float:
        return self.evaluator.mean(losses, self.held_out).item()

    @torch.no_grad()
    def _measure(self, net: AugNet) -> Compared:
        net.eval()
        x = self.data.x[self.held_out]
        output = torch.cat([net(chunk, self.generator) for chunk in x.split(CHUNK)])
        plain = self.evaluator.outputs(net.trunk, x)
        target = self.data.y[self.held_out]
        return Compared(
            _losses(self.evaluator, output, target),
            _losses(self.evaluator, plain, target),
            self._mean(_distances(self.evaluator, output, target)),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the generator."""
        return {
            "compared": [
                [list(plan), each.losses, each.plain, each.distance]
                for plan, each in self.compared.items()
            ],
            "choice": None if self.choice is None else list(self.choice),
            "plan": list(self.plan),
            "base": self.base if self.own_base else None,
            "steps": self.steps_before,
            "training": self.training.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another one with the same arguments was left."""
        self.compared = {Plan(*plan): Compared(*each) for plan, *each in state["compared"]}
        self.choice = None if state["choice"] is None else Plan(*state["choice"])
        self.plan, self.steps_before = Plan(*state["plan"]), state["steps"]
        self.base = state["base"] if self.own_base else self.base
        self.training = self._begin()
        self.training.load_state_dict(state["training"])


def _fitting_state(network: nn.Module, trunk: nn.Module) -> dict[str, Tensor] | None:
    """Return the weights of a network if a trunk has the same."""
    state, own = network.state_dict(), trunk.state_dict()
    same = state.keys() == own.keys()
    return state if same and all(state[key].shape == own[key].shape for key in own) else None


def _losses(evaluator: Evaluator, output: Tensor, target: Tensor) -> Tensor:
    """Return what the score lacks, per sample: 1 for a wrong class, a part of the variance."""
    if evaluator.data.classes:
        return (output.argmax(1) != target).to(output.dtype)
    variance = target.var(0, correction=0).clamp(min=1e-12)
    return ((output - target).square() / variance).reshape(len(target), -1).mean(1)


def _distances(evaluator: Evaluator, output: Tensor, target: Tensor) -> Tensor:
    """Return the squared distance of the probabilities from the class (Brier), or of values."""
    if not evaluator.data.classes:
        return _losses(evaluator, output, target)
    truth = nn.functional.one_hot(target, output.shape[1])
    return (output.softmax(1) - truth).square().sum(1)
