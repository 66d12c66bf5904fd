"""A model is the same after a journey through a file, and a bad file is refused with a reason."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from specimens import CHANNELS, specimen
from torch import Generator, nn

from augnet import TRANSFORMS, AugmentationLayer, AugmentationModule, AugNet, identity
from augnet.data import InputSpec
from augnet.learn.inputs import Scaled
from augnet.learn.result import Invariance, InvarianceResult
from augnet.model import Model, ModelError, load, read_header, save, to_bytes
from augnet.model.header import SCHEMA, GainRecord, Layer, Measurement, to_spec
from augnet.transforms import Rotate, Scale, SignFlip, TranslateX, build_transforms
from augnet.trunks.medium import medium_trunk
from augnet.trunks.small import small_trunk


def made(*transforms, shape=(1, 12, 12), classes=("cat", "dog"), **message):
    torch.manual_seed(0)
    augment = identity
    if transforms:
        augment = AugmentationModule(*(AugmentationLayer(t, magnitude=0.3) for t in transforms))
    trunk = small_trunk(shape, len(classes))
    net = AugNet(augment, trunk, copies=3, sampling="stratified").eval()
    return Model.of(net, shape, classes=classes, **message)


def rewritten(path, change):
    """Change the header of a file."""
    with safe_open(path, framework="pt") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["augnet"])
    header, tensors = change(header, tensors) or (header, tensors)
    save_file(tensors, path, {"augnet": json.dumps(header)})


def test_a_model_predicts_the_same_from_its_file(tmp_path):
    invariances = (Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0)),)
    spec = InputSpec(kind="images", shape=(1, 12, 12), scale=(255.0,), mode="L")
    model = made(Rotate(90.0), invariances=invariances, input_spec=spec, settings={"seed": 3})
    x = torch.randint(0, 256, (5, 1, 12, 12), dtype=torch.uint8)
    path = save(model, tmp_path / "model.safetensors")
    again = load(path)
    assert again.outputs(x, seed=1).equal(model.outputs(x, seed=1))
    assert again.header == model.header == read_header(path)
    assert (again.net.meaning, again.net.sampling) == ("logits", "stratified")
    every = again.predict(x, tolerance=0.0, seed=1)
    assert every.output.allclose(model.outputs(x, seed=1))
    assert again.invariances == invariances
    assert load(tmp_path).header == model.header  # the directory will do
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def test_what_a_trunk_computes_when_it_is_built_is_there_again(tmp_path):
    """The waves of a spectrogram are in no file."""
    torch.manual_seed(0)
    net = AugNet(identity, medium_trunk((2, 128), 3), copies=1)
    model = Model.of(net, (2, 128), trunk="medium", classes=("a", "b", "c"))
    again = load(save(model, tmp_path / "model.safetensors"))
    assert any("basis" in name for name, _ in net.named_buffers())
    assert not any(each.is_meta for each in again.net.buffers())
    x = torch.randn(5, 2, 128)
    assert again.outputs(x).equal(model.outputs(x))


def test_the_tolerance_of_values_is_in_their_standard_deviations():
    x, used = torch.rand(40, 1, 12, 12, generator=torch.Generator().manual_seed(0)), []
    for scale in (1.0, 1000.0):
        torch.manual_seed(0)
        trunk = nn.Sequential(nn.Flatten(), nn.Linear(144, 1))
        scaled = Scaled(trunk, torch.zeros(1), torch.full((1,), scale))
        augment = AugmentationModule(AugmentationLayer(Rotate(90.0), magnitude=0.5))
        net = AugNet(augment, scaled, "values", copies=20)
        model = Model.of(net, (1, 12, 12))
        used.append(model.predict(x, 0.1).copies)
    assert used[0].equal(used[1])
    assert used[0].min() < used[0].max()


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_survives_as_a_table(name):
    given = specimen(name)
    written = json.loads(json.dumps(to_spec(given)))
    assert build_transforms([written]) == [given]


def test_values_and_double_precision_survive(tmp_path):
    trunk = Scaled(small_trunk((4,), 1), torch.tensor(5.0), torch.tensor(2.0))
    net = AugNet(AugmentationModule(AugmentationLayer(SignFlip())), trunk, "values").double()
    model = Model.of(net.eval(), (4,))
    again = load(save(model, tmp_path / "m"))
    assert again.header.values == ()
    x = torch.randn(3, 4, dtype=torch.float64)
    generator = [Generator().manual_seed(0) for _ in range(2)]
    assert again.net(x, generator[0]).equal(net(x, generator[1]))


def test_a_net_without_transforms_survives(tmp_path):
    model = made()
    assert load(save(model, tmp_path / "m")).net.augment is identity


class Own(nn.Sequential):
    """A trunk of one's own."""

    def __init__(self, shape, outputs):
        super().__init__(nn.Flatten(), nn.Linear(torch.Size(shape).numel(), outputs))


