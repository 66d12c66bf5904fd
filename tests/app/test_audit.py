"""augnet audit: from a model and data to findings, a page, JSON, a test file and an exit status."""

import json
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from augnet import AugNet, identity
from augnet.__main__ import app
from augnet.app.audit_job import AuditJob
from augnet.app.matrix import matrix
from augnet.audit import AuditedPart, AuditError, load_model
from augnet.data import InputSpec
from augnet.learn.parts import PartRange
from augnet.learn.result import Invariance
from augnet.model import Model, save
from augnet.transforms import Brightness, HorizontalFlip, Rotate

MODULE = '''
import torch

CALLS = []

def model():
    """Call an image bright if its mean is above 0.5."""
    return predict

def predict(x):
    CALLS.append(x)
    level = x.mean((1, 2, 3))
    return torch.stack((0.5 - level, level - 0.5), 1)

def sided(x):
    left = x[..., :4].mean((1, 2, 3))
    return torch.stack((0.75 - left, left - 0.75), 1)

def bytes_model(x):
    return predict(x / 255)

def broken(x):
    raise RuntimeError("no such kernel")

def nan(x):
    return predict(x) * float("nan")

def trunk(shape, outputs):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, outputs))

def wide(x):
    return torch.zeros(len(x), 7)
'''
FAILS = "import sys\nsys.exit(0)"


