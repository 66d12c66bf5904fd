"""Make docs/performance.md from results/speed.json, inference.json and value.json."""

import json
from pathlib import Path

from speed_cells import CELLS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"

TEXTS = {
    "startup": "Processor time of a new process. `import augnet` and `augnet --help` import no "
    "torch; the first name that is used does.",
    "narrow-step": "What augmentation adds to a training step of a narrow network. This is the "
    "hardest case, because the network is cheap. The target for two drawn transforms per sample is "
    "1.15. Ranges that are tuned by losses need no gradient in the images, so they cost less than "
    "ranges that are learned by gradient.",
    "wide-step": "The same at the width of the paper, where augmentation hardly counts. The target "
    "is 1.05.",
    "cifar": "The mixture of all transforms is the paper's protocol. It is compared with the same "
    "mixture made with kornia. With *decided weights*, each layer has all of its weight on one "
    "transform.",
    "drawn": "One transform per sample, drawn by the weights, instead of the weighted sum of all.",
    "eeg": "The same for signals, beside braindecode.",
    "augerino": "Augerino's affine layer beside its definition.",
    "copies-of-one": "What it takes to make copies of one image, without a network. Params of all "
    "copies are drawn in one call; sample pairing needs one call for each copy.",
    "copies": "Predictions are averaged over C copies. Time grows with C; memory does not.",
    "formats": "Channels-last helps convolutions. Lower precision needs hardware for it.",
    "growth": "Time and memory grow with the batch, the size of samples, and the number of "
    "transforms of a mixture.",
}
TITLES = {"startup": "Start"} | {name: build.__doc__ for name, (build, _) in CELLS.items()}


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table."""
    lines = [header, ["---"] * len(header), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def cell(name: str, threads: dict) -> list[str]:
    """Return the section of one cell: ratios to its first case, with one and two threads."""
    one, two = (threads.get(count, {}).get(name, {}).get("rows", []) for count in ("1", "2"))
    ratios = {row["case"]: row["ms"] / two[0]["ms"] for row in two}
    rows = []
    for row in one:
        memory = f"{row['MB']:.0f}" if "MB" in row else ""
        other = f"{ratios[row['case']]:.2f}" if row["case"] in ratios else ""
        ratio = f"{row['ms'] / one[0]['ms']:.2f}"
        rows.append([row["case"], f"{row['ms']:.1f}", ratio, other, memory])
    header = ["case", "ms", "of the first", "of the first, two threads", "peak memory, MB"]
    kept = [n for n in range(len(header)) if n < 3 or any(row[n] for row in rows)]
    lines = table([header[n] for n in kept], [[row[n] for n in kept] for row in rows])
    return ["", f"## {TITLES[name].rstrip('.')}", "", TEXTS[name], "", *lines]


def inference(document: dict) -> list[str]:
    """Return the section of accuracy and invariance against time."""
    lines = ["", "## Predict with copies", ""]
    lines += [
        "`augnet predict` draws stratified copies, and only as many as each answer needs. Time is "
        f"relative to that of 20 independent copies. The target is {document['target']}. A net of "
        "the default size is distilled from the average over copies, without labels."
    ]
    for name, measured in document["data"].items():
        rows = [
            [
                row["way"],
                f"{row['accuracy']:.3f}",
                f"{row['invariance']:.3f}",
                f"{row['time']:.2f}",
                f"{row['mean copies']:.1f}" if "mean copies" in row else "",
            ]
            for row in measured["rows"]
        ]
        header = [name, "accuracy", "invariance", "time", "mean copies"]
        lines += ["", *table(header, rows)]
    return lines


PHASES = {
    "reference": "reference",
    "transforms": "transforms",
    "compared": "nets compared",
    "net": "last net",
}


def learned(document: dict) -> list[str]:
    """Return the section of what `learn` costs: in plain trainings, by its phases."""
    cells = {(each["data"], each["method"], each["seed"]): each for each in document["cells"]}
    rows = []
    for name in dict.fromkeys(name for name, _, _ in cells):
        mine, plain = cells.get((name, "learn", 0)), cells.get((name, "none", 0))
        if mine is None or plain is None:
            continue
        spent, one = mine["processor seconds"], plain["processor seconds"]
        parts = sum(mine["phases"].values())
        shares = (mine["phases"].get(phase, 0.0) / parts for phase in PHASES)
        ratios = (f"{spent * share / one:.2f}" for share in shares)
        rows.append([name, f"{spent / one:.2f}", *ratios])
    return [
        "",
        "## Run `learn` with all transforms that fit",
        "",
        "Processor time of `learn` as a multiple of one training of the same network with the same "
        "steps, without augmentation. It is divided among phases by their elapsed time. Runs share "
        "the machine with others, so ratios may be off by some tenths. The target "
        "for 20 transforms is 3. `transforms` measures all ranges; `nets compared` chooses how "
        "many transforms are drawn; the last net is what you get. Seed 0 of "
        "[value](results/value.md), "
        f"commit {document['commit']}. `jobs=` measures several transforms at once.",
        "",
        *table(["data", "in all", *PHASES.values()], rows),
    ]


def page(speed: dict, predicted: dict, value: dict) -> str:
    """Return the page."""
    cells = [each for run in speed["threads"].values() for each in run.values()]
    commits = {each["commit"] for each in (*cells, *predicted["data"].values())}
    made = (
        f"commit {commits.pop()}" if len(commits) == 1 else f"commits {', '.join(sorted(commits))}"
    )
    lines = [
        "# Performance",
        "",
        f"`make bench` makes this page, here at {made}: {speed['machine']}. Times are medians "
        "of interleaved repeats within one process, and ratios are to the first case of each "
        "table. One thread is timed by its processor time, two by the wall clock. What was tried, "
        "and why the mixture is not faster, is in [a study](studies/speed.md).",
    ]
    measured = [set(speed["threads"].get(count, ())) for count in ("1", "2")]
    whole = measured == [{"startup", *CELLS}, set(CELLS)]
    if "," in made or "dirty" in made or not whole:
        lines += [
            "",
            "**Preliminary:** not all was measured at one commit with one and with two threads. "
            "`make bench` measures all.",
        ]
    for name in ("startup", *CELLS):
        if name in speed["threads"].get("1", {}):
            lines += cell(name, speed["threads"])
    return "\n".join((*lines, *inference(predicted), *learned(value))) + "\n"


def main() -> None:
    """Write the page."""
    results = (
        json.loads((ROOT / "results" / f"{name}.json").read_text())
        for name in ("speed", "inference", "value")
    )
    PAGE.write_text(page(*results))


if __name__ == "__main__":
    main()
