"""A control: training goes on from the reference without any transform.

A branch is trained on views with noise, which alone may cost some errors, or save some. So its
errors are compared with those of a network that was trained in the same way, transform excepted.
"""

import copy
import zlib

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Control, Reference
from augnet.learn.traces import TraceNoise
from augnet.training import Loop, RandomState, WeightAverage, descend


def continued(reference: Reference, config: LearnConfig) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a copy of the reference to train on, and an optimizer that starts with small steps.

    Targets are close to what the network predicts, so that gradients are small at first. Adam would
    scale them up and move the weights at random, so it starts with the sizes of gradients that the
    optimizer of the reference saw.
    """
    trunk = copy.deepcopy(reference.network).requires_grad_(True).train()
    optimizer = torch.optim.AdamW(
        trunk.parameters(), lr=config.lr, weight_decay=config.weight_decay
    )
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

    If the seconds do not suffice, it says the same as the reference.
    """
    data, evaluator = reference.data, reference.evaluator
    seed = zlib.crc32(f"{config.seed} control".encode())
    generator = Generator(device=data.x.device).manual_seed(seed)
    trunk, optimizer = continued(reference, config)
    average = WeightAverage(trunk, config.branch_average)
    noise = TraceNoise(data.x[data.fitted], config.trace_noise)

    def step(rows: Tensor) -> dict[str, Tensor]:
        x = data.x[rows]
        output = trunk(x + noise(x, generator))
        loss = evaluator.mean(evaluator.losses(output, reference.targets[rows]), rows)
        descend(optimizer, loss)
        average.update(trunk)
        return {"loss": loss.detach()}

    steps = max(1, round(config.control_steps * reference.planned))
    loop = Loop(lambda: data.batches(config.batch_size, generator), step, steps=steps)
    loop.seconds = seconds
    with RandomState(data.x.device):
        torch.manual_seed(seed)
        for _ in loop:
            pass
    if loop.done < steps:
        return Control(reference.errors), loop.done
    rows = reference.held_out
    output = evaluator.outputs(average.network, data.x[rows])
    changed = 0.0
    if data.classes:
        other = (output.argmax(1) != reference.predicted).to(output.dtype)
        changed = evaluator.mean(other, rows).item()
    return Control(evaluator.errors(output, rows), changed), loop.done
