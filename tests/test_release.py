"""What a release promises: one version everywhere, lower bounds for all packages, no pickle, a workflow like ours."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = [path for folder in ("src", "tests", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")]

#: Modules that unpickle, or run what they read, and calls that lead there.
UNSAFE = (
    r"\b(import|from)\s+(pickle|cPickle|dill|cloudpickle|joblib|shelve|marshal)\b|read_pickle|allow_pickle\s*=\s*True"
)


def test_no_source_unpickles():
    found = [path.name for path in SOURCES if re.search(UNSAFE, path.read_text()) and path != Path(__file__)]
    assert len(SOURCES) > 200 and not found


def test_the_version_stands_once_in_each_place():
    version = PROJECT["version"]
    citation = (ROOT / "CITATION.cff").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == version
    released = re.search(r"^## \[(\d[\d.]*)\] - (\S+)$", changes, re.M)
    assert released[1] == version
    assert re.search(r"^date-released: (.*)$", citation, re.M)[1] == released[2]


def test_the_citation_names_what_its_format_requires_and_the_paper():
    citation = (ROOT / "CITATION.cff").read_text()
    for key in ("cff-version: 1.2.0", "message:", "title:", "authors:", "preferred-citation:", "license: MIT"):
        assert re.search(f"^{key}", citation, re.M), key
    assert [f"family-names: {name}" in citation for name in ("Sun", "Barp", "Briol")] == [True] * 3


def test_every_package_has_a_lower_bound_that_the_release_check_installs(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    release_check = pytest.importorskip("release_check")
    extras = {"x": ["vvcv[y]", "b>=4; os_name == 'nt'"], "z": ["a>=1.1", "b>=3.10"]}
    project = {"dependencies": ["a>=1.2,<3"], "optional-dependencies": extras}
    assert release_check.lower_bounds(project) == ["a==1.2", "b==4"]
    bounds = {line.split("==")[0] for line in release_check.lower_bounds(PROJECT)}
    named = {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]}
    assert named <= bounds and len(named) >= 10


def test_the_workflow_repeats_what_our_own_check_runs_and_names_no_registry():
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    jobs = pytest.importorskip("yaml").safe_load(text)["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    ours = re.findall(r"^make \S+", (ROOT / ".ci" / "run").read_text(), re.M)
    assert len(ours) >= 3 and set(ours) <= set(runs)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
    assert {run.removeprefix("make ") for run in runs} <= set(targets)
    assert set(jobs["test"]["strategy"]["matrix"]["os"]) == {"ubuntu-latest", "ubuntu-24.04-arm", "macos-latest"}
    assert "pypi" not in text.lower()


def test_the_classifiers_are_the_pythons_of_the_workflow_and_ours_among_them():
    versions = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert versions == ["3.11", "3.12", "3.13"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert all(f'"{version}"' in workflow for version in versions)
    assert sys.version_info >= (3, 11)
