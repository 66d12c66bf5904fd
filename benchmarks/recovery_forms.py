"""The tasks of benchmarks/recovery.py in real-life form, and tasks with nothing to learn.

    python benchmarks/recovery_forms.py

chooses the noise of the form "noisy" again, and prints the table NOISE.
"""

import math
import multiprocessing
import os
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from recovery_tasks import CHANNELS, SFREQ, TASKS, UNCLEAR, Task
from torch import Generator, Tensor

from augnet.learn import inputs
from augnet.transforms import Transform
from augnet.trunks import build_trunk

CLEAN, RANDOM = "clean", "random-labels"
NOISE = {
    "mario-iggy": 2.5,  # 0.22
    "sinusoids": 4.5,  # 0.23
    "waves-wide-gap": 5,  # 0.21
    "waves-3": 4.5,  # 0.19
    "rotate-2": 2,  # 0.22
    "rotate-3": 1.6,  # 0.25
    "rotate-4": 1.3,  # 0.22
    "translate_x": 2.5,  # 0.22
    "translate_y": 2,  # 0.18
    "scale": 4,  # 0.20
    "brightness": 2.5,  # 0.18
    "hue": 3.2,  # 0.15
    "amplitude": 5,  # 0.22
    "time_mask": 1.1,  # 0.23
    "noise-level": 1.6,  # 0.25
    "flip-invariant": 1,  # 0.19
    "flip-decides": 2,  # 0.21
    "reverse-decides": 0.42,  # 0.19
    "reverse-invariant": 4,  # 0.24
    "symmetry-decides": 3.5,  # 0.25
    "symmetry-invariant": 3.2,  # 0.14
    "dials": 1.6,  # 0.19
    "rotate-and-brightness": 1,  # 0.20
    "shift-and-sign": 4,  # 0.17
    "no-invariance": 1,  # 0.22
    "few-samples": 3.5,  # 0.20
    "few-images": 1,  # 0.23
    "label-noise": 2,  # 0.22
    "regress-position": 1,  # 0.15
    "regress-frequency": 2,  # 0.16
    "held-rotate-5": 1.3,  # 0.25
    "held-hue-4": 2.5,  # 0.20
    "held-brightness-3": 2.5,  # 0.23
    "held-shift-5": 3.5,  # 0.22
    "held-amplitude-3": 2.5,  # 0.15
    "held-vertical-flip": 2.5,  # 0.17
}
"""The standard deviation of the noise in the form "noisy", and the error of a plain net with it."""


def offered(task: Task) -> Task:
    """Offer all transforms that fit, as "auto" does; the added ones have no known truth."""
    x, _ = task.make(Generator().manual_seed(0), 4)
    own = dict(zip((each.name for each in task.transforms), task.transforms, strict=True))
    truths = dict(zip(own, task.truths, strict=True))
    every = {each.name: each for each in fitting(x, "channel_symmetry" in own)} | own
    return replace(
        task, transforms=tuple(every.values()), truths=tuple(truths.get(name) for name in every)
    )


def fitting(x: Tensor, named_channels: bool = False) -> list[Transform]:
    """Build all transforms that fit, with their default limits."""
    shared = {"sfreq": SFREQ} | ({"channels": CHANNELS} if named_channels else {})
    return inputs.prepare_transforms("auto", x, **shared)


FORMS: dict[str, Callable[[Task], Task]] = {
    CLEAN: lambda task: task,
    "all": offered,
    "wrong-10": lambda task: replace(task, label_noise=0.1),
    "wrong-20": lambda task: replace(task, label_noise=0.2),
    "wrong-30": lambda task: replace(task, label_noise=0.3),
    "noisy": lambda task: replace(task, input_noise=NOISE[task.name]),
    "200": lambda task: replace(task, size=200),
    "500": lambda task: replace(task, size=500),
    "imbalanced": lambda task: replace(task, imbalanced=True),
    RANDOM: lambda task: replace(task, shuffled=True, truths=(UNCLEAR,) * len(task.truths)),
}
"""What each form changes. The first is the task as it is; the last has nothing to learn."""
REAL_LIFE = tuple(form for form in FORMS if form not in (CLEAN, RANDOM))


def gaussian(*shape: int) -> Callable[[Generator, int], Tensor]:
    """Draw white noise."""
    return lambda generator, size: torch.randn(size, *shape, generator=generator)


def pixels(*shape: int) -> Callable[[Generator, int], Tensor]:
    """Draw each pixel uniformly."""
    return lambda generator, size: torch.rand(size, *shape, generator=generator)


def blobs(*shape: int) -> Callable[[Generator, int], Tensor]:
    """Draw soft spots: noise of low resolution, enlarged."""

    def draw(generator: Generator, size: int) -> Tensor:
        coarse = torch.rand(size, shape[0], 5, 5, generator=generator)
        return F.interpolate(coarse, shape[1:], mode="bilinear")

    return draw


