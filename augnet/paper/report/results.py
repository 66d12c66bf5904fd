"""Make a page of each of the paper's experiments from the records and figures in `results/`."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean, median

from augnet.paper.config import ConfigError, Experiment, names, read
from augnet.paper.report import searches
from augnet.paper.report.kept_figures import lowered, pictures_of, pictures_of_searches
from augnet.paper.report.records import Record
from augnet.paper.report.result_page import ResultPage
from augnet.paper.report.search_scores import NO_AUGMENTATION
from augnet.paper.report.search_scores import OURS as OUR_METHOD
from augnet.paper.report.study import CLAIMS_TITLE, MEANS_NOTE, Study, compare_protocols, load
from augnet.paper.report.tables import Table, by_label, scores
from augnet.paper.report.wording import median_and_range, unit_of

OURS, PAPER = "ours", "paper"
FIRST = (OURS, PAPER)  # then others by name
NAMED = {
    OURS: "The edge rule",
    PAPER: "The paper's settings",
    f"{PAPER}+authors": "The paper's settings with the authors' phases",
}
EDGE_RULE = "our own objective ([what it is](../objective.md#ours-the-edge-rule))."
STUDIES = {
    "capacity": "objectives",
    "cifar10": "cifar10",
    "mario-iggy": "objectives",
    "sinusoids": "objectives",
    "sleep": "sleep",
}
"""The pages of docs/studies that discuss an experiment."""
RUNS_READING = "Values are medians over the seeds, with the range over the seeds."
STRENGTH_READING = (
    "A strength is that of the saved net, which is the average over the last quarter of training, "
    "unless a note above says otherwise."
)
SEARCHES_READING = (
    "Values are medians over the folds, with the range over the folds. A pass is one sample that "
    "goes forward and backward through the trunk. Pretraining and retraining are included. The "
    f"passes to the final score of {OUR_METHOD} are those from which on a method keeps it to its "
    "end; *never*: it ends below."
)
CLAIMS_READING = (
    "The claims and their criteria are in `augnet/paper/experiments/*.toml`. The paper gives "
    "curves and no tolerances, so the tolerances are ours. A transform is selected if it has at "
    "least half of the weight of its layer, and no tie. [k of n] counts the seeds in which a "
    "claim holds."
)


def pages(folder: Path) -> list[ResultPage]:
    """Make a page of each experiment that has records, in the order of the paper's sections."""
    made = []
    for name in sorted(names(), key=lambda name: read(name).section):
        kept = [load(path) for path in sorted(folder.glob(f"{name}*.json"))
                if not path.stem.endswith("-search")]  # fmt: skip
        kept.sort(key=lambda study: (_order(study.protocol), study.part))
        searched = [searches.load(path) for path in sorted(folder.glob(f"{name}*-search.json"))]
        if kept or searched:
            made.append(page(name, kept, searched, folder))
    if not made:
        raise ConfigError(f"no records of experiments in {folder}")
    return made


def _order(protocol: str) -> tuple[int, str]:
    return (FIRST.index(protocol) if protocol in FIRST else len(FIRST)), protocol


def page(
    name: str, kept: Sequence[Study], searched: Sequence[searches.SearchStudy], folder: Path
) -> ResultPage:
    """Make the page of one experiment: its runs under all protocols, and its searches."""
    experiment = read(name)
    details: dict[str, str] = {}
    pictures = [each for study in kept for each in pictures_of(study, settings(study), folder)]
    pictures += [each for study in searched for each in pictures_of_searches(study, folder)]
    for study in kept:
        for title, table in study.tables.items():
            reading = f"\n{CLAIMS_READING}\n" if title == CLAIMS_TITLE else ""
            details[f"{title}: {lowered(settings(study))}"] = f"{table.markdown}{reading}"
    if comparison := compare_protocols(kept).get(name):
        table = comparison.table
        details["Comparison of settings by means"] = f"{table.markdown}\n{MEANS_NOTE}\n"
    if more := "\n".join(each.markdown for each in pictures[1:]):
        details["More figures"] = more
    tables = [(runs_table(kept), _reading(kept))] if kept else []
    tables += [
        (study.table, SEARCHES_READING + _explained(experiment, [study.protocol]))
        for study in searched
    ]
    return ResultPage(
        name,
        experiment.title,
        experiment.question,
        [*map(sentence, kept), *map(search_sentence, searched)],
        tables,
        [line for study in kept for line in study.commands]
        + [line for study in searched for line in study.commands],
        _provenance(kept, searched),
        pictures[0] if pictures else None,
        [f"**{settings(study)}:** {study.note}" for study in kept if study.note],
        f"The study: [{STUDIES[name]}](../studies/{STUDIES[name]}.md)." if name in STUDIES else "",
        brief(kept, searched),
        details,
    )


