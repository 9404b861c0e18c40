"""The HTML page holds everything it shows, runs nothing, and shows names as they are."""

import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import vvcv
from vvcv import Tasks

X = np.random.default_rng(0).normal(size=(60, 2))
NAMES = [
    "<script>alert('x')</script>",
    '[bold]$\\frac{1$ & "co"',
    "two\nlines \N{GREEK SMALL LETTER PI}",
    "\ud800\x1b[31m",
]


class Page(HTMLParser):
    """Tags, attributes that point elsewhere, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.links, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href") or "url(http" in (value or "")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def estimate():
    values = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 2, np.cos(X[:, 0]), X[:, 0]])
    return vvcv.estimate(Tasks.shared(X, X, values, names=NAMES), "zv", on_alarm="ignore")  # scores of the wrong sign


@pytest.fixture(scope="module")
def page(estimate, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    estimate.report(path, exact=[1.6, 1.0, 0.6, 0.0])
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def test_the_page_holds_table_picture_and_checks(page):
    read = Page(page)
    assert read.tags.count("tr") == 1 + len(NAMES) and "svg" in read.tags
    assert "wrong sign" in read.text and "share their points" in read.text


def test_the_page_refers_to_nothing_outside_itself_and_runs_nothing(page):
    read = Page(page)
    assert "script" not in read.tags and "link" not in read.tags and "img" not in read.tags
    assert all(link.startswith("#") for link in read.links)


def test_names_are_shown_as_they_are_with_control_characters_spelled_out(page):
    read = Page(page)
    for shown in (NAMES[0], NAMES[1], "two\\nlines \N{GREEK SMALL LETTER PI}", "\\ud800\\x1b[31m"):
        assert shown in read.text


def test_the_printed_table_escapes_names_too(estimate):
    text = str(estimate)
    text.encode("utf-8")  # a lone surrogate would not go to any terminal
    assert "\x1b" not in text and "two\\nlines" in text and NAMES[0] in text


def test_a_loaded_estimate_reports_the_same_page(estimate, page, tmp_path):
    pytest.importorskip("h5netcdf")
    estimate.save(tmp_path / "e.nc")
    vvcv.load(tmp_path / "e.nc").report(tmp_path / "r.html")
    assert Page((tmp_path / "r.html").read_text(encoding="utf-8")).tags.count("tr") == Page(page).tags.count("tr")


def test_without_matplotlib_the_page_has_no_picture_but_says_so(estimate, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    estimate.report(tmp_path / "r.html")
    read = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "svg" not in read.tags and "vvcv[plot]" in read.text
