"""The tower: floors use only floors below them, every room has one, and the check can fail."""

import re
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
LAYERS = re.findall(r'"([a-z_| ]+)",', (ROOT / "pyproject.toml").read_text().split("layers = [")[1].split("]")[0])


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("vvcv")


def arrows_up(graph):
    layers = [{f"vvcv.{name.strip()}" for name in layer.split("|")} for layer in LAYERS]
    floor = {room: height for height, layer in enumerate(layers) for room in layer}
    found = []
    for room, height in floor.items():
        for above, higher in floor.items():
            if higher < height and graph.find_shortest_chain(room, above, as_packages=True):
                found.append((room, above))
    return found


def test_no_floor_uses_one_above_it(graph):
    assert arrows_up(graph) == []


def test_an_arrow_that_points_up_is_found(graph):
    turned = grimp.build_graph("vvcv")
    turned.add_import(importer="vvcv.data.task", imported="vvcv.estimation.run")
    assert ("vvcv.data", "vvcv.estimation") in arrows_up(turned)


def test_every_room_has_a_floor(graph):
    rooms = {child.split(".")[1] for child in graph.find_children("vvcv")}
    assert rooms == {name.strip() for layer in LAYERS for name in layer.split("|")}


def circles(graph):
    """Files that use themselves by way of others; imports inside functions and for types alone count."""
    uses = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    return sorted(module for module in uses if module in reached(uses, module))


def reached(uses, start):
    """All that `start` uses, in however many steps."""
    found, ahead = set(), set(uses[start])
    while ahead:
        found |= ahead
        ahead = {used for module in ahead for used in uses[module]} - found
    return found


def test_no_files_go_in_circles(graph):
    assert circles(graph) == []


@pytest.mark.parametrize("via", [(), ("vvcv.estimation.weights",)])
def test_a_circle_of_files_is_found(via):
    turned, way = grimp.build_graph("vvcv"), ("vvcv.estimation.numbers", *via, "vvcv.estimation.result")
    for importer, imported in zip(way, way[1:], strict=False):
        turned.add_import(importer=importer, imported=imported)
    assert {"vvcv.estimation.numbers", "vvcv.estimation.result"} <= set(circles(turned))


def test_imports_inside_functions_and_for_types_alone_count(graph):
    lazy = graph.get_import_details(importer="vvcv.estimation.result", imported="vvcv.estimation.netcdf")
    typed = graph.get_import_details(importer="vvcv.estimation.result", imported="vvcv.report.frame")
    assert lazy[0]["line_contents"].startswith("from .netcdf") and typed
