"""Which figures a page shows, and the transforms beneath them."""

from collections.abc import Sequence

from augnet.app.style import Drawn
from augnet.paper.report.figures import (
    capacity,
    copies,
    heat_map,
    interval,
    over_epochs,
    over_grid,
    samples,
    seeds_that_select,
    widths,
)
from augnet.paper.report.records import on_grids
from augnet.paper.report.runs import Run, strength
from augnet.paper.report.study import Study
from augnet.paper.report.tables import by_label

BAND = "Lines are medians over seeds, shades all that they span."


def draw(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    """Draw what an experiment is about: the paper's figures first, then what is behind them."""
    return [
        *_findings(study, runs),
        *_methods(study, runs),
        *_transforms(study, runs),
        *_background(study, runs),
    ]


def _findings(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    expect = study.experiment.expect
    drawn = []
    if figure := capacity(study.records):
        caption = (
            "Lines are medians over seeds, dots the seeds. Bars hold the middle 75 % of the test "
            "set; those that reach the lower edge go on below it."
        )
        drawn.append(Drawn("capacity", "Invariance and accuracy by the size of the trunk",
                           caption, figure))  # fmt: skip
    if transform := expect.transform:
        label = f"{transform}, {expect.unit}"
        figure = over_epochs(
            runs,
            lambda row: strength(row, transform),
            label,
            expect.strength,
            seeds_that_select(transform),
        )
        if figure:
            caption = "One line per seed: full if the transform is selected in the end, pale if another is."
            drawn.append(Drawn("learned", f"Learned strength of {transform}", caption, figure))
    swept = on_grids(study.records)
    for keys in dict.fromkeys(tuple(record.sweep) for record in swept):
        mine = [record for record in swept if tuple(record.sweep) == keys]
        if figure := over_grid(expect, mine):
            caption = "Lines are medians over seeds, dots the seeds."
            name, title = "-".join(("grid", *keys)), f"Where {' and '.join(keys)} lead"
            drawn.append(Drawn(name, f"{title}{'s' if len(keys) == 1 else ''}", caption, figure))
    return drawn


def _methods(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    """Compare methods that were scored alike: figures 6a, B.5b, B.6 and B.9."""
    drawn = []
    runs = [run for run in runs if not run.sweep] or runs
    if not any(run.config.get("scores", {}).get("copies") for run in runs):
        return []
    figure = over_epochs(
        runs, lambda row: row.get("stopped_accuracy"), "test accuracy", paint=interval(0.9)
    )
    if figure:
        views = runs[0].config["scores"]["views"]
        caption = (
            "Test accuracy at the best validation accuracy so far: medians over seeds, and shades "
            f"that hold 90 % of them. Each epoch is scored on views of the kind `{views}`."
        )
        drawn.append(Drawn("stopped", "Accuracy over the epochs", caption, figure))
    if figure := copies([record for record in study.records if not record.sweep]):
        caption = (
            "Medians over seeds. Each method's own augmentation is averaged over C views; dotted "
            "lines are the trunk alone, on samples as they are. Times are those of a forward "
            "pass, where they were taken, in passes of the trunk."
        )
        drawn.append(
            Drawn("copies", "Accuracy and time against the number of copies", caption, figure)
        )
    for key in (key for key in runs[0].rows[-1] if key.startswith("invariance.")):
        transform = key.removeprefix("invariance.")
        figure = over_epochs(runs, lambda row, key=key: row.get(key), f"invariance to {transform}")  # type: ignore[misc]
        if figure:
            drawn.append(Drawn(key.replace(".", "-"), f"Invariance to {transform}", BAND, figure))
    return drawn


def _transforms(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    drawn = []
    # A grid has too many points for a map of each: its curve says more.
    for label, group in by_label(run for run in runs if not run.sweep).items():
        # Where the right transform is known, one seed shows how it is found; else seeds may differ.
        for run in group[:1] if study.experiment.expect.transform else group:
            if figure := heat_map(run):
                name = f"transforms-{label}" + (f"-seed-{run.seed}" if run is not group[0] else "")
                title = f"Weights and magnitudes: {label}, seed {run.seed}"
                drawn.append(
                    Drawn(name, title, "A magnitude of 1 is the transform's limit.", figure)
                )
    if figure := widths(runs):
        caption = "One line per seed. Angles are in radians, translations in twentieths of a side."
        drawn.append(Drawn("widths", "Widths that Augerino learns", caption, figure))
    return drawn


def _background(study: Study, runs: Sequence[Run]) -> list[Drawn]:
    drawn = []
    data = runs[0].config["data"]
    if figure := samples(data):
        caption = "Some samples of each class, as the runs were given them."
        drawn.append(Drawn("data", "The data", caption, figure))
    for name, title, key, label in (
        ("accuracy", "Test accuracy", "test_accuracy", "test accuracy"),
        ("loss", "Training loss of the task", "task", "cross-entropy"),
    ):
        if figure := over_epochs(runs, lambda row, key=key: row[key], label):  # type: ignore[misc]
            drawn.append(Drawn(name, title, BAND, figure))
    return drawn
