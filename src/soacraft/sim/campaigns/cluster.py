"""Rows computed by a cluster of dask.distributed (extra `cluster`).

The scheduler gives up on work whose workers died more often than its `allowed-failures`. It suspects all that a dead
worker had; so what it gives up on is tried once more by itself, at the end, before it is recorded as killed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from importlib import import_module
from queue import Empty, SimpleQueue
from typing import Any

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.pool import Done, Task

#: Seconds to wait for a scheduler to answer.
_PATIENCE = 10.0


def compute_on(job: Any, tasks: Iterable[Task], cluster: Any) -> Iterator[Done]:
    """Results of tasks on a cluster: the address of its scheduler, or a client, which stays open."""
    try:
        dask = import_module("distributed")
    except ImportError:
        raise CampaignError("cluster= needs dask.distributed: pip install 'soacraft[cluster]'.") from None
    is_address = isinstance(cluster, str)
    if not is_address and not isinstance(cluster, dask.Client):
        raise CampaignError(
            f"cluster= is the address of a scheduler, as 'tcp://host:8786', or a client; got {cluster!r:.60}."
        )
    try:
        client = dask.Client(cluster, timeout=_PATIENCE, set_as_default=False) if is_address else cluster
    except (OSError, ValueError) as wrong:
        raise CampaignError(f"there is no scheduler at {cluster!r:.80}: {wrong}") from None
    try:
        suspects: list[Done] = []
        for ended in _flow(dask, client, job, deque(tasks)):
            if ended.death:
                suspects.append(ended)
            else:
                yield ended
        for suspect in suspects:
            yield from _flow(dask, client, job, deque([suspect.task]))
    except (dask.client.FutureCancelledError, dask.CancelledError, dask.comm.CommClosedError, OSError) as wrong:
        raise CampaignError(
            f"the scheduler was lost ({type(wrong).__name__}). What is done is kept; `run` again goes on."
        ) from None
    finally:
        if is_address:
            client.close(timeout=1.0)


def _flow(dask: Any, client: Any, job: Any, todo: deque[Task]) -> Iterator[Done]:
    """Results of tasks. As many are under way as there are threads, so that a worker that dies takes little with it."""
    pending: dict[Any, Task] = {}
    ended: SimpleQueue[Any] = SimpleQueue()
    while todo or pending:
        room = max(1, sum(client.nthreads().values()))
        while todo and len(pending) < room:
            task = todo.popleft()
            future = client.submit(_done, job, task, pure=False, retries=0)
            pending[future] = task
            future.add_done_callback(ended.put)
        try:
            future = ended.get(timeout=1.0)
        except Empty:
            if client.status != "running":
                raise dask.CancelledError from None
            continue
        task = pending.pop(future)
        if future.status not in ("finished", "error"):
            raise dask.CancelledError
        wrong = future.exception() if future.status == "error" else None
        if isinstance(wrong, dask.KilledWorker):
            yield Done(task, None, f"its workers died: {str(wrong).splitlines()[0][:200]}")
        elif wrong is not None:
            raise CampaignError(f"{task.method}{task.arguments} failed outside of its run: {wrong}")
        else:
            yield Done(task, future.result())


def _done(job: Any, task: Task) -> Any:
    return getattr(job, task.method)(*task.arguments)
