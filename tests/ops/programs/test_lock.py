"""Batches of programs leave Python's lock to others, and answer for the instant at which they began."""

import threading
import time

import numpy as np

import soacraft as sc


def chain_and_states(bodies, count):
    mb = sc.serial_chain(bodies)
    s = sc.operators(mb)
    f = (s.H * s.psi * s.M * s.psi.T * s.H.T).compile()
    rng = np.random.default_rng(0)
    return mb, f, rng.uniform(-1, 1, (count, mb.nq)), rng.standard_normal(mb.nv)


def test_another_thread_runs_meanwhile():
    """Processor time of this thread while the batch is at work on another: holding the lock, it would have almost none.
    Dense matrices of so few states are computed by the thread that asks for them.
    """
    _, f, Q, _ = chain_and_states(150, 130)
    f(Q[:8])
    took = []

    def batch():
        start = time.thread_time()
        f(Q)
        took.append(time.thread_time() - start)

    worker = threading.Thread(target=batch)
    worker.start()
    start = time.thread_time()
    while worker.is_alive():
        pass
    own = time.thread_time() - start
    assert own > 0.3 * took[0], (own, took)


def test_parameters_that_change_meanwhile():
    """The answer is that of one set of parameters, in all states."""
    mb, f, Q, x = chain_and_states(10, 500)
    answers = []

    def batch():
        try:
            answers.append(f(Q, None, x))
        except sc.StaleError:
            answers.append(None)

    mb.bodies[-1].inertia = sc.Inertia(1.0, (0.1, 0, 0), np.eye(3))
    expected = [f(Q, None, x)]
    for k in range(4):
        worker = threading.Thread(target=batch)
        worker.start()
        time.sleep(3e-4 * k)
        mb.bodies[-1].inertia = sc.Inertia(2.0 + k, (0.1, 0, 0), np.eye(3))
        worker.join()
        expected.append(f(Q, None, x))
        assert not np.array_equal(expected[-1], expected[-2])
        found = answers.pop()
        assert found is None or any(np.array_equal(found, other) for other in expected[-2:])
