"""A call in a thread that can be ended."""

from __future__ import annotations

import threading

import pytest

from soacraft.view.server.job import Job


def outcome(call, ends=0):
    back, told = threading.Event(), []
    job = Job(call, lambda value, error: (told.append((value, error)), back.set()))
    job.start()
    while ends and not job.over:
        job.end()
    assert back.wait(30)
    job.end()  # over: nothing happens
    assert job.over
    return told


def test_a_value_and_an_error_come_back():
    assert outcome(lambda: 3) == [(3, None)]
    [(value, error)] = outcome(lambda: {}["x"])
    assert value is None
    assert isinstance(error, KeyError)


@pytest.mark.parametrize("trial", range(20))
def test_an_end_at_any_moment_leaves_one_outcome(trial):
    """However close to the return of the call: `done` is called once, and no thread dies of an `Ended`."""
    threading.excepthook, before = (lambda raised: failures.append(raised)), threading.excepthook
    failures = []
    try:
        [(value, error)] = outcome(lambda: sum(range(trial * 20)), ends=1)
    finally:
        threading.excepthook = before
    assert failures == []
    assert value == sum(range(trial * 20)) if error is None else type(error).__name__ == "Ended"


def test_an_end_lets_a_with_block_release_its_lock():
    lock = threading.Lock()

    def call():
        with lock:
            while True:
                pass

    [(_, error)] = outcome(call, ends=1)
    assert type(error).__name__ == "Ended"
    assert lock.acquire(blocking=False)
