"""Compare the cost of augmentation with the trunk and with other libraries: results/speed.json.

Cases of one cell are compared within one process: repeats are interleaved, and ratios are those of
medians. Times are processor time of one thread, which does not depend on other processes.
`--threads 2` measures wall-clock time instead, for an idle machine. Tables go to
docs/performance.md.
"""

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from peers import BraindecodeMixture, ExponentialAffine, KorniaMixture
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from augnet import Augerino, AugmentationLayer, AugmentationModule, AugNet, build_transforms
from augnet.trunks import ChambonNet, PreActResNet18

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "speed.json"
PAGE = ROOT / "docs" / "performance.md"
MARK = "<!-- Tables above are made; what follows is written. -->"

GEOMETRIC = ["translate_x", "translate_y", "rotate", "shear_x", "shear_y"]
PHOTOMETRIC = ["horizontal_flip", "sample_pairing", "contrast", "brightness"]
TIME_FREQUENCY = ["time_reverse", "time_mask", "gaussian_noise", "ft_surrogate", "frequency_shift"]
SENSORS = [
    "sign_flip", "channel_symmetry", "channel_shuffle", "channel_dropout",
    "sensor_rotation_x", "sensor_rotation_y", "sensor_rotation_z",
]  # fmt: skip
CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")

Case = Callable[[], object]
Row = dict[str, object]


def measure(cases: dict[str, Case], repeats: int, clock: Callable[[], float]) -> Iterator[Row]:
    """Time cases in turns; yield the median of each in milliseconds and its peak memory."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(repeats):
        for name, case in cases.items():
            gc.collect()
            start = clock()
            case()
            times[name].append(1e3 * (clock() - start))
    for name, case in cases.items():
        yield {
            "case": name,
            "ms": round(statistics.median(times[name]), 3),
            "fastest": round(min(times[name]), 3),
            "MB": round(peak_memory(case) / 2**20, 1),
        }


def peak_memory(case: Case) -> int:
    """Return the peak memory of a case in bytes, beyond what was allocated before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        case()
    held = highest = 0
    events = recorded.profiler.kineto_results.events()  # type: ignore[union-attr]
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            highest = max(highest, held)
    return highest


def step(module: nn.Module, x: Tensor) -> None:
    """Run forward and backward."""
    module.zero_grad()
    output = module(x)
    output.backward(torch.ones_like(output))


def module(*layers: list[str], **shared: object) -> AugmentationModule:
    """Build layers from names."""
    return AugmentationModule(
        [AugmentationLayer(*build_transforms(names, **shared)) for names in layers]
    )


def decided(augment: AugmentationModule) -> AugmentationModule:
    """Give all weight of each layer to its third transform."""
    with torch.no_grad():
        for layer in augment:
            layer.logits.zero_()
            layer.logits[2] = 30.0
    return augment


class Plain(nn.Module):
    """The mixture by its definition, with our transforms: no transform is skipped."""

    def __init__(self, augment: AugmentationModule) -> None:
        super().__init__()
        self.augment = augment

    def forward(self, x: Tensor) -> Tensor:
        """Pass through all layers."""
        for layer in self.augment:
            x = layer.mix_plainly(x)
        return x


