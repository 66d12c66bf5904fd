"""Experiments as data: every file resolves, and every mistake is explained."""

import re

import pytest

from augnet.paper import config
from augnet.paper.config import ConfigError, merge, parse, parse_change, parse_sweep, resolve
from augnet.paper.run import build

MINIMAL = """
title = "t"
section = "s"
question = "q"
data = { name = "sinusoids" }
augment = { name = "none" }
trunk = { name = "sinusoid_cnn" }
train = { epochs = 1, batch_size = 8 }
[variants.only]
"""


@pytest.mark.usefixtures("made_up_cifar")
@pytest.mark.parametrize("name", config.names())
def test_every_variant_of_every_experiment_builds(name):
    experiment = config.read(name)
    small = {"data.sizes": [4, 4, 4]} | ({"data.windows": 1} if name == "sleep" else {})
    classes = {"cifar10": 10, "sleep": 5}.get(name, 4)
    for variant in experiment.variants:
        for protocol in ("ours", "paper"):
            resolved = resolve(name, experiment, variant, protocol=protocol, changes=small)
            net, splits = build(resolved, seed=0)
            assert net(splits.train.x).shape == (4, classes)


def test_protocols_can_be_combined():
    experiment = config.read("cifar10")
    both = resolve("cifar10", experiment, "none", protocol="paper+small")
    assert (both.train.optimizer, both.train.epochs, both.trunk.arguments["width"]) == (
        "sgd",
        20,
        8,
    )
    with pytest.raises(ConfigError, match="cifar10 has no protocol 'smal': did you mean 'small'"):
        resolve("cifar10", experiment, "none", protocol="paper+smal")


def test_settings_are_merged_from_the_general_to_the_particular():
    text = (
        MINIMAL.replace("[variants.only]", "net = { copies = 3 }")
        + """
        [protocols.paper]
        train = { lr = 0.5 }
        [variants.only]
        net = { copies = 7 }
    """
    )
    experiment = parse(text, "test")
    ours = resolve("test", experiment, "only")
    paper = resolve("test", experiment, "only", protocol="paper", changes={"train.epochs": 9})
    assert (ours.net.copies, ours.train.lr, ours.train.epochs) == (7, 1e-3, 1)
    assert (paper.net.copies, paper.train.lr, paper.train.epochs) == (7, 0.5, 9)


def test_a_table_that_names_another_thing_replaces_the_whole():
    base = {"augment": {"name": "layers", "layers": [["rotate"]]}, "net": {"copies": 2}}
    assert merge(base, {"augment": {"name": "none"}})["augment"] == {"name": "none"}
    assert merge(base, {"augment": {"magnitude": 0.1}})["augment"]["layers"] == [["rotate"]]
    assert base["augment"] == {"name": "layers", "layers": [["rotate"]]}


def test_changes_are_toml_or_else_strings():
    assert parse_change("train.lr=0.1") == ("train.lr", 0.1)
    assert parse_change("data.sizes=[4, 4, 4]") == ("data.sizes", [4, 4, 4])
    assert parse_change("data.images=../a b.npz") == ("data.images", "../a b.npz")
    with pytest.raises(ConfigError, match="--set takes key=value"):
        parse_change("train.lr")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train.epoch": 3}, "unknown key 'train.epoch': did you mean 'epochs'?"),
        ({"tran.epochs": 3}, "unknown key 'tran': did you mean 'train'?"),
        ({"train.epochs": 0}, "train.epochs: Input should be greater than or equal to 1; got 0"),
        (
            {"scores.copies": [0]},
            "scores.copies.0: Input should be greater",
        ),
        ({"net.copies": 10**9}, "net.copies: Input should be less than or equal to 10000; got 1"),
        (
            {"augment": {"name": "layers", "layers": [["rotate"]], "repeat": 10**9}},
            "repeat takes a whole number from 1 to 1000; got 1000000000",
        ),
        ({"train.optimizer": "lion"}, "train.optimizer: Input should be 'adam', 'adamw' or 'sgd'"),
        ({"data.name": "sinusoid"}, "unknown data 'sinusoid': did you mean 'sinusoids'?"),
        ({"trunk.widht": 3}, "unknown key 'trunk.widht' for sinusoid_cnn: did you mean 'width'?"),
        ({"augment.name": "layer"}, "unknown augment 'layer': did you mean 'layers'?"),
        ({"augment": {"name": "layers", "layers": [["rotat"]]}}, "did you mean 'rotate'?"),
        (
            {"regularizer.name": "weighted"},
            "unknown regularizer 'weighted': did you mean 'weighted_n",
        ),
        (
            {"regularizer.name": "weighted-norm"},
            "weighted_norm reads AugmentationLayer; identity has none: use no regularizer with it",
        ),
        ({"net.aggregate": "median"}, "aggregate is one of values, logits"),
    ],
)
def test_mistakes_are_explained(change, message):
    with pytest.raises(ConfigError) as error:
        build(resolve("test", parse(MINIMAL, "test"), "only", changes=change), seed=0)
    assert message in str(error.value)


