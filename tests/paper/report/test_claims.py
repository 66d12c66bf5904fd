"""Claims: every quantity is read right, every criterion can hold and fail, verdicts count seeds."""

import math
from typing import get_args

import pytest

from augnet.layers.state import TransformState
from augnet.paper.config import Claim, ConfigError, parse, read
from augnet.paper.report.claims import holds, judge
from augnet.paper.report.quantities import QUANTITIES
from augnet.paper.report.records import Record
from augnet.paper.report.tables import claims_table
from augnet.paper.report.wording import describe_criterion, describe_findings

BASE = {"says": "s", "source": "fig. 1", "variants": ["one-layer"], "quantity": "test-accuracy"}


def claim(**settings):
    return Claim(**BASE | settings)


def transform(layer, name, weight, magnitude):
    return TransformState(layer, name, weight, magnitude, 2 * magnitude)


def record(variant="one-layer", seed=0, **settings):
    usual = {"epochs": 10, "task": 0.1, "valid_accuracy": 0.9, "test_accuracy": 0.9}
    return Record(variant=variant, seed=seed, **usual | settings)


def layers(*selected, leads_from=3):
    """Make one layer per (transform, magnitude): that transform has nearly all the weight."""
    states = [
        transform(
            number, name, 0.95 if name == chosen else 0.05, magnitude if name == chosen else 0.6
        )
        for number, (chosen, magnitude) in enumerate(selected, start=1)
        for name in ("frequency_shift", "gaussian_noise")
    ]
    return {"transforms": states, "leads_from": [leads_from] * len(selected)}


def augerino(**widths):
    """Make the states of Augerino: widths without weights."""
    states = [TransformState(1, name, None, width, width) for name, width in widths.items()]
    return {"transforms": states}


SHIFT, NOISE = "frequency_shift", "gaussian_noise"
MEASURED = [
    {
        "copies": c,
        "invariance": c / 10,
        "low": 0.0,
        "high": 1.0,
        "accuracy": c / 20,
        "authors_invariance": 0.7,
    }
    for c in (1, 4, 10)
]


@pytest.mark.parametrize(
    ("quantity", "asked", "of", "value"),
    [
        ("selected", {}, layers((SHIFT, 0.2), (SHIFT, 0.0)), SHIFT),
        ("selected", {}, layers((NOISE, 1), (SHIFT, 0.2)), f"{SHIFT} + {NOISE}"),
        ("selected", {}, {}, None),
        ("weight", {"transform": SHIFT}, layers((NOISE, 1)), 0.05),
        ("strength", {"transform": SHIFT}, layers((NOISE, 1)), 1.2),
        ("strength", {"transform": SHIFT}, layers((SHIFT, 0.1), (SHIFT, 0.3)), 0.6),
        ("strength", {"transform": "rotate"}, augerino(rotate=math.pi / 2), 45.0),
        ("used-strength", {"transform": SHIFT}, layers((NOISE, 1)), 0.0),
        ("used-strength", {"transform": SHIFT}, layers((SHIFT, 0.25), (NOISE, 1)), 0.5),
        ("used-strength", {"transform": "rotate"}, augerino(rotate=math.pi / 2), 45.0),
        ("used-magnitude", {}, layers((SHIFT, 0.01), (NOISE, 0.02)), 0.02),
        ("used-layers", {}, layers((SHIFT, 0.25), (SHIFT, 0.01)), 1),
        ("used-layers", {}, {}, None),
        ("leads-from", {"transform": SHIFT}, layers((SHIFT, 1)), 3),
        ("leads-from", {"transform": SHIFT}, layers((NOISE, 1)), math.inf),
        ("spread-widths", {}, augerino(rotate=1.0, scale=0.1, shear=0.09), 2),
        ("test-accuracy", {}, {"test_accuracy": 0.7}, 0.7),
        ("accuracy", {"copies": 4}, {"measured": MEASURED}, 0.2),
        ("invariance", {"copies": 10}, {"measured": MEASURED}, 1.0),
        ("invariance", {"copies": 3}, {"measured": MEASURED}, None),
        ("authors-invariance", {"copies": 4}, {"measured": MEASURED}, 0.7),
    ],
)
def test_quantities_are_read_off_records(quantity, asked, of, value):
    given = claim(quantity=quantity, at_least=0.0, **asked)
    assert QUANTITIES[quantity].read(record(**of), given) == pytest.approx(value)


def weighted(*weights, magnitude=0.3, **settings):
    """Make one layer with these weights, all at one magnitude."""
    names = ("rotate", "shear_x", "shear_y", "scale")
    states = [transform(1, n, w, magnitude) for n, w in zip(names, weights, strict=False)]
    return record(transforms=states, leads_from=[1], **settings)


