"""Choose the figures of a page, and write their captions."""

from collections.abc import Sequence
from functools import partial

from augnet.app.style import Drawn
from augnet.paper.report.figures import (
    capacity,
    copies,
    heat_map,
    interval,
    over_epochs,
    over_sweep,
    samples,
    seeds_that_select,
    widths,
)
from augnet.paper.report.records import on_sweeps
from augnet.paper.report.runs import Epoch, Run
from augnet.paper.report.study import Study
from augnet.paper.report.tables import by_label

BAND = "Lines are medians over seeds, shaded areas their range."
DOTS = "Lines are medians over seeds, dots are single seeds."


def draw(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    """Draw the figures of the paper first, then details of the runs."""
    return [
        *_main_figures(study, runs),
        *_method_figures(study, runs),
        *_transform_figures(study, runs),
        *_background_figures(runs),
    ]


def _main_figures(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    expect = study.experiment.expect
    drawn = []
    if figure := capacity(study.records):
        caption = (
            f"{DOTS} Bars are the middle 75 % of the test set; bars that reach the lower edge "
            "extend below it."
        )
        title = "Invariance and accuracy by the size of the trunk"
        drawn.append(Drawn("capacity", title, caption, figure))
    if transform := expect.transform:
        figure = over_epochs(
            runs,
            lambda epoch: epoch.strength(transform),
            f"{transform}, {expect.unit}",
            expect.strength,
            seeds_that_select(transform),
        )
        if figure:
            caption = (
                "One line per seed: solid if the transform is selected at the end, dashed if "
                "another one is."
            )
            drawn.append(Drawn("learned", f"Learned strength of {transform}", caption, figure))
    swept = on_sweeps(study.records)
    for keys in dict.fromkeys(tuple(record.sweep) for record in swept):
        group = [record for record in swept if tuple(record.sweep) == keys]
        if figure := over_sweep(expect, group):
            name, title = "-".join(("sweep", *keys)), f"Effect of {' and '.join(keys)}"
            drawn.append(Drawn(name, title, DOTS, figure))
    return drawn


def _method_figures(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    """Compare methods that were scored alike: figures 6a, B.5b, B.6 and B.9."""
    drawn = []
    runs = [run for run in runs if not run.sweep] or runs
    if not any(run.config.get("scores", {}).get("copies") for run in runs):
        return []
    figure = over_epochs(
        runs, lambda epoch: epoch.stopped_accuracy, "test accuracy", draw_seeds=interval(0.9)
    )
    if figure:
        views = runs[0].config["scores"]["views"]
        caption = (
            "Test accuracy at the best validation accuracy so far: medians over seeds, and "
            f"intervals that contain 90 % of them. Each epoch is scored on `{views}` views."
        )
        drawn.append(Drawn("stopped", "Accuracy over the epochs", caption, figure))
    if figure := copies([record for record in study.records if not record.sweep]):
        caption = (
            "Medians over seeds. Solid: predictions are averaged over C views by the method's own "
            "augmentation. Dotted: the trunk alone, on plain samples. Times are those of a forward "
            "pass, where measured, in passes of the trunk."
        )
        title = "Accuracy and time against the number of copies"
        drawn.append(Drawn("copies", title, caption, figure))
    for name in runs[0].epochs[-1].invariance:
        if figure := over_epochs(runs, partial(_invariance, name=name), f"invariance to {name}"):
            drawn.append(Drawn(f"invariance-{name}", f"Invariance to {name}", BAND, figure))
    return drawn


def _invariance(epoch: Epoch, name: str) -> float | None:
    return epoch.invariance.get(name)


def _transform_figures(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    drawn = []
    # A sweep has too many points for one map each, and its own figure says more.
    for label, group in by_label(run for run in runs if not run.sweep).items():
        # If the right transform is known, one seed is enough; else seeds may differ.
        for run in group[:1] if study.experiment.expect.transform else group:
            if figure := heat_map(run):
                name = f"transforms-{label}" + (f"-seed-{run.seed}" if run is not group[0] else "")
                title = f"Weights and magnitudes: {label}, seed {run.seed}"
                caption = "A magnitude of 1 is the transform's limit."
                drawn.append(Drawn(name, title, caption, figure))
    if figure := widths(runs):
        caption = "One line per seed. Angles are in radians, translations in twentieths of a side."
        drawn.append(Drawn("widths", "Widths learned by Augerino", caption, figure))
    return drawn


def _background_figures(runs: Sequence[Run]) -> list[Drawn]:
    drawn = []
    if figure := samples(runs[0].config["data"]):
        drawn.append(Drawn("data", "Data", "Some training samples of each class.", figure))
    if figure := over_epochs(runs, lambda epoch: epoch.test_accuracy, "test accuracy"):
        drawn.append(Drawn("accuracy", "Test accuracy", BAND, figure))
    if figure := over_epochs(runs, lambda epoch: epoch.task, "cross-entropy"):
        drawn.append(Drawn("loss", "Training loss of the task", BAND, figure))
    return drawn