def test_unknown_names_and_broken_files_are_explained():
    with pytest.raises(ConfigError, match="unknown experiment 'mario': did you mean 'mario-iggy'"):
        config.read("mario")
    experiment = parse(MINIMAL, "test")
    with pytest.raises(ConfigError, match="no variant 'onyl': did you mean 'only'"):
        resolve("test", experiment, "onyl")
    with pytest.raises(ConfigError, match=r"no protocol 'papr'\. Known: ours"):
        resolve("test", experiment, "only", protocol="papr")
    with pytest.raises(ConfigError, match=r"broken\.toml is not valid TOML"):
        parse("title = ", "broken.toml")
    with pytest.raises(ConfigError, match="unknown key 'titel': did you mean 'title'"):
        parse(MINIMAL.replace("title", "titel"), "test")
    with pytest.raises(ConfigError, match="test: title is missing"):
        parse(MINIMAL.replace('title = "t"', ""), "test")


def test_a_sweep_is_all_points_of_a_grid():
    assert parse_sweep([]) == [{}]
    assert parse_sweep(["a=1,2", "b.c=x,y"]) == [
        {"a": a, "b.c": b} for a in (1, 2) for b in ("x", "y")
    ]
    assert parse_sweep(["weight=[[0, 0.5]],0.1"]) == [{"weight": [[0, 0.5]]}, {"weight": 0.1}]
    with pytest.raises(ConfigError, match="given twice"):
        parse_sweep(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("regularizer.weight=nan", "regularizer.weight is nan: expected a finite number"),
        ("regularizer.weight=[[0, inf]]", "regularizer.weight.0.1 is inf"),
        ("train.lr=inf", "train.lr is inf"),
        ("trunk.kernel=nan", "trunk.kernel is nan"),
        ("train.batch_size=99999999999999999999", "train.batch_size: Input should be less than"),
        ("train.betas=[2, 2]", "train.betas.0: Input should be less than 1"),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(change, message):
    changes = dict([config.parse_change(change)])
    with pytest.raises(ConfigError, match=re.escape(message)):
        config.resolve("sinusoids", config.read("sinusoids"), "one-layer", changes=changes)


def test_a_deep_value_is_refused():
    with pytest.raises(ConfigError, match="nested too deeply"):
        config.parse_change(f"train.lr={'[' * 9999}{']' * 9999}")


PAPERS = {
    "sinusoids": ["one-layer", "two-layers", "four-layers"],
    "mario-iggy": ["augnet", "no-regularizer", "augerino-regularizer"],
    "capacity": [f"augnet-{size}" for size in ("1x1", "2x1", "2x2", "2x3")],
    "cifar10": ["augnet-paper"],
    "sleep": ["augnet-paper"],
}
"""The variants of the paper's own layers."""


@pytest.mark.parametrize(
    ("name", "variant"), [(name, each) for name, found in PAPERS.items() for each in found]
)
def test_the_papers_protocol_has_the_settings_of_the_authors(name, variant):
    paper = resolve(name, config.read(name), variant, protocol="paper")
    assert (paper.tuner.select, paper.net.train_copies) == ("none", 1)
    assert paper.net.aggregate == "log-probabilities"
    assert paper.net.sampling == "independent"
    layers = paper.augment.arguments["layers"]
    if name != "capacity":  # one transform there: nothing to select
        assert (paper.augment.arguments["temperature"], paper.augment.arguments["logit"]) == (
            0.01,
            1.0,
        )
    specs = [spec if isinstance(spec, dict) else {"name": spec} for part in layers for spec in part]
    shears = [spec for spec in specs if spec["name"].startswith("shear")]
    assert bool(shears) == (name in ("mario-iggy", "cifar10"))
    assert all(spec.get("pivot") == "corner" for spec in shears)
    if name == "mario-iggy":
        assert paper.trunk.arguments["width"] == 32
        assert (paper.train.epochs, paper.train.batch_size) == (20, 128)
        assert paper.train.augment_weight_decay == 1.0
        assert "sizes" not in paper.data.arguments  # 10 000, and 5 000 to test, are the default
    if name in ("sinusoids", "capacity"):
        assert "phase" not in paper.data.arguments  # uniform, as the paper says
        theirs = resolve(name, config.read(name), variant, protocol="paper+authors")
        assert theirs.data.arguments["phase"] == "authors"
