"""One pass over all rows: a sum over blocks, each made where the block lies, added up as a tree.

    total = (f(b_1) + f(b_2)) + (f(b_3) + f(b_4)) + ...

Blocks of Dask arrays are read by the current Dask client, or by Dask's threads where there is none; others here, one
after the other. The scheduler is Dask's: a worker that is lost costs the time of its blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from ..data import require
from ..runtime.progress import Step, progress_bar
from ..runtime.threads import one_thread
from ..tuning.attempts import TooLateError
from ..tuning.interrupt import stop_requested
from .rows import UNREADABLE, Block, Place, Rows, unreadable

#: Sums that are added up at once: a group of blocks is one step of the progress bar.
GROUP = 8

#: Seconds that a cluster without workers is waited for: those that are being started come within them, and who forgot
#: to start any is told.
PATIENCE = 30.0

#: Seconds between two looks at what a cluster has done meanwhile: no one notices.
WINK = 0.02


class Sum(Protocol):
    """Something that adds."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Sum)

#: What is called again and again while a pass goes on, and ends it by an error.
Heed = Callable[[], object]


@dataclass(frozen=True, eq=False)
class OfEach(Generic[S]):
    """Several sums that are made in one pass."""

    parts: Sequence[S]

    def __add__(self, other: Self) -> Self:
        return replace(self, parts=[one + more for one, more in zip(self.parts, other.parts, strict=True)])


def sum_over(rows: Rows, of_block: Callable[[Block], S], what: str, required: bool = False) -> S:
    """The sum of `of_block` over all blocks; one that is required is made to its end, however short time is."""
    heed = stop_requested if required else end_if_stopped
    if rows.guide is not None:
        return _by_dask(rows, of_block, what, heed)
    with progress_bar(what, len(rows.places)) as step:
        return tree_sum(_locally(rows, of_block, step, heed))


def end_if_stopped() -> None:
    """Raise TooLateError where the fit is to end with what it has."""
    if stop_requested():
        raise TooLateError


def workers(rows: Rows) -> int:
    """How many blocks are worked on at once."""
    if rows.guide is None:
        return 1
    from dask.system import CPU_COUNT

    client = _client()
    return min(CPU_COUNT if client is None else sum(client.nthreads().values()), len(rows.places))


def tree_sum(parts: Iterable[S]) -> S:
    """A sum in pairs, and pairs of pairs, of which only the logarithm of their number is alive at a time.

    >>> tree_sum(iter([1, 2, 3, 4, 5]))
    15
    """
    waiting: list[tuple[int, Any]] = []
    for part in parts:
        level = 0
        while waiting and waiting[-1][0] == level:
            part = waiting.pop()[1] + part
            level += 1
        waiting.append((level, part))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total


def _locally(rows: Rows, of_block: Callable[[Block], S], step: Step, heed: Heed) -> Iterable[S]:
    for place in rows.places:
        heed()
        yield of_block(rows.read(place))
        step()


def _by_dask(rows: Rows, of_block: Callable[[Block], S], what: str, heed: Heed) -> S:
    from dask import delayed

    client = _client()
    blocks = _delayed_blocks(rows)
    work = of_block if client is not None else _as_asked_for(of_block)
    function, reader = delayed(work, traverse=False), delayed(_Reader(rows), traverse=False)
    run = delayed(_run, pure=False)
    mapped = [run(function, reader, place, *pieces) for place, pieces in zip(rows.places, blocks, strict=True)]
    groups = [delayed(_sum_all)(mapped[i : i + GROUP]) for i in range(0, len(mapped), GROUP)]
    total = groups
    while len(total) > 1:
        total = [delayed(_sum_all)(total[i : i + GROUP]) for i in range(0, len(total), GROUP)]
    try:
        with progress_bar(what, len(groups)) as step:
            if client is None:
                return _on_threads(total[0], mapped, step, heed)
            return _on_cluster(client, total[0], groups, step, heed)
    except _TaskError as failed:
        if isinstance(failed.reason, _OfBlockError):
            raise failed.reason.reason from None
        if isinstance(failed.reason, UNREADABLE):
            suspects = list(zip(rows.places, blocks, strict=True))
            suspects = [suspects[i] for i in failed.suspects if i < len(suspects)][:GROUP]
            raise unreadable(_first_unreadable(rows, suspects, client), failed.reason) from failed.reason
        raise failed.reason from None


def _as_asked_for(of_block: Callable[[Block], S]) -> Callable[[Block], S]:
    """The same with the caller's context in any thread, which tells it when the fit is to end."""
    context = copy_context()
    return lambda block: context.copy().run(of_block, block)