def slow(*shape: int) -> Callable[[Generator, int], Tensor]:
    """Draw slow noise: a random walk, standardized."""

    def draw(generator: Generator, size: int) -> Tensor:
        walk = torch.randn(size, *shape, generator=generator).cumsum(-1)
        return (walk - walk.mean(-1, keepdim=True)) / walk.std(-1, keepdim=True)

    return draw


def meaningless(
    name: str, draw: Callable[[Generator, int], Tensor], classes: int, size: int
) -> Task:
    """Build a task of noise with random labels; all transforms that fit are offered.

    `classes` is 0 for values.
    """

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        x = draw(generator, size)
        if not classes:
            return x, torch.randn(size, generator=generator)
        return x, torch.randperm(size, generator=generator) % classes

    transforms = tuple(fitting(draw(Generator().manual_seed(0), 4)))
    return Task(name, make, transforms, (UNCLEAR,) * len(transforms), size)


SHUFFLED = (
    "mario-iggy", "sinusoids", "rotate-2", "translate_x", "hue", "amplitude", "flip-decides",
    "symmetry-invariant", "few-images", "regress-frequency",
)  # fmt: skip
"""Tasks that look real and whose labels are shuffled."""


def names_of(form: str) -> list[str]:
    """Return the names of the tasks that have a form."""
    if form == RANDOM:
        return [*(task.name for task in NOISE_TASKS), *SHUFFLED]
    return [task.name for task in TASKS if form != "imbalanced" or classes_of(task)]


def task_in(form: str, name: str) -> Task:
    """Return a task in a form."""
    task = next(task for task in (*TASKS, *NOISE_TASKS) if task.name == name)
    return FORMS[form](task)


def classes_of(task: Task) -> int:
    """Count the classes; 0 for values."""
    _, y = task.make(Generator().manual_seed(0), 100)
    return 0 if y.is_floating_point() else int(y.max()) + 1


NOISE_TASKS = (
    meaningless("noise-images-2", pixels(1, 28, 28), 2, 400),
    meaningless("noise-images-10", pixels(1, 28, 28), 10, 1000),
    meaningless("noise-images-color", gaussian(3, 32, 32), 4, 800),
    meaningless("noise-images-small", pixels(1, 16, 16), 3, 200),
    meaningless("noise-blobs", blobs(1, 28, 28), 2, 600),
    meaningless("noise-signals-2", gaussian(1, 400), 2, 400),
    meaningless("noise-signals-5", gaussian(1, 400), 5, 1000),
    meaningless("noise-signals-channels", gaussian(4, 300), 3, 600),
    meaningless("noise-walks", slow(2, 400), 2, 400),
    meaningless("noise-values", gaussian(1, 400), 0, 500),
)

# The noise of the form "noisy", chosen once.
TARGET, NEAR, STEPS, HALVINGS = 0.2, 0.06, 200, 6


def plain_error(task: Task, noise: float) -> float:
    """Fit half of the samples by the default trunk, as `learn` does; return the error on others.

    The error is the fraction of wrong classes, or of the variance that is not explained.
    """
    torch.manual_seed(0)
    noisy = replace(task, input_noise=noise, label_noise=0.0, size=task.size // 2)
    (x, y), (fresh, truth) = noisy.train(0), noisy.test(0, 500)
    classes = classes_of(task)
    trunk = build_trunk("small", tuple(x.shape[1:]), classes or 1)
    adam = torch.optim.AdamW(trunk.parameters(), weight_decay=1e-3)
    rates = torch.optim.lr_scheduler.OneCycleLR(adam, 3e-3, STEPS)
    loss = F.cross_entropy if classes else lambda output, y: F.mse_loss(output[:, 0], y)
    for _ in range(STEPS):
        rows = torch.randint(len(x), (64,))
        adam.zero_grad()
        loss(trunk(x[rows]), y[rows]).backward()
        adam.step()
        rates.step()
    trunk.eval()
    with torch.no_grad():
        output = torch.cat([trunk(chunk) for chunk in fresh.split(200)])
    if classes:
        return float((output.argmax(1) != truth).double().mean())
    return float((output[:, 0] - truth).square().mean() / truth.var())


def choose_noise(name: str) -> tuple[str, float, float]:
    """Bisect the noise, on a logarithmic scale, until the plain error is about TARGET."""
    torch.set_num_threads(1)
    task = next(task for task in TASKS if task.name == name)
    low, high = 0.25, 10.0
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        error = plain_error(task, middle)
        if abs(error - TARGET) < NEAR:
            break
        low, high = (middle, high) if error < TARGET else (low, middle)
    return name, float(f"{middle:.2g}"), error


def main() -> None:
    """Print the noise of each task and the error that it gives."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count()) as pool:
        for name, noise, error in pool.imap(choose_noise, [task.name for task in TASKS]):
            print(f'    "{name}": {noise:g},  # {error:.2f}', flush=True)


if __name__ == "__main__":
    main()
