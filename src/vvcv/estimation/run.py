"""`estimate`: standardise, choose, tune, solve, report (the whole pipeline in one call)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Literal, get_args

import numpy as np

from ..candidates.kernel import Options
from ..data import Task, Tasks, as_tasks, is_number, require
from ..kernels import Kernel, Side, as_kernel
from ..linear_system.evaluation import Criterion
from ..runtime.clock import limited, time_was_short
from ..runtime.device import Device, placed
from ..runtime.precision import float64, without_warnings
from ..runtime.progress import progress_bar, ticking, wished
from ..runtime.threads import threads_for
from ..stein import SteinKernel
from ..stein.automatic import check_order
from ..stein.checks import check_function
from ..tuning.interrupt import interruptible
from ..tuning.starts import CANDIDATES, FAMILIES
from .control_variate import ControlVariate
from .diagnosis import Diagnosis, OnAlarm
from .ladder import Ladder
from .large_ladder import LargeLadder, too_large
from .methods import EXACT_METHODS, METHODS
from .numbers import MonteCarlo, Promise
from .refusals import RefusedError
from .result import Estimate
from .views import other_looks
from .weights import Answer, combine, weigh

AnyLadder = Ladder | LargeLadder

#: Evaluations of the objective in an estimate of middling size, for the bar; some take half as many, some twice.
EVALUATIONS = 600

KernelChoice = str | Kernel | Callable[..., Any] | Sequence[str] | None


def estimate(
    tasks: Tasks | Task | Sequence[Task],
    method: str = "auto",
    *,
    kernel: KernelChoice = None,
    criterion: Criterion = "reml",
    order: int = 1,
    check: bool = True,
    on_alarm: OnAlarm = "warn",
    on_interrupt: Literal["raise", "best"] = "raise",
    seconds: float | None = None,
    progress: bool | None = None,
    device: Device = None,
) -> Estimate:
    """Estimate the expectations of all tasks by control variates (paper, eq. 8 solved exactly), with error bars.

    `method` names a rung ("mc", "zv", "cf", "secf", "vv", "vv-secf", "inducing"), or "auto" weighs all rungs for each
    task by their standard errors and by how well they predict values they have not seen. Samples too large for an exact
    fit, in memory or not (Dask, zarr, memory maps), are read block by block: "mc", "zv" and "inducing" serve them.

    `kernel` names one family or several, or is a kernel of your own: any JAX function k(x, y) of standardised
    coordinates, whose parameters are tuned if it is a module. By default the data choose.

    The data are checked before any fit (`vvcv.check`; `check=False` leaves it out). Alarms are a Python warning,
    `vvcv.AlarmWarning`, and stand under the table; `on_alarm="raise"` makes them an error, "ignore" drops the warning.
    With `on_interrupt="best"`, Ctrl-C ends the tuning and the best models so far give the answer; a second Ctrl-C
    interrupts. `seconds` is the time an answer may take: the best that fits into it is given. At a terminal, work of
    more than two seconds shows a progress bar; `progress=False` hides it, `progress=True` shows it anywhere. Systems of
    thousands of rows are solved on JAX's default device where that is a GPU; `device="gpu"` or a device of JAX's sends
    those of hundreds too (many fits pay for compilation), "cpu" is LAPACK.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(30, 1))
    >>> est = estimate(Task(x, -x, np.exp(x[:, 0] / 2), name="lognormal"), method="cf")
    >>> bool(abs(est.mean[0] - np.exp(1 / 8)) < 0.01)
    True
    """
    options: dict[str, Any] = {"kernel": kernel, "criterion": criterion, "order": order}
    options |= {"check": check, "on_alarm": on_alarm, "on_interrupt": on_interrupt}
    return compare(tasks, (method,), **options, seconds=seconds, progress=progress, device=device)[method]


@float64
def compare(
    tasks: Tasks | Task | Sequence[Task],
    methods: Sequence[str] = EXACT_METHODS,
    *,
    kernel: KernelChoice = None,
    criterion: Criterion = "reml",
    order: int = 1,
    check: bool = True,
    on_alarm: OnAlarm = "warn",
    on_interrupt: Literal["raise", "best"] = "raise",
    refused: Literal["raise", "skip"] = "raise",
    seconds: float | None = None,
    progress: bool | None = None,
    device: Device = None,
) -> dict[str, Estimate]:
    """Estimates of the same tasks by several methods, each of which starts from what the earlier ones found.

    A method that cannot serve these data (too few points) is an error, or left out with `refused="skip"`.

    >>> x = np.random.default_rng(0).normal(size=(30, 1))
    >>> sorted(compare(Task(x, -x, x[:, 0] ** 2), ["mc", "zv"]))
    ['mc', 'zv']
    """
    tasks = as_tasks(tasks, lazy=True)
    require(isinstance(methods, Iterable), f"methods must be names such as ['zv', 'auto'], but is {methods!r}.")
    methods = (methods,) if isinstance(methods, str) else tuple(methods)  # a generator is gone through more than once
    _check_sizes(tasks)
    _check_wishes(methods, check, on_alarm, on_interrupt, refused, seconds)
    with limited(np.inf if seconds is None else seconds), placed(device), wished(progress):
        options = replace(_options(kernel, criterion, order), named=any(method != "auto" for method in methods))
        with interruptible(keep_best=on_interrupt == "best") as interruption:
            ladder = interruption.attend(partial(_ladder, tasks, options), partial(_ladder, tasks, options, look=False))
            diagnosis = interruption.attend(ladder.diagnosis, Diagnosis) if check else Diagnosis()
            diagnosis.announce(tasks, on_alarm)
            climb = partial(_climb_all, ladder, methods, refused, progress)
            estimates = interruption.attend(climb, partial(_best_so_far, ladder, methods, time.perf_counter()))
        return diagnosis.attached(estimates, stopped=interruption.stopped_early, late=time_was_short())


def check_options(**options: Any) -> None:
    """Refuse options that `estimate` would refuse, where its data are still to be made at some cost.

    >>> check_options(method="zv", order=1)
    """
    call = signature(estimate).bind((), **options)
    call.apply_defaults()
    given = call.arguments
    check, on_alarm, on_interrupt = (given[name] for name in ("check", "on_alarm", "on_interrupt"))
    _check_wishes((given["method"],), check, on_alarm, on_interrupt, "raise", given["seconds"])
    _options(given["kernel"], given["criterion"], given["order"])
    with placed(given["device"]):
        pass


def _check_sizes(tasks: Tasks) -> None:
    for task, name in zip(tasks, tasks.names, strict=True):
        require(
            task.size >= 2,
            f"A task needs at least two points for an error bar, but task {name!r} has {task.size}. Add points.",
        )


def _check_wishes(
    methods: Sequence[str], check: bool, on_alarm: str, on_interrupt: str, refused: str, seconds: float | None
) -> None:
    require(len(methods) > 0, "methods must name at least one, but is empty. Pass names such as ['zv', 'auto'].")
    for method in methods:
        require(
            method in (*METHODS, "auto"),
            f"method must be one of {[*METHODS, 'auto']}, but is {method!r}. Take one of these.",
        )
    require(isinstance(check, bool | np.bool_), f"check must be True or False, but is {check!r}.")
    require(on_alarm in get_args(OnAlarm), f"on_alarm must be one of {list(get_args(OnAlarm))}, but is {on_alarm!r}.")
    require(on_interrupt in ("raise", "best"), f"on_interrupt must be 'raise' or 'best', but is {on_interrupt!r}.")
    require(refused in ("raise", "skip"), f"refused must be 'raise' or 'skip', but is {refused!r}.")
    require(
        seconds is None or (is_number(seconds) and seconds > 0), f"seconds must be a positive time, but is {seconds!r}."
    )


def _ladder(tasks: Tasks, options: Options, look: bool = True) -> AnyLadder:
    """The ladder of these tasks, in other coordinates as well if there is time to `look` for them."""
    if any(too_large(tasks)):
        return LargeLadder(tasks, options)
    prepared = options.prepared(tasks)
    # A kernel of the user's own is a function of standardised coordinates, whatever their tails.
    own = [family for family in options.families if isinstance(family, Kernel)]
    for kernel in own:
        system, rows = prepared.coordinates((0,), "scaled"), prepared.tasks[0]
        side = Side(system.points(rows.points), system.scores(rows.scores), np.zeros(rows.size, int))
        check_function(SteinKernel(kernel, options.order), side)
    return Ladder(prepared, options, other_looks(prepared) if look and not own else [])


def _climb_all(ladder: AnyLadder, methods: Sequence[str], refused: str, progress: bool | None) -> dict[str, Estimate]:
    sizes, shared = ladder.tasks.sizes, ladder.tasks.share_points
    with (
        threads_for(max(sizes) if shared else sum(sizes)),
        without_warnings(),
        progress_bar("estimating", EVALUATIONS, progress) as step,
        ticking(step),
    ):
        estimates = {}
        for method in methods:
            try:
                estimates[method] = _climb(ladder, method)
            except RefusedError:
                if refused == "raise":
                    raise
        return estimates


def _best_so_far(ladder: AnyLadder, methods: Sequence[str], started: float) -> dict[str, Estimate] | None:
    """The estimate from the rungs that are finished, where all were asked for, and so the plain averages are known."""
    offered = ladder.so_far() if tuple(methods) == ("auto",) else []
    return {"auto": _estimate(ladder, "auto", offered, started)} if offered and all(offered) else None


def _climb(ladder: AnyLadder, method: str) -> Estimate:
    started = time.perf_counter()
    offered = ladder.automatic() if method == "auto" else [[answer] for answer in ladder.required(method)]
    return _estimate(ladder, method, offered, started)


def _estimate(ladder: AnyLadder, method: str, offered: list[list[Answer]], started: float) -> Estimate:
    tasks, plain = ladder.tasks, ladder.plain
    chosen = [combine(answers) for answers in offered]
    return Estimate(
        names=tasks.names,
        mean=np.array([answer.mean for answer in chosen]),
        std_error=np.array([answer.std_error for answer in chosen]),
        model_std_error=np.array([answer.model_error for answer in chosen]),
        cross_fitted_std_error=np.array([answer.cross_fitted_error for answer in chosen]),
        method=method,
        methods=tuple(answer.method for answer in chosen),
        monte_carlo=MonteCarlo(
            np.array([a.mean for a in plain]),
            np.array([a.std_error for a in plain]),
            ladder.std_dev,
        ),
        task_correlation=ladder.task_correlation(method),
        kernel=tuple(answer.description for answer in chosen),
        sizes=tasks.sizes,
        seconds=time.perf_counter() - started,
        share_points=tasks.share_points,
        freedom=np.array([answer.freedom for answer in chosen]),
        promises=tuple(_promises(answers) for answers in offered),
        control_variate=ControlVariate(tasks.names, chosen, tasks.dimension),
        tasks=None if any(task.is_lazy for task in tasks) else tasks,
        error_correlation=ladder.error_correlation(chosen),
        moves=_moves(chosen),
    )


def _moves(chosen: list[Answer]) -> tuple[np.ndarray, ...] | None:
    kept = tuple(answer.moves for answer in chosen if answer.moves is not None)
    return kept if len(kept) == len(chosen) else None


def _promises(offered: list[Answer]) -> tuple[Promise, ...]:
    weights = weigh([answer.merit for answer in offered])
    return tuple(
        Promise(
            answer.method,
            answer.description,
            answer.mean,
            answer.std_error,
            answer.model_error,
            answer.cross_fitted_error,
            float(weight),
        )
        for answer, weight in zip(offered, weights, strict=True)
    )


def _options(kernel: KernelChoice, criterion: Criterion, order: int) -> Options:
    require(criterion in get_args(Criterion), f"criterion must be one of {get_args(Criterion)}, but is {criterion!r}.")
    check_order(order)
    if isinstance(kernel, Kernel) or callable(kernel):
        return Options((as_kernel(kernel),), criterion, order)
    several = isinstance(kernel, Iterable) and not isinstance(kernel, str)
    families: tuple[Any, ...] = CANDIDATES if kernel is None else tuple(kernel) if several else (kernel,)
    unknown = [family for family in families if not isinstance(family, str) or family not in FAMILIES]
    require(
        not unknown and len(families) > 0,
        f"kernel must name families among {list(FAMILIES)}, or be a function k(x, y), but {unknown or 'nothing'} "
        "was given.",
    )
    if order == 2:
        families = tuple(family for family in families if family != "matern-3/2")
        require(len(families) > 0, "matern-3/2 is not smooth enough for order 2. Use order 1 or a smoother family.")
    return Options(families, criterion, order)
