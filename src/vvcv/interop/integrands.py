"""What to average: variables element by element, their powers, and functions of the draws, each with a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import finite_array, require, whole_number
from ..estimation.summary import names_of
from .double import in_double

Draws = Mapping[str, Float[np.ndarray, "chain draw *shape"]]
Values = Float[np.ndarray, "chain draw"]
Functions = Mapping[str, Callable[[Any], Any]]

#: variable -> the labels along each of its axes after (chain, draw)
Labels = Mapping[str, Sequence[Sequence[Any]]]

#: Where values are not finite: draws that are left out by their values leave another distribution.
KEEP = "Draws must not be left out for it: the others would not be draws of this posterior. Mend what computes it"


def integrands(
    draws: Draws, labels: Labels, var_names: Sequence[str] | str | None, moments: int, functions: Functions | None
) -> dict[str, Values]:
    """Named values: every element of the variables asked for, then higher powers, then the functions.

    `var_names` may name elements as well; None asks for all variables, or for none where functions are given.

    >>> draws = {"theta": np.arange(6.0).reshape(1, 3, 2)}
    >>> list(integrands(draws, {}, None, 2, None))
    ['theta[0]', 'theta[1]', 'theta[0]^2', 'theta[1]^2']
    >>> list(integrands(draws, {}, "theta[1]", 1, None))
    ['theta[1]']
    >>> values = integrands(draws, {}, None, 1, {"sum": lambda draw: draw["theta"].sum(axis=-1)})
    >>> values["sum"]
    array([[1., 5., 9.]])
    """
    highest = whole_number(moments, 1, "moments, the highest power to average,")
    require(
        highest == 1 or var_names is not None or not functions,
        f"moments={moments} asks for powers of variables, but beside functions only the variables that var_names names "
        f"are taken, and it names none. Pass var_names={list(draws)}, or those of them that are wanted, or no moments.",
    )
    first = [(name, _averageable(name, values)) for name, values in _chosen(draws, labels, var_names, functions)]
    powers = [(f"{name}^{k}", values**k) for k in range(2, highest + 1) for name, values in first]
    named = [*first, *powers, *_evaluated(draws, functions or {})]
    repeated = sorted(name for name, count in Counter(name for name, _ in named).items() if count > 1)
    require(
        not repeated,
        f"Integrands must have names of their own, but {repeated} occur more than once. Give the functions names that "
        "differ from those of variables, their elements and their powers.",
    )
    return dict(named)


def elements(
    variable: str, values: np.ndarray, labels: Labels
) -> Iterator[tuple[str, Float[np.ndarray, "chain draw"]]]:
    """Each element of a variable with its name: `tau`, `theta[1,2]`, or `theta[Choate]` where axes are labelled.

    Labels that do not tell the elements of an axis apart (a county for every observation) give way to places.
    """
    shape = values.shape[2:]
    if not shape:
        yield variable, values
        return
    axes = [_distinct(axis) for axis in labels.get(variable) or map(range, shape)]
    for index, label in zip(np.ndindex(*shape), product(*axes), strict=True):
        yield f"{variable}[{','.join(map(str, label))}]", values[(..., *index)]


def _distinct(axis: Sequence[Any]) -> Sequence[Any]:
    return axis if len(set(map(str, axis))) == len(axis) else range(len(axis))


def _chosen(
    draws: Draws, labels: Labels, var_names: Sequence[str] | str | None, functions: Functions | None
) -> list[tuple[str, Values]]:
    """The elements asked for, each once however often it is named: those of whole variables, or by their own names."""
    if var_names is None:
        return [] if functions else [each for name in draws for each in elements(name, draws[name], labels)]
    names = names_of(var_names, "var_names")
    found = [
        (variable, element, values)
        for name in names
        for variable in ([name] if name in draws else [each for each in draws if name.startswith(f"{each}[")])
        for element, values in elements(variable, draws[variable], labels)
        if name in (variable, element)
    ]
    known = {part for variable, element, _ in found for part in (variable, element)}
    unknown = [name for name in names if name not in known]
    require(
        not unknown,
        f"There is no posterior variable {unknown}; the variables are {list(draws)}"
        f"{_element_names(unknown, draws, labels)}.",
    )
    return list({(variable, element): (element, values) for variable, element, values in found}.values())


def _element_names(unknown: Sequence[str], draws: Draws, labels: Labels) -> str:
    """What the elements are called, where one that is asked for has a variable's name and another place."""
    meant = [variable for variable in draws if any(name.startswith(f"{variable}[") for name in unknown)]
    named = {variable: [element for element, _ in elements(variable, draws[variable], labels)] for variable in meant}
    return "".join(f", and the elements of {variable!r} are {each}" for variable, each in named.items())


def _averageable(name: str, values: np.ndarray) -> Values:
    """Values as wide numbers, whose powers neither wrap around nor round to single precision."""
    try:
        return finite_array(values, f"values of task {name!r}", f"{KEEP}.")
    except ValueError as error:
        raise ValueError(f"{error} Or leave it out: say with var_names= which variables are wanted.") from None


def _evaluated(draws: Draws, functions: Functions) -> Iterator[tuple[str, Values]]:
    require(
        isinstance(functions, Mapping) and all(map(callable, functions.values())),
        "functions maps names to functions of the draws, as in {'best': lambda draws: draws['theta'].max(axis=-1)}, "
        f"but is {functions!r}.",
    )
    leading = next(iter(draws.values())).shape[:2]
    for name, function in functions.items():
        remedy = f"{KEEP}, or let it give a number there."
        values = finite_array(_value(name, function, draws), f"values of the function {name!r}", remedy)
        require(
            values.shape[:2] == leading,
            f"The function {name!r} must give one number or one array per draw, shape {leading} or {(*leading, 'k')}, "
            f"but gave {values.shape}. It is called once, with arrays (chain, draw, ...): reduce over the later axes, "
            "as in draws['theta'].max(axis=-1).",
        )
        yield from elements(name, values, {})


def _value(name: str, function: Callable[[Any], Any], draws: Draws) -> Any:
    """What a function of the draws gives; they are read-only, since other integrands are made of them as well."""
    try:
        return in_double(function)(dict(draws))
    except KeyError as error:
        raise ValueError(
            f"The function {name!r} asks for {error}, which is not there; the variables of draws are {list(draws)}."
        ) from error
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise ValueError(
            f"The function {name!r} must leave the draws as they are, but writes into them ({error}). Let it work on a "
            "copy: draws['theta'].copy(), or x = x - 1 instead of x -= 1."
        ) from error
