"""How the mass matrix changes: its gradient against central differences, that of log det against one forward dynamics.

And derivatives of operator expressions, `expr.diff(body) * x`, against the expressions' own products.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from growth import at_new_state, new_states, table
from measure import Loop, Work, growth, microseconds, repeated, shortest
from models import chain, humanoid
from side_by_side import require

import soacraft as sc
from soacraft.analysis import log_det_gradient, mass_matrix_gradient
from soacraft.dynamics import forward_dynamics, mass_matrix
from soacraft.model.flat.compiled import CompiledModel

SIZES, QUICK = (100, 200, 500, 1000, 2000, 5000, 10_000), (5, 10, 20)
STEP = 1e-5


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    rounds = 1 if quick else 15
    return {
        "gradient": of_mass_matrix(rounds),
        "log det": of_log_det(QUICK if quick else SIZES, rounds),
        "diff": of_expressions(20 if quick else 1000, rounds),
    }


# -- the mass matrix ----------------------------------------------------------------------------------------


def kernel(mb: sc.Multibody, name: str) -> Loop:
    """A kernel on one state, looped in the core."""
    model = CompiledModel.of(mb.layout)
    assert model is not None
    q, v = mb.random_state(0)
    return lambda n: model.kernels.time(name, q, v, np.zeros(mb.nv), n)


def batch_kernel(mb: sc.Multibody, states: np.ndarray) -> Loop:
    """The kernel of the mass matrix on a batch, on one thread, its results in one place."""
    model = CompiledModel.of(mb.layout)
    assert model is not None
    base, out = np.zeros(12), (np.empty((len(states), mb.nv**2)),)
    return repeated(lambda: model.kernels.run("mass_matrix", states, None, None, None, base, out, 1))


def of_mass_matrix(rounds: int) -> dict[str, Any]:
    """All derivatives of the mass matrix of the humanoid, and what central differences of it take."""
    mb = humanoid()
    n, q = mb.nv, mb.random_state(0)[0]
    steps = STEP * np.concatenate([np.eye(n), -np.eye(n)])
    states = np.ascontiguousarray(mb.integrate(q, steps))

    def differences() -> np.ndarray:
        M = mass_matrix(mb, mb.integrate(q, steps), threads=1)
        return np.moveaxis((M[:n] - M[n:]) / (2 * STEP), 0, -1)

    require(_apart(mass_matrix_gradient(mb, q), differences()), "gradients of the mass matrix of the humanoid")
    loops = {
        "kernel": kernel(mb, "mass_matrix_gradient"),
        "kernel, batch": batch_kernel(mb, states),
        "call": repeated(lambda: mass_matrix_gradient(mb, q, threads=1)),
        "call, batch": repeated(lambda: mass_matrix(mb, states, threads=1)),
        "call, differences": repeated(differences),
    }
    return {"dofs": n, "states": 2 * n, "times": shortest(loops, rounds)}


def _apart(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(np.abs(x - y)) / np.max(np.abs(y)))


# -- log det ------------------------------------------------------------------------------------------------


def of_log_det(sizes: tuple[int, ...], rounds: int) -> dict[str, Any]:
    """The gradient of log det of chains, and one forward dynamics, by kernels and by calls; a round meets all sizes."""
    loops: dict[str, Loop] = {}
    for n in sizes:
        mb = chain(n)
        q, v = mb.random_state(0)
        loops |= {
            f"kernel gradient {n}": kernel(mb, "log_det_gradient"),
            f"kernel forward {n}": kernel(mb, "forward_dynamics"),
            f"call gradient {n}": repeated(partial(log_det_gradient, mb, q)),
            f"call forward {n}": repeated(partial(forward_dynamics, mb, q, v, np.zeros(n))),
        }
    found = shortest(loops, rounds)
    kinds = ("kernel gradient", "kernel forward", "call gradient", "call forward")
    return {"sizes": list(sizes), "times": {kind: [found[f"{kind} {n}"] for n in sizes] for kind in kinds}}


# -- expressions --------------------------------------------------------------------------------------------


def of_expressions(n: int, rounds: int) -> dict[str, Any]:
    """Products of expressions and of their derivatives along the hinge in the middle of a chain; body axes."""
    check_derivatives()
    mb = chain(n)
    mb.q = mb.random_state(0)[0]
    states, jobs = new_states(mb), {}
    for name, expression in expressions(mb).items():
        x = np.random.default_rng(0).standard_normal(expression.shape[1])
        d = expression.diff(mb.bodies[n // 2])
        for kind, factor in (("product", expression), ("derivative", d)):
            work = _product(factor, x)
            jobs[f"{name}: {kind}, repeated"] = work
            jobs[f"{name}: {kind}, new state"] = at_new_state(mb, states, work)
    return {"bodies": n, "times": microseconds(jobs, rounds)}


def _product(factor: sc.Operator, x: np.ndarray) -> Work:
    return lambda: factor * x


def expressions(mb: sc.Multibody) -> dict[str, sc.Operator]:
    """Some in E_phi, phi, H, M, B, and some in P and psi."""
    H, phi, M, psi = sc.operators(mb, "H phi M psi")
    massmat = H * phi * M * phi.T * H.T
    return {
        "phi": phi,
        "H*phi*M": H * phi * M,
        "H*phi*M*phi.T*H.T": massmat,
        "psi": psi,
        "massmat.inv": massmat.inv,
    }


def check_derivatives() -> None:
    """The derivative of the mass matrix as an operator is the one of `mass_matrix_gradient`."""
    mb = chain(12)
    mb.q = mb.random_state(0)[0]
    x = np.random.default_rng(0).standard_normal(mb.nv)
    found = expressions(mb)["H*phi*M*phi.T*H.T"].diff(mb.bodies[6]) * x
    wanted = mass_matrix_gradient(mb, mb.q)[..., 6] @ x
    require(_apart(np.asarray(found), wanted), "derivatives of the mass matrix of a chain")


# -- pages --------------------------------------------------------------------------------------------------


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    words = "Microseconds of one thread on its core, the least of several rounds."
    return "\n\n".join([words, *(page(result) for page in (_gradient_page, _log_det_page, _diff_page))])


def _gradient_page(result: dict[str, Any]) -> str:
    found = result["gradient"]
    t = found["times"]
    rows = [
        ["kernel", "kernel of the batch", t["kernel"], t["kernel, batch"]],
        ["`mass_matrix_gradient`", "differences in full", t["call"], t["call, differences"]],
        ["`mass_matrix_gradient`", "`mass_matrix` of the batch", t["call"], t["call, batch"]],
    ]
    cells = [[ours, other, _us(a), _us(b), f"{b / a:.2f}"] for ours, other, a, b in rows]
    words = (
        f"All {found['dofs']} derivatives, one state, and the mass matrices of the {found['states']} states that "
        "central differences take, in one batch; in full: the states, the batch, and the differences."
    )
    head = ["gradient", "compared with", "gradient", "the other", "times faster"]
    return f"## The gradient of the mass matrix of the humanoid\n\n{words}\n\n{table(head, cells, 2)}"


def _log_det_page(result: dict[str, Any]) -> str:
    found = result["log det"]
    sizes, t = found["sizes"], found["times"]
    rows = []
    for kind in ("kernel", "call"):
        gradient, forward = t[f"{kind} gradient"], t[f"{kind} forward"]
        rows.append([kind, "gradient", *map(_us, gradient), f"{growth(sizes, gradient):.2f}"])
        rows.append([kind, "forward dynamics", *map(_us, forward), f"{growth(sizes, forward):.2f}"])
        rows.append([kind, "ratio", *(f"{a / b:.2f}" for a, b in zip(gradient, forward, strict=True)), ""])
    near = min(range(len(sizes)), key=lambda i: abs(sizes[i] - 1000))
    ratio = t["kernel gradient"][near] / t["kernel forward"][near]
    words = (
        "`log_det_gradient` of serial chains and one forward dynamics, by number of bodies; the exponent p of "
        f"time ~ bodies^p. Kernels at {sizes[near]:,} bodies: {ratio:.2f}."
    )
    head = ["", "", *(f"{n:,}" for n in sizes), "growth"]
    return f"## The gradient of log det\n\n{words}\n\n{table(head, rows, 2)}"


def _diff_page(result: dict[str, Any]) -> str:
    found = result["diff"]
    t, rows = found["times"], []
    for name in dict.fromkeys(key.split(": ")[0] for key in t):
        cells = [f"`{name}`"]
        for state in ("repeated", "new state"):
            own, derivative = t[f"{name}: product, {state}"], t[f"{name}: derivative, {state}"]
            cells += [_us(own), _us(derivative), f"{derivative / own:.2f}"]
        rows.append(cells)
    words = (
        f"`expr * x` and `expr.diff(body) * x` on a chain of {found['bodies']:,} bodies in body axes, along the hinge "
        "in the middle; repeated at one state, and at a new one, where what the factors need is computed anew. With "
        "P and psi the derivative takes one articulated-body sweep more."
    )
    head = ["expression", "product", "derivative", "ratio", "new state: product", "derivative", "ratio"]
    return f"## Derivatives of expressions\n\n{words}\n\n{table(head, rows, 1)}"


def _us(t: float) -> str:
    return f"{t:,.0f}" if t >= 100 else f"{t:.1f}"
