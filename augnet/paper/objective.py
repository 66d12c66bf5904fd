"""What a training minimizes, and the optimizer and schedule that its settings name."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.layers import ByClass
from augnet.net import AugNet
from augnet.paper.config import Training
from augnet.regularizers import REGULARIZERS, Regularizer


class Objective(nn.Module):
    """Compute what is minimized, as one module: DDP must see every use of the parameters."""

    weights: Tensor | None

    def __init__(
        self,
        net: AugNet,
        regularizer: Regularizer | None,
        weights: Tensor | None = None,
        probe: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.net, self.regularizer, self.probe = net, regularizer, probe
        self.register_buffer("weights", weights)  # of the classes; their mean over samples is 1

    def forward(self, x: Tensor, y: Tensor, generator: Generator) -> dict[str, Tensor]:
        """Return the loss of the task, the regularizer, the accuracy and the losses of samples."""
        augment: Any = self.net.augment
        if isinstance(augment, ByClass):  # the only one that needs labels
            x = augment.labeled(x, y, generator)
        views = None if self.probe is None else augment(x, generator)
        output = self.net(x, generator) if views is None else self._as_in_eval(x, generator)
        losses = F.cross_entropy(output, y, reduction="none")
        # Weighted before the mean, not by it, so that the mean over processes is that of the batch.
        task = (losses if self.weights is None else self.weights[y] * losses).mean()
        strength = self.regularizer(augment, x, generator) if self.regularizer else x.new_zeros(())
        right = (output.detach().argmax(1) == y).double().mean()
        found = {"task": task, "regularizer": strength, "train_accuracy": right}
        if self.probe is not None:
            losses = F.cross_entropy(self.probe(views), y, reduction="none")
            found["probe"] = losses.mean()
        return found | {"losses": losses}

    def _as_in_eval(self, x: Tensor, generator: Generator) -> Tensor:
        """Predict over `train_copies` views drawn within the ranges, as the net does in eval.

        A probe gets the views that a tuner needs, so the trunk is free to learn from averages.
        """
        self.net.eval()
        self.net.trunk.train()
        output = self.net(x, generator, self.net.train_copies)
        self.net.train()
        return output


def build_regularizer(name: str) -> Regularizer | None:
    """Build a regularizer of `REGULARIZERS` by name; "none" is None."""
    return None if name == "none" else REGULARIZERS[name]()


def class_weights(y: Tensor, classes: int = 0) -> Tensor:
    """Return the inverse of each class's frequency, scaled so that the mean over samples is 1.

    There are at least so many `classes`; those without samples have weight 0.
    """
    counts = y.bincount(minlength=classes).float()
    return torch.where(counts > 0, len(y) / (counts > 0).sum() / counts.clamp(min=1), 0.0)


def build_optimizer(
    net: AugNet, settings: Training, probe: nn.Module | None = None
) -> torch.optim.Optimizer:
    """Build an optimizer with groups for the trunks and for the augmentation."""
    own = list(net.augment.parameters()) if isinstance(net.augment, nn.Module) else []
    known = {id(parameter) for parameter in own}
    trunk = [parameter for parameter in net.parameters() if id(parameter) not in known]
    trunk += [] if probe is None else probe.parameters()
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


def build_scheduler(
    optimizer: torch.optim.Optimizer, settings: Training
) -> torch.optim.lr_scheduler.LRScheduler:
    """Build the schedule of the learning rates."""
    if settings.schedule == "cosine":
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.epochs)
    return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
