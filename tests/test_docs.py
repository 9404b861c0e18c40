"""The documentation says what is so: its snippets run, its links lead somewhere, its numbers are the recorded ones."""

import json
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
HOOKS = ROOT / "docs" / "hooks"


def snippets(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


# The page on simulators has a test of its own, with fewer runs than it shows.
@pytest.mark.parametrize("page", [p for p in PAGES if snippets(p) and p.name != "simulators.md"], ids=lambda p: p.stem)
def test_the_snippets_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for snippet in snippets(page):
        exec(snippet, names)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES], ids=lambda p: p.stem)
def test_every_link_within_the_tree_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    # Pages of tutorials exist once the site is built; their scripts are in the tree.
    paths = [page.parent / re.sub(r"(tutorials/\w+)\.md", r"\1.py", link) for link in local]
    assert [str(path) for path in paths if not path.exists()] == []


def test_the_numbers_of_the_readme_are_the_recorded_ones():
    recorded = runpy.run_path(str(HOOKS / "recorded_numbers.py"))
    readme = (ROOT / "README.md").read_text()
    assert readme.count("<!-- recorded: ") == readme.count("<!-- end -->") == 2
    assert recorded["with_tables"](readme) == readme, "make figures writes them anew"


def test_seconds_and_memory_of_large_samples_are_the_recorded_ones():
    recorded = json.loads((ROOT / "benchmarks" / "scale.json").read_text())
    row = r"\| ([\d,]+) \| `(\w+)`.* \| ([\d.]+) s \| ([\d.]+) GB \|"
    shown = re.findall(row, (ROOT / "docs" / "scaling.md").read_text())
    assert len(shown) == 6
    for rows, method, seconds, memory in shown:
        run = recorded[f"zarr, {method}, rows {rows.replace(',', '')}"]
        assert (float(seconds), float(memory)) == (run["processor_seconds"], run["peak_gigabytes"])


def test_pages_ask_only_for_tables_that_exist():
    recorded = runpy.run_path(str(HOOKS / "recorded_numbers.py"))
    asked = {name for page in PAGES for name in recorded["MARK"].findall(page.read_text())}
    assert asked <= set(recorded["TABLES"])


def test_every_public_name_is_in_the_reference():
    public = runpy.run_path(str(HOOKS / "check_site.py"))["PUBLIC"]
    shown = {name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)}
    top = set(import_module("vvcv").__all__)
    wanted = {
        f"{'vvcv' if name in top else module}.{name}" for module in public for name in import_module(module).__all__
    }
    assert wanted - shown - set(public) == set()


def test_tutorials_have_a_title_prose_and_pictures():
    cells = runpy.run_path(str(HOOKS / "run_tutorials.py"))["cells"]
    scripts = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
    assert len(scripts) >= 6
    for script in scripts:
        introduction, parts = cells(script.read_text())
        assert introduction and all(prose for prose, _ in parts)
        assert any("plot" in code for _, code in parts)


def test_a_site_with_faults_is_refused(tmp_path):
    check = runpy.run_path(str(HOOKS / "check_site.py"))
    page = tmp_path / "index.html"
    page.write_text('<a href="gone.html">a</a><a href="#gone">b</a><img src="https://example.org/a.png"><p id="here">')
    pages = {page: check["Page"](page)}
    assert len(list(check["dead_links"](pages, tmp_path))) == 2
    assert len(list(check["fetched_elsewhere"](pages, tmp_path))) == 1
    assert any("vvcv.estimate " in fault for fault in check["undocumented"](pages))
