"""One pass over all rows: a sum over blocks, each made where the block lies, added up as a tree.

    total = (f(b_1) + f(b_2)) + (f(b_3) + f(b_4)) + ...

Blocks of Dask arrays are read by the current Dask client, or by Dask's threads where there is none; others here, one
after the other. The scheduler is Dask's: a worker that is lost costs the time of its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from ..data import require
from ..runtime.progress import Step, progress_bar
from ..runtime.threads import one_thread
from .rows import Block, Place, Rows

#: Sums that are added up at once: a group of blocks is one step of the progress bar.
GROUP = 8

#: Seconds that a cluster without workers is waited for: those that are being started come within them, and who forgot
#: to start any is told.
PATIENCE = 30.0


class Sum(Protocol):
    """Something that adds."""

    def __add__(self, other: Self, /) -> Self: ...


S = TypeVar("S", bound=Sum)


@dataclass(frozen=True, eq=False)
class OfEach(Generic[S]):
    """Several sums that are made in one pass."""

    parts: Sequence[S]

    def __add__(self, other: Self) -> Self:
        return replace(self, parts=[one + more for one, more in zip(self.parts, other.parts, strict=True)])


def sum_over(rows: Rows, of_block: Callable[[Block], S], what: str) -> S:
    """The sum of `of_block` over all blocks."""
    if rows.guide is not None:
        return _by_dask(rows, of_block, what)
    with progress_bar(what, len(rows.places)) as step:
        return tree_sum(_locally(rows, of_block, step))


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


def _locally(rows: Rows, of_block: Callable[[Block], S], step: Step) -> Iterable[S]:
    for place in rows.places:
        yield of_block(rows.read(place))
        step()


def _by_dask(rows: Rows, of_block: Callable[[Block], S], what: str) -> S:
    from dask import delayed

    client = _client()
    blocks = _delayed_blocks(rows)
    function, reader = delayed(of_block, traverse=False), delayed(_Reader(rows), traverse=False)
    run = delayed(_run, pure=False)
    mapped = [run(function, reader, place, *pieces) for place, pieces in zip(rows.places, blocks, strict=True)]
    groups = [delayed(_sum_all)(mapped[i : i + GROUP]) for i in range(0, len(mapped), GROUP)]
    total = groups
    while len(total) > 1:
        total = [delayed(_sum_all)(total[i : i + GROUP]) for i in range(0, len(total), GROUP)]
    with progress_bar(what, len(groups)) as step:
        return _on_threads(total[0], step) if client is None else _on_cluster(client, total[0], groups, step)


def _on_threads(total: Any, step: Step) -> Any:
    from dask.callbacks import Callback

    def finished(key, result, graph, state, worker) -> None:
        if str(key).startswith("_sum_all"):
            step()

    with Callback(posttask=finished), one_thread():  # Dask's threads share the processors among themselves
        return total.compute(scheduler="threads")


def _on_cluster(client: Any, total: Any, groups: Sequence[Any], step: Step) -> Any:
    from distributed import CancelledError, KilledWorker, as_completed
    from distributed.comm import CommClosedError

    address = _address(client)  # a client that has lost its cluster knows it no more
    try:
        last, *watched = client.compute([total, *groups])
        for future in as_completed(watched):
            step()
            future.release()  # the sum that needs it keeps it
        return last.result()
    except (CancelledError, KilledWorker, CommClosedError, TimeoutError, OSError) as error:
        raise ValueError(
            f"The rows are read by the Dask cluster at {address}, which was lost in mid-run "
            f"({type(error).__name__}: {error}). Connect a new client and call again; workers that are killed again "
            "and again need more memory or smaller chunks."
        ) from error


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


def _run(of_block: Callable[[Block], S], reader: _Reader, place: Place, *pieces: Any) -> S:
    return of_block(reader.rows.block(place, pieces))


def _sum_all(parts: Sequence[Any]) -> Any:
    return tree_sum(parts)
