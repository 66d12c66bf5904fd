"""The results page: it says what the records say, and is up to date."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from augnet.paper.config import ConfigError
from augnet.paper.report.results import results
from augnet.paper.report.study import load

ROOT = Path(__file__).parents[3]
KEPT = sorted((ROOT / "results").glob("*-paper.json"))


def test_the_results_page_is_what_the_records_say():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == results(ROOT / "results"), (
        "python -m augnet.paper.report results docs/results.md"
    )


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_records_are_kept_under_their_name(path):
    study = load(path)
    assert path.stem == study.label
    assert study.records


def test_other_records_give_another_page(tmp_path):
    kept = json.loads(KEPT[0].read_text())
    for run in kept["runs"]:
        for measured in run["measured"]:
            measured["invariance"] = 0.99
    (tmp_path / "capacity-paper.json").write_text(json.dumps(kept))
    kept["note"] = ""
    (tmp_path / "capacity-paper.json").write_text(json.dumps(kept))
    page = results(tmp_path)
    claim = "almost perfectly invariant, whatever its capacity (fig. 5) |"
    (line,) = (line for line in page.splitlines() if claim in line)
    *_, paper, ours = line.removesuffix(" |").split(" | ")
    assert "their phases: 0.90 to 0.99" in line
    assert paper == "reproduced (20 of 20 runs)"
    assert ours == "not run"
    kept["note"] = "Made long ago."
    (tmp_path / "capacity-paper.json").write_text(json.dumps(kept))
    assert "reproduced (20 of 20 runs) (earlier settings)" in results(tmp_path)
    assert "\nMade long ago.\n" in results(tmp_path)
    assert "augnet paper run capacity --protocol paper --seeds 5" in page
    kept["changes"] = {"data.sizes": "[8, 4, 4]"}
    (tmp_path / "capacity-paper.json").write_text(json.dumps(kept))
    assert "Changed from the file's settings: `data.sizes = [8, 4, 4]`." in results(tmp_path)


def test_it_is_written_by_a_command(tmp_path):
    page = tmp_path / "results.md"
    command = [sys.executable, "-m", "augnet.paper.report", str(ROOT / "results"), str(page)]
    subprocess.run(command, check=True, cwd=ROOT)
    assert page.read_text() == results(ROOT / "results")


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"no \*-paper\.json in"):
        results(tmp_path)
    path = tmp_path / "capacity-paper.json"
    path.write_text('{"schema": 2}')
    with pytest.raises(ConfigError, match="is not a summary of a report: KeyError"):
        load(path)
    kept = json.loads(KEPT[0].read_text())
    for old in (kept | {"schema": 3}, {key: kept[key] for key in kept if key != "schema"}):
        path.write_text(json.dumps(old))
        with pytest.raises(ConfigError, match=r"capacity-paper\.json has schema \d, and this"):
            load(path)
    kept["runs"][0]["epochz"] = 3
    path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match="unknown key 'epochz': did you mean 'epochs'"):
        load(path)
    kept["runs"][0].pop("epochz")
    state = next(run for run in kept["runs"] if "transforms" in run)["transforms"][0]
    state["wieght"] = state.pop("weight")
    path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match=r"transforms\.0\.w"):
        load(path)
