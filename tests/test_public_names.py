"""Every public name is documented and typed, most have an example that runs, and no file or function is long."""

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("", ".paper", ".kernels", ".inputs", ".interop", ".simulators", ".thermodynamic", ".estimation", ".data")
LONGEST_FILE, LONGEST_FUNCTION = 300, 45

NAMES = {
    f"vvcv{room}.{name}": getattr(import_module(f"vvcv{room}"), name)
    for room in ROOMS
    for name in import_module(f"vvcv{room}").__all__
}
DOCUMENTED = {name: thing for name, thing in NAMES.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


def members(thing):
    """A class's own public methods and properties as functions."""
    for name, member in vars(thing).items() if inspect.isclass(thing) else ():
        function = getattr(member, "fget", getattr(member, "func", getattr(member, "__func__", member)))
        if inspect.isfunction(function) and not name.startswith("_"):
            yield function


def has_example(thing):
    return any(">>>" in (part.__doc__ or "") for part in (thing, *members(thing)))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_public_name_says_what_it_is_in_one_line(name):
    first, *rest = inspect.cleandoc(vars(DOCUMENTED[name]).get("__doc__") or DOCUMENTED[name].__doc__ or "").split("\n")
    assert first.endswith((".", ":", ";")) and not first.startswith(f"{DOCUMENTED[name].__name__}(")
    assert not rest or rest[0] == ""


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_types_of_a_public_name_can_be_read(name):
    for part in (DOCUMENTED[name], *members(DOCUMENTED[name])):
        get_type_hints(part)


def unquoted(source):
    """Lines with the shape of an array that is no text: `N * m` without quotes is a product."""
    arrays = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Subscript)]
    shaped = [n for n in arrays if isinstance(n.value, ast.Name) and n.value.id in ("Float", "Int", "Bool", "Shaped")]
    return [n.lineno for n in shaped if not isinstance(n.slice.elts[1], ast.Constant)]


def test_shapes_of_arrays_are_texts():
    assert unquoted("x: Float[np.ndarray, N * m]") == [1] and unquoted('x: Float[np.ndarray, " N *m"]') == []
    found = {str(path): unquoted(path.read_text()) for path in (ROOT / "src").rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("room", ["vvcv", "vvcv.paper", "vvcv.kernels", "vvcv.inputs"])
def test_at_least_half_of_the_public_names_have_an_example_that_runs(room):
    names = [name for name in DOCUMENTED if name.rpartition(".")[0] == room]
    without = [name for name in names if not has_example(DOCUMENTED[name])]
    assert len(names) >= 10 and len(without) <= len(names) / 2, without


def too_long(source):
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    long = [f.name for f in functions if f.end_lineno - f.lineno >= LONGEST_FUNCTION]
    return long + ["the file"] * (source.count("\n") > LONGEST_FILE)


def test_no_file_or_function_is_long():
    files = [path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)): too_long(path.read_text()) for path in files}
    assert {path: long for path, long in found.items() if long} == {}


def test_a_long_function_and_a_long_file_are_found():
    assert too_long("def f():\n" + "    pass\n" * LONGEST_FUNCTION) == ["f"]
    assert too_long("def f():\n" + "    pass\n" * (LONGEST_FUNCTION - 1)) == []
    assert too_long("pass\n" * (LONGEST_FILE + 1)) == ["the file"]


def test_folders_of_tests_mirror_those_of_the_source():
    rooms = {path.name for path in (ROOT / "src" / "vvcv").iterdir() if path.is_dir() and path.name != "__pycache__"}
    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms - tested == set()
    assert tested - rooms == {"samplers", "trust"}  # runs of other people's programs, and of the trust suite


@pytest.mark.parametrize("room", ["", ".paper"])
def test_names_that_are_imported_later_are_listed(room):
    module = import_module(f"vvcv{room}")
    assert set(module.__all__) <= set(dir(module))
