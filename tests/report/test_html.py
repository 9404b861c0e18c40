"""The HTML page holds everything it shows, runs nothing but its sorting, and shows names as they are."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import vvcv
from vvcv import Task, Tasks
from vvcv.report import with_error
from vvcv.report.pictures import likeness
from vvcv.report.style import SCRIPT, STYLE

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
    main = page.partition("<tbody>")[2].partition("</tbody>")[0]
    assert main.count("<tr>") == len(NAMES) and read.tags.count("svg") == 2 + len(NAMES)
    assert "wrong sign" in read.text and "share their points" in read.text
    assert "Gain of each task" in read.text and "How to cite" in read.text and "as asked for" in read.text


def test_the_page_speaks_the_words_of_its_reader(page):
    text = Page(page).text.replace(SCRIPT, "").replace(STYLE, "")
    assert "rung" not in text and "promise" not in text


def test_the_page_refers_to_nothing_outside_itself_and_runs_one_script_only(page):
    read = Page(page)
    assert read.tags.count("script") == 1 and "link" not in read.tags and "img" not in read.tags
    assert all(link.startswith("#") for link in read.links)
    digest = base64.b64encode(hashlib.sha256(page.partition("<script>")[2].partition("</script>")[0].encode()).digest())
    assert f"script-src 'sha256-{digest.decode()}'" in page and "default-src 'none'" in page


def test_every_picture_is_described_for_those_who_do_not_see_it(page):
    assert page.count("<svg ") == page.count('<svg role="img" aria-label="')


def test_fifty_tasks_make_a_page_below_two_megabytes_that_sorts_by_exact_numbers(tmp_path):
    names = [f"task number {t}" for t in range(50)]
    many = vvcv.estimate(Tasks.shared(X, -X, X[:, :1] * np.arange(1, 51), names=names), "zv")
    many.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert len(text) < 2_000_000 and text.count("<details>") == 50
    assert f'data-value="{float(many.monte_carlo.mean[3])!r}"' in text
    assert "Fits of 6 of 50 tasks" in text


def test_the_heat_map_shows_what_a_joint_fit_learned(tmp_path):
    values = np.column_stack([X[:, 0], X[:, 0] + 0.1 * X[:, 1]])
    few = vvcv.estimate(Tasks([Task(X[:9], -X[:9], values[:9, 0]), Task(X[9:18], -X[9:18], values[9:18, 1])]), "vv")
    few.report(tmp_path / "r.html")
    assert "How alike the tasks are" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("count", [2, 3, 20])
def test_names_of_any_length_leave_the_heat_map_its_size(count):
    pytest.importorskip("matplotlib")
    squares = [
        re.findall(r'<image [^>]*?width="([\d.]+)"', likeness([f"{name}{t}" for t in range(count)], np.eye(count)))[0]
        for name in ("a", "a model with a rather long name ")
    ]
    assert squares[0] == squares[1] and float(squares[0]) > 70


def test_names_are_shown_as_they_are_with_control_characters_spelled_out(page):
    read = Page(page)
    for shown in (NAMES[0], NAMES[1], "two\\nlines \N{GREEK SMALL LETTER PI}", "\\ud800\\x1b[31m"):
        assert shown in read.text


def test_the_printed_table_escapes_names_too(estimate):
    text = str(estimate)
    text.encode("utf-8")  # a lone surrogate would not go to any terminal
    assert "\x1b" not in text and "two\\nlines" in text and NAMES[0] in text


def test_a_loaded_estimate_reports_the_same_tables(estimate, page, tmp_path):
    pytest.importorskip("h5netcdf")
    estimate.save(tmp_path / "e.nc")
    vvcv.load(tmp_path / "e.nc").report(tmp_path / "r.html")
    loaded = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert loaded.tags.count("tr") == Page(page).tags.count("tr")
    assert loaded.tags.count("svg") == 2  # the fits need the data, which are not stored


def test_without_matplotlib_the_page_has_no_picture_but_says_so(estimate, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    estimate.report(tmp_path / "r.html")
    read = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "svg" not in read.tags and "vvcv[plot]" in read.text


@pytest.mark.skipif(not (CHROMIUM := shutil.which("chromium")), reason="needs Chromium")
@pytest.mark.parametrize("width", [390, 1200])
def test_a_browser_shows_the_numbers_and_complains_of_nothing(estimate, tmp_path, width):
    estimate.report(tmp_path / "r.html")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    logging = ["--enable-logging=stderr", f"--window-size={width},900", "--dump-dom"]
    command = [CHROMIUM, *options, *logging, (tmp_path / "r.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in shown.stderr, "an error of the page, or a request that its policy forbids"
    read = Page(shown.stdout)
    for mean, error in zip(estimate.mean, estimate.std_error, strict=True):
        assert all(number in read.text for number in with_error(mean, error))


def test_names_of_any_length_leave_room_for_the_pictures(tmp_path):
    """matplotlib warns, which is an error here, where labels leave no room for the axes."""
    pytest.importorskip("matplotlib")
    names = [f"{'a very long name ' * 20}{t}" for t in range(2)]
    found = vvcv.estimate(Tasks.shared(X, -X, np.exp(X), names=names), "zv")
    found.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in names) and "a very long name a v…" in page
    assert page.count("<td class=long>") == 2 and ">the plain average would need<" in page  # each line of its own
