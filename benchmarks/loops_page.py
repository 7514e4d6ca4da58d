"""The results of `loops` as Markdown."""

from __future__ import annotations

from typing import Any

from closed_in_pinocchio import CONSTRAINT_DYNAMICS, LCABA
from growth import table
from measure import growth

SOLVERS = ("CE", "TA", "FA")
#: Growth is that from this number of loops on, where there are as many.
FROM = 10
TITLES = {
    "row": "Row of four-bars, closed by balls",
    "row, pins": "Row of four-bars, closed by pins",
    "arm": "Arm with a four-bar in every joint",
    "single": "Cassie and a Stewart platform",
}
WORDS = {
    "row": "Neighbours share a crank, so all loops are one group; the Schur complement of TA is block-tridiagonal.",
    "row, pins": "The same, with five rows to a loop, of which three repeat others. Pinocchio has no such closure.",
    "arm": "Each loop is a group of its own; all share moving ancestors, so the Schur complement of TA is full.",
    "single": "Cassie has four loops on a free base; the platform five loops in one group.",
}


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The few figures for the page of benchmarks: some models, the solvers and Pinocchio."""
    rows = []
    for kind, wanted in (("row", (1, 40, 200)), ("arm", (1, 40, 80)), ("single", None)):
        for x in result["families"][kind]:
            if wanted is None or x["loops"] in wanted:
                name = x["model"].capitalize() if wanted is None else f"{TITLES[kind]}, {_loops(x['loops'])}"
                rows.append([name, *(_us(x[key]) for key in (*SOLVERS, "Pinocchio")), _x(best(x)[1])])
    packages = dict(x.split() for x in facts["packages"].split(", "))
    where = f"{facts['processor']}, {facts['cores']} cores, {facts['instruction set']}, Python {facts['Python']}"
    head = ["closed chain", *SOLVERS, "`pin.constraintDynamics`", "over the best"]
    return (
        "Closed chains: microseconds of one call from Python of constraint embedding (CE), the tree-augmented (TA) and "
        f"the fully augmented (FA) solver, and of Pinocchio's.\n\n{table(head, rows, 1)}\n\n"
        f"Growth with the number of loops: CE on the arm {exponent(result['families']['arm'], 'CE'):.2f}, TA on the "
        f"row {exponent(result['families']['row'], 'TA'):.2f}. `{facts['command']}`, {facts['date']}, {where}, "
        f"Pinocchio {packages['pin']}. More on the page of [closed chains](loops.md)."
    )


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    found = result["families"]
    tables = [_family(kind, found[kind]) for kind in TITLES]
    derived = [_derivatives(x) for x in [result.get("derivatives")] if x]
    return "\n\n".join([_order(found), *tables, _batches(result["batches"]), *derived, _timed()])


# -- which is fastest -----------------------------------------------------------------------------------------------


def _order(found: dict[str, Any]) -> str:
    """Which solver is first and which last, over all models."""
    entries = [entry for kind in found.values() for entry in kind]
    ranked = [sorted(SOLVERS, key=entry.__getitem__) for entry in entries]
    first = ", ".join(f"{x} on {sum(order[0] == x for order in ranked)}" for x in SOLVERS)
    last = ", ".join(f"{x} on {sum(order[-1] == x for order in ranked)}" for x in SOLVERS)
    return (
        f"Of {len(entries)} models, the fastest is {first}; the slowest is {last}. FA is there to check the others: "
        "it solves for the accelerations of all bodies and the forces of all hinges."
    )


def exponent(entries: list[dict[str, Any]], key: str) -> float:
    """p of time ~ loops^p, on the larger models."""
    kept = [x for x in entries if x["loops"] >= FROM and key in x]
    kept = kept if len(kept) > 1 else [x for x in entries if key in x]
    return growth([x["loops"] for x in kept], [x[key] for x in kept])


def best(entry: dict[str, Any], peer: str = "Pinocchio") -> tuple[str, float]:
    """The fastest of ours, and the peer's time over its."""
    solver = min(SOLVERS, key=entry.__getitem__)
    return solver, entry[peer] / entry[solver]


# -- microseconds ---------------------------------------------------------------------------------------------------