def test_a_trunk_of_ones_own_is_given_not_imported(tmp_path):
    net = AugNet(identity, Own((4,), 2)).eval()
    model = Model.of(net, (4,), trunk="no_such_module:Own", classes=("a", "b"))
    path = save(model, tmp_path / "m")
    with pytest.raises(ModelError, match="a file may not import"):
        load(path)
    again = load(path, Own((4,), 2))
    x = torch.randn(3, 4)
    assert again.outputs(x).equal(model.outputs(x))


def test_costs_reasons_and_the_measurement_survive(tmp_path):
    rows = (
        Invariance(
            Rotate(90.0),
            "bounded",
            27.0,
            (25.0, 29.0),
            cost=-0.002,
            response=((0.0, 0.0), (27, 0.1)),
        ),
        Invariance(SignFlip(), "unclear", 0.0, (0.0, 0.5), reason="no time"),
    )
    measurement = Measurement(score=0.9, chance=0.5, steps=70, warnings=("the budget was cut",))
    model = made(Rotate(90.0), invariances=rows, measurement=measurement)
    again = load(save(model, tmp_path / "m"))
    assert again.invariances == rows
    assert again.header.measurement == measurement
    result = InvarianceResult(rows, model.net, [], 0.9, 0.5, 70, ("the budget was cut",))
    assert Measurement.of(result) == measurement


def as_schema_2(header, tensors):
    header["schema_version"] = 2
    del header["measurement"]
    for row in header["invariances"]:
        del row["cost"], row["reason"], row["response"]


def test_files_of_schema_2_are_read(tmp_path):
    rows = (
        Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0)),
        Invariance(TranslateX(), "bounded", 0.1, (0.0, 0.2)),
        Invariance(Scale(2.0), "bounded", 1.2, (1.0, 1.4)),
        Invariance(SignFlip(), "reached_limit", 0.5, (0.0, 0.5)),
    )
    path = save(made(Rotate(90.0), invariances=rows), tmp_path / "m")
    rewritten(path, as_schema_2)
    model = load(path)
    assert model.header.schema_version == 2
    assert model.header.measurement == Measurement()
    turn, *others = model.invariances
    assert turn == rows[0]
    assert [(row.status, row.reason) for row in others] == [
        ("unclear", "the interval includes 0"),
        ("unclear", "the interval includes 0"),
        ("unclear", "samples disagree"),
    ]
    assert read_header(save(model, tmp_path / "again")).schema_version == SCHEMA


def newer(header, tensors):
    header["schema_version"] = 99


def older(header, tensors):
    header["schema_version"] = 1


def other_transform(header, tensors):
    header["layers"][0]["transforms"][0]["name"] = "rotated"


def other_key(header, tensors):
    header["layers"][0]["transforms"][0]["wobble"] = 1


def more_transforms(header, tensors):
    header["layers"][0]["transforms"].append({"name": "sign_flip"})


def huge(header, tensors):
    header["shape"] = [10**9]


def no_classes(header, tensors):
    header["classes"] = []


def strange(header, tensors):
    header["surprise"] = 1


