"""The edge rule: a range grows while its edge costs less than a tolerance."""

import math
from typing import Any, get_args

import torch
from torch import Tensor

from augnet import validation
from augnet.layers.costs import LARGEST, edge_sums, over_processes
from augnet.layers.edges import Choice, has_range
from augnet.layers.layer import AugmentationLayer
from augnet.layers.module import AugmentationModule
from augnet.layers.range_table import RangeTable, TunedRange
from augnet.layers.running import RunningMeans
from augnet.layers.selection import Selection, weigh
from augnet.transforms import Transform

TOLERANCE = 0.1
"""In nats: the one constant of the rule, the same in all experiments."""
SMALLEST = 0.001
"""The smallest magnitude: from 0 no range could grow."""
LOST = 2 * SMALLEST
"""A transform whose magnitude ends here could not leave 0, and loses its weight."""
BASE_FACTOR = 0.98
EDGE_FACTOR = 0.95
TAIL = 6
"""Averages weigh step t by about t^TAIL: their center is that of the last quarter of steps."""


class RangeTuner:
    """Find how far transforms may go, while you train: call `step(losses)` after each batch.

    A range grows while samples at its edge cost less than `tolerance` more than untransformed ones,
    and shrinks if they cost more. Costs are in the units of your loss: nats for cross-entropy.

    `augment` is an `AugmentationLayer` or an `AugmentationModule`. While the tuner is attached, its
    layers draw one transform per sample in training. A quarter of the samples get none, however
    many transforms there are. Half of the others are drawn within the range of their transform,
    half at its edge: ± the strength of a signed transform, the upper end of an unsigned one, the
    magnitude itself for transforms with other random params.

    Weights follow from the ranges, and are those of eval. With `select="all"` the transforms of a
    layer share the weight, except those whose range cannot leave 0: they have none. With several
    layers, samples at an edge are left as they are by all other layers, so each edge is measured
    alone; samples within ranges go through all layers. With `select="one"` each layer gives all
    weight to the transform that moves the data farthest at its edge, of those that have a range. An
    edge is then measured on top of what the layers before have selected, at the same end of their
    ranges, so that the tolerance holds for all layers together: a layer after one that uses it up
    becomes the identity. If a layer before has the same transform, and the range has shrunk since
    the start, `finish` sets it to 0: it is what is left over, and no range of its own. Selections
    do not change by that.

    `step` keeps two kinds of running means: b, the loss of untransformed samples (factor 0.98 per
    step), and e, the loss of the samples at the edge of a transform less b (0.95). After `warmup`
    steps each step moves log μ by rate · clip((tolerance − e) / tolerance, −1, 1). Magnitudes begin
    at `start` (None: where they are) and stay in [0.001, 1]. The answer is a running average of μ
    that stands for the last quarter of the steps; `table` shows it and `finish` sets it.

    A network that has learned nothing loses nothing by any transform. Give `chance`, the loss of
    such a network (log(classes) for classes of equal size), and no range grows before untransformed
    samples cost less than that by the tolerance; if they never do, `table` says so.

    No gradient moves magnitudes and weights: the tuner freezes both by `requires_grad_(False)`. An
    optimizer over `net.parameters()` does not move them, not even by weight decay.

    Bernoulli transforms, such as flips, have no range. They keep their probability, are drawn like
    the others, and are not in the table; `learn` decides on them. A layer of nothing else acts on
    all samples, and costs are then those on top of it.

    Losses that are NaN, infinite or above 1e15 are left out of the means and counted. If
    `torch.distributed` is initialized, sums are reduced over all processes, so that all have the
    same ranges: each process must make the same number of steps. Make the tuner before
    `DistributedDataParallel` wraps the net, because this looks for parameters with a gradient. A
    step reads nothing from the device, and copies nothing to it.
    """

    def __init__(
        self,
        augment: AugmentationLayer | AugmentationModule,
        tolerance: float = TOLERANCE,
        *,
        select: Selection = "all",
        warmup: int = 100,
        rate: float = 0.02,
        start: float | None = 0.05,
        chance: float | None = None,
    ) -> None:
        if not isinstance(augment, AugmentationLayer | AugmentationModule):
            raise TypeError(
                "RangeTuner takes an AugmentationLayer or an AugmentationModule; got "
                f"{type(augment).__name__}: RangeTuner(net.augment)"
            )
        if not (tolerance > 0 and rate > 0 and warmup >= 0):
            raise ValueError(
                "tolerance and rate are above 0, and warmup is a number of steps from 0; got "
                f"tolerance={tolerance}, rate={rate}, warmup={warmup}"
            )
        if start is not None and not SMALLEST <= start <= 1:
            raise ValueError(f"start is a magnitude in [{SMALLEST}, 1] or None; got {start}")
        if chance is not None and not math.isfinite(chance):
            raise ValueError(
                f"chance is the loss of a net that knows nothing, or None; got {chance}"
            )
        if select not in get_args(Selection):
            raise ValueError(f"select is one of {', '.join(get_args(Selection))}; got {select!r}")
        self.augment, self.select = augment, select
        self.layers = [augment] if isinstance(augment, AugmentationLayer) else list(augment)
        self.tolerance, self.warmup, self.rate = tolerance, warmup, rate
        self.chance = math.inf if chance is None else chance
        self.transforms = [each for layer in self.layers for each in layer.transforms]
        self._check_layers()
        self._attach(start)
        magnitudes = self.magnitudes
        self.steps = 0
        self.finished = False
        self.initial = magnitudes
        self.average = magnitudes.clone()
        self.base = RunningMeans(1, BASE_FACTOR, magnitudes)
        self.edges = RunningMeans(len(self.transforms), EDGE_FACTOR, magnitudes)
        self.moves = RunningMeans(len(self.transforms), EDGE_FACTOR, magnitudes)
        self.left_out = torch.zeros((), dtype=torch.long, device=magnitudes.device)
        self.ranged = torch.tensor(list(map(has_range, self.transforms)), device=magnitudes.device)

    @property
    def magnitudes(self) -> Tensor:
        """The magnitudes of all transforms of all layers, as they are now."""
        return torch.cat([layer.magnitudes.detach() for layer in self.layers]).float()

    @torch.no_grad()
    def step(self, losses: Tensor) -> None:
        """Move the ranges by the losses (B,) of the last batch, one per sample, of one forward."""
        choices = self._take_choices(losses)
        self._follow_net()
        validation.same_device(self.average, losses, "the tuner")
        together = self.select == "one"
        sums = edge_sums(self.layers, choices, losses.detach().float(), together)
        self._count(over_processes(sums))
        self.steps += 1
        if self.steps > self.warmup:
            self._move_ranges()
        self._weigh(self.magnitudes)

    def table(self) -> RangeTable:
        """Return the range of each transform, averaged over steps, and what its edge costs now.

        A standard error takes samples for independent, and does not know that the net changes.
        """
        error = (self.edges.error.square() + self.base.error.square()).sqrt()
        average = self._settled() if self.finished else self.average
        numbers = (average, self.edges.mean, error, self.edges.seen)
        places = [(i, t) for i, layer in enumerate(self.layers, 1) for t in layer.transforms]
        columns = (column.tolist() for column in numbers)
        rows, notes = [], []
        for (layer, transform), magnitude, *costs in zip(places, *columns, strict=True):
            if has_range(transform):
                rows.append(TunedRange(layer, transform, magnitude, *costs))
            else:
                described = f"{transform.name} {transform.describe(magnitude)}"
                notes.append(f"{described}: it has no range to tune; learn decides on it.")
        if math.isfinite(self.chance) and self.base.seen > 0 and not self._knows():
            notes.append(
                f"Untransformed samples cost {self.base.mean.item():.3g}; a network that knows "
                f"nothing has {self.chance:.3g}. The ranges say nothing: train it otherwise."
            )
        if left_out := int(self.left_out):
            notes.append(
                f"{left_out} losses were not finite, or above {LARGEST:g}, and were left out."
            )
        return RangeTable(rows, notes)

    def averages(self) -> dict[AugmentationLayer, Tensor]:
        """Return the magnitudes of each layer, averaged as `finish` sets them."""
        return dict(zip(self.layers, self._per_layer(self._settled()), strict=True))

    def finish(self) -> RangeTable:
        """Set the ranges to their averages, detach the tuner and return the table.

        A range that could not leave 0 is set to 0. Call it before you evaluate or save the net.
        Layers then train as they did before the tuner came, but magnitudes and weights stay frozen.
        """
        if not self.finished:
            self._follow_net()
            self._weigh(self.average)
            self._set(self._settled())
            for part in (self.augment, *self.layers):
                part.tuned = False
            for layer in self.layers:
                layer.choice = layer.moved = layer.selected = None
            self.finished = True
        return self.table()

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` takes to continue exactly; `torch.save` can write it."""
        return {
            "transforms": [transform.name for transform in self.transforms],
            "steps": self.steps,
            "finished": self.finished,
            "magnitudes": self.magnitudes,
            "initial": self.initial.clone(),
            "average": self.average.clone(),
            "base": self.base.state_dict(),
            "edges": self.edges.state_dict(),
            "moves": self.moves.state_dict(),
            "left_out": self.left_out.clone(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state, with the tolerance, warmup and rate of this tuner.

        The magnitudes of the layers are set, so the net may be loaded before or after.
        """
        if self.finished:
            raise RuntimeError("this tuner is finished: make a new one, and load the state into it")
        names = [transform.name for transform in self.transforms]
        if list(state["transforms"]) != names:
            raise ValueError(
                f"the state is that of a tuner of {', '.join(state['transforms'])}; this one has "
                f"{', '.join(names)}: build the same layers"
            )
        self._follow_net()
        self.steps = state["steps"]
        self._set(state["magnitudes"])
        self.initial = state["initial"].to(self.average)
        self.average = state["average"].to(self.average)
        self.base.load_state_dict(state["base"])
        self.edges.load_state_dict(state["edges"])
        self.moves.load_state_dict(state["moves"])
        self.left_out = state["left_out"].to(self.left_out)
        self._weigh(self.magnitudes)
        if state["finished"]:
            self.finish()

    def _check_layers(self) -> None:
        """Raise an error if these layers cannot be tuned."""
        if len({id(layer) for layer in self.layers}) < len(self.layers):
            raise ValueError(
                "the same layer is in this module more than once: a RangeTuner needs layers with "
                "ranges of their own, such as copies by copy.deepcopy"
            )
        if not any(map(has_range, self.transforms)):
            names = ", ".join(transform.name for transform in self.transforms)
            raise ValueError(
                f"there is no range to tune: {names} is applied with a probability; "
                "augnet.learn decides on such transforms"
            )

    @torch.no_grad()
    def _attach(self, start: float | None) -> None:
        """Freeze what the layers learn, set magnitudes, and let layers draw as `step` needs it.

        Layers may be tuned already: loaded or copied with a tuner attached.
        """
        for layer in self.layers:
            for parameter in (layer.logits, layer.raw_magnitudes):
                parameter.requires_grad_(False).grad = None
            for index, transform in enumerate(layer.transforms):
                if has_range(transform) and start is not None:
                    layer.raw_magnitudes[index] = start
            if self.select == "one":
                layer.selected = torch.zeros_like(layer.logits[0], dtype=torch.long)
        for part in (self.augment, *self.layers):
            part.tuned = True

    def _take_choices(self, losses: Tensor) -> list[Choice]:
        """Check the losses, and return what each sample of the last forward drew in each layer."""
        if self.finished:
            raise RuntimeError("the tuner is finished: its ranges are set and move no more")
        if not isinstance(losses, Tensor) or losses.dim() != 1:
            came = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
            raise ValueError(
                f"step takes one loss per sample, shape (B,); got {came}: "
                'F.cross_entropy(net(x), y, reduction="none"), and losses.mean().backward()'
            )
        if not all(layer.training for layer in self.layers):
            raise RuntimeError("step is for training, and the layers are in eval: call net.train()")
        choices = [layer.choice for layer in self.layers if layer.choice is not None]
        if len(choices) < len(self.layers):
            raise RuntimeError(
                "step needs a forward in training since the last step, and there was none: "
                "call it once per batch, after net(x)"
            )
        if any(len(choice.edge) != len(losses) for choice in choices):
            raise ValueError(
                f"step takes one loss per sample: the last forward had {len(choices[0].edge)} "
                f"samples, and there are {len(losses)} losses"
            )
        for layer in self.layers:
            layer.choice = None
        return choices

    def _count(self, sums: Tensor) -> None:
        """Update the running means."""
        self.base.update(*sums[:3, :1])
        base = self.base.mean.nan_to_num()
        count, total, squares, moved = sums[:, 1:-1] * (self.base.seen > 0)
        excess = total - count * base
        self.edges.update(count, excess, squares - base * (total + excess))
        self.moves.update(count, moved, moved.square())
        self.left_out = self.left_out + sums[0, -1].long()

    def _move_ranges(self) -> None:
        """Let log magnitudes move, and average them."""
        room = ((self.tolerance - self.edges.mean) / self.tolerance).clamp(-1, 1)
        room = room.where(self._knows(), room.clamp(max=0))
        old = self.magnitudes
        new = (old * (self.rate * room).exp()).clamp(SMALLEST, 1).where(self.edges.seen > 0, old)
        self._set(new)
        share = (TAIL + 1) / (TAIL + self.steps - self.warmup)
        self.average = self.average + share * (new - self.average)

    def _knows(self) -> Tensor:
        """Tell whether untransformed samples cost less than without any knowledge, as a (1,)."""
        return self.base.mean < self.chance - self.tolerance

    @torch.no_grad()
    def _weigh(self, magnitudes: Tensor) -> None:
        """Set the weights that follow from the ranges; layers without ranges keep theirs."""
        found = magnitudes > LOST
        kept = self.ranged & found if self.select == "one" else ~self.ranged | found
        moves = self._per_layer(self.moves.mean)
        for layer, keeps, moved in zip(self.layers, self._per_layer(kept), moves, strict=True):
            if not any(map(has_range, layer.transforms)):
                continue
            farthest = weigh(layer, keeps, moved, self.select)
            if self.select == "one":
                layer.selected = farthest

    def _settled(self) -> Tensor:
        """Return the averages as `finish` sets them: 0 where there is no range."""
        least = torch.where(self._repeated(), self.initial, LOST)
        return self.average.masked_fill(self.ranged & (self.average <= least), 0.0)

    def _repeated(self) -> Tensor:
        """Tell which transforms share the tolerance with the same transform of a layer before."""
        before: list[Transform] = []
        found: list[bool] = []
        for layer in self.layers if self.select == "one" else ():
            found += [each in before for each in layer.transforms]
            before += layer.transforms
        found = found or [False] * len(self.transforms)
        return torch.tensor(found, device=self.average.device)

    def _per_layer(self, values: Tensor) -> tuple[Tensor, ...]:
        """Split values of all transforms by layer."""
        return values.split([len(layer.transforms) for layer in self.layers])

    @torch.no_grad()
    def _set(self, magnitudes: Tensor) -> None:
        """Set the magnitudes of all layers."""
        for layer, part in zip(self.layers, self._per_layer(magnitudes), strict=True):
            layer.raw_magnitudes.copy_(part)

    def _follow_net(self) -> None:
        """Move all state to the device of the net, which may have been moved."""
        device = self.layers[0].logits.device
        if self.average.device == device:
            return
        self.average, self.left_out = self.average.to(device), self.left_out.to(device)
        self.initial, self.ranged = self.initial.to(device), self.ranged.to(device)
        self.base.to(device)
        self.edges.to(device)
        self.moves.to(device)
