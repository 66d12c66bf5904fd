"""Damaged files: each one is used as it is, or refused in one line. No traceback, no hang.

A file is damaged by flipped bits, by lost, repeated and foreign parts. The seeds are fixed. The
default tests take EXAMPLES of each kind, those under `slow` take MANY.

Each file may take SECONDS of processor time. That does not depend on what else the machine does, as
the time on a clock would. A file that waits for something, and computes nothing, ends at the limit
of the whole test.
"""

import io
import itertools
import json
import signal
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from edf import write_edf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import save as to_safetensors
from safetensors.torch import load as deserialize
from safetensors.torch import save as serialize

from augnet import AugmentationLayer, AugmentationModule, AugNet
from augnet.app.settings import read_layers
from augnet.data import DataError, InputSpec, read
from augnet.learn.result import Invariance
from augnet.model import Model, ModelError, load, to_bytes
from augnet.model.file import KEY
from augnet.paper.config import ConfigError, parse
from augnet.text import one_line
from augnet.training import DirectoryError, ResumableDirectory
from augnet.transforms import SignFlip, build_transforms
from augnet.trunks.small import small_trunk

EXAMPLES, MANY, SECONDS = 150, 5000, 10.0
STRANGE = [b"\x00", b"\xff" * 8, b"nan", b"-1", b"9" * 30, b"[" * 2000, b'"', b"\x1b[31m", b"\r\n"]


class Kind(NamedTuple):
    """A kind of file: a good one, how it is used, and how it may be refused."""

    content: bytes
    use: Callable[[Path], object]
    refusals: tuple[type[Exception], ...]
    name: str = "file"


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """Draw a damaged version of a file."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        # Most of what can be wrong is at the beginning or at the end.
        place = draw(st.sampled_from([place, place % 256, max(0, len(data) - 1 - place % 256)]))
        length = draw(st.integers(0, 64))
        match draw(st.sampled_from(["flip", "cut", "drop", "repeat", "insert", "replace"])):
            case "flip" if data:
                data[place % len(data)] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[place:]
            case "drop":
                del data[place : place + length]
            case "repeat":
                data[place:place] = data[place : place + length]
            case "insert":
                data[place:place] = draw(st.sampled_from(STRANGE))
            case _:
                new = draw(st.binary(max_size=8))
                data[place : place + len(new)] = new
    return bytes(data)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Fail after so many seconds of processor time, also if what runs would never end."""

    def stop(*_: object) -> None:
        pytest.fail(f"more than {seconds} s of processor time")  # no reader catches it

    began, before = time.process_time(), signal.SIG_DFL
    timer = getattr(signal, "ITIMER_PROF", None)  # Windows has none
    if timer is not None:
        before = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        if timer is not None:
            signal.setitimer(timer, 0)
            signal.signal(signal.SIGPROF, before)
    if time.process_time() - began > seconds:
        stop()


@pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="Windows has no such timer")
def test_what_does_not_end_is_stopped():
    with pytest.raises(pytest.fail.Exception, match=r"more than 0\.05 s"), limited(0.05):
        for _ in itertools.count():  # signals are handled between two steps of Python
            pass


def used_or_refused(kind: Kind, folder: Path, content: bytes) -> bool:
    """Use a file; return whether that worked, and fail unless it was or was refused in one line."""
    path = folder / kind.name
    path.write_bytes(content)
    try:
        with limited(SECONDS):
            kind.use(path)
    except kind.refusals as error:
        message = one_line(error)
        assert message.isprintable()
        assert len(message) < 5000
        return False
    return True


# Model files


def model() -> Model:
    torch.manual_seed(0)
    augment = AugmentationModule(AugmentationLayer(SignFlip(), magnitude=0.3))
    net = AugNet(augment, small_trunk((2, 16), 2), copies=2)
    rows = (Invariance(SignFlip(), "reached_limit", 0.5, (0.4, 0.5)),)
    spec = InputSpec(kind="signals", shape=(2, 16), sfreq=10.0, channels=("a", "b"))
    return Model.of(net, (2, 16), classes=("x", "y"), input_spec=spec, invariances=rows)


MODEL = to_bytes(model())


def use_model(path: Path) -> None:
    assert to_bytes(load(path)) == MODEL  # nothing but the same answer


def header() -> bytes:
    (size,) = struct.unpack("<Q", MODEL[:8])
    return json.loads(MODEL[8 : 8 + size])["__metadata__"][KEY].encode()


def use_header(path: Path) -> None:
    """Predict with a model of an older version, which has no digest."""
    text = path.read_bytes().decode(errors="replace")
    file = path.with_name("model")
    file.write_bytes(serialize(deserialize(MODEL), {KEY: text}))
    outputs = load(file).outputs(torch.ones(3, 2, 16))
    assert outputs.shape == (3, 2)
    assert bool(outputs.isfinite().all())


# Data


def npz() -> bytes:
    file = io.BytesIO()
    x = np.random.default_rng(0).normal(size=(12, 2, 8))
    np.savez_compressed(file, x=x, y=np.array(["a", "b"] * 6), groups=np.arange(12) // 3)
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).normal(size=(12, 3)))
    return file.getvalue()


def png() -> bytes:
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (12, 10, 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, "png")
    return file.getvalue()