@pytest.mark.parametrize("weights", [(0.25,) * 4, (0.5, 0.5), (0.49, 0.26, 0.25)])
def test_a_layer_selects_nothing_without_half_of_the_weight_or_in_a_tie(weights):
    tied = weighted(*weights)
    asked = claim(quantity="selected", equals="rotate")
    assert QUANTITIES["selected"].read(tied, asked) == "none"
    assert not holds(asked, QUANTITIES["selected"].read(tied, asked))
    assert QUANTITIES["used-strength"].read(tied, claim(**STRONG)) == 0
    first = claim(quantity="leads-from", transform="rotate", at_most=5)
    assert QUANTITIES["leads-from"].read(tied, first) == math.inf
    assert QUANTITIES["used-magnitude"].read(tied, claim(quantity="used-magnitude", at_most=1)) == (
        0.3
    )
    assert QUANTITIES["selected"].read(weighted(0.5, 0.3, 0.2), asked) == "rotate"


STRONG = {"quantity": "used-strength", "transform": "rotate", "near": 0.6, "tolerance": 0.1}


def test_a_layer_that_keeps_all_uses_what_has_weight_and_is_not_asked_to_select():
    shared = weighted(0.5, 0.5, 0.0, keeps_all=True)
    assert QUANTITIES["used-strength"].read(shared, claim(**STRONG)) == pytest.approx(0.6)
    lost = claim(**STRONG | {"transform": "shear_y"})
    assert QUANTITIES["used-strength"].read(shared, lost) == 0
    one = ('["one-layer", "two-layers"]', '["one-layer"]')
    changes = {
        "variants": one,
        "quantity": ('"test-accuracy"', '"selected"'),
        "criterion": ("at_least = 0.8", 'equals = "rotate"'),
    }
    verdict = judged(shared, **changes)
    assert (verdict.kind, verdict.held) == ("unasked", [])
    assert judged(weighted(0.5, 0.5), **changes).kind == "none"


def test_the_strengths_of_layers_add_up():
    twice = record(**layers((SHIFT, 0.2), (SHIFT, 0.1), (NOISE, 1.0)))
    asked = claim(**STRONG | {"transform": SHIFT})
    assert QUANTITIES["used-strength"].read(twice, asked) == pytest.approx(0.6)


def test_every_quantity_that_a_claim_may_name_is_known():
    assert set(get_args(Claim.model_fields["quantity"].annotation)) == set(QUANTITIES)


@pytest.mark.parametrize(
    ("criterion", "good", "bad"),
    [
        ({"equals": "rotate"}, ["rotate"], ["rotate + scale", None]),
        ({"at_least": 0.95}, [0.95, 1], [0.94, None, "rotate"]),
        ({"at_most": 2}, [1, 2], [2.1, math.inf]),
        ({"near": 45.0, "tolerance": 0.2}, [36.0, 54.0], [35.9, 54.1, math.inf]),
        ({"near": 1, "tolerance": 0.0}, [1], [0, 2]),
        ({"away_from": 45.0, "tolerance": 0.2}, [35.9, 54.1], [36.0, 45.0]),
        ({"above": {"copies": 4}}, [(0.6, 0.5)], [(0.5, 0.5), (0.4, 0.5), (0.5, None)]),
        ({"close_to": {"copies": 4}, "tolerance": 0.2}, [(0.41, 0.5)], [(0.39, 0.5), (1, None)]),
    ],
)
def test_criteria_hold_and_fail(criterion, good, bad):
    given = claim(**criterion)
    for values, expected in ((good, True), (bad, False)):
        for value in values:
            mine, other = value if isinstance(value, tuple) else (value, None)
            assert holds(given, mine, other) is expected, value


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "one of equals, at_least"),
        ({"at_least": 1, "at_most": 2}, r"got \['at_least', 'at_most'\]"),
        ({"near": 1}, "near needs a tolerance"),
        ({"at_least": 1, "tolerance": 0.1}, "at_least takes no tolerance"),
        ({"quantity": "strength", "at_least": 1}, "transform is required for"),
        ({"transform": "rotate", "at_least": 1}, "transform is required for"),
        ({"quantity": "accuracy", "at_least": 1}, "copies is required for"),
        ({"above": {"variants": ["a", "b"]}}, r"above\.variants takes one for each"),
    ],
)
def test_a_claim_asks_one_question(settings, message):
    with pytest.raises(ValueError, match=message):
        claim(**settings)


MINIMAL = """
title = "t"
section = "s"
question = "q"
data = { name = "sinusoids" }
augment = { name = "none" }
trunk = { name = "sinusoid_cnn" }
train = { epochs = 1, batch_size = 8 }
[variants.one-layer]
[variants.two-layers]
[[expect.claims]]
says = "a"
source = "b"
variants = ["one-layer", "two-layers"]
quantity = "test-accuracy"
at_least = 0.8
"""


def judged(*records, **changes):
    text = MINIMAL
    for old, new in changes.values():
        text = text.replace(old, new)
    return judge(parse(text, "test"), records)[0]


