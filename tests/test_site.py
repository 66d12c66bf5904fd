"""The site: pages can be reached, links lead somewhere, and generated pages are up to date."""

import fnmatch
import importlib
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from augnet.__main__ import app
from augnet.transforms import TRANSFORMS, build_transforms

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
REFERENCE = runpy.run_path(str(DOCS / "reference.py"))["PAGES"]
GENERATED = {"performance.md", "results.md", *REFERENCE}  # and docs/results/
MAX_LINES = 200
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
    for index, folder in (
        (DOCS / "index.md", DOCS),
        (DOCS / "results.md", DOCS / "results"),
        (DOCS / "studies" / "index.md", DOCS / "studies"),
    ):
        entries = [
            line
            for tree in re.findall(r"```\{toctree\}\n(.*?)```", text(index), re.DOTALL)
            for line in tree.splitlines()
            if line and not line.startswith(":")
        ]
        for page in PAGES:
            if page.parent == folder and page.stem != "index":
                name = page.relative_to(index.parent).with_suffix("").as_posix()
                assert any(fnmatch.fnmatch(name, entry) for entry in entries), page.name
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


@pytest.mark.parametrize("name", REFERENCE)
def test_pages_that_are_made_from_the_code_are_up_to_date(name):
    assert text(DOCS / name) == REFERENCE[name](), "python docs/reference.py"


def test_each_transform_has_a_picture_at_three_strengths():
    drawing = runpy.run_path(str(DOCS / "transform_pictures.py"))
    rotate, flip, shift = build_transforms(
        ["rotate", "horizontal_flip", "frequency_shift"], sfreq=drawing["SFREQ"]
    )
    views = drawing["views"](rotate)
    assert len(views) == 4
    assert all((view != views[0]).any() for view in views[1:])
    assert len(drawing["views"](flip)) == 2
    assert drawing["picture"](shift).size[0] == 400
    pictures = {file.stem for file in (DOCS / "_static" / "transforms").glob("*.png")}
    built_in = {n for n, cls in TRANSFORMS.items() if cls.__module__.startswith("augnet.")}
    assert pictures == built_in, "python docs/transform_pictures.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_short(page):
    if page.name not in GENERATED and page.parent != DOCS / "results":
        assert len(text(page).splitlines()) <= MAX_LINES


def commands(page: Path) -> list[list[str]]:
    """Return the arguments of the `augnet` commands that stand alone on a line of a page."""
    lines = re.findall(r"^ {4}(?:\.venv/bin/)?augnet (.+)$", text(page), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_commands_on_pages_can_be_called(page):
    if page.name in REFERENCE:  # usage lines have placeholders
        return
    for arguments in commands(page):
        command = get_command(app)
        while command is not None:
            context = command.make_context("augnet", arguments)
            command = None
            if hasattr(context.command, "list_commands"):
                given = [*context._protected_args, *context.args]
                _, command, arguments = context.command.resolve_command(context, given)


def test_commands_of_the_demo_can_be_called():
    lines = re.findall(r"^\t\$\(BIN\)/augnet (learn .+)$", text(ROOT / "Makefile"), re.MULTILINE)
    (line,) = lines
    name, *arguments = shlex.split(line)
    context = get_command(app).commands[name].make_context(name, arguments)
    assert context.params["by_class"]
    assert str(context.params["data"]) == "digits"


def test_each_result_of_the_readme_links_to_its_command_and_commit():
    table = text(ROOT / "README.md").partition("\n## Results\n")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 5
    for row in rows:
        pages = re.findall(r"\]\(docs/(results/[\w-]+\.md)\)", row)
        assert pages
        assert all("## How it was made" in text(DOCS / page) for page in pages)


@pytest.mark.parametrize("module", PUBLIC)
def test_the_reference_has_all_that_is_public(module):
    page = "".join(text(DOCS / name) for name in ("api.md", "api-data.md", "transforms.md"))
    for name in importlib.import_module(f"augnet{module}").__all__:
        assert re.search(rf"\b{name}\b", page), name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_begin_with_a_title_for_the_gallery(example):
    title, line, empty, *_ = text(example).removeprefix('"""').splitlines()
    assert line == "=" * len(title)
    assert not empty


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_five_minutes_are_true(tmp_path):
    page = text(DOCS / "start.md")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    stated, found = (
        float(re.search(r"rotate: bounded, ±([\d.]+) degrees", said)[1])
        for said in (page, done.stdout.decode())
    )
    assert abs(found - stated) < 8  # other machines add numbers in another order
    for arguments in commands(DOCS / "start.md"):  # they read what the last block has written
        subprocess.run([sys.executable, "-m", "augnet", *arguments], cwd=tmp_path, check=True)
    assert (tmp_path / "learned" / "index.html").exists()


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
