"""How operator-vector products grow with the number of bodies: serial chains and trees of 100 to 10,000 bodies.

Two costs are kept apart. "new state" sets `mb.q` and forms the product: poses, hinge maps and, where the expression
needs them, articulated-body inertias are computed anew. "repeated" forms the product again at the same state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
from measure import Work, growth, microseconds
from models import chain
from peer import PinocchioChain

import soacraft as sc

SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
QUICK = (5, 10, 20)
#: Pinocchio's Data keeps arrays of nv^3 numbers, so its chains stay short.
PEER_SIZES = (100, 200)
#: A product is called linear below this exponent over the largest decade of sizes.
LINEAR = 1.15


@dataclass
class Series:
    """The times of one expression on one kind of model, in microseconds by size."""

    model: str
    expression: str
    state: str
    times: dict[int, float] = field(default_factory=dict)

    def exponent(self, least: int = 0) -> float:
        sizes = [n for n in self.times if n >= least]
        return growth(sizes, [self.times[n] for n in sizes])


@dataclass
class PeerRow:
    """One product of ours and the same by Pinocchio in one run, at a new state and repeated; microseconds."""

    bodies: int
    product: str
    call: str
    ours_new: float
    peer_new: float
    ours_repeated: float
    peer_repeated: float
    difference: float


def tree(n: int) -> sc.Multibody:
    """A random tree with every kind of hinge; half of the bodies start a branch."""
    return sc.random_tree(n, seed=1, branching=0.5)


MODELS = {"serial chain": chain, "tree": tree}


def expressions(mb: sc.Multibody, x: Any = None) -> dict[str, Work]:
    """Products with a vector (by default a random one), and one block of Omega, as jobs."""
    H, phi, M, psi, Omega = sc.operators(mb, "H phi M psi Omega")
    massmat = H * phi * M * phi.T * H.T
    inverse = massmat.inv
    rng = np.random.default_rng(0)
    x, X = rng.standard_normal(mb.nv) if x is None else x, rng.standard_normal(6 * len(mb))
    last = len(mb) - 1
    return {
        "phi * X": lambda: phi * X,
        "psi.T * X": lambda: psi.T * X,
        "H*phi*M*phi.T*H.T * x": lambda: massmat * x,
        "massmat.inv * x": lambda: inverse * x,
        "Omega * X": lambda: Omega * X,
        "Omega[i, j]": lambda: Omega[last // 2, last],
    }


def new_states(mb: sc.Multibody) -> Iterator[Any]:
    """Coordinates without end, each other than the one before; jobs on one model share it."""
    return cycle([mb.random_state(seed)[0] for seed in (1, 2, 3)])


def at_new_state(mb: sc.Multibody, states: Iterator[Any], job: Work) -> Work:
    """The job with a change of q before it, so that nothing is left from the last time."""

    def work() -> object:
        mb.q = next(states)
        return job()

    return work


def measure(sizes: tuple[int, ...], rounds: int) -> list[Series]:
    """All series; a round meets every model and size."""
    repeated: dict[tuple[str, str, int], Work] = {}
    fresh: dict[tuple[str, str, int], Work] = {}
    for model, make in MODELS.items():
        for n in sizes:
            mb = make(n)
            mb.q = mb.random_state(0)[0]
            states = new_states(mb)
            for expression, job in expressions(mb).items():
                repeated[model, expression, n] = job
                fresh[model, expression, n] = at_new_state(mb, states, job)
    found: dict[tuple[str, str, str], Series] = {}
    for state, jobs in (("repeated", repeated), ("new state", fresh)):
        for (model, expression, n), t in microseconds(jobs, rounds).items():
            key = (model, expression, state)
            found.setdefault(key, Series(*key)).times[n] = t
    return list(found.values())


def against_peer(sizes: tuple[int, ...], rounds: int) -> list[PeerRow]:
    """Mass matrix products on the chain, ours and Pinocchio's, and how far the numbers are apart."""
    return [
        _against_peer(n, rounds, *which)
        for n in sizes
        for which in (
            ("H*phi*M*phi.T*H.T * x", "rnea", PinocchioChain.mass_matrix_times, PinocchioChain.mass_matrix),
            ("massmat.inv * x", "aba", PinocchioChain.inverse_times, PinocchioChain.inverse),
        )
    ]


def _against_peer(n: int, rounds: int, product: str, call: str, times: Any, dense: Any) -> PeerRow:
    mb, peer = chain(n), PinocchioChain(chain(n))
    mb.q = q = mb.random_state(0)[0]
    x = np.random.default_rng(0).standard_normal(n)
    ours, X = expressions(mb)[product], dense(peer, q)
    apart = _apart(np.asarray(expressions(mb, x)[product]()), times(peer, q, x))
    t = microseconds(
        {
            "ours repeated": ours,
            "ours new": at_new_state(mb, new_states(mb), ours),
            "peer repeated": lambda: X @ x,
            "peer new": lambda: times(peer, q, x),
        },
        rounds,
    )
    return PeerRow(n, product, call, t["ours new"], t["peer new"], t["ours repeated"], t["peer repeated"], apart)