def test_verdicts_count_the_runs_that_show_a_claim():
    both = [record(v, seed) for v in ("one-layer", "two-layers") for seed in (0, 1)]
    assert judged(*both).verdict == "reproduced (4 of 4 runs)"
    some = [*both[:3], both[3].model_copy(update={"test_accuracy": 0.1})]
    assert (judged(*some).kind, judged(*some).verdict) == ("some", "in 3 of 4 runs")
    assert describe_findings(judged(*some)) == [
        "one-layer: 0.9 [2 of 2]",
        "two-layers: 0.5 (0.1 to 0.9) [1 of 2]",
    ]
    bad = [each.model_copy(update={"test_accuracy": 0.1}) for each in both]
    assert judged(*bad).verdict == "not reproduced (0 of 4 runs)"
    assert judged(*both[:2]).verdict == "not judged: runs are missing"
    one = ('["one-layer", "two-layers"]', '["one-layer"]')
    assert judged(*both, variants=one).verdict == "reproduced (2 of 2 seeds)"


def test_runs_at_a_point_of_a_sweep_are_not_judged():
    swept = [record(v, sweep={"train.lr": 0.1}) for v in ("one-layer", "two-layers")]
    assert judged(*swept).kind == "unknown"


def test_variants_are_compared_seed_by_seed():
    against = (
        'variants = ["one-layer", "two-layers"]',
        'variants = ["one-layer"]\nabove = { variants = ["two-layers"] }',
    )
    changes = {"variants": against, "criterion": ("at_least = 0.8\n", "")}
    ours = [record(seed=seed, test_accuracy=value) for seed, value in enumerate((0.5, 0.9, 0.7))]
    theirs = [record("two-layers", seed=1, test_accuracy=0.8), record("two-layers", seed=0)]
    result = judged(*ours, *theirs, **changes)
    assert result.findings[0].held == {0: False, 1: True}  # seed 2 has nothing to compare with
    assert result.findings[0].reference_values == {0: 0.9, 1: 0.8}
    assert describe_findings(result) == [
        "one-layer: 0.7 (0.5 to 0.9), reference two-layers: 0.85 (0.8 to 0.9)"
    ]


def test_a_reference_without_the_quantity_is_not_judged():
    changes = {
        "variants": (
            'variants = ["one-layer", "two-layers"]',
            'variants = ["one-layer"]\nabove = { variants = ["two-layers"] }',
        ),
        "quantity": ('"test-accuracy"', '"invariance"\ncopies = 4'),
        "criterion": ("at_least = 0.8\n", ""),
    }
    ours = [record(seed=seed, measured=MEASURED) for seed in (0, 1)]
    theirs = [record("two-layers", 0), record("two-layers", 1)]
    assert judged(*ours, *theirs, **changes).kind == "unknown"
    theirs[1] = record("two-layers", 1, measured=MEASURED)
    assert judged(*ours, *theirs, **changes).findings[0].held == {1: False}


def test_mistakes_in_claims_are_explained():
    for old, new, message in (
        ("says", "sais", "unknown key 'expect.claims.0.sais': did you mean 'says'?"),
        ("at_least = 0.8", "above = { copis = 4 }", "'expect.claims.0.above.copis'"),
        ("at_least = 0.8", "", "expect.claims.0: a claim takes one of"),
        ('"two-layers"]', '"to-layers"]', "'to-layers': did you mean 'two-layers'?"),
        ('"test-accuracy"', '"accurac"', "expect.claims.0.quantity: Input should be"),
    ):
        with pytest.raises(ConfigError) as error:
            parse(MINIMAL.replace(old, new), "test")
        assert message in str(error.value)


def test_criteria_are_described_with_their_tolerance_and_unit():
    strong = claim(quantity="used-strength", transform="rotate", near=45.0, tolerance=0.2)
    assert (
        describe_criterion(strong) == "strength of rotate where it is selected: 45 degrees ± 20 %"
    )
    layers = claim(quantity="used-layers", near=1, tolerance=0.0)
    assert describe_criterion(layers).endswith(": 1")
    apart = claim(quantity="strength", transform="rotate", away_from=45.0, tolerance=0.2)
    assert describe_criterion(apart) == "strength of rotate: not 45 degrees ± 20 %"
    close = claim(quantity="accuracy", copies=1, close_to={"copies": 4}, tolerance=0.2)
    assert describe_criterion(close) == "accuracy with C = 1: within 20 % of the reference"


def test_all_claims_of_all_experiments_can_be_put_into_a_table():
    for name in ("capacity", "mario-iggy", "sinusoids"):
        table = claims_table(judge(read(name), []))
        assert {verdict for *_, verdict in table.rows} == {"not judged: runs are missing"}
        head = "| paper says | the authors' code, measured | ours | verdict on ours |"
        assert head in table.markdown
