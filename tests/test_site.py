"""The site: all pages can be reached, links lead somewhere, and the API page leaves nothing out."""

import fnmatch
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PUBLIC = [
    "",
    ".learn",
    ".audit",
    ".transforms",
    ".model",
    ".data",
    ".sklearn",
    ".training",
    ".trunks",
]


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def test_every_page_is_in_the_index():
    for index in (DOCS / "index.md", DOCS / "studies" / "index.md"):
        entries = [
            line
            for tree in re.findall(r"```\{toctree\}\n(.*?)```", text(index), re.DOTALL)
            for line in tree.splitlines()
            if line and not line.startswith(":")
        ]
        for page in PAGES:
            if page.parent == index.parent and page.stem != "index":
                assert any(fnmatch.fnmatch(page.stem, entry) for entry in entries), page.name
        for entry in entries:
            if not entry.startswith("gallery/"):
                assert list(index.parent.glob(f"{entry}.md")), entry


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text(page)):
        if link.startswith("http"):
            continue
        target = page.parent / link
        if target.parent.name == "gallery" and target.stem != "index":
            target = ROOT / "examples" / f"{target.stem}.py"
        elif target.parent.name == "gallery":
            target = ROOT / "examples" / "GALLERY_HEADER.rst"
        assert target.exists(), link


@pytest.mark.parametrize("module", PUBLIC)
def test_the_api_page_has_all_that_is_public(module):
    page = text(DOCS / "api.md")
    for name in importlib.import_module(f"augnet{module}").__all__:
        assert re.search(rf"\b{name}\b", page), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_begin_with_a_title_for_the_gallery(example):
    title, line, empty, *_ = text(example).removeprefix('"""').splitlines()
    assert line == "=" * len(title)
    assert not empty


def test_what_was_kept_of_real_data_says_how_it_was_made():
    kept = json.loads(text(ROOT / "results" / "real.json"))
    assert kept["command"] == "python benchmarks/real.py"
    for name, cells in kept["tasks"].items():
        for seed, cell in enumerate(cells):
            assert cell["seed"] == seed, name
            assert cell["commit"], name
            assert cell["accuracy"] > cell["chance"], name


@pytest.mark.slow
def test_the_five_minutes_are_true(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", text(DOCS / "start.md"), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()
    assert "rotate: bounded, ±8" in done.stdout.decode()
    assert "rotate: bounded, ±8" in text(DOCS / "start.md")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_site_is_built_without_warnings(tmp_path):
    pytest.importorskip("sphinx_gallery", reason="make docs installs what the site needs")
    build = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", str(DOCS)]
    done = subprocess.run(
        [sys.executable, *build, str(tmp_path)], capture_output=True, timeout=1200
    )
    assert done.returncode == 0, done.stderr.decode()
    for page in (*PAGES, *EXAMPLES):
        folder = "gallery" if page in EXAMPLES else page.parent.relative_to(DOCS)
        assert (tmp_path / folder / f"{page.stem}.html").exists()
