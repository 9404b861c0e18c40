"""1. What is known: tasks, validation, standardisation, duplicates."""

from .duplicates import Distinct, merge_duplicates
from .standardize import Coordinates, can_whiten
from .task import Task, Tasks, as_tasks
from .validation import finite_array, require

__all__ = [
    "Coordinates",
    "Distinct",
    "Task",
    "Tasks",
    "as_tasks",
    "can_whiten",
    "finite_array",
    "merge_duplicates",
    "require",
]