def _on_threads(total: Any, mapped: Sequence[Any], step: Step, heed: Heed) -> Any:
    from dask.callbacks import Callback

    done: set[Any] = set()
    stopped: list[BaseException] = []

    def finished(key, result, graph, state, worker) -> None:
        done.add(key)
        try:
            heed()
        except BaseException as stop:
            stopped.append(stop)
            raise
        if str(key).startswith("_sum_all"):
            step()

    with Callback(posttask=finished), one_thread():  # Dask's threads share the processors among themselves
        try:
            return total.compute(scheduler="threads")
        except Exception as error:
            if stopped:
                raise
            raise _TaskError(error, [i for i, block in enumerate(mapped) if block.key not in done]) from error


def _on_cluster(client: Any, total: Any, groups: Sequence[Any], step: Step, heed: Heed) -> Any:
    from distributed import CancelledError, KilledWorker, as_completed
    from distributed.comm import CommClosedError

    address = _address(client)  # a client that has lost its cluster knows it no more
    futures: list[Any] = []
    try:
        last, *watched = futures = client.compute([total, *groups])
        going_on, failed = as_completed(watched), None
        while failed is None and not going_on.is_empty():
            heed()
            for future in going_on.next_batch(block=False):
                if future.status == "error":
                    failed = future
                    break
                step()
                future.release()  # the sum that needs it keeps it
            time.sleep(WINK)
        lost = None if failed is None else failed.exception()
        if lost is None:
            return last.result()
        if not isinstance(lost, CancelledError | KilledWorker | CommClosedError):
            first = GROUP * watched.index(failed)
            raise _TaskError(lost, range(first, first + GROUP))
    except (CancelledError, KilledWorker, CommClosedError, TimeoutError, OSError) as error:
        lost = error
    finally:
        for future in futures:
            future.release()  # what nobody waits for is not begun
    raise ValueError(
        f"The rows are read by the Dask cluster at {address}, which was lost in mid-run "
        f"({type(lost).__name__}: {lost}). Connect a new client and call again; workers that are killed again "
        "and again need more memory or smaller chunks."
    ) from lost


def _first_unreadable(rows: Rows, suspects: Iterable[tuple[Place, Sequence[Any]]], client: Any) -> str:
    """Which array could not be read, and where: each piece is tried by itself, as a scheduler tells errors alone."""
    for place, pieces in suspects:
        for what, piece in zip(rows.labels, pieces, strict=True):
            try:
                client.compute(piece).result() if client is not None else piece.compute(scheduler="threads")
            except UNREADABLE:
                return f"{what} in {rows.where(place)}"
    return "a chunk of points, scores or values"


def _client() -> Any:
    """The current client of a Dask cluster that has workers, or None where Dask's threads will do."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        client = default_client()
    except ValueError:
        return None
    gone = (
        f"The rows are Dask arrays and are read by the current client's cluster at {_address(client)}, but {{}}. "
        "Start the cluster again and connect a client to it, or close this client and Dask's threads will read them."
    )
    require(client.status == "running", gone.format(f"the client is {client.status}"))
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise ValueError(gone.format(f"no worker came within {PATIENCE:.0f} s")) from None
    return client


def _address(client: Any) -> str:
    return client.scheduler.address if client.scheduler else "an unknown address"


def _delayed_blocks(rows: Any) -> list[list[Any]]:
    """For every place the pieces of points, scores and values, each array of a source once."""
    import dask.array as da

    leading = len(rows.points.leading)
    chunks = rows.chunks
    pieces: dict[int, list[Any]] = {}
    for array in rows.arrays:
        source = array.source
        if id(source) not in pieces:
            whole = source if array.is_dask else da.from_array(source, chunks=(*chunks, *source.shape[leading:]))
            whole = whole.rechunk((*chunks, *((n,) for n in source.shape[leading:])))
            pieces[id(source)] = whole.to_delayed().ravel().tolist()
    columns = [pieces[id(array.source)] for array in rows.arrays]
    return [list(block) for block in zip(*columns, strict=True)]


class _Reader:
    """What is known of rows without the arrays themselves: it travels to the workers, they do not."""

    def __init__(self, rows: Rows) -> None:
        bare = tuple(replace(array, source=_Declared(array.source)) for array in rows.arrays)
        self.rows = Rows(bare[0], bare[1], bare[2:], rows.names, rows.independent)


class _Declared:
    """The shape of an array."""

    def __init__(self, source: Any) -> None:
        self.shape = tuple(source.shape)


class _TaskError(Exception):
    """A task of Dask's that failed, and the numbers of the blocks one of which it belongs to."""

    def __init__(self, reason: BaseException, suspects: Iterable[int]) -> None:
        super().__init__(reason)
        self.reason, self.suspects = reason, list(suspects)


class _OfBlockError(Exception):
    """What work on a block that was read ended with: whatever else ends a task of Dask's comes from reading it."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(reason)
        self.reason = reason


def _run(of_block: Callable[[Block], S], reader: _Reader, place: Place, *pieces: Any) -> S:
    try:
        return of_block(reader.rows.block(place, pieces))
    except Exception as error:
        raise _OfBlockError(error) from error


def _sum_all(parts: Sequence[Any]) -> Any:
    return tree_sum(parts)
