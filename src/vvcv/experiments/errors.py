"""Most experiments: the error of every method in every cell, as a table and a figure."""

from __future__ import annotations

from typing import Any

from .experiment import Experiment
from .figures import errors_by_cell
from .results import Results
from .tables import error_table


class ErrorsByCell(Experiment):
    """An experiment whose table has one mean error for each method and cell, beside the published one."""

    def figure(self, results: Results) -> Any:
        """Mean errors against the cells."""
        return errors_by_cell(results)

    def table(self, results: Results) -> str:
        """Mean errors with the published numbers."""
        return error_table(results)
