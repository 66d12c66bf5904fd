"""Measure how many copies invariance needs, independent and stratified: results/copies.json.

Each trunk is trained with the true transform and range of its experiment. Then invariance to the
true transform (median over test samples) and accuracy are measured against the number of copies,
over several seeds of the transforms.

Some nets need more copies than others. The response of the trunk to all strengths shows
why: its spectrum over the strength, and how many independent copies C other copies are worth.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import nn

from augnet import AugmentationLayer, AugNet, build_transforms, invariance, summary
from augnet.paper.datasets import mario, sinusoids
from augnet.paper.datasets.splits import Samples, Splits
from augnet.trunks import MLP, MarioCNN, SinusoidCNN
from augnet.trunks.small import SignalNet, image_net, is_image

RESULTS = Path(__file__).parents[1] / "results" / "copies.json"
COPIES = (1, 2, 4, 10, 20)

Setting: TypeAlias = tuple[Splits, nn.Module, Callable[[], nn.Module], dict, int, float]


def capacity() -> Setting:
    """Return the data of the capacity study, its smallest trunk, and the true transform."""
    true = {"name": "frequency_shift", "limit": 0.5, "sfreq": 100.0}
    larger = partial(SinusoidCNN, width=8, kernel=100)
    return sinusoids.load(0), MLP(1000, 2, 1), larger, true, 50, 1e-2


def mario_iggy() -> Setting:
    """Return the Mario-Iggy data, its small trunk, and the true rotation."""
    true, data = {"name": "rotate", "limit": 45.0}, mario.load(0)
    some = Samples(data.test.x[:200], data.test.y[:200])  # enough: samples are similar
    larger = partial(MarioCNN, width=16)
    return data._replace(test=some), MarioCNN(width=8), larger, true, 1, 1e-3


def trunk_of(shape: tuple[int, ...], outputs: int, width: int = 16) -> nn.Module:
    """Build a trunk of the kind that `learn` uses, of any width, for images or signals."""
    if is_image(shape):
        return image_net(shape, outputs, width, pool_first=True)
    return SignalNet(shape[0], shape[1], outputs, width)


def digits() -> Setting:
    """Return the digits of scikit-learn, a small trunk, and rotations that keep the class."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x = torch.from_numpy(bunch.images).float()[:, None] / 16
    y = torch.from_numpy(bunch.target).long()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    parts = (Samples(x[rows], y[rows]) for rows in order.split((500, 400, 897)))
    trunk = partial(trunk_of, (1, 8, 8), 10)
    return Splits(*parts), trunk(width=4), trunk, {"name": "rotate", "limit": 40.0}, 30, 3e-3


