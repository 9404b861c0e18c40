"""1. What is known: tasks, validation, standardisation, duplicates."""

from .duplicates import Distinct, merge_duplicates, point_numbers
from .groups import in_separate_groups
from .prepare import Prepared
from .rounding import rounded
from .standardize import LEADING, AnySystem, Coordinates, CoordinateSystem, can_whiten
from .task import Task, Tasks, as_tasks
from .validation import finite_array, is_number, one_of, probability_between, require, whole_number

__all__ = [
    "LEADING",
    "AnySystem",
    "CoordinateSystem",
    "Coordinates",
    "Distinct",
    "Prepared",
    "Task",
    "Tasks",
    "as_tasks",
    "can_whiten",
    "finite_array",
    "in_separate_groups",
    "is_number",
    "merge_duplicates",
    "one_of",
    "point_numbers",
    "probability_between",
    "require",
    "rounded",
    "whole_number",
]