def _reading(kept: Sequence[Study]) -> str:
    """Say how to read the table of runs, and what its settings are."""
    experiment = kept[0].experiment
    strength = [STRENGTH_READING] if experiment.expect.transform else []
    protocols = _explained(experiment, [study.protocol for study in kept])
    return " ".join((RUNS_READING, *strength)) + protocols


def _explained(experiment: Experiment, protocols: Sequence[str]) -> str:
    """Say what the settings of protocols are."""
    found = experiment.explained(protocols)
    if OURS in protocols:
        found = {OURS: EDGE_RULE, **found}
    named = {name: lowered(NAMED.get(name, name)) for name in found}
    return "".join(f"\n\n- *{named[name]}*: {text}" for name, text in found.items())


def _provenance(kept: Sequence[Study], searched: Sequence[searches.SearchStudy]) -> str:
    """Name data, commits, versions and machines, once for settings that share them."""
    lines: dict[str, list[str]] = {}
    for study in kept:
        lines.setdefault(study.provenance, []).append(settings(study))
    for search in searched:
        commits = " or ".join(search.commits)
        machines = " or ".join(search.machines) or "not in the file"
        text = f"Data: {search.data}. commit {commits}, machine {machines}"
        lines.setdefault(text, []).append(f"Searches, protocol {search.protocol}")
    return "\n".join(f"- {', '.join(titles)}. {text}." for text, titles in lines.items())


def settings(study: Study) -> str:
    """Name the settings of a study."""
    named = NAMED.get(study.protocol, f"Protocol {study.protocol}")
    return f"{named}, {study.part}" if study.part else named


def brief(kept: Sequence[Study], searched: Sequence[searches.SearchStudy]) -> str:
    """Say what the first study found."""
    return found(kept[0]) if kept else ranked_searches(searched[0])


def found(study: Study) -> str:
    """Say what a study found."""
    what = known(study) or ranking(study) or swept(study)
    return f"{settings(study)}, {study.seeds}: {what}" if what else ""


def sentence(study: Study) -> str:
    """Say what a study found, and how many of the paper's claims hold."""
    return " ".join(filter(None, (found(study), study.outcome)))


def known(study: Study) -> str:
    """Say which invariance and which strength are found, if it is known what they should be."""
    sentences: dict[str, str] = {}
    for each in study.judged:
        claim = each.claim
        values = [value for finding in each.findings for value in finding.values.values()]
        numbers = [value for value in values if isinstance(value, float | int)]
        held = sum(sum(finding.held.values()) for finding in each.findings)
        if not numbers or claim.quantity in sentences:
            continue
        runs = f"{held} of {len(numbers)} runs"
        middle, unit = median_and_range(numbers), unit_of(claim)
        if claim.quantity == "invariance" and claim.at_least is not None:
            sentences[claim.quantity] = (
                f"AugNet's invariance with {claim.copies} copies is {middle}; {runs} have "
                f"{claim.at_least:g} or more."
            )
        if claim.quantity == "used-strength" and claim.near is not None:
            sentences[claim.quantity] = (
                f"`{claim.transform}` gets {middle}{unit}. The truth is {claim.near:g}{unit}; "
                f"{runs} are within {100 * (claim.tolerance or 0):g} % of it."
            )
    return " ".join(sentences.values())