def lost(header, tensors):
    del tensors["trunk.0.0.weight"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (newer, "made by a newer version of augnet .* schema 99;.* upgrade augnet"),
        (older, "made by an older version of augnet .* schema 1;.* run augnet learn again"),
        (other_transform, "did you mean 'rotate'"),
        (other_key, "wobble"),
        (more_transforms, "augment.layers.0.logits is \\(1,\\) instead of \\(2,\\)"),
        (huge, "other tensors"),
        (no_classes, "neither classes nor values"),
        (strange, "surprise"),
        (lost, "trunk.0.0.weight is missing"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_a_reason(tmp_path, change, message):
    path = save(made(Rotate()), tmp_path / "m")
    rewritten(path, change)
    with pytest.raises(ModelError, match=message):
        load(path)


@pytest.mark.parametrize("kept", [0, 4, 100, -10])
def test_a_truncated_file_is_refused(tmp_path, kept):
    path = save(made(Rotate()), tmp_path / "m")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError, match="truncated"):
        load(path)


def test_other_files_are_refused(tmp_path):
    save_file({"a": torch.zeros(1)}, tmp_path / "plain")
    with pytest.raises(ModelError, match="no augnet model"):
        load(tmp_path / "plain")
    with pytest.raises(ModelError, match="does not exist"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelError, match="has augnet learn finished"):
        load(tmp_path)
    torch.save({"a": 1}, tmp_path / "pickle")  # which is never unpickled
    with pytest.raises(ModelError, match="not a safetensors"):
        load(tmp_path / "pickle")


def test_nothing_is_left_behind_if_writing_fails(tmp_path, monkeypatch):
    path = save(made(Rotate()), tmp_path / "m")
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save(made(SignFlip(), shape=(8,)), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_other_samples_are_refused():
    model = made(Rotate(), input_spec=InputSpec(kind="images", shape=(1, 12, 12)))
    with pytest.raises(ValueError, match="the model takes"):
        model.outputs(torch.zeros(2, 3, 12, 12))


def test_numbers_are_brought_to_the_networks():
    x = torch.randn(50, 3, 40) * torch.tensor([1e-6, 1.0, 1e3])[:, None] + 2
    spec = InputSpec(kind="signals", shape=(3, 40), channels=CHANNELS[:3]).fitted(x)
    ready = spec.prepare(x)
    assert ready.dtype == torch.float32
    assert ready.mean((0, 2)).abs().max() < 1e-2
    assert (ready[:, 1:].std((0, 2)) - 1).abs().max() < 1e-2
    constant = InputSpec(kind="vectors", shape=(2,)).fitted(torch.ones(9, 2))
    assert constant.prepare(torch.ones(9, 2)).eq(0).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_neither_written_nor_read(tmp_path, value):
    model = made(Rotate())
    path = save(model, tmp_path / "m")

    def spoil(header, tensors):
        tensors["trunk.0.0.weight"][0] = value

    rewritten(path, spoil)
    with pytest.raises(ModelError, match=r"damaged: trunk.0.0.weight has NaN or infinite values"):
        load(path)
    with torch.no_grad():
        model.net.trunk[0][0].weight[0] = value
    with pytest.raises(ModelError, match=r"cannot be saved: trunk.0.0.weight has NaN or infinite"):
        save(model, path)
    for predict in (model.outputs, model.predict, model.trunk_outputs):
        with pytest.raises(ValueError, match="predicts NaN or infinite values"):
            predict(torch.rand(3, 1, 12, 12))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float8_e4m3fn, torch.int32, torch.float64])
def test_tensors_of_other_types_are_refused(tmp_path, dtype):
    path = save(made(Rotate()), tmp_path / "m")

    def change(header, tensors):
        tensors["trunk.0.0.weight"] = tensors["trunk.0.0.weight"].to(dtype)

    rewritten(path, change)
    with pytest.raises(ModelError, match=str(dtype)):
        load(path)


