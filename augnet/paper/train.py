"""The one training loop: everything learns together, one plain row per epoch."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn

from augnet.invariance import invariance, summary
from augnet.layers import Augerino, AugmentationLayer, ByClass
from augnet.net import AugNet
from augnet.paper.config import Regularization, Scores, Training
from augnet.paper.datasets import Samples, Splits
from augnet.paper.score import Row as Row
from augnet.paper.score import accuracy, accuracy_by_copies, as_seen, invariances, time_by_copies
from augnet.regularizers import Schedule, in_data_space, magnitude_only, selective, shares, travel
from augnet.transforms import Transform, build_transforms


class Objective(nn.Module):
    """What is minimized, as one module: so that processes that share a batch see all of it."""

    weights: Tensor | None

    def __init__(self, net: AugNet, penalty: str, weights: Tensor | None = None) -> None:
        super().__init__()
        self.net, self.penalty = net, penalty
        self.register_buffer("weights", weights)  # of the classes, whose mean over samples is 1

    def forward(self, x: Tensor, y: Tensor, dice: Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Give the loss of the task, the penalty, and the share of right answers."""
        if isinstance(self.net.augment, ByClass):  # which needs labels, as no other does
            x = self.net.augment.labeled(x, y, dice)
        output = self.net(x, dice)
        task = F.cross_entropy(output, y, reduction="none")
        # Weighted before the mean, not by it: so processes that share a batch agree on its loss.
        task = (task if self.weights is None else self.weights[y] * task).mean()
        right = (output.detach().argmax(1) == y).double().mean()
        return task, self._penalty(x, dice), right

    def _penalty(self, x: Tensor, dice: Generator) -> Tensor:
        augment: Any = self.net.augment
        if self.penalty == "weighted_norm":
            return selective(augment)
        if self.penalty == "magnitude_norm":
            return magnitude_only(augment)
        if self.penalty == "data_space_norm":
            return in_data_space(augment, x, dice)
        if self.penalty == "mean_displacement":
            return travel(augment, x, dice)
        if self.penalty == "log_displacement":
            return shares(augment, x, dice)
        return x.new_zeros(())


