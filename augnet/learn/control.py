"""A control: training goes on from the reference without any transform.

A branch is trained on views with noise, which alone may cost some errors, or save some. So its
errors are compared with those of a network that was trained in the same way, transform excepted.
"""

import copy
import time
import zlib
from typing import Literal

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Control, Reference
from augnet.learn.traces import TraceNoise
from augnet.training import Loop, RandomState, WeightAverage, adamw, descend


def continued(reference: Reference, config: LearnConfig) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a copy of the reference to train on, and an optimizer that starts with small steps.

    Targets are close to what the network predicts, so that gradients are small at first. Adam would
    scale them up and move the weights at random, so it starts with the sizes of gradients that the
    optimizer of the reference saw.
    """
    trunk = copy.deepcopy(reference.network).requires_grad_(True).train()
    optimizer = adamw(trunk.parameters(), config.lr, config.weight_decay)
    state = copy.deepcopy(reference.optimizer.state_dict())
    for each in state["state"].values():
        each["exp_avg"].zero_()
    optimizer.load_state_dict(state)
    for group in optimizer.param_groups:
        group["lr"] = config.lr
    return trunk, optimizer


def train_control(
    reference: Reference, config: LearnConfig, seconds: float | None = None
) -> tuple[Control, int]:
    """Train a control; return what it says of the held-out samples, and its steps.

    If the seconds do not suffice, it says the same as the reference. If the reference errs, another
    network is trained on without noise: training with a transform has to be better than both.
    """
    end = None if seconds is None else time.monotonic() + seconds
    evaluator, rows = reference.evaluator, reference.held_out
    output, steps = _trained_on(reference, config, "control", end)
    if output is None:
        return Control(reference.errors, distances=reference.distances), steps
    changed = 0.0
    if reference.data.classes:
        other = (output.argmax(1) != reference.predicted).to(output.dtype)
        changed = evaluator.mean(other, rows).item()
    closest = [reference.distances, evaluator.distances(output, rows)]
    if reference.errs:
        plain, more = _trained_on(reference, config, "plain control", end)
        steps += more
        closest += [] if plain is None else [evaluator.distances(plain, rows)]
    best = min(closest, key=lambda each: evaluator.mean(each, rows).item())
    return Control(evaluator.errors(output, rows), changed, best), steps


def _trained_on(
    reference: Reference,
    config: LearnConfig,
    name: Literal["control", "plain control"],
    end: float | None,
) -> tuple[Tensor | None, int]:
    """Train on from the reference, a control with noise; return its outputs, and the steps.

    There are no outputs if the time is over before.
    """
    data, evaluator = reference.data, reference.evaluator
    seed = zlib.crc32(f"{config.seed} {name}".encode())
    generator = Generator(device=data.x.device).manual_seed(seed)
    trunk, optimizer = continued(reference, config)
    average = WeightAverage(trunk, config.branch_average)
    noise = TraceNoise(data.x[data.fitted], config.trace_noise) if name == "control" else None

    def step(rows: Tensor) -> dict[str, Tensor]:
        x = data.x[rows]
        output = trunk(x if noise is None else x + noise(x, generator))
        loss = evaluator.mean(evaluator.losses(output, reference.targets[rows]), rows)
        descend(optimizer, loss)
        average.update(trunk)
        return {"loss": loss.detach()}

    steps = max(1, round(config.control_steps * reference.planned))
    loop = Loop(lambda: data.batches(config.batch_size, generator), step, steps=steps)
    loop.seconds = None if end is None else end - time.monotonic()
    with RandomState(data.x.device):
        torch.manual_seed(seed)
        for _ in loop:
            pass
    if loop.done < steps:
        return None, loop.done
    return evaluator.outputs(average.network, data.x[reference.held_out]), loop.done
