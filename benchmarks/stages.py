"""Where the time of an estimate goes: calls and seconds of its stages, evaluations by rows, compilations.

    with Stages() as stages:
        vvcv.estimate(tasks)
    stages.report()

Seconds are those of the clock in each thread, so that stages side by side add up to more than the whole; a stage that
contains others contains their seconds.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import jax

from vvcv.candidates import fits, kernel
from vvcv.estimation import ladder, run
from vvcv.linear_system.evaluation import Evaluation
from vvcv.linear_system.system import System
from vvcv.runtime.device import device_for
from vvcv.tuning import refit

#: What JAX calls its own stages.
COMPILATION = {"trace": "jaxpr_trace", "lower": "jaxpr_to_mlir_module", "compile": "backend_compile"}


class Stages:
    """A block in which functions of the library note when they are called and how long they take."""

    def __init__(self) -> None:
        self._calls: dict[str, list[float]] = defaultdict(list)
        self._undo: list[Callable[[], None]] = []
        self._listening = False

    def __enter__(self) -> Stages:
        self._calls.clear()
        self._watch(run, "_ladder", lambda *_: "prepare")
        self._watch(ladder.Ladder, "diagnosis", lambda *_: "check")
        self._watch(ladder, "in_separate_groups", lambda *_: "groups")
        self._watch(ladder, "polynomials", lambda *_: "polynomials")
        self._watch(kernel, "search", lambda *_: "search")
        self._watch(refit, "tuned", lambda design, *_: f"tuning, {design.size} rows")
        self._watch(Evaluation, "__call__", lambda evaluation, _: f"evaluation, {evaluation.size} rows")
        self._watch(Evaluation, "gradient", lambda evaluation: f"gradient, {evaluation.size} rows")
        self._watch(refit, "solve", _named("judgement"))
        self._watch(fits, "solve", _named("solution"))
        self._watch(System, "leave_one_out", lambda system: f"leave one out, {len(system.values)} rows")
        if not self._listening:
            jax.monitoring.register_event_duration_secs_listener(self._compiled)
            self._listening = True
        return self

    def __exit__(self, *_: object) -> None:
        while self._undo:
            self._undo.pop()()

    def report(self) -> dict[str, dict[str, float]]:
        """Calls, seconds of all and of the first, and the median of the others, for each stage."""
        return {name: _summary(seconds) for name, seconds in sorted(dict(self._calls).items()) if seconds}

    def _watch(self, owner: Any, name: str, label: Callable[..., str]) -> None:
        original = getattr(owner, name)

        def timed(*arguments: Any, **keywords: Any) -> Any:
            started = time.perf_counter()
            try:
                return original(*arguments, **keywords)
            finally:
                self._calls[label(*arguments)].append(time.perf_counter() - started)

        setattr(owner, name, timed)
        self._undo.append(lambda: setattr(owner, name, original))

    def _compiled(self, event: str, seconds: float, **_: Any) -> None:
        for name, part in COMPILATION.items():
            if f"/{part}_duration" in event:
                self._calls[f"JAX: {name}"].append(seconds)


def _named(what: str) -> Callable[..., str]:
    def label(model: Any, design: Any, *_: Any) -> str:
        home = "host" if device_for(design.size) is None else "device"
        parts = "with parts" if model.log_parts.size else "without parts"
        return f"{what}, {design.size} rows, {parts}, {home}"

    return label


def _summary(seconds: list[float]) -> dict[str, float]:
    rest = sorted(seconds[1:])
    middle = rest[len(rest) // 2] if rest else seconds[0]
    return {
        "calls": len(seconds),
        "seconds": round(sum(seconds), 3),
        "first": round(seconds[0], 4),
        "median of the others": round(middle, 5),
    }