def train(net: AugNet, data: Splits, epochs: int, lr: float) -> None:
    """Train the trunk on augmented batches."""
    optimizer = torch.optim.Adam(net.trunk.parameters(), lr=lr)
    for _ in range(epochs):
        for rows in torch.randperm(len(data.train.x)).split(32):
            loss = F.cross_entropy(net(data.train.x[rows]), data.train.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@torch.no_grad()
def curve(net: AugNet, data: Splits, true: dict, seeds: int = 3) -> list[dict]:
    """Measure invariance and accuracy against the number of copies, for both ways to draw them."""
    (transform,) = build_transforms(true)
    x, y = data.test
    rows = []
    for sampling in ("independent", "stratified"):
        for copies in COPIES:
            net.copies, net.sampling = copies, sampling
            generators = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
            scores = [summary(invariance(net, transform, x, g)).median for g in generators]
            right = [(net(x, g).argmax(1) == y).float().mean().item() for g in generators]
            rows.append(
                {
                    "sampling": sampling,
                    "copies": copies,
                    "invariance": round(statistics.mean(scores), 4),
                    "accuracy": round(statistics.mean(right), 4),
                }
            )
            print(f"  {sampling:12s} C = {copies:2d}", *list(rows[-1].values())[2:])
    return rows


@torch.no_grad()
def adaptive(net: AugNet, data: Splits, seeds: int = 3) -> list[dict]:
    """Measure accuracy against the mean number of copies, at most twenty per sample."""
    x, y = data.test
    net.copies, net.sampling = COPIES[-1], "independent"
    rows = []
    for tolerance in (0.9, 0.6, 0.4, 0.2, 0.0):
        generators = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
        answers = [net.predict(x, tolerance, g, sampling="independent") for g in generators]
        right = [(answer.output.argmax(1) == y).float().mean().item() for answer in answers]
        made = [answer.copies.float().mean().item() for answer in answers]
        rows.append(
            {
                "tolerance": tolerance,
                "mean copies": round(statistics.mean(made), 2),
                "accuracy": round(statistics.mean(right), 4),
            }
        )
        print("  adaptive", *rows[-1].values())
    return rows


def distilled(
    net: AugNet, data: Splits, true: dict, lr: float, larger: Callable[[], nn.Module]
) -> list[dict]:
    """Compare the trunk, the average over twenty copies, and nets distilled from that."""
    (transform,) = build_transforms(true)
    x, y = data.test
    net.copies, net.sampling = COPIES[-1], "stratified"
    train_on = data.train.x[:1000]
    models = {
        "the trunk": net.trunk,
        "AugNet, C = 20": net,
        "distilled": net.distill(train_on, 20, lr, 32),
        "distilled into a larger net": net.distill(train_on, 20, 1e-2, 32, larger()),
    }
    rows = []
    for name, model in models.items():
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            score = summary(invariance(model, transform, x, generator)).median
            right = (model(x).argmax(1) == y).float().mean().item()
        row = {"model": name, "invariance": round(score, 4), "accuracy": round(right, 4)}
        rows.append(row)
        print(" ", *row.values())
    return rows


def independent(copies: int, times: int) -> torch.Tensor:
    """Draw uniformly."""
    return torch.rand(copies, times)


def stratified(copies: int, times: int) -> torch.Tensor:
    """Draw once in each of C equal parts of the range: a scrambled Sobol sequence in 1D."""
    return (torch.rand(copies, times) + torch.arange(copies)[:, None]) / copies


def even(copies: int, times: int) -> torch.Tensor:
    """Draw one offset for evenly spaced points."""
    return (torch.rand(times) + torch.arange(copies)[:, None]) / copies


def antithetic(copies: int, times: int) -> torch.Tensor:
    """Draw half of the points, and mirror them."""
    half = stratified(copies // 2, times) / 2
    return torch.cat((half, 1 - half))


@torch.no_grad()
def responses(net: AugNet, data: Splits, true: dict, points: int = 401, most: int = 50) -> dict:
    """Measure the spectrum of the trunk's response over the strength, and the worth of draws."""
    (transform,) = build_transforms(true)
    x = data.test.x[:most]
    strengths = transform.strength(torch.linspace(-1, 1, points))
    response = torch.stack([net.trunk(transform.transform(x, s.expand(len(x)))) for s in strengths])
    response = response - response.mean(0)
    power = torch.fft.rfft(response, dim=0).abs().square().mean((1, 2))
    below = power.cumsum(0) / power.sum()
    worth = {}
    for draw in (independent, stratified, even, antithetic):
        for copies in COPIES[1:]:
            places = (draw(copies, 2000) * points).long().clamp(max=points - 1)
            spread = response[places].mean(0).square().mean()
            worth[f"{draw.__name__}, C = {copies}"] = round(
                (response.var(0).mean() / spread).item(), 1
            )
    return {
        "fraction of the power below n periods": {
            str(n): round(below[n - 1].item(), 3) for n in (2, 3, 5, 10, 20)
        },
        "worth, in independent copies": worth,
    }


SETTINGS = {"capacity": capacity, "mario-iggy": mario_iggy, "digits": digits}


def measure(name: str) -> Iterator[tuple[str, object]]:
    """Train a trunk and yield one result after the other."""
    torch.manual_seed(0)
    data, trunk, larger, true, epochs, lr = SETTINGS[name]()
    net = AugNet(AugmentationLayer(*build_transforms(true), magnitude=1.0), trunk, max_batch=1000)
    train(net, data, epochs, lr)
    net.eval()
    yield "experiments", curve(net, data, true)
    yield "adaptive", adaptive(net, data)
    yield "distilled", distilled(net, data, true, lr, larger)
    yield "responses", responses(net, data, true)


def main() -> None:
    """Measure the named settings; keep the results of others."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help=f"some of {', '.join(SETTINGS)}; all by default")
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document["command"] = "python benchmarks/copies.py"
    for name in options.parse_args().names or SETTINGS:
        print(name)
        for kind, result in measure(name):
            document.setdefault(kind, {})[name] = result
            RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