def _apart(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.max(np.abs(x - y)) / np.max(np.abs(y)))


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    sizes, rounds = (QUICK, 1) if quick else (SIZES, 5)
    series = measure(sizes, rounds)
    return {
        "sizes": list(sizes),
        "series": [asdict(s) for s in series],
        "peer": [asdict(r) for r in against_peer(QUICK[:1] if quick else PEER_SIZES, rounds)],
    }


def read(result: dict[str, Any]) -> list[Series]:
    """The series of a result, also of one read from a file."""
    return [Series(**s | {"times": {int(n): t for n, t in s["times"].items()}}) for s in result["series"]]


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The few figures for the page of benchmarks: serial chains, growth over the largest decade, time at its end."""
    series = {(s.expression, s.state): s for s in read(result) if s.model == "serial chain"}
    largest = max(result["sizes"])
    rows = []
    for expression in dict.fromkeys(expression for expression, _ in series):
        cells = [series[expression, state] for state in TITLES]
        rows.append([f"`{expression}`", *(f"{s.exponent(largest // 10):.2f}, {_ms(s.times[largest])}" for s in cells)])
    where = f"{facts['processor']}, {facts['cores']} cores, {facts['instruction set']}, Python {facts['Python']}"
    return (
        f"Serial chains: the exponent p of time ~ bodies^p from {largest // 10:,} to {largest:,} bodies, and the time "
        f"at {largest:,}.\n\n{table(['product', 'repeated at one state', 'at a new state'], rows, 1)}\n\n"
        f"`{facts['command']}`, {facts['date']}, {where}."
    )


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    series = read(result)
    tables = [_growth_table(state, [s for s in series if s.state == state]) for state in ("repeated", "new state")]
    worst = max(series, key=lambda s: s.exponent(max(s.times) // 10))
    steepest = worst.exponent(max(worst.times) // 10)
    verdict = "linear" if steepest <= LINEAR else f"NOT linear (above {LINEAR})"
    last = (
        f"Steepest growth over the largest decade: {steepest:.2f}, {verdict}: `{worst.expression}` on a "
        f"{worst.model}, {worst.state}."
    )
    return "\n\n".join([*tables, last, _peer_table([PeerRow(**r) for r in result["peer"]])])


TITLES = {
    "repeated": "## The product repeated at one state",
    "new state": "## The product at a new state: `mb.q = q`, then the product",
}


def _growth_table(state: str, series: list[Series]) -> str:
    sizes = list(series[0].times)
    decade = max(sizes) // 10
    head = ["model", "expression", *(f"{n:,}" for n in sizes), "growth, all", f"growth, from {decade:,}"]
    rows = []
    for s in series:
        exponents = (f"{s.exponent():.2f}", f"{s.exponent(decade):.2f}")
        rows.append([s.model, f"`{s.expression}`", *(_us(s.times[n]) for n in sizes), *exponents])
    words = (
        "Microseconds of one thread on its core, the least of several rounds, by number of bodies; the exponent p of "
        "time ~ bodies^p, by least squares in logarithms."
    )
    return f"{TITLES[state]}\n\n{words}\n\n{table(head, rows, 2)}"


def _peer_table(rows: list[PeerRow]) -> str:
    head = ["bodies", "product", "new state", "Pinocchio", "ratio", "repeated", "dense `X @ x`", "ratio"]
    cells = []
    for r in rows:
        new = (_us(r.ours_new), f"{_us(r.peer_new)} ({r.call})", f"{r.ours_new / r.peer_new:.1f}")
        repeated = (_us(r.ours_repeated), _us(r.peer_repeated), f"{r.ours_repeated / r.peer_repeated:.1f}")
        cells.append([f"{r.bodies:,}", f"`{r.product}`", *new, *repeated])
    words = (
        "Microseconds, likewise, on the same chain without gravity, at rest. For Pinocchio a new state is one call of "
        "`rnea` or `aba`; repeated is a product with the dense matrix, formed beforehand by `crba` or "
        "`computeMinverse`. The ratio is soacraft's time over the other's: above 1 soacraft is slower. Chains stay "
        "short because Pinocchio's `Data` keeps arrays of nv^3 numbers. Largest relative difference of the results: "
        f"{max(r.difference for r in rows):.0e}."
    )
    return f"## Beside Pinocchio, in the same run\n\n{words}\n\n{table(head, cells, 2)}"


def table(head: list[str], rows: list[list[str]], words: int) -> str:
    """A Markdown table; columns after the first `words` hold numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *rows))


def _ms(t: float) -> str:
    return f"{t / 1000:.3g} ms"


def _us(t: float) -> str:
    return f"{t:,.0f}" if t >= 100 else f"{t:.1f}"
