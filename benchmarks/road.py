"""Calls from Python and the kernels of the same work: what the road to the kernel costs, one state, one thread.

A call is that of the public function, `sc.dynamics.forward_dynamics(mb, q, v, force)`, and that of the method of a
handle, `sc.Dynamics(mb).forward_dynamics(q, v, force)`; the kernel is looped in the core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
from growth import table
from measure import Loop, repeated, shortest

import soacraft as sc
from soacraft import analysis
from soacraft.dynamics.table import TABLE
from soacraft.model.flat.compiled import CompiledModel

NODE, BODY = "link7/tool", "link4"
#: Microseconds of the public functions before quick calls answered them, measured on one core of an AVX2 machine.
BEFORE = {
    "forward_dynamics": 88, "inverse_dynamics": 83, "bias_force": 78, "gravity_force": 65, "mass_matrix": 68,
    "mass_matrix_inverse": 62, "mass_matrix_multiply": 67, "mass_matrix_solve": 88, "log_det_mass_matrix": 59,
    "poses": 69, "velocities": 600, "accelerations": 1170, "kinetic_energy": 535, "potential_energy": 338,
    "center_of_mass": 700, "momentum": 697, "passive_force": 67, "passive_energy": 61, "jacobian": 107,
    "jacobian_dot_v": 843, "operational_space_compliance": 174, "operational_space_inertia": 1970,
    "mixed_dynamics": 2880, "forward_dynamics_derivatives": 114, "mass_matrix_gradient": 65, "coriolis_matrix": 71,
    "log_det_gradient": 66, "with one wrench, node axes": 236, "with one wrench, inertial axes": 574,
    "with one stored wrench": 190, "integrate": 492, "difference": 705, "fixman_force": 99,
}  # fmt: skip


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    loops = dynamics_rows() | force_rows() | coordinate_rows()
    loops |= {("fixman_force", kind): loop for kind, loop in fixman_row().items()}
    loops |= operator_rows() | chain_rows(100 if quick else 10_000)
    rounds, at_least = (1, 1e-4) if quick else (15, 2e-3)
    batches = {key: loops.pop(key) for key in list(loops) if key[0].endswith(OF_BATCH)}
    times = shortest(loops, rounds, at_least)
    for key, t in shortest(batches, rounds, at_least, clock=time.process_time).items():
        times[key] = t / BATCH  # processor time of all threads, for each state
    rows: dict[str, dict[str, float]] = {}
    for (name, kind), t in times.items():
        rows.setdefault(name, {})[kind] = t
    return {"rows": rows, "before": BEFORE | BEFORE_PROGRAMS}


def dynamics_rows() -> dict[tuple[str, str], Loop]:
    """Every algorithm of the table that has a kernel, on the 7-dof arm."""
    mb = sc.load("arm7")
    handle = sc.Dynamics(mb)
    loops: dict[tuple[str, str], Loop] = {}
    for row in TABLE.values():
        if row.kernel is None:
            continue
        module = sc.dynamics if row.module == "dynamics" else analysis
        args = arguments(mb, row.given)
        loops[row.name, "function"] = repeated(partial(getattr(module, row.name), mb, *args))
        if row.module == "dynamics":
            loops[row.name, "handle"] = repeated(partial(getattr(handle, row.name), *args))
        loops[row.name, "kernel"] = kernel(mb, row.kernel)
    return loops


def force_rows() -> dict[tuple[str, str], Loop]:
    """Forward dynamics with wrenches, and with springs and dampers."""
    mb, pushed, sprung = (sc.load("arm7") for _ in range(3))
    pushed.set_force(NODE, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    for body in sprung.bodies:
        body.passive = sc.Passive(stiffness=2.0, damping=0.1)
    own, turned = sc.Wrench((0, 0, 0), (1, 2, 3)), sc.Wrench((0, 0, 0), (1, 2, 3), expressed_in="inertial")
    cases: dict[str, tuple[sc.Multibody, tuple[Any, ...]]] = {
        "with one wrench, node axes": (mb, ({NODE: own},)),
        "with one wrench, inertial axes": (mb, ({NODE: turned},)),
        "with three wrenches": (mb, ({NODE: turned, "link3": own, "link5": own},)),
        "with one stored wrench": (pushed, ()),
        "with springs and dampers": (sprung, ()),
    }
    loops: dict[tuple[str, str], Loop] = {}
    for name, (model, extra) in cases.items():
        args = (*arguments(model, ("q", "v", "force")), *extra)
        loops[name, "function"] = repeated(partial(sc.dynamics.forward_dynamics, model, *args))
        loops[name, "handle"] = repeated(partial(sc.Dynamics(model).forward_dynamics, *args))
        loops[name, "kernel"] = kernel(model, "forward_dynamics")
    return loops


def coordinate_rows() -> dict[tuple[str, str], Loop]:
    """Moving along the tangent space of a model of 10 dofs: a free, a spherical and a pin hinge."""
    mb = sc.random_tree(3, 1, [sc.Free(), sc.Spherical(), sc.Pin((0, 0, 1))], branching=0.0)
    q, other, dv = np.array(mb.random_state(0)[0]), np.array(mb.random_state(1)[0]), np.linspace(-1, 1, mb.nv)
    loops: dict[tuple[str, str], Loop] = {}
    for name, second in (("integrate", dv), ("difference", other)):
        for each in (name, f"{name}_jacobians"):
            loops[each, "function"] = repeated(partial(getattr(mb, each), q, second))
            loops[each, "kernel"] = kernel(mb, each)
    return loops


#: Microseconds before expressions ran as programs; those of the chain milliseconds.
BEFORE_PROGRAMS = {
    "massmat * x": 440, "massmat * x, unchanged state": 60, "massmat.inv * x": 700, "Omega * X": 700, "psi * X": 600,
    "R * X": 500, "P * X": 500, "massmat, compiled": 10, "massmat.inv, compiled": 10, "J * x, compiled": 830,
    "H*psi*M*psi.T*H.T, compiled": 830, "Omega, compiled": 830, "H*psi*M*psi.T*H.T, batch of 4,096": 100,
    "Omega, batch of 4,096": 100, "chain of 10,000: massmat * x": 44_000, "chain of 10,000: massmat.inv * x": 180_000,
    "chain of 10,000: Omega[i, j]": 132_000, "massmat.diff(body) * x": 1_060, "P.diff(body) * X": 1_500,
    "massmat.inv.diff(body) * x": 1_210, "massmat.diff(body), compiled": 1_450,
}  # fmt: skip
#: States that follow each other, so that nothing is at the state it was at before.
STATES = 64
BATCH, OF_BATCH = 4096, "batch of 4,096"


def operator_rows() -> dict[tuple[str, str], Loop]:
    """Products of live expressions after `mb.set_state(q, v)`, and expressions compiled to functions of q."""
    mb = sc.load("arm7")
    s = sc.operators(mb)
    massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
    x, X = np.ones(mb.nv), np.ones(s.body.size)
    inverse, forward = kernel(mb, "inverse_dynamics"), kernel(mb, "forward_dynamics")
    loops: dict[tuple[str, str], Loop] = {("set_state", "function"): after_states(mb, lambda: None)}
    for name, expr, vector, work in (
        ("massmat * x", massmat, x, inverse), ("massmat.inv * x", massmat.inv, x, forward),
        ("Omega * X", s.Omega, X, None), ("psi * X", s.psi, X, None), ("R * X", s.R, X, None), ("P * X", s.P, X, None),
        ("massmat.diff(body) * x", massmat.diff(BODY), x, None), ("P.diff(body) * X", s.P.diff(BODY), X, None),
        ("massmat.inv.diff(body) * x", massmat.inv.diff(BODY), x, None),
    ):  # fmt: skip
        loops[name, "function"] = after_states(mb, partial(expr.__mul__, vector))
        if work is not None:
            loops[name, "kernel"] = work
    loops["massmat * x, unchanged state", "function"] = repeated(partial(massmat.__mul__, x))
    return loops | compiled_rows(mb, s, massmat)


def compiled_rows(mb: sc.Multibody, s: Any, massmat: Any) -> dict[tuple[str, str], Loop]:
    """`expr.compile()`, one state and a batch."""
    forms = {
        "massmat": (massmat, "inverse_dynamics"),
        "massmat.inv": (massmat.inv, "forward_dynamics"),
        "J * x": (s.B([NODE]).T * s.phi.T * s.H.T, "poses"),
        "H*psi*M*psi.T*H.T": (s.H * s.psi * s.M * s.psi.T * s.H.T, "forward_dynamics"),
        "Omega": (s.Omega, None),
        "massmat.diff(body)": (massmat.diff(BODY), None),
    }
    loops: dict[tuple[str, str], Loop] = {}
    Q = np.array([mb.random_state(seed)[0] for seed in range(BATCH)])
    for name, (expr, work) in forms.items():
        f, x = expr.compile(), np.ones(expr.shape[1])
        loops[f"{name}, compiled", "function"] = with_states(mb, lambda q, f=f, x=x: f(q, None, x))
        loops[f"{name}, {OF_BATCH}", "function"] = repeated(partial(f, Q, None, x))
        if work is not None:
            loops[f"{name}, compiled", "kernel"] = kernel(mb, work)
    return loops


def chain_rows(count: int = 10_000) -> dict[tuple[str, str], Loop]:
    """A long chain at new states."""
    mb = sc.serial_chain(count)
    s = sc.operators(mb)
    massmat, x = s.H * s.phi * s.M * s.phi.T * s.H.T, np.ones(mb.nv)
    what = {
        "massmat * x": partial(massmat.__mul__, x),
        "massmat.inv * x": partial(massmat.inv.__mul__, x),
        "Omega[i, j]": lambda: s.Omega[count // 2, count // 2 + 10],
    }
    return {(f"chain of 10,000: {name}", "function"): after_states(mb, do, 4) for name, do in what.items()}


def after_states(mb: sc.Multibody, do: Callable[[], Any], count: int = STATES) -> Loop:
    """What is done after the state was set anew."""
    v = np.zeros(mb.nv)

    def both(q: Any) -> None:
        mb.set_state(q, v)
        do()

    return with_states(mb, both, count)


def with_states(mb: sc.Multibody, do: Callable[[Any], Any], count: int = STATES) -> Loop:
    """What is done with one state after the other."""
    states = cycle([np.array(mb.random_state(seed)[0]) for seed in range(count)])
    return repeated(lambda: do(next(states)))


def fixman_row() -> dict[str, Loop]:
    """The force of the Fixman potential, the kernel being that of the gradient of log det."""
    mb = sc.load("arm7")
    return {
        "function": repeated(partial(analysis.fixman_force, mb, *arguments(mb, ("q",)), 0.6)),
        "kernel": kernel(mb, "log_det_gradient"),
    }


def arguments(mb: sc.Multibody, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Plain arrays, a node, a mask; no forces."""
    rng = np.random.default_rng(0)
    q, v = map(np.array, mb.random_state(0))
    vector = rng.standard_normal(mb.nv)
    given: dict[str, Any] = {"q": q, "v": v, "nodes": NODE, "prescribed": np.arange(mb.nv) % 3 == 1}
    return tuple(given.get(name, vector) for name in names if name not in ("f_ext", "expressed_in"))


def kernel(mb: sc.Multibody, name: str) -> Loop:
    """A kernel on one state, looped in the core."""
    model = CompiledModel.of(mb.layout)
    assert model is not None
    q, v = mb.random_state(0)
    loop: Callable[..., float] = model.kernels.time
    return lambda n: loop(name, q, v, np.zeros(mb.nv), n)


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    rows = []
    for name, found in result["rows"].items():
        before = result["before"].get(name)
        rows.append(
            [
                f"`forward_dynamics` {name}" if name.startswith("with ") else f"`{name}`",
                *(f"{found[kind]:.2f}" if kind in found else "" for kind in ("kernel", "handle", "function")),
                "" if before is None else f"{before:,.0f}",
            ]
        )
    words = (
        "Microseconds of one thread on its core, the least of several rounds; the 7-dof arm, and 10 dofs for "
        "`integrate` and what follows it. Before: the public function when Python still checked every argument."
    )
    return f"{words}\n\n{table(['call', 'kernel', 'handle', 'function', 'before'], rows, 1)}"