def cifar() -> dict[str, Case]:
    """Run the CIFAR module on 128 images, forward and backward."""
    x = torch.rand(128, 3, 32, 32)
    layers = (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    return {
        "kornia, plain mixture": partial(step, KorniaMixture(layers), x),
        "augnet, plain mixture": partial(step, Plain(module(*layers)), x),
        "augnet, uniform weights": partial(step, module(*layers), x),
        "augnet, decided weights": partial(step, decided(module(*layers)), x),
    }


def cifar_trunk() -> dict[str, Case]:
    """Train PreAct ResNet-18 on 128 images."""
    x, y = torch.rand(128, 3, 32, 32), torch.randint(10, (128,))
    trunk = PreActResNet18()
    layers = (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    nets = {
        "trunk": trunk,
        "AugNet, uniform weights": AugNet(module(*layers), trunk),
        "AugNet, decided weights": AugNet(decided(module(*layers)), trunk),
    }

    def train(net: nn.Module) -> None:
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()

    return {name: partial(train, net) for name, net in nets.items()}


def eeg() -> dict[str, Case]:
    """Run the EEG module on 16 windows of 6 channels and 30 s, forward and backward."""
    x = torch.randn(16, 6, 3000)
    layers = (TIME_FREQUENCY, TIME_FREQUENCY, SENSORS)
    shared = {"sfreq": 100.0, "channels": CHANNELS}
    trunk = ChambonNet(6, 3000)
    return {
        "braindecode, plain mixture": partial(step, BraindecodeMixture(layers, CHANNELS, 100.0), x),
        "augnet, plain mixture": partial(step, Plain(module(*layers, **shared)), x),
        "augnet, uniform weights": partial(step, module(*layers, **shared), x),
        "augnet, decided weights": partial(step, decided(module(*layers, **shared)), x),
        "Chambon's trunk": partial(step, trunk, x),
        "AugNet with it, decided weights": partial(
            step, AugNet(decided(module(*layers, **shared)), trunk), x
        ),
    }


def augerino() -> dict[str, Case]:
    """Run Augerino's layer on 128 images, forward and backward."""
    x = torch.rand(128, 3, 32, 32)
    return {
        "matrix exponential in float64, affine_grid": partial(step, ExponentialAffine(), x),
        "augnet": partial(step, Augerino(), x),
    }


def inference(width: int = 64, batch: int = 16) -> dict[str, Case]:
    """Predict 16 images with PreAct ResNet-18."""
    x, trunk = torch.rand(batch, 3, 32, 32), PreActResNet18(width=width).eval()
    augment = module(GEOMETRIC, GEOMETRIC, PHOTOMETRIC)

    def predict(net: nn.Module) -> None:
        with torch.no_grad():
            net(x)

    cases: dict[str, Case] = {"trunk": partial(predict, trunk)}
    for copies in (1, 4, 10, 20):
        net = AugNet(augment, trunk, copies=copies, max_batch=2 * batch).eval()
        cases[f"C = {copies}"] = partial(predict, net)
    return cases


def copies_of_one() -> dict[str, Case]:
    """Make twenty copies of one image, without a trunk."""
    x = torch.rand(1, 3, 32, 32)
    augment = module(GEOMETRIC, GEOMETRIC, PHOTOMETRIC).eval()
    net = AugNet(augment, nn.Identity(), copies=20).eval()

    def view(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
        with torch.no_grad():
            function(x)

    return {
        "augment, one image": partial(view, augment, x),
        "augment, a batch of 20": partial(view, augment, x.repeat(20, 1, 1, 1)),
        "AugNet, C = 20": partial(view, net, x),
    }


def formats() -> dict[str, Case]:
    """Train a quarter of PreAct ResNet-18 behind the CIFAR module, 64 images, in other formats."""
    x, y = torch.rand(64, 3, 32, 32), torch.randint(10, (64,))
    net = AugNet(module(GEOMETRIC, GEOMETRIC, PHOTOMETRIC), PreActResNet18(width=16))
    last = AugNet(net.augment, PreActResNet18(width=16).to(memory_format=torch.channels_last))

    def train(net: nn.Module, x: Tensor, lowered: bool = False) -> None:
        net.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=lowered):
            loss = F.cross_entropy(net(x), y)
        loss.backward()

    return {
        "as it comes": partial(train, net, x),
        "channels-last, trunk and images": partial(
            train, last, x.to(memory_format=torch.channels_last)
        ),
        "channels-last, trunk alone": partial(train, last, x),
        "autocast to bfloat16": partial(train, net, x, lowered=True),
    }


def drawn() -> dict[str, Case]:
    """Run the CIFAR module with one transform drawn per sample, forward and backward."""
    x, layers = torch.rand(128, 3, 32, 32), (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    one = module(*layers)
    for layer in one:
        layer.mixing = "drawn"
    return {
        "all transforms, uniform weights": partial(step, module(*layers), x),
        "one transform drawn, uniform weights": partial(step, one, x),
    }


def growth() -> dict[str, Case]:
    """Let inputs of one geometric or one time-frequency layer grow, forward and backward."""
    cases: dict[str, Case] = {}
    for batch, size in ((32, 32), (128, 32), (32, 64), (32, 128)):
        x = torch.rand(batch, 3, size, size)
        cases[f"{batch} images of {size}×{size}"] = partial(step, module(GEOMETRIC), x)
    for count in (1, 3, 5):
        x = torch.rand(128, 3, 32, 32)
        cases[f"128 images of 32×32, {count} transforms"] = partial(
            step, module(GEOMETRIC[:count]), x
        )
    for duration in (1000, 3000, 9000):
        x = torch.randn(16, 6, duration)
        cases[f"16 signals of 6×{duration}"] = partial(step, module(TIME_FREQUENCY, sfreq=100.0), x)
    return cases


CELLS = {  # what to run, and how often
    "cifar": (cifar, 15),
    "cifar-step": (cifar_trunk, 3),
    "eeg": (eeg, 9),
    "augerino": (augerino, 15),
    "inference": (inference, 3),
    "copies-of-one": (copies_of_one, 15),
    "drawn": (drawn, 9),
    "formats": (formats, 3),
    "growth": (growth, 7),
}


def page(document: dict) -> str:
    """Write the results as tables."""
    lines = [
        "# Performance",
        "",
        f"Made by `{document['command']}` from results/speed.json: {document['machine']}, "
        f"{document['clock']}. Times are medians of interleaved repeats within one process; ratios "
        "are to the first case of each table.",
    ]
    for name, rows in document["cells"].items():
        build = CELLS[name][0]
        lines += ["", f"## {build.__doc__.rstrip('.')}", ""]
        lines += [f"Commit {rows[0]['commit']}.", ""]
        lines += ["| case | ms | of the first | peak memory, MB |", "|---|---|---|---|"]
        for row in rows:
            ratio = row["ms"] / rows[0]["ms"]
            lines.append(f"| {row['case']} | {row['ms']:.2f} | {ratio:.2f} | {row['MB']:.0f} |")
    return "\n".join(lines) + "\n"


def by_hand() -> str:
    """Return the text below the tables, which is kept."""
    _, mark, rest = (PAGE.read_text() if PAGE.exists() else "").partition(MARK)
    return f"\n{mark}{rest}"


def commit() -> str:
    """Return the commit of this code, and whether it was changed since."""
    ask = partial(subprocess.check_output, cwd=ROOT, text=True)
    changed = ask(["git", "status", "--porcelain", "--", "augnet", "benchmarks"]).strip()
    return ask(["git", "rev-parse", "--short", "HEAD"]).strip() + ("-dirty" if changed else "")


def main() -> None:
    """Run the cells and write the results."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("cells", nargs="*", help=f"some of {', '.join(CELLS)}; all by default")
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    if unknown := set(given.cells) - set(CELLS):
        options.error(f"no such cells: {', '.join(sorted(unknown))}; known: {', '.join(CELLS)}")
    torch.set_num_threads(given.threads)
    warnings.simplefilter("ignore")  # of the other libraries
    alone = given.threads == 1
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"cells": {}}
    timed = "processor time of one thread" if alone else f"{given.threads} threads, wall clock"
    document |= {
        "command": "python benchmarks/speed.py" + ("" if alone else f" --threads {given.threads}"),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
        "clock": timed,
    }
    stamp, clock = commit(), time.process_time if alone else time.perf_counter
    for name in given.cells or CELLS:
        build, repeats = CELLS[name]
        torch.manual_seed(0)
        rows = [{**row, "commit": stamp} for row in measure(build(), repeats, clock)]
        document["cells"] = {
            key: rows if key == name else document["cells"].get(key)
            for key in CELLS
            if key == name or key in document["cells"]
        }
        print(name)
        for row in rows:
            ratio = row["ms"] / rows[0]["ms"]
            print(f"  {row['case']:45s} {row['ms']:10.2f} ms {ratio:6.2f} {row['MB']:8.1f} MB")
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")
        PAGE.write_text(page(document) + by_hand())


if __name__ == "__main__":
    main()