def ranking(study: Study) -> str:
    """Name the best variants and their scores, and compare ours with the best other."""
    records = [record for record in study.records if not record.sweep]
    if not records:
        return ""
    title, score = next(iter(scores(study.protocol, records).items()))
    groups = by_label(records)
    means = {label: _mean(score, group) for label, group in groups.items()}
    order = sorted(means, key=lambda label: -means[label])
    named = dict.fromkeys([*order[:3], *(each for each in (OUR_METHOD, NO_AUGMENTATION)
                                         if each in means)])  # fmt: skip
    text = f"accuracy ({title}): " + ", ".join(f"{each} {means[each]:.3f}" for each in named) + "."
    others = [each for each in order if each != OUR_METHOD]
    if OUR_METHOD not in means or not others:
        return text
    theirs = {record.seed: score(record) for record in groups[others[0]]}
    points = [
        100 * (mine - other)
        for record in groups[OUR_METHOD]
        if (mine := score(record)) is not None and (other := theirs.get(record.seed)) is not None
    ]
    if not points:
        return text
    span = f" ({min(points):+.1f} to {max(points):+.1f})" if len(points) > 1 else ""
    return f"{text} {OUR_METHOD} less {others[0]}, seed by seed: {fmean(points):+.1f}{span} points."


def swept(study: Study) -> str:
    """Name what was swept in a study of sweeps alone."""
    points: dict[str, list[str]] = {}
    for record in study.records:
        for key, value in record.sweep.items():
            points.setdefault(key, []).append(str(value))
    texts = [f"`{key}` at {', '.join(dict.fromkeys(values))}" for key, values in points.items()]
    return f"a sweep of {' and '.join(texts)}." if texts else ""


def _mean(score: Callable[[Record], float | None], group: Iterable[Record]) -> float:
    known = [value for record in group if (value := score(record)) is not None]
    return fmean(known) if known else float("-inf")


def search_sentence(study: searches.SearchStudy) -> str:
    """Name the best methods, and say what AugNet costs and what does not help."""
    return " ".join((ranked_searches(study), *study.sentences))


def ranked_searches(study: searches.SearchStudy) -> str:
    """Name the best methods and their scores."""
    finals = {
        method: [float(curve.test[-1]) for curve in seeds.values()]
        for method, seeds in study.curves.items()
    }
    order = sorted(finals, key=lambda method: -median(finals[method]))
    named = dict.fromkeys([*order[:3], *(each for each in (OUR_METHOD, NO_AUGMENTATION)
                                         if each in finals)])  # fmt: skip
    best = ", ".join(f"{each} {median_and_range(finals[each])}" for each in named)
    counts = sorted({len(values) for values in finals.values()})
    folds = f"{counts[0]} to {counts[-1]} folds" if len(counts) > 1 else f"{counts[0]} folds"
    return f"Searches on {study.data}, {folds}: {study.metric} {best}."


def runs_table(kept: Sequence[Study]) -> Table:
    """List the seeds, the strength, the invariance and the accuracy of each variant."""
    expect = kept[0].experiment.expect
    records = [record for study in kept for record in study.records]
    invariances = any(record.measured for record in records)
    balanced = any(record.balanced_accuracy is not None for record in records)
    views = sorted({record.max_copies for record in records if record.scored})
    columns = (
        "settings", "variant", "seeds",
        *([f"strength of {expect.transform}"] if expect.transform else []),
        *(["invariance"] if invariances else []),
        *(["balanced accuracy"] if balanced else []),
        *(["accuracy, plain samples"] if views else ["test accuracy"]),
        *(f"accuracy, {copies} own views" for copies in views),
    )  # fmt: skip
    rows = []
    for study in kept:
        plain = [record for record in study.records if not record.sweep]
        for label, group in by_label(plain).items():
            rows.append((
                settings(study), label, str(len(group)),
                *([_span((each.strength(str(expect.transform)) for each in group), expect.unit)]
                  if expect.transform else []),
                *([_span(map(_invariance, group))] if invariances else []),
                *([_span(each.balanced_accuracy for each in group)] if balanced else []),
                _span(map(_plain_accuracy, group)),
                *(_span(each.accuracy_over("own", copies) for each in group) for copies in views),
            ))  # fmt: skip
    return Table(columns, rows)


def _invariance(record: Record) -> float | None:
    """Return the invariance with the most copies."""
    rows = sorted(record.measured, key=lambda row: row.copies)
    return rows[-1].invariance if rows else None


def _plain_accuracy(record: Record) -> float:
    found = record.accuracy_over("plain")
    return record.test_accuracy if found is None else found


def _span(values: Iterable[float | None], unit: str = "") -> str:
    known = [value for value in values if value is not None]
    return f"{median_and_range(known)} {unit}".rstrip() if known else "-"