def augnet(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Write images of two levels, what was learned about them, and models."""
    root = tmp_path_factory.mktemp("audit")
    (root / "audited_models.py").write_text(MODULE)
    (root / "audited_exits.py").write_text(FAILS)
    (root / "audited_typo.py").write_text("def x(:")
    generator = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = 0.3 + 0.4 * y[:, None, None, None] + 0.05 * generator.standard_normal((80, 1, 8, 8))
    x[:, :, :, :4] += 0.1
    np.savez(root / "levels.npz", x=x.clip(0, 1).astype(np.float32), y=y)
    rows = [
        Invariance(HorizontalFlip(), "reached_limit", 0.5, (0.5, 0.5), cost=0.0),
        Invariance(Brightness(0.5), "bounded", 0.15, (0.1, 0.2), cost=0.01),
        Invariance(Rotate(30.0), "unclear", 0.0, (0.0, 0.0), reason="no time was left"),
    ]
    torch.manual_seed(0)
    net = AugNet(identity, nn.Sequential(nn.Flatten(), nn.Linear(64, 2)), "logits", copies=1)
    with torch.no_grad():
        weight = torch.full((64,), 1 / 64)
        net.trunk[1].weight.copy_(torch.stack((-weight, weight)))
        net.trunk[1].bias.copy_(torch.tensor([0.5, -0.5]))
    spec = InputSpec(kind="images", shape=(1, 8, 8), center=(0.0,), scale=(1.0,))
    (root / "learned").mkdir()
    model = Model.of(
        net, (1, 8, 8), "audited_models:trunk", classes=("0", "1"), input_spec=spec,
        invariances=rows,
    )  # fmt: skip
    save(model, root / "learned" / "model.safetensors")
    sys.path.insert(0, str(root))
    yield root, model
    sys.path.remove(str(root))


def run(place, model, *more, out="out"):
    root, _ = place
    given = ("--learned", root / "learned", "--out", root / out)
    return augnet("audit", model, root / "levels.npz", *given, *more)


def test_a_model_is_audited(place):
    root, _ = place
    done = run(place, "audited_models:sided", "--by-class", "--to", "pytest", out="first")
    assert done.exit_code == 0, done.output
    names = sorted(file.name for file in (root / "first").iterdir() if file.name[0] != ".")
    assert names == ["audit.json", "index.html", "manifest.json", "test_invariance.py"]
    values = json.loads((root / "first" / "audit.json").read_text())
    found = {row["name"]: row["finding"] for row in values["transforms"]}
    assert found == {"horizontal_flip": "fragile", "brightness": "fragile", "rotate": "unclear"}
    assert values["schema"] == 1
    assert values["predicted"] <= 3 * values["strengths_times_samples"]
    assert "The model is fragile under" in done.stdout
    assert "labels: no time was left" in done.stdout
    page = (root / "first" / "index.html").read_text()
    parts = (
        "<svg",
        "Findings",
        "Classes",
        "samples that it loses",
        "augnet audit",
        "within ±30 degrees",
    )
    for part in parts:
        assert part in page
    again = run(place, "audited_models:sided", "--by-class", out="first")
    assert again.exit_code == 0
    assert again.stdout.splitlines()[:9] == done.stdout.splitlines()[:9]


def test_the_exit_status_says_what_was_found(place):
    fragile = ("audited_models:sided", "--fail-on", "fragile")
    assert run(place, *fragile, out="fails").exit_code == 1
    assert run(place, *fragile, out="fails").exit_code == 1  # also when it is finished already
    assert run(place, "audited_models:sided", "--fail-on", "blind", out="fails").exit_code == 0
    right = run(place, "audited_models:model", "--fail-on", "fragile,blind", out="right")
    assert right.exit_code == 0, right.output
    assert "2 of 3 transforms match, 1 is unclear." in right.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audited_models:broken",), "fails on a batch of shape (80, 1, 8, 8): RuntimeError: no"),
        (("audited_models:nan",), "gives NaN or infinite values for 80 of 80 samples"),
        (("audited_models:wide",), "gives shape (80, 7) for 80 samples; expected (80, 2)"),
        (("audited_models:missing",), "cannot be imported"),
        (("audited_exits:x",), "importing audited_exits fails: it ends the program"),
        (("audited_typo:x",), "importing audited_typo fails: SyntaxError"),
        (("learned", "--trunk", "audited_typo:x"), "cannot be imported (SyntaxError"),
        (("learned", "--trunk", "audited_exits:x"), "cannot be imported (SystemExit"),
        (("nothing.onnx",), "does not exist"),
        (("nothing.pth",), "is a pickle, which can run anything"),
        (("audited_models:model", "--fail-on", "matches"), "--fail-on takes fragile, blind"),
        (("audited_models:model", "--to", "junit"), "--to is pytest"),
        (("audited_models:model", "--input", "0-3"), "the values of a model's input"),
        (("audited_models:model", "--mean", "a"), "--mean takes numbers"),
        (("audited_models:model", "--input-size", "3"), "--input-size is height,width"),
        (("audited_models:model", "--transforms", "invert"), "nothing was learned about invert"),
    ],
)
def test_mistakes_are_one_line_and_status_2(place, arguments, message):
    model = place[0] / "learned" if arguments[0] == "learned" else arguments[0]
    done = run(place, model, *arguments[1:], out="mistake")
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (place[0] / "mistake").exists()


def test_a_module_that_changed_is_refused(place):
    root, _ = place
    file = root / "audited_later.py"
    file.write_text(MODULE)
    assert run(place, "audited_later:predict", out="later").exit_code == 0
    file.write_text(MODULE + "\n")
    refused = run(place, "audited_later:predict", out="later")
    assert refused.exit_code == 2
    assert "made with other settings: model_sha256" in refused.stderr


def test_a_single_recording_has_no_groups():
    samples = SimpleNamespace(groups=torch.ones(5), grouped_by=None)
    assert AuditJob._groups(SimpleNamespace(samples=samples)) is None
    samples.groups = torch.arange(5)
    assert AuditJob._groups(SimpleNamespace(samples=samples)) is samples.groups
    given = SimpleNamespace(groups=torch.ones(5), grouped_by="groups")  # refused with the reason
    assert AuditJob._groups(SimpleNamespace(samples=given)) is given.groups


def save_onnx(path, shape, metadata=()):
    onnx = pytest.importorskip("onnx")
    make = onnx.helper
    value = make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    result = make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, shape)
    graph = make.make_graph([make.make_node("Identity", ["x"], ["y"])], "g", [value], [result])
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    make.set_model_props(made, dict(metadata))
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("shape", "metadata", "message"),
    [
        ([], {}, "is a single value; a model to audit takes a batch"),
        (["n", 2], {"augnet": "1", "classes": "[" * 100_000}, "the metadata of .* is damaged"),
        (["n", 2], {"augnet": "1", "classes": "["}, "the metadata of .* is damaged"),
        (["n", 2], {"augnet": "1", "input_spec": "3"}, "the metadata of .* is damaged"),
    ],
)
def test_onnx_files_that_are_no_models_are_refused(tmp_path, shape, metadata, message):
    pytest.importorskip("onnxruntime")
    with pytest.raises(AuditError, match=message) as refused:
        load_model(save_onnx(tmp_path / "m.onnx", shape, metadata))
    assert "\n" not in str(refused.value)


def test_a_program_that_is_none_is_refused_without_a_traceback(tmp_path, caplog):
    (tmp_path / "m.pt2").write_bytes(b"PK\x03\x04 and nothing else")
    with pytest.raises(AuditError, match=r"m.pt2 cannot be loaded by torch.export"):
        load_model(tmp_path / "m.pt2", trust=True)
    assert caplog.text == ""


def test_what_the_model_takes_is_declared(place):
    wrong = run(place, "audited_models:bytes_model", out="wrong")
    assert "50.0 % (chance 50.0 %)" in wrong.stdout
    right = run(place, "audited_models:bytes_model", "--input", "0-255", out="bytes")
    assert "100.0 % (chance 50.0 %)" in right.stdout


def test_the_test_file_reads_a_folder_of_images(place):
    from PIL import Image

    root, _ = place
    with np.load(root / "levels.npz") as levels:
        for number, (image, label) in enumerate(zip(levels["x"], levels["y"], strict=True)):
            file = root / "photos" / str(label) / f"{number}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray((image[0] * 255).astype(np.uint8)).save(file)
    done = augnet(
        "audit", "audited_models:model", root / "photos", "--learned", root / "learned",
        "--to", "pytest", "--out", root / "of-photos",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    file = root / "of-photos" / "test_invariance.py"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    tests = subprocess.run([*command, str(file)], env=environment, cwd=root, capture_output=True)
    assert tests.returncode == 0, tests.stdout.decode()


def test_the_test_file_fails_if_a_later_model_is_less_invariant(place):
    root, _ = place
    assert run(place, "audited_models:model", "--to", "pytest", out="good").exit_code == 0
    file = root / "good" / "test_invariance.py"

    def passes(model):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
        environment = {"AUGNET_MODEL": model, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
        return done.returncode == 0, done.stdout

    right, text = passes("audited_models:model")
    assert right, text
    right, text = passes("audited_models:sided")
    assert not right
    assert "test_invariance[horizontal_flip]" in text
    assert "to the error at 0.5 probability" in text


def test_onnx_models_know_what_they_take(place):
    pytest.importorskip("onnxruntime")
    from augnet.export import program

    root, model = place
    (root / "model.onnx").write_bytes(program(model, "onnx").content)
    done = run(place, root / "model.onnx", out="onnx")
    assert done.exit_code == 0, done.output
    assert "100.0 %" in done.stdout
    loaded = load_model(root / "model.onnx")
    assert (loaded.classes, loaded.raw) == (("0", "1"), True)
    assert loaded.spec == model.header.input_spec
    (root / "damaged.onnx").write_bytes(b"nothing")
    with pytest.raises(AuditError, match="cannot be read by ONNX Runtime"):
        load_model(root / "damaged.onnx")


def test_learn_shows_classes_on_its_page(place):
    root, _ = place
    x, y = (np.load(root / "levels.npz")[name] for name in "xy")
    np.savez(root / "named.npz", x=x, y=np.array(["dark", "light"])[y])
    given = ("--transforms", "brightness,horizontal_flip", "--budget", 10, "--out", root / "parts")
    done = augnet("learn", root / "named.npz", "--by-class", *given)
    assert done.exit_code == 0, done.output
    rows = json.loads((root / "parts" / "invariances.json").read_text())["invariances"]
    for row in rows:
        assert [part["name"] for part in row["by_class"]] == ["dark", "light"]
        assert [part["samples"] for part in row["by_class"]] == [16, 16]
    page = (root / "parts" / "index.html").read_text()
    assert "<h2>Classes</h2>" in page
    assert "<td>dark</td>" in page


def test_own_models_are_audited_with_their_trunk(place):
    refused = run(place, place[0] / "learned", out="own")
    assert refused.exit_code == 2
    assert "which a file may not import" in refused.stderr
    done = run(place, place[0] / "learned", "--trunk", "audited_models:trunk", out="own")
    assert done.exit_code == 0, done.output
    assert "100.0 %" in done.stdout


def test_programs_are_unpickled_only_if_they_are_trusted(place):
    from augnet.export import program

    root, model = place
    (root / "model.pt2").write_bytes(program(model, "pt2").content)
    refused = run(place, root / "model.pt2", out="program")
    assert refused.exit_code == 2
    assert "is unpickled by torch.export.load, which can run anything" in refused.stderr
    done = run(place, root / "model.pt2", "--trust", out="program")
    assert done.exit_code == 0, done.output
    assert "100.0 %" in done.stdout
    (root / "damaged.pt2").write_bytes(b"nothing")
    with pytest.raises(AuditError, match=r"cannot be loaded by torch\.export"):
        load_model(root / "damaged.pt2", trust=True)


def test_an_audit_that_is_left_is_resumed(place, monkeypatch):
    from augnet.app.audit_job import AuditJob

    before = AuditJob.__iter__

    def stop(job):
        rows = before(job)
        yield next(rows)
        rows.close()  # as Ctrl-C does
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AuditJob, "__iter__", stop)
        assert run(place, "audited_models:model", out="left").exit_code in (1, 130)
    assert (place[0] / "left" / "state.pt").exists()
    done = run(place, "audited_models:model", out="left")
    assert done.exit_code == 0, done.output
    assert "Resuming at 33%" in done.stderr
    assert run(place, "audited_models:model", out="whole").exit_code == 0
    first, second = (
        json.loads((place[0] / name / "audit.json").read_text()) for name in ("left", "whole")
    )
    assert first == second


def test_the_matrix_shows_classes_and_transforms():
    parts = (
        PartRange("0", "reached_limit", 180.0, (170.0, 180.0), 50),
        PartRange("6", "bounded", 71.0, (60.0, 80.0), 50),
        PartRange("9", "unclear", 0.0, (0.0, 0.0), 4, "too few"),
    )
    labels = Invariance(Rotate(180.0), "bounded", 71.0, (60.0, 80.0), by_class=parts)
    shown = matrix([("rotate", labels, ())])
    assert shown.transforms == ("rotate",)
    assert [(name, cells[0].text, cells[0].style) for name, cells in shown.rows] == [
        ("0", "≥ 180°", "reached_limit"),
        ("6", "71°", "bounded"),
        ("9", "? unclear", "unclear"),
    ]
    assert [cells[0].more for _, cells in shown.rows] == [
        "170 to 180, 50 samples",
        "60 to 80, 50 samples",
        "too few, 4 samples",
    ]
    audited = AuditedPart("0", "fragile", parts[0], 40.0, (35.0, 45.0), 0.3, 50)
    cell = matrix([("rotate", labels, [audited])]).rows[0][1][0]
    assert (cell.text, cell.style) == ("≥ 180° / holds to 40°", "fragile")
    assert matrix([("rotate", Invariance(Rotate(), "unclear", 0.0, (0.0, 0.0)), ())]) is None
