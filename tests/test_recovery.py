"""The benchmarks of known answers: forms of tasks, what counts as right, and kept cells."""

import json

import numpy as np
import pytest
import recovery_real_data as data
import torch
from recovery_cells import CellFile, refuse_mixed, run_one
from recovery_forms import FORMS, NOISE, RANDOM, names_of, task_in
from recovery_real import DATA, Expected, expectations, overlapping
from recovery_report import (
    confident_in_noise,
    equal_in_all,
    judge,
    judge_all,
    summarize,
    table_of_forms,
)
from recovery_tasks import NOISE_RANGE, TASKS, TIMES, UNCLEAR, imbalanced_rows, with_wrong_labels
from scipy.stats import chi2
from torch import Generator

from augnet.transforms import Rotate, Scale


def answer(status, strength=0.0, interval=(0.0, 0.0), **rest):
    row = {"transform": "rotate", "status": status, "strength": strength, "interval": interval}
    return row | {"cost": None, "bernoulli": False} | rest


def test_every_task_has_each_form():
    names = [task.name for task in TASKS]
    for form in FORMS:
        values = {"regress-position", "regress-frequency"} if form == "imbalanced" else set()
        assert form == RANDOM or names_of(form) == [name for name in names if name not in values]
    assert len(set(names_of(RANDOM))) == 20
    assert list(NOISE) == names


def test_the_best_classifier_of_noise_loses_one_point_at_its_range():
    """The variance of what a fitted tone leaves is chi-squared: amplitude, frequency and phase."""
    freedom, grid = TIMES - 3, np.linspace(0.001, 2.5, 20_001)
    strengths = np.linspace(0, NOISE_RANGE, 200)[:, None]

    def density(level, strength):
        variance = level**2 + strength**2
        return chi2.pdf(grid * freedom / variance, freedom) * freedom / variance

    noisier = density(0.6, strengths).mean(0) > density(0.1, strengths).mean(0)

    def error(strength):
        wrong = density(0.1, strength)[noisier].sum() + density(0.6, strength)[~noisier].sum()
        return wrong / 2 * (grid[1] - grid[0])

    assert error(NOISE_RANGE) - error(0.0) == pytest.approx(0.01, abs=5e-4)


def test_all_transforms_are_offered_and_those_of_the_task_keep_limits_and_truths():
    for name in ("rotate-2", "symmetry-decides"):
        clean, task = task_in("clean", name), task_in("all", name)
        truths = dict(zip(task.transforms, task.truths, strict=True))
        known = {each: truth for each, truth in truths.items() if truth is not None}
        assert known == dict(zip(clean.transforms, clean.truths, strict=True))
        assert len(truths) >= len(known) + 5
        assert len({each.name for each in truths}) == len(truths)


def test_answers_about_all_transforms_are_compared_with_those_of_the_clean_task():
    def cell(form, *rows):
        return {"task": "t", "seed": 0, "form": form, "rows": list(rows)}

    clean = cell("clean", answer("bounded", 3.0), answer("unclear", transform="scale"))
    same = cell("all", *clean["rows"], answer("bounded", transform="hue"))
    other = cell("all", clean["rows"][0], answer("bounded", transform="scale"))
    assert equal_in_all([clean, same]) == "2 of 2"
    assert equal_in_all([clean, other]) == "1 of 2"
    assert equal_in_all([clean, cell("200", *clean["rows"])]) == "0 of 0"


def test_random_labels_have_no_truth_but_unclear():
    for name in names_of(RANDOM):
        assert set(task_in(RANDOM, name).truths) == {UNCLEAR}


def test_wrong_labels_are_other_labels():
    classes = torch.arange(4000) % 4
    wrong = with_wrong_labels(classes, 0.3, Generator().manual_seed(0)) != classes
    assert 0.27 < wrong.double().mean() < 0.33
    values = torch.arange(4000.0)
    replaced = with_wrong_labels(values, 0.3, Generator().manual_seed(0))
    assert 0.27 < (replaced != values).double().mean() < 0.33
    assert torch.isin(replaced, values).all()


def test_imbalanced_rows_keep_one_class_and_a_tenth_of_the_others():
    y = torch.arange(900) % 3
    assert y[imbalanced_rows(y, most=1)].bincount().tolist() == [30, 300, 30]
    assert y[:90][imbalanced_rows(y[:90], most=0)].bincount().tolist() == [30, 20, 20]


def test_unclear_is_not_right_and_gives_no_range():
    row = judge(answer("unclear"), Rotate(limit=90), 30.0)
    assert not row["right"]
    assert "ratio" not in row
    assert judge(answer("unclear"), Rotate(), UNCLEAR)["right"]
    assert "right" not in judge(answer("bounded"), Rotate(), None)


def test_factors_are_compared_by_their_logarithms():
    row = judge(answer("bounded", 4.0, (1.9, 4.1)), Scale(limit=8.0), 2.0)
    assert row["ratio"] == pytest.approx(2.0)
    assert row["covered"]


