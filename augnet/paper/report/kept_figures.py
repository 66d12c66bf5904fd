"""The figures of `results/`: those that runs left there, and those that records give."""

from pathlib import Path

from matplotlib.figure import Figure

from augnet.paper.config import names
from augnet.paper.report import searches
from augnet.paper.report.figures import capacity, selectivity
from augnet.paper.report.figures.searches import improvement, score_against_cost
from augnet.paper.report.result_page import Picture
from augnet.paper.report.study import Study, load


def pictures_of(study: Study, settings: str, folder: Path) -> list[Picture]:
    """Return the figures of a study that are kept, and those that its records give."""
    # Of a study with a sweep, the runs without it are the main ones.
    names = sorted(study.figures, key=lambda name: name.startswith("sweep"))
    found = [
        Picture(f"{title}: {lowered(settings)}", _seen(folder, file), caption)
        for name, (title, caption) in ((name, study.figures[name]) for name in names)
        if (folder / (file := f"{study.label}-{name}.png")).exists()
    ]
    drawn = f"{study.label}-capacity.png"
    if any(record.measured for record in study.records) and "capacity" not in study.figures:
        caption = (
            "Lines are medians over seeds, dots are single seeds. Bars are the middle 75 % of "
        )
        title = f"Invariance and accuracy by the size of the trunk: {lowered(settings)}"
        found.insert(0, Picture(title, _seen(folder, drawn), f"{caption}the test set."))
    return found


def lowered(text: str) -> str:
    """Return a name as it stands within a sentence."""
    return text[0].lower() + text[1:]


def _seen(folder: Path, file: str) -> str:
    """Return the address of a kept figure, as seen from docs/results/."""
    return f"../../{folder.name}/{file}"


def pictures_of_searches(study: searches.SearchStudy, folder: Path) -> list[Picture]:
    """Return the figures that the curves of searches give."""
    base = f"{study.experiment}-{study.protocol}-search"
    caption = "Lines are medians over folds, shaded areas the middle 75 % of them."
    found = [
        Picture(
            f"Test {study.metric} against {cost}, {study.data}",
            _seen(folder, f"{base}-{cost}.png"),
            caption,
        )
        for cost in ("passes", "seconds")
    ]
    if searches.BASELINE in study.curves:
        title = f"Gain over {searches.BASELINE}, fold by fold, after {study.budget:.0f} passes"
        drawn = _seen(folder, f"{base}-gain.png")
        found.append(Picture(title, drawn, "Dots are folds, bars are medians."))
    return found


def draw(folder: Path) -> list[Path]:
    """Draw the figures that follow from the records alone, next to them, and figure 2."""
    figures: dict[str, Figure | None] = {"selectivity": selectivity()}
    for name in names():
        for path in sorted(folder.glob(f"{name}*.json")):
            if path.stem.endswith("-search"):
                study = searches.load(path)
                for cost in ("passes", "seconds"):
                    figures[f"{path.stem}-{cost}"] = score_against_cost(
                        study.curves, cost, study.metric
                    )
                figures[f"{path.stem}-gain"] = improvement(
                    study.curves, searches.BASELINE, study.budget, study.metric
                )
            elif "capacity" not in (kept := load(path)).figures:
                figures[f"{path.stem}-capacity"] = capacity(kept.records)
    written = []
    for file, figure in figures.items():
        if figure:
            written.append(folder / f"{file}.png")
            figure.savefig(written[-1], dpi=150)
    return written
