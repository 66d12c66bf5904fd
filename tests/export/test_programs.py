"""The whole model as a program: ONNX Runtime and torch answer what the model answers."""

import io
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from export_cases import IDENTITY, drawn
from specimens import CHANNELS, SFREQ, specimen
from torch import nn
from typer.testing import CliRunner

from augnet import TRANSFORMS, AugmentationLayer, AugmentationModule, AugNet, identity
from augnet.__main__ import app
from augnet.data import InputSpec
from augnet.export import programs
from augnet.export.frozen import FixedParamsModel
from augnet.learn.inputs import Scaled
from augnet.model import Model, ModelError, save
from augnet.transforms import COLOR_IMAGES, IMAGES
from augnet.trunks import build_trunk

runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

SHAPES = {"images": (3, 18, 20), "signals": (len(CHANNELS), 200), "vectors": (5,)}


def made(kind, *layers, classes=("a", "b", "c"), trunk="medium", sampling="independent"):
    """Make a model with transforms, that takes raw samples."""
    torch.manual_seed(0)
    shape = SHAPES[kind]
    center, scale = ((0.0,), (255.0,)) if kind == "images" else ((30.0,), (2.5,))
    spec = InputSpec(kind=kind, shape=shape, center=center, scale=scale, sfreq=SFREQ)
    built = build_trunk(trunk, shape, len(classes) or 1)
    for part in built.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):  # as if it had been trained
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.05, 0.2)
    if not classes:
        built = Scaled(built, torch.tensor(7.0), torch.tensor(3.0))
    augment = identity
    if layers:
        augment = AugmentationModule(
            *(
                AugmentationLayer(*(specimen(name) for name in names), magnitude=0.6)
                for names in layers
            )
        )
    aggregate = "logits" if classes else "values"
    net = AugNet(augment, built, aggregate, copies=5, sampling=sampling).eval()
    return Model.of(net, shape, trunk=trunk, classes=classes, input_spec=spec)


def raw(kind, count, seed=1):
    generator = torch.Generator().manual_seed(seed)
    if kind == "images":
        return torch.randint(0, 256, (count, *SHAPES[kind]), generator=generator).float()
    return 30 + 2.5 * torch.randn(count, *SHAPES[kind], generator=generator)


def alone(model, x, seed):
    """Give what the model says to each sample by itself."""
    output = torch.cat([model.outputs(one, seed) for one in x.split(1)])
    return output.softmax(1) if model.header.classes else output


CASES = {
    "affine and color": ("images", [["rotate"], ["scale"], ["brightness"], ["horizontal_flip"]]),
    "a choice of transforms": ("images", [["shear_y", "hue", "equalize"]]),
    "time and spectra": (
        "signals",
        [["frequency_shift"], ["ft_surrogate", "time_mask"], ["time_shift", "speed"]],
    ),
    "sensors": ("signals", [["sensor_rotation_z"], ["channel_dropout"], ["channel_symmetry"]]),
    "vectors": ("vectors", [["gaussian_noise"], ["amplitude_scale"], ["sample_pairing"]]),
    "nothing": ("vectors", []),
}


@pytest.mark.parametrize("case", CASES)
def test_onnx_runtime_gives_each_sample_the_answer_that_the_model_gives_it_alone(case):
    kind, layers = CASES[case]
    model = made(kind, *layers)
    content = programs.program(model, "onnx", seed=3).content
    session = runtime.InferenceSession(content)
    assert [entry.name for entry in session.get_outputs()] == ["probabilities"]
    x = raw(kind, 17)
    expected = alone(model, x, seed=3)
    for size in (1, 3, 17):
        (found,) = session.run(None, {"x": x[:size].numpy()})
        assert found.shape == (size, 3)
        np.testing.assert_allclose(found, expected[:size], atol=1e-5)
    if layers:
        assert (expected - alone(model, x, seed=4)).abs().max() > 1e-4  # the seed matters


def test_equal_layers_with_the_identity_are_one_program():
    offered = (specimen("rotate"), specimen("invert"), specimen("sample_pairing"), IDENTITY)
    model = made("images")
    augment = drawn(*offered, times=2)
    model = replace(model, net=AugNet(augment, model.net.trunk, copies=5).eval())
    program = programs.program(model, "onnx", seed=3)
    assert [name.split()[0] for name in program.metadata["transforms"]] == [
        "rotate", "invert", "sample_pairing",
    ]  # fmt: skip
    assert sum("sample_pairing is omitted" in note for note in program.notes) == 1
    x = raw("images", 3)
    (found,) = runtime.InferenceSession(program.content).run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, alone(model, x, seed=3), atol=1e-5)


@pytest.mark.parametrize("sampling", ["independent", "stratified"])
def test_a_program_of_torch_gives_it_too(sampling, tmp_path):
    model = made("images", ["rotate"], ["contrast", "invert"], sampling=sampling)
    made_up = programs.program(model, "pt2", seed=3, copies=4)
    (tmp_path / "m.pt2").write_bytes(made_up.content)
    extra = {"augnet.json": ""}
    loaded = torch.export.load(tmp_path / "m.pt2", extra_files=extra).module()
    assert json.loads(extra["augnet.json"]) == made_up.metadata
    assert made_up.metadata["copies"] == 4
    model.net.copies = 4
    x = raw("images", 17)
    expected = alone(model, x, seed=3)
    for size in (1, 3, 17):
        torch.testing.assert_close(loaded(x[:size]), expected[:size], atol=2e-6, rtol=0)