def edf(folder: Path) -> bytes:
    signals = {name: np.arange(600.0) % 50 for name in ("EEG C3", "EEG C4")}
    marks = [(float(n), 1.0, "ab"[n % 2]) for n in range(5)]
    return write_edf(folder / "good.edf", signals, annotations=marks).read_bytes()


def use_data(path: Path, labeled: bool = True) -> None:
    found = read(path, labeled=labeled, max_samples=50)
    assert len(found) == len(found.names) > 0
    assert bool(found.x.isfinite().all())
    assert found.y is None or len(found.y) == len(found)
    assert "".join((*found.names, *found.classes, *found.log)).isprintable()


def table(path: Path) -> None:
    for number in range(4):
        image = path.with_name(f"{number}.png")
        if not image.exists():
            image.write_bytes(png())
    use_data(path)


TABLE = b"path,label,groups\n" + b"".join(b"%d.png,%d.5,g%d\n" % (n, n, n) for n in range(4))


def parquet() -> bytes:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    columns = {"path": [f"{n}.png" for n in range(4)], "label": ["a", "b", "a", "b"]}
    parquet.write_table(arrow.table(columns), file)
    return file.getvalue()


# Settings


LAYERS = b'layers = [["rotate", {name = "shear_x", limit = 0.5}], ["sign_flip"]]\n'
EXPERIMENT = b"""title = "t"
section = "s"
question = "q"
data = { name = "sinusoids", sizes = [8, 4, 4] }
augment = { name = "layers", layers = [["time_reverse", "sign_flip"]] }
trunk = { name = "sinusoid_cnn" }
train = { epochs = 1, batch_size = 8, lr = 1e-3, betas = [0.9, 0.99] }
[variants.only]
"""


def use_layers(path: Path) -> None:
    for layer in read_layers(path) or ():
        build_transforms(list(layer))


def use_experiment(path: Path) -> None:
    from augnet.paper.config import resolve

    experiment = parse(path.read_text(encoding="utf-8"), path.name)
    for variant in experiment.variants:
        resolve("fuzzed", experiment, variant)


# Directories


ROWS = b'{"epoch": 0}\n'
STATE = {"weights": torch.arange(12.0), "epoch": 3}


def directory(folder: Path) -> ResumableDirectory:
    return ResumableDirectory(folder / "job", "run", {"seed": 0})


def written(folder: Path, name: str) -> bytes:
    with directory(folder).open("data", version="1") as job:
        job.save_state(STATE)
        job.write({"rows.jsonl": ROWS})
    return (folder / "job" / name).read_bytes()


def use_state(path: Path) -> None:
    state = directory(path.parents[1]).load_state()
    assert state is not None
    assert state["weights"].equal(STATE["weights"])
    assert state["epoch"] == 3


def use_manifest(path: Path) -> None:
    job = directory(path.parents[1])
    job.check()
    assert job.about == {"version": "1"}
    assert not job.finished
    assert job.read("rows.jsonl") == ROWS


WRONG = (ValueError, TypeError)
"""What the command line reports in one line, besides errors of the system."""


def kinds(folder: Path) -> dict[str, Kind]:
    data = DataError
    return {
        "model": Kind(MODEL, use_model, (ModelError,)),
        "header": Kind(header(), use_header, (ModelError, ValueError)),
        "npz": Kind(npz(), use_data, (data,), "d.npz"),
        "npy": Kind(npy(), lambda path: use_data(path, False), (data,), "x.npy"),
        "safetensors": Kind(
            to_safetensors({"x": np.ones((8, 3), dtype="f4"), "y": np.arange(8) % 2}),
            use_data, (data,), "d.safetensors",
        ),
        "png": Kind(png(), lambda path: use_data(path.parents[1]), (data,), "images/a/1.png"),
        "csv": Kind(TABLE, table, (data,), "t.csv"),
        "parquet": Kind(parquet(), table, (data,), "t.parquet"),
        "edf": Kind(edf(folder), use_data, (data,), "r.edf"),
        "layers": Kind(LAYERS, use_layers, WRONG, "layers.toml"),
        "experiment": Kind(EXPERIMENT, use_experiment, (ConfigError, UnicodeDecodeError)),
        "state": Kind(written(folder, "state.pt"), use_state, (DirectoryError,), "job/state.pt"),
        "manifest": Kind(
            written(folder, "manifest.json"), use_manifest, (DirectoryError,), "job/manifest.json"
        ),
    }  # fmt: skip


NAMES = (
    "model", "header", "npz", "npy", "safetensors", "png", "csv", "parquet", "edf", "layers",
    "experiment", "state", "manifest",
)  # fmt: skip


def fuzz(name: str, folder: Path, examples: int) -> None:
    for part in ("images/a", "job"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    kind = kinds(folder)[name]
    assert used_or_refused(kind, folder, kind.content)

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(damaged(kind.content))
    def run(content: bytes) -> None:
        used_or_refused(kind, folder, content)

    run()


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_used_or_refused(name, tmp_path):
    fuzz(name, tmp_path, EXAMPLES)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", NAMES)
def test_many_damaged_files_are_used_or_refused(name, tmp_path):
    fuzz(name, tmp_path, MANY)
