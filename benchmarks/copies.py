"""How many copies does invariance need, drawn independently and stratified? results/copies.json.

Each trunk is trained on the words and ranges that its experiment should find; then invariance to
the true transformation (median over test samples) and accuracy are measured against the number of
copies, over several seeds of the dice.
"""

import json
import statistics
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from augnet import AugmentationLayer, AugNet, invariance, summary, words
from augnet.data import mario, sinusoids
from augnet.data.splits import Splits
from augnet.trunk import MLP, MarioCNN

RESULTS = Path(__file__).parents[1] / "results" / "copies.json"
COPIES = (1, 2, 4, 10, 20)


def capacity() -> tuple[Splits, nn.Module, dict, int, float]:
    """Give the capacity study's data, its perceptron of two neurons, and the true word."""
    true = {"word": "frequency-shift", "limit": 0.5, "sfreq": 100.0}
    return sinusoids.load(0), MLP(1000, 2, 1), true, 50, 1e-2


def mario_iggy() -> tuple[Splits, nn.Module, dict, int, float]:
    """Give Mario and Iggy, their small trunk, and the true rotation."""
    return mario.load(0), MarioCNN(width=8), {"word": "rotate", "limit": 45.0}, 1, 1e-3


def train(net: AugNet, data: Splits, epochs: int, lr: float) -> None:
    """Train the trunk on augmented batches."""
    optimiser = torch.optim.Adam(net.trunk.parameters(), lr=lr)
    for _ in range(epochs):
        for rows in torch.randperm(len(data.train.x)).split(32):
            loss = F.cross_entropy(net(data.train.x[rows]), data.train.y[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


@torch.no_grad()
def curve(net: AugNet, data: Splits, true: dict, seeds: int = 3, most: int = 200) -> list[dict]:
    """Measure invariance and accuracy against the number of copies, for both ways to draw them."""
    (word,) = words(true)
    x, y = data.test.x[:most], data.test.y[:most]
    rows = []
    for sampling in ("independent", "stratified"):
        for copies in COPIES:
            net.copies, net.sampling = copies, sampling
            dice = [torch.Generator().manual_seed(seed) for seed in range(seeds)]
            scores = [summary(invariance(net, word, x, d)).median for d in dice]
            right = [(net(x, d).argmax(1) == y).float().mean().item() for d in dice]
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


def main() -> None:
    """Train and measure."""
    document = {"command": "python benchmarks/copies.py", "experiments": {}}
    for name, setting in (("capacity", capacity), ("mario-iggy", mario_iggy)):
        torch.manual_seed(0)
        data, trunk, true, epochs, lr = setting()
        net = AugNet(AugmentationLayer(*words(true), magnitude=1.0), trunk, max_batch=1000)
        train(net, data, epochs, lr)
        print(name)
        document["experiments"][name] = curve(net.eval(), data, true)
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
