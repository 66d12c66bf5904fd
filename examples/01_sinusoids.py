"""Learn which transform keeps the class of a wave, and how far
============================================================

The data of section 4.2: waves of 2, 4, 6 and 8 Hz, each within ±0.5 Hz of its class. A frequency
shift of up to another ±0.5 Hz keeps the class. The network does not know this: it gets three
transforms. A `RangeTuner` finds how far each of them may go, and selects the one that moves the
waves farthest, while the network learns the classes.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from augnet import AugmentationLayer, AugNet, RangeTuner, WeightedNorm, invariance, summary
from augnet.paper.datasets import Splits, sinusoids
from augnet.transforms import FrequencyShift, FTSurrogate, GaussianNoise
from augnet.trunks import SinusoidCNN

SFREQ, TRUTH = 100.0, 0.5


def build() -> AugNet:
    """Put one layer of three transforms in front of a small convolutional network."""
    layer = AugmentationLayer(
        FrequencyShift(limit=2.0, sfreq=SFREQ),
        FTSurrogate(limit=0.1 * 2 * torch.pi),
        GaussianNoise(limit=0.1),
        magnitude=0.25,
    )
    return AugNet(layer, SinusoidCNN(width=8, kernel=100), copies=10)


# The paper rewards strong transforms by a regularizer instead. Magnitudes of different transforms
# have no common unit: noise at magnitude 1 changes these waves less than a shift of 0.5 Hz, which
# is magnitude 0.25, and wins.
OBJECTIVES = ("tuner", "weighted_norm")


def train(net: AugNet, data: Splits, epochs: int, objective: str) -> Iterator[dict[str, object]]:
    """Train everything together; yield one row per epoch, and set the ranges at the end."""
    layer = net.augment
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    steps = epochs * -(-len(data.train.x) // 32)
    tuner = None
    if objective == "tuner":
        tuner = RangeTuner(layer, select="one", warmup=steps // 10)
    regularizer = WeightedNorm()
    for _ in range(epochs):
        net.train()
        for rows in torch.randperm(len(data.train.x)).split(32):
            x, y = data.train.x[rows], data.train.y[rows]
            losses = F.cross_entropy(net(x), y, reduction="none")
            loss = losses.mean()
            if tuner is None:
                loss = loss + 0.2 * regularizer(layer)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if tuner is not None:
                tuner.step(losses)
        yield {
            "loss": losses.mean().item(),
            "accuracy": accuracy(net, data.valid.x, data.valid.y),
            "weights": layer.weights.tolist(),
            "magnitudes": layer.magnitudes.tolist(),
        }
    if tuner is not None:
        tuner.finish()


@torch.no_grad()
def accuracy(net: AugNet, x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the accuracy of predictions that are averaged over copies."""
    return (net.eval()(x).argmax(1) == y).float().mean().item()


def draw(history: list[dict[str, object]], layer: AugmentationLayer, path: Path) -> None:
    """Draw weights and ranges over the epochs."""
    figure, (top, bottom) = plt.subplots(2, sharex=True, figsize=(7, 6), layout="constrained")
    epochs = range(1, len(history) + 1)
    for index, transform in enumerate(layer.transforms):
        (line,) = top.plot(
            epochs, [row["weights"][index] for row in history], lw=2, label=transform.name
        )
        learned = [row["magnitudes"][index] for row in history]
        bottom.plot(epochs, learned, color=line.get_color(), lw=2)
    truth = TRUTH / layer.transforms[0].limit
    bottom.axhline(truth, color="black", ls=":", lw=1)
    bottom.annotate(f"truth: ±{TRUTH} Hz", (len(history), truth), (0, 5), ha="right",
                    textcoords="offset points")  # fmt: skip
    top.set(ylabel="weight", ylim=(-0.03, 1.03), title="What one augmentation layer learned")
    bottom.set(xlabel="epoch", ylabel="magnitude (1 = the transform's limit)", ylim=(-0.03, 1.03))
    top.legend(frameon=False)
    for axis in (top, bottom):
        axis.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    """Learn, and show what was learned."""
    options = argparse.ArgumentParser(description="Learn transforms that keep the class of waves.")
    options.add_argument("--epochs", type=int, default=50)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--objective", choices=OBJECTIVES, default=OBJECTIVES[0])
    options.add_argument("--out", type=Path, default=Path("demo-output"))
    options = options.parse_args()

    torch.manual_seed(options.seed)
    data, net, console = sinusoids.load(options.seed), build(), Console()
    layer = net.augment
    history = []
    columns = (
        TextColumn("learning"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}  {task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=options.epochs)
        for row in train(net, data, options.epochs, options.objective):
            history.append(row)
            leader = layer.transforms[max(range(3), key=row["weights"].__getitem__)].name
            text = f"loss {row['loss']:.3f}  accuracy {row['accuracy']:.2f}  {leader}"
            progress.update(bar, advance=1, description=text)

    table = Table("transform", "weight", "learned range", "truth", title="What was learned")
    learned = zip(layer.transforms, layer.weights.tolist(), layer.magnitudes.tolist(), strict=True)
    for index, (transform, weight, magnitude) in enumerate(learned):
        truth = f"±{TRUTH:#.3g} Hz" if index == 0 else "-"
        table.add_row(transform.name, f"{weight:.2f}", transform.describe(magnitude), truth)
    console.print(table)

    score = summary(invariance(net, FrequencyShift(limit=TRUTH, sfreq=SFREQ), data.test.x))
    console.print(
        f"Test accuracy {accuracy(net, data.test.x, data.test.y):.3f}; invariance to shifts of "
        f"±{TRUTH} Hz {score.median:.3f} (1 is perfect), with {net.copies} copies per wave."
    )
    figure = options.out / "sinusoids.png"
    draw(history, layer, figure)
    console.print(f"The figure is in {figure}")


if __name__ == "__main__":
    main()