def test_values_are_given_in_their_own_units():
    model = made("vectors", ["sign_flip"], classes=())
    session = runtime.InferenceSession(programs.program(model, "onnx").content)
    assert [entry.name for entry in session.get_outputs()] == ["values"]
    x = raw("vectors", 4)
    (found,) = session.run(None, {"x": x.numpy()})
    np.testing.assert_allclose(found, alone(model, x, 0), rtol=1e-5)


def test_a_program_has_metadata():
    model = made("vectors", ["gaussian_noise"], ["sample_pairing"])
    made_up = programs.program(model, "onnx", seed=7)
    session = runtime.InferenceSession(made_up.content)
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["classes"]) == ["a", "b", "c"]
    assert (metadata["seed"], metadata["copies"], metadata["shape"]) == ("7", "5", "[5]")
    assert "gaussian_noise" in metadata["transforms"]
    assert metadata["augnet"] == made_up.metadata["augnet"]
    assert "sample_pairing is omitted" in made_up.notes[0]
    assert "the same outputs" in made_up.notes[1]


@pytest.mark.parametrize("to", programs.PROGRAMS)
def test_a_program_says_nothing_of_the_machine_it_was_written_on(to):
    content = programs.program(made("vectors", ["sign_flip"]), to).content
    if to == "pt2":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
    assert str(Path(programs.__file__).parent).encode() not in content
    assert b"site-packages" not in content


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_can_be_written(name):
    kind = "images" if specimen(name).domain in (IMAGES, COLOR_IMAGES) else "signals"
    assert programs._exportable(specimen(name), made(kind))


@pytest.mark.slow
def test_the_large_trunk_can_be_written():
    model = made("images", ["rotate"], trunk="resnet18")
    assert "the same outputs" in programs.program(model, "onnx", copies=2).notes[-1]


def test_the_transform_that_cannot_be_written_is_named(monkeypatch):
    model = made("signals", ["time_reverse"], ["sign_flip"])
    write = programs._onnx

    def failing(exported, metadata):
        if "flip" in str(exported):
            raise RuntimeError("no flip here\nand more")
        return write(exported, metadata)

    monkeypatch.setattr(programs, "_onnx", failing)
    with pytest.raises(ModelError, match=r"ONNX cannot express time_reverse: .*no flip here"):
        programs.program(model, "onnx")


def test_answers_that_differ_are_not_given_away(monkeypatch):
    monkeypatch.setattr(programs, "_difference", lambda *_: 0.2)
    with pytest.raises(ModelError, match="differ from those of augnet"):
        programs.program(made("vectors"), "onnx")


class Stubborn(nn.Module):
    """A trunk that looks at its values."""

    def forward(self, x):
        """Decide."""
        return x[:, :3] if x.sum() > 0 else x[:, 1:4]


def test_a_trunk_that_cannot_be_traced_is_refused():
    model = Model.of(AugNet(identity, Stubborn()).eval(), (5,), classes=("a", "b", "c"))
    with pytest.raises(ModelError, match="must not depend on values"):
        programs.program(model, "pt2")


def test_sample_pairing_does_nothing():
    model = made("vectors", ["sample_pairing"])
    x = raw("vectors", 6)
    assert FixedParamsModel(model)(x).allclose(model.net.trunk(model.prepare(x)).softmax(1))


def augnet(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def test_the_command_writes_a_program_or_nothing(tmp_path, monkeypatch):
    file = save(made("vectors", ["sign_flip"]), tmp_path / "m.safetensors")
    out = tmp_path / "m.onnx"
    refused = augnet("export", file, "--to", "onnx")
    assert refused.exit_code == 2
    assert "--to onnx writes a file: add --out model.onnx" in refused.output
    refused = augnet("export", file, "--to", "onyx", "--out", out)
    assert refused.exit_code == 2
    assert "--to is one of kornia, " in refused.output
    assert "onnx, pt2; got 'onyx'" in refused.output
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    refused = augnet("export", file, "--to", "onnx", "--out", out)
    assert refused.exit_code == 2
    assert "pip install 'augnet[onnx]'" in refused.output
    monkeypatch.undo()
    assert [each.name for each in tmp_path.iterdir()] == ["m.safetensors"]
    done = augnet("export", file, "--to", "onnx", "--out", out, "--seed", 2, "--copies", 3)
    assert done.exit_code == 0, done.output
    assert runtime.InferenceSession(out).get_modelmeta().custom_metadata_map["copies"] == "3"
    before = out.read_bytes()
    monkeypatch.setattr(programs, "_difference", lambda *_: 1.0)
    assert augnet("export", file, "--to", "onnx", "--out", out).exit_code == 2
    assert out.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 2
