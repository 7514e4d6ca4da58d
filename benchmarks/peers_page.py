"""The results of `peers` as Markdown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from growth import table
from side_by_side import COMPARED, MUJOCO, ROWS, Row


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    parts = [
        f"Kernels in use: {result['instruction set']}.",
        _ratios_in_words(result),
        *(_model(found) for found in result["models"]),
        _growth(result),
        _call(result["overhead"]),
        _timed(),
    ]
    return "\n\n".join(parts)


def summary(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The table of ratios for the page of benchmarks."""
    where = f"{facts['processor']}, {facts['cores']} cores, kernels for {result['instruction set']}"
    packages = dict(x.split() for x in facts["packages"].split(", "))
    memory, grown = result["memory"][-1], result["growth"]
    return (
        f"Pinocchio's time over soacraft's, both called from Python in the same run: results written into arrays used "
        f"again, and in brackets returned as new arrays; batches of 4,096, on one thread.\n\n"
        f"{_ratios(result)}\n\n{_faster_forms(result)}"
        f"Forward dynamics of a chain grows with the power {grown['exponent']:.2f} of its length from "
        f"{grown['sizes'][0]:,} to {grown['sizes'][-1]:,} bodies: {_us(grown['times'][-1])} µs at the end, "
        f"{memory['called'] - memory['imports']:,.0f} MB with the model. A call of `Dynamics.forward_dynamics` on the "
        f"7-dof arm costs {_above(result['overhead'], 'reused'):.2f} µs more than its kernel.\n\n"
        f"`{facts['command']}`, {facts['date']}, {where}, Python {facts['Python']}, "
        f"Pinocchio {packages['pin']}, MuJoCo {packages['mujoco']}. Microseconds, and other forms of Pinocchio's "
        "calls, are in [peers](peers.md)."
    )


#: Rows and columns of the README.
HEADLINES = ("forward dynamics", "inverse dynamics", "mass matrix", "inverse-dynamics derivatives",
             "forward-dynamics derivatives", "forward dynamics, batch")  # fmt: skip
HEADLINE_MODELS = ("7-dof arm", "humanoid", "chain 100")


def headline(result: dict[str, Any], facts: dict[str, str]) -> str:
    """The six rows of the README."""
    found = _by_model(result)
    rows = [[name, *(_x(_ratio(found[model][name], "reused")) for model in HEADLINE_MODELS)] for name in HEADLINES]
    return (
        "Pinocchio's time over soacraft's, called from Python in the same run; above 1 soacraft is faster.\n\n"
        f"{table(['work', *HEADLINE_MODELS], rows, 1)}\n\n"
        f"{_faster_forms(result, HEADLINES, HEADLINE_MODELS)}"
        f"`{facts['command']}`, {facts['date']}, {facts['processor']}, {facts['cores']} cores; a batch: 4,096 states "
        "on one thread. [Benchmarks](docs/benchmarks/index.md) have the rest, with the rows in which a peer is faster: "
        "operators, closed chains, motion, contact, robots, flexible bodies."
    )


# -- ratios -----------------------------------------------------------------------------------------------------


def _ratios_in_words(result: dict[str, Any]) -> str:
    words = (
        "Pinocchio's time over soacraft's, with results written into arrays used again (Pinocchio keeps its own in "
        "`data`); in brackets, with results returned as new arrays."
    )
    return f"## Ratios\n\n{words}\n\n{_ratios(result)}"


def _ratios(result: dict[str, Any]) -> str:
    models = [model for model in COMPARED if model in _by_model(result)]
    rows = [[row.name, *(_ratio_cell(result, row, model) for model in models)] for row in ROWS]
    return table(["work", *models], rows, 1)


def _ratio_cell(result: dict[str, Any], row: Row, model: str) -> str:
    found = _by_model(result)[model][row.name]
    if "Pinocchio" not in found:
        return "-"
    return f"{_x(_ratio(found, 'reused'))} ({_x(_ratio(found, 'new'))})"


def _faster_forms(result: dict[str, Any], names: Collection[str] = (), models: Collection[str] = COMPARED) -> str:
    """Where another form of Pinocchio's call is clearly faster than the usual one, the ratio against it."""
    found = [
        f"{row.name}, {model}: {_x(_ratio(entry, 'reused', 'other'))}"
        for row in ROWS
        for model in models
        if (not names or row.name in names)
        and (entry := _by_model(result).get(model, {}).get(row.name, {})).get("other", 1e300)
        < 0.9 * entry.get("Pinocchio", 0.0)
    ]
    return f"Against a faster form of Pinocchio's call: {'; '.join(found)}.\n\n" if found else ""


