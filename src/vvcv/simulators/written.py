"""How a model is written: a number that tells whether the code that made a run is the code of today.

What counts is what Python compiles, not comments or layout: a function, the numbers that it was given beforehand (as
defaults, to a partial, by what surrounds it, beside it in its file), and functions of its file that it calls. A text
beside it may be the folder of the day, and does not count; what it calls elsewhere, a solver of its own, is not seen.
"""

from __future__ import annotations

import dis
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from inspect import unwrap
from types import CellType, CodeType, FunctionType
from typing import Any

#: Instructions by which a function gives something outside it another value: a count of calls, say.
CHANGES = ("STORE_GLOBAL", "STORE_DEREF")


def written(model: Callable[..., Any]) -> str | None:
    """The version of Python and a number for the model's code; None where none is to be seen.

    >>> written(lambda a: a + 1) == written(lambda a: a + 1) != written(lambda a: a + 2)
    True
    >>> written(max) is None
    True
    """
    try:
        parts = list(_parts(model, set()))
    except Exception:  # of an odd callable; the model may run all the same
        return None
    if not any(isinstance(part, bytes) for part in parts):
        return None
    return f"{sys.version_info[0]}.{sys.version_info[1]} {zlib.crc32(repr(parts).encode('utf-8', 'replace')):08x}"


def is_otherwise(then: str | None, now: str | None) -> bool:
    """Whether code has changed, where both are known: another version of Python compiles the same code otherwise.

    >>> is_otherwise("3.11 0a", "3.11 0b"), is_otherwise("3.11 0a", "3.12 0b"), is_otherwise(None, "3.12 0b")
    (True, False, False)
    """
    return then is not None and now is not None and then != now and then.split()[0] == now.split()[0]


def _parts(given: Any, seen: set[int]) -> Iterator[Any]:
    """All that is written of a function, a number or several that stay; of anything else, such as a list, nothing."""
    if isinstance(given, int | float | complex):
        yield repr(given)
    elif isinstance(given, tuple):
        for item in given:
            yield from _parts(item, seen)
    elif isinstance(given, partial):
        yield from _parts((given.func, given.args, tuple(given.keywords.values())), seen)
    elif (function := _function(given)) is not None and id(function) not in seen:
        seen.add(id(function))
        yield from _code_parts(function.__code__, function.__doc__)
        yield from _parts(tuple(_beforehand(function)), seen)


def _function(given: Any) -> FunctionType | None:
    """The function of a function, a method, a decorated one, or an object that is called."""
    if not callable(given) or isinstance(given, type):
        return None
    found = unwrap(given)
    found = getattr(found, "__func__", found)
    found = found if isinstance(found, FunctionType) else type(found).__call__
    return found if isinstance(found, FunctionType) else None


def _beforehand(function: FunctionType) -> Iterator[Any]:
    """What a function was given before it is called, but for what it changes itself."""
    code, beside = function.__code__, function.__globals__
    changed = {step.argval for step in dis.get_instructions(code) if step.opname in CHANGES}
    yield function.__defaults__ or ()
    yield tuple((function.__kwdefaults__ or {}).values())
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if name not in changed:
            yield _content(cell)
    for name in code.co_names:
        found = beside.get(name)
        if name not in changed and (not callable(found) or getattr(found, "__module__", "") == function.__module__):
            yield found


def _content(cell: CellType) -> Any:
    with suppress(ValueError):  # of one that is empty still
        return cell.cell_contents


def _code_parts(code: CodeType, doc: str | None = None) -> Iterator[Any]:
    yield from (code.co_code, code.co_names, code.co_varnames)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            kept = None if constant == doc else constant
            yield repr(sorted(map(repr, kept)) if isinstance(kept, frozenset) else kept)