def test_predicting_changes_no_state():
    model, x = made(Rotate(90.0)), torch.rand(6, 1, 12, 12)
    jobs = [(copies, tolerance) for copies in (1, 2, 7) for tolerance in (None, 0.0)] * 8

    def predict(job):
        copies, tolerance = job
        if tolerance is None:
            return model.outputs(x, copies=copies)
        return model.predict(x, tolerance, copies=copies).output

    alone = [predict(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(predict, jobs))
    assert all(a.equal(b) for a, b in zip(alone, together, strict=True))
    assert not alone[0].equal(alone[2])
    assert model.net.copies == 3
    model.net.train()
    with pytest.raises(RuntimeError, match="being trained"):
        model.outputs(x)
    assert model.net.training


def test_a_model_in_double_precision_predicts(tmp_path):
    net = AugNet(AugmentationModule(AugmentationLayer(SignFlip())), Own((4,), 2)).double()
    model = Model.of(net, (4,), trunk="small", classes=("a", "b"))
    assert model.outputs(torch.randn(3, 4)).dtype == torch.float64


def test_one_model_has_one_file(tmp_path):
    model = made(Rotate())
    assert len({to_bytes(model) for _ in range(20)}) == 1


def with_classes(*classes):
    def change(header, tensors):
        header["classes"] = list(classes)

    return change


def with_field(path, value):
    def change(header, tensors):
        *parents, last = path.split(".")
        for parent in parents:
            header = header[int(parent) if parent.isdecimal() else parent]
        header[last] = value

    return change


def without_schema(header, tensors):
    del header["trunk"]


SPEC = InputSpec(kind="images", shape=(1, 12, 12))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_classes("a", "a"), "two classes have the same name"),
        (with_classes("a" * 20_000, "b"), "at most 1024 characters"),
        (with_field("net.copies", 10**9), "less than or equal to 10000"),
        (with_field("shape", [2**62]), "less than 2147483648"),
        (with_field("shape", [1, 9, 9]), "that of input_spec"),
        (with_field("input_spec.center", [0.0, 1.0]), "center has 2 values"),
        (with_field("input_spec.channels", ["a", "b"]), "2 names of channels"),
        (with_field("evaluation", {"score": 1.0}), "samples is None, not a number"),
        (with_field("evaluation", {"samples": 10**400}), "samples is 10+, not a number"),
        (with_field("evaluation", {"samples": -1}), "samples is -1, not a number"),
        (with_field("evaluation", {"samples": 1, "score": True}), "score is True, not a number"),
        (with_field("schema_version", "3"), "reads schemas"),
        (with_field("layers", []), "is unknown"),
        (with_field("settings", {"a": "b" * 2**25}), "header has .* characters"),
        (without_schema, "trunk: Field required"),
    ],
)
def test_headers_that_are_wrong_or_too_large_are_refused(tmp_path, change, message):
    path = save(made(Rotate(), input_spec=SPEC), tmp_path / "m")
    rewritten(path, change)
    with pytest.raises(ModelError, match=message) as refused:
        load(path)
    assert "\n" not in str(refused.value)


def test_too_many_answers_are_refused(tmp_path):
    rows = (Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0)),)
    path = save(made(Rotate(), invariances=rows), tmp_path / "m")

    def repeat(header, tensors):
        header["invariances"] *= 2000

    rewritten(path, repeat)
    with pytest.raises(ModelError, match="at most 1000"):
        load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "[]", "null", "x", '{"schema_version": 3}'])
def test_headers_that_are_no_headers_are_refused(tmp_path, text):
    save_file({"a": torch.zeros(1)}, tmp_path / "m", {"augnet": text})
    with pytest.raises(ModelError, match="damaged"):
        load(tmp_path / "m")


def test_every_flipped_bit_is_noticed(tmp_path):
    rows = (Invariance(SignFlip(), "reached_limit", 0.5, (0.4, 0.5)),)
    model = made(SignFlip(), shape=(2,), invariances=rows)
    content = to_bytes(model)
    generator = random.Random(0)
    for place in generator.sample(range(len(content)), 150):
        changed = bytearray(content)
        changed[place] ^= 1 << generator.randrange(8)
        (tmp_path / "m").write_bytes(changed)
        try:
            again = load(tmp_path / "m")
        except ModelError:
            continue
        else:  # in a name of the metadata that nobody reads, or in the padding
            assert to_bytes(again) == content


@pytest.mark.parametrize("older", [{"pooled": False}, {"flips": "half"}])
def test_gains_of_older_files_are_read(older):
    numbers = {"score": 0.9, "plain_score": 0.8, "difference": 0.1, "averaging": 0.0}
    gain = {"draws": 1, **numbers, "interval": (0.0, 0.2), "scores": (0.8, 0.9)}
    assert GainRecord.model_validate(gain | older) == GainRecord.model_validate(gain)


def test_a_layer_has_the_same_options_after_it_was_read():
    transforms = build_transforms(["brightness", "invert"])
    for options in ({"mixing": "drawn", "edges": 0.25}, {"temperature": 0.5, "tolerance": 0.01}):
        layer = AugmentationLayer(*transforms, **options)
        again = Layer.model_validate_json(Layer.of(layer).model_dump_json()).build()
        for name in ("transforms", "temperature", "tolerance", "mixing", "edges"):
            assert getattr(again, name) == getattr(layer, name)
