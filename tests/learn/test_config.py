"""Options and constants: one definition, checked at once, in the signature and in the help."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from learn_tasks import SPECS, few, levels

from augnet import learn
from augnet.learn import OPTIONS, LearnConfig, Learner
from augnet.learn.config import parse_budget


def test_budgets_are_read_as_on_the_command_line():
    read = {None: None, "12": 12, 12: 12, np.int64(7): 7, "90s": 90.0, "1.5m": 90.0, "2h": 7200.0,
            30.0: 30.0}  # fmt: skip
    for given, meant in read.items():
        assert parse_budget(given) == meant
        assert type(parse_budget(given)) is type(meant)
    for bad in ("0", "0s", "ten", "5 days", "²", 0, -1.0, float("nan"), True, [3]):
        with pytest.raises(ValueError, match="budget takes"):
            parse_budget(bad)
    assert Learner(*levels(), SPECS, budget="10m").config.seconds == 600


def test_the_options_are_in_the_signature_and_in_the_help():
    signature = inspect.signature(learn)
    for each in OPTIONS:
        assert signature.parameters[each.name].default == each.default
        assert f"{each.name}: {each.metadata['help']}" in learn.__doc__
    assert list(inspect.signature(Learner).parameters) == [
        name for name in signature.parameters if name != "progress"
    ]


def test_every_field_of_the_config_has_a_meaning():
    for each in fields(LearnConfig):
        assert each.metadata["help"].endswith("."), each.name


def test_a_config_is_a_set_of_options_that_others_replace():
    config = LearnConfig(transforms="sign_flip", budget=2, seed=3)
    first = learn(*few(), config=config)
    second = learn(*few(), "sign_flip", budget=2, seed=3)
    assert first.history == second.history
    other = learn(*few(), config=config, seed=4)
    assert other.history == learn(*few(), "sign_flip", budget=2, seed=4).history


def test_constants_are_changed_by_a_config():
    config = LearnConfig(transforms=SPECS, budget=3, batch_size=8, max_held_out=50)
    learner = Learner(*levels(), config=config)
    assert learner.search.reference.planned == 3 * 10
    assert len(learner.search.reference.held_out) == 50
    assert list(learner)[-1]["done"] == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"evaluations": 0}, "evaluations takes a whole number from 1; got 0"),
        ({"jobs": 0}, "jobs takes a whole number from 1; got 0"),
        ({"growth": -1.0}, "growth takes a positive number; got -1.0"),
        ({"tolerance": "low"}, "tolerance takes a positive number; got 'low'"),
        ({"tolerance": 0.0}, "tolerance takes a positive number; got 0.0"),
        ({"start": 1.5}, r"start takes a fraction in \(0, 1\]; got 1.5"),
        ({"budget": "soon"}, "budget takes a whole number of epochs"),
    ],
)
def test_wrong_constants_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        LearnConfig(**wrong)


@pytest.mark.parametrize("options", [{"tolerance": float("inf")}, {"budget": float("inf")}])
def test_infinite_options_are_refused(options):
    with pytest.raises(ValueError, match="got inf"):
        LearnConfig(**options)