class Trainer:
    """Train an AugNet; iterate for one row per epoch, or go on from a `state_dict`.

    Three sources of randomness are kept apart, each seeded by `seed`: the order of the samples, the
    dice of the augmentation, and torch's own (dropout). All are part of the state, so that a run
    that was interrupted after any epoch ends as if it had not been.

    Where `fabric` has several processes, each takes its share of every batch, with dice of its own;
    the gradients are those of the whole batch. All processes see the rows of the first.
    """

    def __init__(
        self,
        net: AugNet,
        splits: Splits,
        settings: Training,
        penalty: Regularization,
        seed: int = 0,
        fabric: Fabric | None = None,
        scores: Scores | None = None,
    ) -> None:
        self.fabric = fabric or Fabric(accelerator="auto", devices=1)
        self.net, self.settings, self.seed = net, settings, seed
        self.scores = scores or Scores()
        self.weight = Schedule(penalty.weight)
        self.splits = Splits(*(Samples(*map(self.fabric.to_device, part)) for part in splits))
        optimizer = _optimizer(net, settings)
        self.scheduler = _scheduler(optimizer, settings)
        weights = class_weights(self.splits.train.y) if settings.balanced else None
        objective = Objective(net, penalty.name, weights)
        self.objective, self.optimizer = self.fabric.setup(objective, optimizer)
        own = seed + 1_000_003 * self.fabric.global_rank
        self.order = Generator().manual_seed(seed)
        self.dice = Generator(device=self.fabric.device).manual_seed(own + 1)
        torch.manual_seed(own + 2)
        self.rows: list[Row] = []
        self.best: dict[str, Tensor] | None = None

    def __iter__(self) -> Iterator[Row]:
        while not self.done:
            self.rows.append(self.epoch(len(self.rows)))
            yield self.rows[-1]

    @property
    def done(self) -> bool:
        """Whether all epochs are over, or the validation score has not risen for too long."""
        if len(self.rows) >= self.settings.epochs:
            return True
        patience = self.settings.patience
        return patience is not None and len(self.rows) - 1 - self.best_epoch >= patience

    @property
    def best_epoch(self) -> int:
        """The first epoch with the highest validation score."""
        scores = [row[f"valid_{self.settings.metric}"] for row in self.rows]
        return max(range(len(scores)), key=scores.__getitem__) if scores else -1

    def epoch(self, number: int) -> Row:
        """Go once through the training set, then score validation and test set."""
        self.objective.train()
        x, y = self.splits.train
        weight = self.weight(number)
        rank, world = self.fabric.global_rank, self.fabric.world_size
        totals = torch.zeros(3, dtype=torch.float64, device=x.device)
        order = torch.randperm(len(x), generator=self.order)
        order = order if self.settings.shuffle else torch.arange(len(x))
        for batch in order.split(self.settings.batch_size):
            if len(batch) < world:
                continue  # too few for all processes
            rows = batch[rank::world].to(x.device)
            share = len(rows) * world / len(batch)  # gradients are averaged over processes
            task, penalty, right = self.objective(x[rows], y[rows], self.dice)
            self.optimizer.zero_grad()
            self.fabric.backward(share * (task + weight * penalty))
            self.optimizer.step()
            sums = torch.stack((task.detach().double(), penalty.detach().double(), right))
            totals += share * sums * len(batch) / len(x)
        self.scheduler.step()
        totals = self.fabric.all_reduce(totals, reduce_op="mean")  # type: ignore[assignment]
        row: Row = dict(zip(("task", "penalty", "train_accuracy"), totals.tolist(), strict=True))
        row = {"epoch": number, "loss": row["task"] + weight * row["penalty"], **row}
        for part in ("valid", "test"):
            scores = self.score(getattr(self.splits, part))
            row |= {f"{part}_{name}": value for name, value in scores.items()}
        row |= self.watch()
        metric = f"valid_{self.settings.metric}"
        if self.settings.patience and all(row[metric] > other[metric] for other in self.rows):
            self.best = {key: v.detach().clone() for key, v in self.net.state_dict().items()}
        return self.fabric.broadcast(row | learned(self.net))

    def score(self, samples: Samples, views: str | None = None) -> Row:
        """Give accuracy and balanced accuracy, always with the same dice."""
        net = as_seen(self.net, views or self.scores.views).eval()
        with self.fabric.autocast():
            return accuracy(net, samples, self._same_dice())

    def watch(self) -> Row:
        """Give the invariance to the transforms that are watched, on some samples of the test set."""
        if not self.scores.invariance:
            return {}
        net = as_seen(self.net, self.scores.views).eval()
        x = self.splits.test.x[: self.scores.samples]
        with self.fabric.autocast():
            return invariances(net, build_transforms(self.scores.invariance), x, self._same_dice())

    def score_views(self) -> list[dict[str, Any]]:
        """Give the test accuracy of plain samples, and with each number of copies of own views."""
        test = self.splits.test
        plain = self.score(test, "plain")["accuracy"]
        net = as_seen(self.net, "own").eval()
        with self.fabric.autocast():
            own = accuracy_by_copies(net, test, self.scores.copies, self._same_dice())
        rows = [{"views": "own", "copies": c, "accuracy": value} for c, value in own.items()]
        return [{"views": "plain", "copies": 1, "accuracy": plain}, *rows]

    def time_views(self) -> list[Row]:
        """Give the time of a forward pass with each number of copies of own views (fig. B.6)."""
        net = as_seen(self.net, "own").eval()
        with self.fabric.autocast():
            x, dice = self.splits.test.x, self._same_dice()
            times = time_by_copies(net, x, self.scores.copies, dice)
        return [{"copies": count, "time": round(value, 3)} for count, value in times.items()]

    def _same_dice(self) -> Generator:
        return Generator(device=self.fabric.device).manual_seed(self.seed)

    def measure(self, transform: Transform, copies: int) -> Row:
        """Give invariance to a transform, its 75 % interval, and accuracy, all on the test set."""
        usual, self.net.copies = self.net.copies, copies
        scores = invariance(self.net.eval(), transform, self.splits.test.x, self._same_dice())
        median, low, high = summary(scores)
        right = self.score(self.splits.test)["accuracy"]
        self.net.copies = usual
        return {
            "copies": copies,
            "invariance": median,
            "low": low,
            "high": high,
            "accuracy": right,
        }

    def finish(self) -> None:
        """Put the best model in place, where there was a patience; else the last one is it."""
        if self.best is not None:
            self.net.load_state_dict(self.best)

    def state_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on, as tensors and plain values."""
        return {
            "net": self.net.state_dict(),
            "best": self.best,
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict(),
            "order": self.order.get_state(),
            "dice": self._gather(self.dice.get_state()),
            "torch": self._gather(torch.get_rng_state()),
            "rows": self.rows,
        }

    def _gather(self, state: Tensor) -> Tensor:
        """Put the states of all processes into one table, a row for each."""
        states = [state.to(self.fabric.device)]
        if self.fabric.world_size > 1:
            states = [torch.empty_like(states[0]) for _ in range(self.fabric.world_size)]
            torch.distributed.all_gather(states, state.to(self.fabric.device))
        return torch.stack(states).cpu()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.net.load_state_dict(state["net"])
        self.best = state["best"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.order.set_state(state["order"])
        mine = self.fabric.global_rank
        if len(state["dice"]) != self.fabric.world_size:
            raise ValueError(f"of {len(state['dice'])} processes, not {self.fabric.world_size}")
        # Clones, for torch takes a state that is part of a table for one that begins it.
        self.dice.set_state(state["dice"][mine].clone())
        torch.set_rng_state(state["torch"][mine].clone())
        self.rows = list(state["rows"])


def class_weights(y: Tensor, classes: int = 0) -> Tensor:
    """Weigh each class by the inverse of its frequency: so that all classes weigh alike.

    There are at least so many `classes`; those without samples weigh nothing.
    """
    counts = y.bincount(minlength=classes).float()
    return torch.where(counts > 0, len(y) / (counts > 0).sum() / counts.clamp(min=1), 0.0)


def learned(net: nn.Module) -> Row:
    """Give what is known about each transform, or about each generator of Augerino, as flat values."""
    row: Row = {}
    layers = [part for part in net.modules() if isinstance(part, AugmentationLayer)]
    for number, layer in enumerate(layers, start=1):
        weights, magnitudes = layer.weights.tolist(), layer.magnitudes.tolist()
        for transform, weight, magnitude in zip(layer.transforms, weights, magnitudes, strict=True):
            key = f"layer{number}.{transform.name}"
            row |= {f"{key}.weight": weight, f"{key}.magnitude": magnitude}
            row[f"{key}.strength"] = float(transform.strength(magnitude))
    for part in net.modules():
        if isinstance(part, Augerino):
            widths = zip(part.names, part.widths.tolist(), strict=True)
            row |= {f"augerino.{name}.width": width for name, width in widths}
    return row


def _optimizer(net: AugNet, settings: Training) -> torch.optim.Optimizer:
    own = list(net.augment.parameters()) if isinstance(net.augment, nn.Module) else []
    known = {id(parameter) for parameter in own}
    trunk = [parameter for parameter in net.parameters() if id(parameter) not in known]
    groups = [
        {"params": trunk, "lr": settings.lr, "weight_decay": settings.weight_decay},
        {
            "params": own,
            "lr": settings.augment_lr or settings.lr,
            "weight_decay": settings.augment_weight_decay,
        },
    ]
    groups = [group for group in groups if group["params"]]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=settings.momentum)
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(groups, betas=settings.betas)


def _scheduler(
    optimizer: torch.optim.Optimizer, settings: Training
) -> torch.optim.lr_scheduler.LRScheduler:
    if settings.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs)
    return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