def test_rates_count_unclear_answers_and_failed_cells():
    task = task_in("clean", "rotate-4")  # rotate ±35, no flip, invert
    rows = [
        answer("bounded", 38.0, (30.0, 40.0)),
        answer("unclear", transform="horizontal_flip"),
        answer("not_invariant", transform="invert"),
    ]
    good = {"task": task.name, "form": "all", "seconds": 1.0, "rows": judge_all(task, rows)}
    assert summarize([good]) == {
        "right status": 0.333333, "unclear": 0.333333, "wrong of confident": 0.5,
        "within 10 %": 1.0, "within 15 %": 1.0, "within 15 % of given": 1.0, "covered": 1.0,
        "seconds": 1.0, "cells": 1, "answers": 3, "ranges": 1, "failures": 0,
    }  # fmt: skip
    failed = good | {"rows": judge_all(task, [], failed=True), "failure": "ValueError"}
    table = table_of_forms([good, failed])
    assert table["all"] == table["real-life forms"] == table["real-life, not noisy"]
    assert table["all"]["right status"] == pytest.approx(1 / 6, abs=1e-4)
    assert table["all"]["within 15 %"] == 0.5


def test_confident_answers_in_noise_are_counted_by_answer_and_by_cell():
    task = task_in(RANDOM, "noise-images-2")
    rows = [answer("unclear", transform=each.name) for each in task.transforms]
    rows[0]["status"] = rows[1]["status"] = "bounded"
    cell = {"form": RANDOM, "rows": judge_all(task, rows)}
    assert confident_in_noise([cell, cell | {"rows": []}]) == {
        "confident answers": f"2 of {len(rows)}",
        "cells with a confident answer": "1 of 2",
    }


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        (Expected("accept", low=10), ["reached_limit", "bounded"], ["not_invariant", "unclear"]),
        (Expected("accept", low=30), ["reached_limit"], ["bounded"]),
        (Expected("refuse"), ["not_invariant"], ["bounded", "reached_limit", "unclear"]),
        (Expected("bounded", 10, 30), ["bounded"], ["not_invariant", "reached_limit", "unclear"]),
        (Expected("bounded", 1, 10), [], ["bounded"]),
        (Expected("limited", high=30), ["bounded", "not_invariant"], ["reached_limit", "unclear"]),
        (Expected("costed"), ["not_invariant"], ["bounded", "reached_limit", "unclear"]),
    ],
)
def test_what_is_as_expected(expected, right, wrong):
    assert all(expected.right(answer(status, 20.0)) for status in right)
    assert not any(expected.right(answer(status, 20.0)) for status in wrong)


def test_a_stated_cost_counts():
    assert Expected("costed").right(answer("reached_limit", cost=0.02))
    assert not Expected("costed").right(answer("unclear", cost=0.02))


def test_intervals_of_seeds_are_compared_in_pairs():
    rows = [
        answer("bounded", 10.0, (8.0, 12.0)),
        answer("bounded", 13.0, (11.0, 15.0)),
        answer("not_invariant"),
        answer("not_invariant", interval=(0.0, 1.0)),
        answer("unclear"),
    ]
    assert overlapping(rows) == (2, 6)


def test_a_seed_without_an_answer_is_not_right():
    flip = answer("not_invariant", transform="horizontal_flip", bernoulli=True)
    lines = expectations("mnist", [{"rows": [flip], "seed": 0}, {"rows": [], "seed": 1}])
    by_name = {line["transform"]: line for line in lines}
    assert by_name["horizontal_flip"]["right"] == 1
    assert by_name["horizontal_flip"]["seeds"] == 2
    assert by_name["rotate"]["right"] == 0


def fail(key):
    raise ValueError(f"no such cell: {key}")


def test_a_cell_that_raises_is_kept_as_a_failure(capsys):
    cell = run_one(fail, ("data", "seed"), "abc", ("mnist", 1))
    assert cell["failure"] == "ValueError: no such cell: ('mnist', 1)"
    assert (cell["data"], cell["seed"], cell["commit"], cell["rows"]) == ("mnist", 1, "abc", [])


def test_the_last_line_of_a_cell_counts_and_documents_replace_missing_lines(tmp_path):
    file = CellFile("kept", ("task", "form"), tmp_path)
    assert file.read() == []
    cells = [{"task": "a", "commit": "1", "n": n} for n in range(2)]
    file.lines.write_text("".join(json.dumps(cell) + "\n" for cell in cells))
    assert file.read() == cells[1:]
    file.write("kept.py", {"table": {}}, cells[1:])
    file.lines.unlink()
    assert file.read() == cells[1:]
    assert json.loads(file.document.read_text())["commit"] == "1"
    file.restart()
    assert file.read() == []


def test_commits_are_mixed_only_if_told():
    cells = [{"commit": "abc"}, {"commit": "def"}]
    refuse_mixed(cells, mix=True)
    refuse_mixed(cells[:1], mix=False)
    with pytest.raises(SystemExit, match="2 commits, expected one: abc, def"):
        refuse_mixed(cells, mix=False)


def test_halved_signals_keep_slow_waves_and_lose_fast_ones():
    time = torch.arange(400) / 400
    slow, fast = torch.sin(6.2832 * 5 * time), torch.sin(6.2832 * 150 * time)
    assert torch.allclose(data.halved(slow + fast), slow[::2], atol=1e-3)


def test_real_data_is_the_same_for_the_same_seed(shared_data):
    for name, groups in {"exercises": 10, "omniglot-pairs": 20}.items():
        first, again = (DATA[name].load(shared_data, 3) for _ in range(2))
        assert torch.equal(first.x, again.x)
        assert len(first.x) == len(first.y) == len(first.groups)
        assert len(first.groups.unique()) == groups
    assert first.y.bincount().tolist() == [20] * 16
