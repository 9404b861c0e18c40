"""6. What people look at: tables, plots and pages, drawn from labelled datasets."""

from .explanation import explain
from .html import html_report
from .plot import plot_estimate, plot_methods, pyplot
from .table import printable, render, simple_table, table, with_error

__all__ = [
    "explain",
    "html_report",
    "plot_estimate",
    "plot_methods",
    "printable",
    "pyplot",
    "render",
    "simple_table",
    "table",
    "with_error",
]