def _ratio(found: dict[str, float], ours: str, peer: str = "Pinocchio") -> float:
    return found[peer] / found[ours]


def _by_model(result: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    return {found["model"]: {row["name"]: row for row in found["rows"]} for found in result["models"]}


# -- microseconds of one model ----------------------------------------------------------------------------------


#: Columns of a table, and what they compare with: Pinocchio's call, another form of it, MuJoCo.
COLUMNS = {
    "Pinocchio": (["Pinocchio", "ratio", "ratio, new"], ("reused", "new")),
    "other": (["other form", "ratio"], ("reused",)),
    "MuJoCo": (["MuJoCo", "ratio"], ("reused",)),
}


def _model(found: dict[str, Any]) -> str:
    peers = [peer for peer in COLUMNS if any(peer in row for row in found["rows"])]
    head = ["work", "soacraft, out=", "new array", *(title for peer in peers for title in COLUMNS[peer][0])]
    rows = []
    for row in found["rows"]:
        compared = [cell for peer in peers for cell in _compared(row, peer, *COLUMNS[peer][1])]
        rows.append([row["name"], _us(row["reused"]), _us(row["new"]), *compared])
    notes = "".join(f" {note}" for note in found["notes"])
    several = f"; batches of {found['batch']:,}, per state on one thread"
    alike = max(row["difference"] for row in found["rows"])
    agree = f"Largest relative difference of the results: {alike:.0e}."
    words = f"Microseconds{several}. {agree}{notes}"
    size = f"{found['bodies']:,} bodies, {found['dofs']:,} dofs"
    return f"## {_title(found['model'])}: {size}\n\n{words}\n\n{table(head, rows, 1)}"


def _title(model: str) -> str:
    kind, _, size = model.partition(" ")
    return f"{kind.capitalize()} of {int(size):,}" if size.isdigit() else model.capitalize()


def _compared(row: dict[str, Any], peer: str, *ours: str) -> list[str]:
    if peer not in row:
        return [""] * (1 + len(ours))
    return [_us(row[peer]), *(_x(_ratio(row, mine, peer)) for mine in ours)]


# -- growth, memory, the cost of a call -------------------------------------------------------------------------


def _growth(result: dict[str, Any]) -> str:
    grown, memory = result["growth"], result["memory"]
    times = table(["bodies", *(f"{n:,}" for n in grown["sizes"])], [["µs", *map(_us, grown["times"])]], 1)
    rows = [[f"{m['bodies']:,}", *(f"{m[key]:,.0f}" for key in ("imports", "built", "called"))] for m in memory]
    taken = memory[-1]["called"] - memory[-1]["imports"] - memory[0]["called"] + memory[0]["imports"]
    more = f"{taken:,.0f} MB for {memory[-1]['bodies'] - memory[0]['bodies']:,} bodies more"
    return (
        f"## Chains: growth of forward dynamics\n\nThe exponent of time ~ bodies^p is {grown['exponent']:.2f}.\n\n"
        f"{times}\n\nPeak memory of a process, in megabytes: after the imports, with the "
        f"model, after forward dynamics. {more}.\n\n"
        f"{table(['bodies', 'imports', 'model', 'call'], rows, 1)}"
    )


def _call(found: dict[str, Any]) -> str:
    above = _above(found, "reused")
    return (
        f"## What a call costs above its kernel\n\nForward dynamics of the {found['model']}, medians: "
        f"{found['reused']:.3f} µs with `out=`, {found['new']:.3f} µs with a new array, {found['kernel']:.3f} µs for "
        f"the kernel looped in C++. A call costs {above:.2f} µs more ({_above(found, 'new'):.2f} with a new array), "
        f"the Python loop around it included."
    )


def _above(found: dict[str, float], key: str) -> float:
    return found[key] - found["kernel"]


def _timed() -> str:
    rows = [[row.name, f"`{row.ours}`", f"`{row.pinocchio}`", f"`{row.other}`" if row.other else ""] for row in ROWS]
    words = (
        "States differ from call to call; `d` is `Dynamics(mb)`, whose checks of shapes and numbers are on. New "
        "arrays: the same without `out=`. `AXES` is `LOCAL_WORLD_ALIGNED`, `WORLD` is `Convention.WORLD`. `MuJoCo` is "
        f"`{MUJOCO}`, with contacts and constraints off."
    )
    return f"## What was timed\n\n{words}\n\n{table(['work', 'soacraft', 'Pinocchio', 'other form'], rows, 4)}"


def _x(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.1g}"


def _us(t: float) -> str:
    return f"{t:,.0f}" if t >= 100 else f"{t:.1f}" if t >= 10 else f"{t:.2f}" if t >= 0.1 else f"{t:.3f}"
