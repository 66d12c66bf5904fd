"""The final net: compare how many transforms are drawn per sample, then train on all samples."""

import copy
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import identity
from augnet.learn.config import LearnConfig
from augnet.learn.evaluate import CHUNK
from augnet.learn.net import NetTraining, build_augment
from augnet.learn.reference import Reference
from augnet.learn.result import Gain, Invariance
from augnet.net import AugNet
from augnet.training import Row
from augnet.transforms import Bernoulli

SLOWER = 1.5
"""A net that draws transforms may take so many times as long per step, if there is a budget."""


@dataclass(frozen=True)
class Compared:
    """A net that was trained on the fitted samples, on the held-out samples."""

    losses: Tensor
    """What its score lacks, per sample: an error, or a part of the variance."""
    plain: Tensor
    """The same without augmentation, for one view."""
    distances: Tensor
    """How far its probabilities, or values, are from the truth: by this nets are compared."""


class FinalNet:
    """Train nets that draw some transforms per sample, or none, then the best one on all samples.

    Those that are compared go on from one plain training, and take the same steps: from scratch,
    few steps would favor plain training. That training is the reference, if the net has its trunk;
    else it comes first. A net that draws none is plain training: it is taken if all others are
    worse. Transforms are those that help (`helpful`).

    The random numbers of the last net do not depend on what was done before. So one that draws none
    is the same as one that is trained without `learn`, for as many steps.
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
        self.kept = helpful(rows, len(self.held_out))
        self.trunk, self.generator, self.config, self.planned = trunk, generator, config, steps
        self.compared: dict[int, Compared] = {}
        """The nets that were compared, by how many transforms they draw."""
        self.base = _fitting_state(reference.best, trunk)
        """The weights from which compared nets go on; None before they are trained."""
        self.own_base = self.base is None
        self.choice = None if self.kept else 0
        """How many transforms the last net draws; None before that is known."""
        whole = all(isinstance(row.transform, Bernoulli) for row in self.kept)
        self.max_draws = 1 if whole else min(config.max_draws, len(self.kept))
        """The ranges of a transform that is drawn again add up, so there are no more draws than
        transforms."""
        self.steps_before = 0
        self.compared_steps: int | None = None
        """The steps of the compared net that draws none; the others take as many."""
        self.draws = 0
        """How many transforms the net draws that is being trained."""
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
        plain, best = self.compared[0], self.compared[self.choice]
        mean, tried = self._mean, tuple(sorted(self.compared))
        difference = mean(plain.losses - best.losses)
        half = 1.645 * self.evaluator.deviation(plain.losses - best.losses, self.held_out)
        return Gain(
            draws=self.choice,
            score=1 - mean(best.losses),
            plain_score=1 - mean(plain.losses),
            difference=difference,
            interval=(difference - half, difference + half) if self.choice else (0.0, 0.0),
            averaging=mean(best.plain - best.losses),
            scores=tuple(1 - mean(self.compared[draws].losses) for draws in tried),
            compared=tried,
        )

    def fit(self, first_epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train from the current state; yield one row per epoch, counted from `first_epoch`."""
        end = None if seconds is None else time.monotonic() + seconds
        epoch = first_epoch
        while True:
            if self.choice is not None and not self.training.steps:
                self._seed()
            left = None if end is None else (end - time.monotonic()) * self._part()
            for row in self.training.fit(epoch, left):
                epoch = row["epoch"] + 1
                last = self.choice is not None and row["done"] >= 1
                phase = "net" if self.choice is not None else "compared"
                yield row | {"phase": phase, "draws": self.draws, "done": self._done(last)}
            if self.choice is not None:
                return
            if self.base is None:
                self._keep_base()
            else:
                self._compare()

    def _seed(self) -> None:
        """Draw the random numbers of a net that is trained without a search."""
        self.generator.manual_seed(self.config.seed)
        torch.manual_seed(self.config.seed)

    def _part(self) -> float:
        """Return the part of the work left that the current training is."""
        if self.choice is not None:
            return 1.0
        part = self._fraction / (self._all_before - self._work_before + 1)
        plain = self.base is not None and not self.draws
        return part / SLOWER if plain else part

    @property
    def _fraction(self) -> float:
        """The steps of the net that is being trained, as a fraction of those of the last net."""
        if self.choice is not None:
            return 1.0
        return self.config.base_fraction if self.base is None else self.config.compared_fraction

    @property
    def _all_before(self) -> float:
        """The steps of all nets before the last one, at most, as a fraction of its own."""
        base = self.config.base_fraction if self.own_base else 0.0
        return base + self.config.compared_fraction * min(3, self.max_draws + 1)

    @property
    def _work_before(self) -> float:
        """The steps of those that are trained already, as the same fraction."""
        base = self.config.base_fraction if self.own_base and self.base is not None else 0.0
        return base + self.config.compared_fraction * len(self.compared)

    def _done(self, last: bool) -> float:
        """Return the part of all work of `learn` that is done."""
        if last:
            return 1.0
        begin = self.config.search_fraction
        total = self._all_before + 1 if self.kept else 1.0
        before = total - 1 if self.choice is not None else self._work_before
        now = self.training.loop.progress * self._fraction
        return begin + (1 - begin) * min(0.999, (before + now) / total)

    def _begin(self) -> NetTraining:
        """Prepare the training of the next net."""
        final = self.choice is not None
        augment = build_augment(self.data, self.kept, self.draws, self.config.edges)
        copies = 1 if augment is identity else self.config.copies
        trunk = copy.deepcopy(self.trunk)
        if not final and self.base is not None:
            trunk.load_state_dict(self.base)
        net = AugNet(augment, trunk, self.data.aggregate, copies=copies)
        steps = max(1, round(self._fraction * self.planned))
        if not final and self.compared_steps is not None:
            steps = self.compared_steps
        rows = None if final else self.data.fitted
        return NetTraining(self.data, net, self.generator, self.config, steps, rows)

    def _keep_base(self) -> None:
        """Keep the weights of the plain training from which compared nets go on."""
        self.base = copy.deepcopy(self.net.trunk.state_dict())
        self.steps_before += self.training.steps
        self.training = self._begin()

    def _compare(self) -> None:
        """Measure the net that was trained, and plan the next one."""
        self.compared[self.draws] = self._measure(self.net)
        if not self.draws:
            self.compared_steps = self.training.steps
        self.steps_before += self.training.steps
        following = self._next()
        if following is None:
            self.choice = following = self._best()
        self.draws = following
        self.training = self._begin()

    def _next(self) -> int | None:
        """Return how many transforms the next net draws, if another one is to be compared.

        Two come after none. Three come next if two are as good as none, else one.
        """
        first = min(2, self.max_draws)
        if len(self.compared) == 1:
            return first
        following = first + 1 if self._is_as_good(first) else first - 1
        more = len(self.compared) == 2 and 0 < following <= self.max_draws
        return following if more else None

    def _best(self) -> int:
        """Return two draws if they are as good as none, or three if they are not clearly worse.

        That is by a standard error of the difference. One draw is the choice if two are worse than
        none, and one is not. Nets that are compared are trained for a short time, which favors few
        draws; the last net is trained longer.
        """
        good = [draws for draws in self.compared if not draws or self._is_as_good(draws)]
        if 3 in good:
            worse = self.compared[3].distances - self.compared[2].distances
            if self._mean(worse) > self.evaluator.deviation(worse, self.held_out):
                good.remove(3)
        return max(good)

    def _is_as_good(self, draws: int) -> bool:
        """Whether a net is not worse than the plain one, by its score or by its distance."""
        plain, other = self.compared[0], self.compared[draws]
        same = self._mean(other.losses) <= self._mean(plain.losses)
        return same or self._distance(draws) < self._distance(0)

    def _distance(self, draws: int) -> float:
        return self._mean(self.compared[draws].distances)

    def _mean(self, losses: Tensor) -> float:
        return self.evaluator.mean(losses, self.held_out).item()

    @torch.no_grad()
    def _measure(self, net: AugNet) -> Compared:
        net.eval()
        x = self.data.x[self.held_out]
        output = torch.cat([net(chunk, self.generator) for chunk in x.split(CHUNK)])
        plain = self.evaluator.outputs(net.trunk, x)
        return Compared(
            self.evaluator.lacks(output, self.held_out),
            self.evaluator.lacks(plain, self.held_out),
            self.evaluator.distances(output, self.held_out),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the generator."""
        return {
            "compared": [
                [draws, each.losses, each.plain, each.distances]
                for draws, each in self.compared.items()
            ],
            "choice": self.choice,
            "draws": self.draws,
            "base": self.base if self.own_base else None,
            "steps": self.steps_before,
            "compared_steps": self.compared_steps,
            "training": self.training.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another one with the same arguments was left."""
        device = self.data.x.device
        self.compared = {
            draws: Compared(*(values.to(device) for values in each))
            for draws, *each in state["compared"]
        }
        self.choice, self.draws = state["choice"], state["draws"]
        self.steps_before, self.compared_steps = state["steps"], state["compared_steps"]
        self.base = state["base"] if self.own_base else self.base
        self.training = self._begin()
        self.training.load_state_dict(state["training"])


def helpful(rows: Iterable[Invariance], samples: int) -> list[Invariance]:
    """Return the kept transforms that do not make predictions worse; the best one if all do.

    A difference of less than half an error of `samples` held-out samples does not count.
    """
    kept = [row for row in rows if row.kept]
    better = [row for row in kept if row.benefit is None or row.benefit * samples > -0.5]
    return better or sorted(kept, key=lambda row: -(row.benefit or 0.0))[:1]


def _fitting_state(network: nn.Module, trunk: nn.Module) -> dict[str, Tensor] | None:
    """Return the weights of a network if a trunk has the same."""
    state, own = network.state_dict(), trunk.state_dict()
    same = state.keys() == own.keys()
    return state if same and all(state[key].shape == own[key].shape for key in own) else None
