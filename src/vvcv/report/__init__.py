"""6. What people look at: tables and plots, drawn from labelled datasets."""

from .explanation import explain
from .plot import plot_estimate, plot_methods, pyplot
from .table import render, simple_table, table, with_error

__all__ = ["explain", "plot_estimate", "plot_methods", "pyplot", "render", "simple_table", "table", "with_error"]
