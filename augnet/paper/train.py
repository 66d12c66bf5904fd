"""Train an AugNet on the splits of an experiment: one row per epoch."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn

from augnet.invariance import invariance, summary
from augnet.layers import AugmentationModule, RangeTuner
from augnet.layers.state import TransformState, transform_states
from augnet.net import AugNet
from augnet.paper.average import TailAverage
from augnet.paper.config import ConfigError, Regularization, Scores, Training, Tuning
from augnet.paper.datasets import Samples, Splits
from augnet.paper.objective import (
    Objective,
    build_optimizer,
    build_regularizer,
    build_scheduler,
    class_weights,
)
from augnet.paper.score import (
    accuracy,
    accuracy_by_copies,
    authors_invariance,
    invariances,
    time_by_copies,
    with_views,
)
from augnet.regularizers import Schedule
from augnet.training import Loop, descend
from augnet.training import Row as Row
from augnet.transforms import Transform, build_transforms


class Trainer:
    """Train an AugNet; iterate for one row per epoch, or continue from a `state_dict`.

    Three sources of randomness are kept apart, each seeded by `seed`: the order of the samples,
    the parameters of the transforms, and torch's global generator (dropout). All are part of the
    state, so that an interrupted run ends as if it had not been interrupted.

    If `fabric` has several processes, each takes its part of every batch and has its own generator;
    the gradients are those of the whole batch. All processes get the rows of the first.
    """

    def __init__(
        self,
        net: AugNet,
        splits: Splits,
        settings: Training,
        regularization: Regularization | None = None,
        seed: int = 0,
        fabric: Fabric | None = None,
        scores: Scores | None = None,
        tuning: Tuning | None = None,
        probe: nn.Module | None = None,
    ) -> None:
        self.fabric = fabric or Fabric(accelerator="auto", devices=1)
        self.net, self.settings, self.seed, self.probe = net, settings, seed, probe
        self.scores = scores or Scores()
        regularization = regularization or Regularization()
        self.weight = Schedule(regularization.weight)
        self.splits = Splits(*(Samples(*map(self.fabric.to_device, part)) for part in splits))
        self.tuner = self._build_tuner(tuning or Tuning())
        self.average = TailAverage(net, settings.epochs)
        optimizer = build_optimizer(net, settings, probe)
        self.scheduler = build_scheduler(optimizer, settings)
        weights = class_weights(self.splits.train.y) if settings.balanced else None
        objective = Objective(net, build_regularizer(regularization.name), weights, probe)
        self.objective, self.optimizer = self.fabric.setup(objective, optimizer)
        own = seed + 1_000_003 * self.fabric.global_rank
        self.order = Generator().manual_seed(seed)
        self.generator = Generator(device=self.fabric.device).manual_seed(own + 1)
        torch.manual_seed(own + 2)
        self.loop = Loop(self._batches, self._step, epochs=settings.epochs, weight=len)
        self.best: dict[str, Tensor] | None = None

    def _build_tuner(self, tuning: Tuning) -> RangeTuner | None:
        """Attach a tuner to the layers; ranges rest for the first tenth of the steps."""
        if tuning.select == "none":
            return None
        parts = self.net.augment.modules() if isinstance(self.net.augment, nn.Module) else ()
        module = next((part for part in parts if isinstance(part, AugmentationModule)), None)
        if module is None:
            raise ValueError("a tuner needs augment.name=layers (or tuner.select=none)")
        batches = math.ceil(len(self.splits.train.x) / self.settings.batch_size)
        warmup = self.settings.epochs * batches // 10
        chance = self._chance_loss() if tuning.wait else None
        try:
            return RangeTuner(
                module, tuning.tolerance, select=tuning.select, warmup=warmup, chance=chance
            )
        except ValueError as error:
            raise ConfigError(f"tuner: {error} (tuner.select=none)") from None

    def _chance_loss(self) -> float:
        """Return the loss of a trunk that knows only how frequent classes are, or their number."""
        counts = self.splits.train.y.bincount().double()
        counts = counts[counts > 0]
        if self.settings.balanced:
            return math.log(len(counts))
        return torch.distributions.Categorical(counts).entropy().item()

    @property
    def rows(self) -> list[Row]:
        """The rows so far; their epochs count from 0."""
        return self.loop.history

    def __iter__(self) -> Iterator[Row]:
        epochs = iter(self.loop)
        while not self.done:
            self.objective.train()
            means = next(epochs)
            self.scheduler.step()
            self.rows[-1] = self.fabric.broadcast(self._row(means))
            self._keep_best()
            yield self.rows[-1]

    @property
    def done(self) -> bool:
        """Whether all epochs are over, or the validation score has not risen for too long."""
        if self.loop.finished:
            return True
        patience = self.settings.patience
        return patience is not None and len(self.rows) - 1 - self.best_epoch >= patience

    @property
    def best_epoch(self) -> int:
        """The first epoch with the highest validation score."""
        scores = [row[f"valid_{self.settings.metric}"] for row in self.rows]
        return max(range(len(scores)), key=scores.__getitem__) if scores else -1

    def _batches(self) -> Iterator[Tensor]:
        """Give the indices of each batch, the same in all processes."""
        samples = len(self.splits.train.x)
        order = torch.randperm(samples, generator=self.order)
        order = order if self.settings.shuffle else torch.arange(samples)
        for batch in order.split(self.settings.batch_size):
            if len(batch) >= self.fabric.world_size:  # else too few for all processes
                yield batch

    def _step(self, batch: Tensor) -> dict[str, Tensor]:
        """Take one step on this process's part of a batch."""
        x, y = self.splits.train
        rank, world = self.fabric.global_rank, self.fabric.world_size
        rows = batch[rank::world].to(x.device)
        share = len(rows) * world / len(batch)  # gradients are averaged over processes
        values = self.objective(x[rows], y[rows], self.generator)
        weight = self.weight(self.loop.epoch - 1)
        loss = share * (values["task"] + weight * values["regularizer"])
        if self.probe is not None:  # no parameter of the net is part of this
            loss = loss + share * values.pop("probe")
        descend(self.optimizer, loss, backward=self.fabric.backward)
        losses = values.pop("losses")
        if self.tuner:
            self.tuner.step(losses)
        else:
            self.average.update(self.loop.epoch - 1)
        return {key: share * value.detach().double() for key, value in values.items()}

    def _row(self, means: Row) -> Row:
        """Complete the means of an epoch: scores, invariances and states of transforms."""
        number = means.pop("epoch") - 1
        over_processes = self.fabric.all_reduce(
            torch.tensor(list(means.values()), dtype=torch.float64, device=self.fabric.device),
            reduce_op="mean",
        )
        means = dict(zip(means, over_processes.tolist(), strict=True))  # type: ignore[union-attr]
        loss = means["task"] + self.weight(number) * means["regularizer"]
        row: Row = {"epoch": number, "loss": loss, **means}
        return row | self._scores(self.scores.epoch_samples)

    def _scores(self, samples: int | None = None, views: str | None = None) -> Row:
        """Return what is known about the net: scores, on so many samples, and transforms."""
        found: Row = {}
        for part in ("valid", "test"):
            some = Samples(*(each[:samples] for each in getattr(self.splits, part)))
            scores = self.score(some, views)
            found |= {f"{part}_{name}": value for name, value in scores.items()}
        found["invariance"] = self.watch()
        found["transforms"] = [asdict(state) for state in transform_states(self.net)]
        return found

    def _keep_best(self) -> None:
        """Keep a copy of the net if this epoch is the best so far and patience may ask for it."""
        if self.settings.patience and self.best_epoch == len(self.rows) - 1:
            state = {key: v.detach().clone() for key, v in self.net.state_dict().items()}
            self.best = state | self._averages()

    def _averages(self) -> dict[str, Tensor]:
        """Return the averages of the augmentation's parameters, by their names in the net."""
        if self.tuner is None:
            return dict(self.average.means)
        ranges = self.tuner.averages()
        names = {id(value): name for name, value in self.net.named_parameters()}
        return {names[id(layer.raw_magnitudes)]: ranges[layer] for layer in self.tuner.layers}

    def score(self, samples: Samples, views: str | None = None) -> dict[str, float]:
        """Return accuracy and balanced accuracy, always with the same random numbers."""
        net = with_views(self.net, views or self.scores.views).eval()
        with self.fabric.autocast():
            return accuracy(net, samples, self._same_generator())

    def watch(self) -> dict[str, float]:
        """Return the invariance to the transforms of `scores`, on some samples of the test set."""
        if not self.scores.invariance:
            return {}
        net = with_views(self.net, self.scores.views).eval()
        x = self.splits.test.x[: self.scores.samples]
        transforms = build_transforms(self.scores.invariance)
        with self.fabric.autocast():
            return invariances(net, transforms, x, self._same_generator())

    def score_views(self) -> list[dict[str, Any]]:
        """Return the test accuracy of plain samples, and with each number of own views."""
        test = self.splits.test
        plain = self.score(test, "plain")["accuracy"]
        net = with_views(self.net, "own").eval()
        with self.fabric.autocast():
            own = accuracy_by_copies(net, test, self.scores.copies, self._same_generator())
        rows = [{"views": "own", "copies": c, "accuracy": value} for c, value in own.items()]
        return [{"views": "plain", "copies": 1, "accuracy": plain}, *rows]

    def time_views(self) -> list[dict[str, float]]:
        """Return the time of a forward pass with each number of own views (fig. B.6)."""
        net = with_views(self.net, "own").eval()
        with self.fabric.autocast():
            x, generator = self.splits.test.x, self._same_generator()
            times = time_by_copies(net, x, self.scores.copies, generator)
        return [{"copies": count, "time": round(value, 3)} for count, value in times.items()]

    def _same_generator(self) -> Generator:
        return Generator(device=self.fabric.device).manual_seed(self.seed)

    def measure(self, transform: Transform, copies: int) -> dict[str, float]:
        """Return invariance to a transform, its 75 % interval, and accuracy, on the test set."""
        usual, self.net.copies = self.net.copies, copies
        generator = self._same_generator()
        net, x = self.net.eval(), self.splits.test.x
        median, low, high = summary(invariance(net, transform, x, generator))
        theirs = summary(authors_invariance(net, transform, x, self._same_generator())).median
        right = self.score(self.splits.test)["accuracy"]
        self.net.copies = usual
        return {
            "copies": copies,
            "invariance": median,
            "authors_invariance": theirs,
            "low": low,
            "high": high,
            "accuracy": right,
        }

    def finish(self) -> Row:
        """Set the net that is saved, and return its row: that of its epoch, scored again.

        The trunk is that of the best epoch if there was a patience, else of the last one. The
        parameters of the augmentation are averages: over the last quarter of training if gradients
        learned them (of what there was of it at the best epoch), and those of a tuner.
        """
        if self.tuner:
            self.tuner.finish()
        self.net.load_state_dict(self.best or self.net.state_dict() | self.average.means)
        kept = self.rows[self.best_epoch if self.settings.patience else -1]
        return self.fabric.broadcast(kept | self._scores(views=self.scores.final_views))

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to continue, as tensors and plain values."""
        device = self.fabric.device
        return {
            "net": self.net.state_dict(),
            "best": self.best,
            "probe": None if self.probe is None else self.probe.state_dict(),
            "average": self.average.state_dict(),
            "tuner": self.tuner.state_dict() if self.tuner else None,
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "order": self.order.get_state(),
            "generators": self._gather(self.generator.get_state()),
            "torch": self._gather(torch.get_rng_state()),
            "cuda": self._gather(torch.cuda.get_rng_state(device)) if self._on_cuda else None,
            "loop": self.loop.state_dict(),
        }

    def _gather(self, state: Tensor) -> Tensor:
        """Stack the states of all processes, one row each."""
        states = [state]
        if self.fabric.world_size > 1:
            state = state.to(self.fabric.device)
            states = [torch.empty_like(state) for _ in range(self.fabric.world_size)]
            torch.distributed.all_gather(states, state)
        return torch.stack(states).cpu()

    @property
    def _on_cuda(self) -> bool:
        """Whether dropout draws from a generator of CUDA, which has a state of its own."""
        return self.fabric.device.type == "cuda"

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.net.load_state_dict(state["net"])
        self.best = state["best"]
        if self.probe is not None:
            self.probe.load_state_dict(state["probe"])
        self.average.load_state_dict(state["average"])
        if self.tuner:
            self.tuner.load_state_dict(state["tuner"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.order.set_state(state["order"])
        rank, saved = self.fabric.global_rank, len(state["generators"])
        if saved != self.fabric.world_size:
            raise ValueError(f"of {saved} processes, not {self.fabric.world_size}")
        # Clones, because torch reads a state from the start of its storage.
        self.generator.set_state(state["generators"][rank].clone())
        torch.set_rng_state(state["torch"][rank].clone())
        if self._on_cuda and state.get("cuda") is not None:  # states of before have none
            torch.cuda.set_rng_state(state["cuda"][rank].clone(), self.fabric.device)
        self.loop.load_state_dict(state["loop"])


def transforms_of(row: Row) -> list[TransformState]:
    """Read the states of all transforms from a row."""
    return [TransformState(**state) for state in row["transforms"]]
