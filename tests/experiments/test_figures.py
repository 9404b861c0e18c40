"""Figures can be read in grey and by colour-blind readers."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from vvcv.experiments.figures import COLOURS, MARKERS, OURS, colour, line_style

#: Machado, Oliveira and Fernandes (2009), severity 1: what linear RGB looks like without one kind of cone.
BLIND = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def linear(method):
    rgb = np.array(to_rgb(colour(method)))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("kind", BLIND)
def test_no_two_of_our_methods_look_alike_to_a_colour_blind_reader(kind):
    seen = {method: np.array(BLIND[kind]) @ linear(method) for method in ("mc", *OURS)}
    for a, b in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[a] - seen[b]) > 0.1, (a, b)


def test_without_colours_markers_and_lines_tell_the_methods_of_a_figure_apart():
    assert set(MARKERS) == set(COLOURS)
    together = [m for m in MARKERS if m != "vv_fixed_B_small"]  # which only the step function has, without "four"
    looks = [(line_style(m)["marker"], line_style(m)["ls"]) for m in together]
    assert len(set(looks)) == len(looks)