def _family(kind: str, entries: list[dict[str, Any]]) -> str:
    single = kind == "single"
    peers = [key for key in ("Pinocchio", "lcaba") if any(key in x for x in entries)]
    names = {"Pinocchio": "`constraintDynamics`", "lcaba": "`lcaba`"}
    head = ["model" if single else "loops", "dofs", *SOLVERS, "TA/CE", "FA/CE"]
    head += [title for key in peers for title in (names[key], "over the best")]
    rows = []
    for x in entries:
        cells = [x["model"].capitalize() if single else f"{x['loops']:,}", f"{x['dofs']:,}"]
        cells += [*(_us(x[key]) for key in SOLVERS), *(_x(x[key] / x["CE"]) for key in ("TA", "FA"))]
        for key in peers:
            cells += [_us(x[key]), _x(best(x, key)[1])] if key in x else ["", ""]
        rows.append(cells)
    if not single:
        powers = [*(f"{exponent(entries, key):.2f}" for key in SOLVERS), "", ""]
        powers += [cell for key in peers for cell in (f"{exponent(entries, key):.2f}", "")]
        rows.append(["growth", "", *powers])
    said = [WORDS[kind], "Microseconds of one call."]
    if not single:
        said.append(f"Growth: the exponent p of time ~ loops^p from {FROM} loops on.")
    said.append(f"Largest relative difference from TA: {_apart(entries)}.")
    said += [note for x in entries for note in x["notes"]]
    return f"## {TITLES[kind]}\n\n{' '.join(said)}\n\n{table(head, rows, 1)}"


def _apart(entries: list[dict[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for x in entries for key in x["difference"] if key != "TA"))
    worst = {key: max(x["difference"].get(key, 0.0) for x in entries) for key in keys}
    return ", ".join(f"{key} {gap:.0e}" for key, gap in worst.items())


def _derivatives(x: dict[str, Any]) -> str:
    own, theirs = x["derivatives"], x["both"] - x["constraintDynamics"]
    rows = [
        ["`forward_dynamics` of TA", _us(x["forward dynamics"]), ""],
        ["`forward_dynamics_derivatives`, which solves too", _us(own), ""],
        ["`constraintDynamics`", _us(x["constraintDynamics"]), ""],
        ["`constraintDynamics`, then `computeConstraintDynamicsDerivatives`", _us(x["both"]), _x(x["both"] / own)],
        ["the latter alone", _us(theirs), _x(theirs / own)],
    ]
    ratio = own / x["forward dynamics"]
    words = (
        f"Of Cassie's forward dynamics along q, v and the force, with those of the constraint forces: {ratio:.1f} "
        f"times forward dynamics for {x['dofs']} dofs. Largest relative difference from Pinocchio along motions that "
        f"the closures allow: {x['difference']:.0e}."
    )
    return f"## Derivatives\n\n{words}\n\n{table(['', 'microseconds', 'over ours'], rows, 1)}"


def _batches(entries: list[dict[str, Any]]) -> str:
    names = {"row 1": "Four-bar", "cassie": "Cassie"}
    rows = []
    for x in entries:
        solver, ratio = best(x)
        cells = [*(_us(x[key]) for key in (*SOLVERS, "Pinocchio")), f"{_x(ratio)}, {solver}"]
        rows.append([names[x["model"]], f"{x['states']:,}", *cells])
    head = ["model", "states", *SOLVERS, "`constraintDynamics`", "over the best"]
    words = (
        "Microseconds of processor time per state, of all threads together, all states in one call; Pinocchio's call "
        "in a loop over them. CE and TA solve as many states side by side as a register holds, FA one after the other."
    )
    return f"## Batches\n\n{words}\n\n{table(head, rows, 1)}"


def _timed() -> str:
    return (
        "## What was timed\n\nStates differ from call to call, 1 ms of motion apart. soacraft: "
        "`s.forward_dynamics(q, v, x)`, `s` a solver with all its checks, `x` random forces; the result has "
        "accelerations, constraint forces and residuals; rank and independent dofs are computed when they are read. "
        "Pinocchio: "
        "`pin.constraintDynamics(model, data, q, v, x, loops, loop_data, settings)` with `CONTACT_3D`, without "
        f"stabilization, `settings = ProximalSettings{CONSTRAINT_DYNAMICS}`; and its other algorithm for loops, "
        f"`pin.lcaba(model, data, q, v, x, loops, loop_data, settings)` with `ProximalSettings{LCABA}`."
    )


def _loops(n: int) -> str:
    return "one loop" if n == 1 else f"{n} loops"


def _x(ratio: float) -> str:
    if ratio >= 10:
        return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}"
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"


def _us(t: float) -> str:
    return f"{t:,.0f}" if t >= 100 else f"{t:.1f}" if t >= 10 else f"{t:.2f}"
