"""Compiled calls that take long hear signals, as Ctrl-C, while they compute."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft import dynamics as dyn
from soacraft.contact.solvers.compiled import solve_cones
from soacraft.errors import StateError

#: Seconds between signals, and how many are counted at least: one that waits for the end of a call is handled once.
PERIOD, HEARD = 0.01, 3
#: Seconds that a call takes at least, for so many to be heard.
LONG = 0.2


class Stop(Exception):
    """What the handler of a signal raises here."""


@contextmanager
def signals(handler: Callable[..., Any]) -> Iterator[None]:
    """Signals by the clock, for the length of a block."""
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, PERIOD, PERIOD)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def arm() -> sc.Multibody:
    return sc.load("panda")


def batch(threads: int) -> Callable[[int], Callable[[], Any]]:
    def sized(n: int) -> Callable[[], Any]:
        mb = arm()
        rng = np.random.default_rng(0)
        q, v = rng.normal(size=(n, mb.nq)), rng.normal(size=(n, mb.nv))
        out = np.empty((n, mb.nv))
        return lambda: dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv), threads=threads, out=out)

    return sized


def expression(n: int) -> Callable[[], Any]:
    mb = arm()
    H, phi, M = sc.operators(mb, "H phi M")
    program = (H * phi * M * phi.T * H.T).compile()
    rng = np.random.default_rng(0)
    q, x = rng.normal(size=(n, mb.nq)), rng.normal(size=(n, mb.nv))
    return lambda: program(q, None, x)


def chains(n: int) -> Callable[[], Any]:
    mb = sc.load("five_bar")
    solver = sc.loops.TreeAugmented(mb)
    q = np.tile(mb.q, (n, 1))
    return lambda: solver.forward_dynamics(q, np.zeros((n, mb.nv)), np.zeros(mb.nv))


def rolled(states: int, threads: int = 1) -> Callable[[int], Callable[[], Any]]:
    def sized(n: int) -> Callable[[], Any]:
        mb = arm()
        p = sc.sim.Propagator(mb, integrator="rk4", step=1e-5)
        q, v = np.tile(mb.q, (states, 1)), np.zeros((states, mb.nv))
        return lambda: p.rollout(q, v, steps=n, threads=threads)

    return sized


def ball() -> sc.Multibody:
    mb = sc.Multibody("ball")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.1], np.zeros(6))
    return mb


def touching(n: int) -> Callable[[], Any]:
    mb = ball()
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-4)
    p.add(sc.sim.Contact())
    q, v = np.tile(mb.q, (4, 1)), np.zeros((4, mb.nv))
    return lambda: p.rollout(q, v, steps=n, threads=2)


def contacts(n: int) -> Callable[[], Any]:
    """Contacts of many bodies in one compiled problem, given by S."""
    rows = 3 * min(60 * n, 400)
    rng = np.random.default_rng(1)
    A = rng.normal(size=(rows, rows))
    S = A @ A.T / rows
    S /= np.sqrt(np.outer(np.diag(S), np.diag(S)))
    b = -np.abs(rng.normal(size=rows))
    kinds, sizes = np.zeros(rows // 3, dtype=np.int64), np.full(rows // 3, 3)

    def solve() -> Any:
        return solve_cones(kinds, sizes, np.zeros(len(kinds)), S, b, 1e-8, np.zeros(rows))

    return solve


def pivots(n: int) -> Callable[[], Any]:
    size = min(50 * n, 900)
    rng = np.random.default_rng(2)
    A = rng.normal(size=(size, size))
    M, q = np.ascontiguousarray(A @ A.T), -np.abs(rng.normal(size=size))
    return lambda: _core.lemke(M, q, 50 * size, np.zeros(size))


def distances(n: int) -> Callable[[], Any]:
    mb = ball()
    scene = sc.contact.Scene(mb)
    q = np.tile(mb.q, (n, 1))
    return lambda: scene.contacts(q, 1.0)


CALLS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "dynamics of a batch": batch(1),
    "dynamics of a batch, two threads": batch(2),
    "an expression": expression,
    "closed chains": chains,
    "one rollout": rolled(1),
    "rollouts side by side": rolled(16, 2),
    "rollouts with contact": touching,
    "contact problem": contacts,
    "pivots": pivots,
    "contacts of a batch": distances,
}


def long_call(name: str) -> Callable[[], Any]:
    """A call that takes long enough, whatever the machine."""
    size = 1
    while True:
        call = CALLS[name](size)
        start = time.perf_counter()
        call()
        if time.perf_counter() - start > LONG or size > 10**8:
            return call
        size *= 4


@pytest.mark.parametrize("name", CALLS)
def test_a_call_hears_signals_while_it_computes(name: str) -> None:
    call = long_call(name)
    count = 0

    def handle(number: int, frame: Any) -> None:
        nonlocal count
        count += 1
        if count == HEARD:
            raise Stop

    with pytest.raises(Stop), signals(handle):  # a call that does not hear ends with one, and raises nothing
        call()
    call()  # and what it worked on is as good as before


def test_a_run_keeps_the_steps_before_a_signal() -> None:
    mb = arm()
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-6)

    def handle(number: int, frame: Any) -> None:
        if p.t > 0.01:
            signal.setitimer(signal.ITIMER_REAL, 0.0)  # once: the run is being ended
            raise Stop

    with pytest.raises(Stop), signals(handle):
        p.advance_to(1e3)
    stopped = p.t
    assert 0.0 < stopped < 1e3
    assert p.last_run.t[-1] == stopped
    other = sc.sim.Propagator(arm(), integrator="rk4", step=1e-6)
    np.testing.assert_array_equal(other.advance_to(stopped).q[-1], p.last_run.q[-1])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("which", [0, 19_999])
def test_a_fault_in_any_part_of_a_batch_is_told(which: int, threads: int) -> None:
    """Batches are computed in parts, between which signals are heard."""
    mb = sc.load("panda")
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(20_000, mb.nq)), rng.normal(size=(20_000, mb.nv))
    v[which] = 1e200
    with pytest.raises(StateError, match=f"state {which} of 20000: the result of forward_dynamics"):
        dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv), threads=threads)
