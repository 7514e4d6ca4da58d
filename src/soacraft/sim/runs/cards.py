"""The cards of a run, of its energy balance and of its contacts. O(rows)."""

from __future__ import annotations

import numpy as np

from soacraft import markup
from soacraft.cards import card, facts, part, sparkline
from soacraft.cards.colours import segment_colour
from soacraft.markup import Html
from soacraft.sim.runs.balance import Balance
from soacraft.sim.runs.contacts import ContactHistory
from soacraft.sim.runs.run import Run

#: Coordinates drawn in the small picture.
_LINES = 8


def run_card(run: Run) -> str:
    """Span and steps, energy and its balance, violation, events, and small pictures over time."""
    if not len(run):
        return card(repr(run))
    parts = [
        part("in short", lambda: facts(_facts(run)), True),
        part("over time", lambda: _pictures(run), True),
        part("energy balance", lambda: _balance(run.check())),
    ]
    if run.events:
        rows = [(f"{x.t:.9g}", x.name) for x in run.events[: markup.ROWS]]
        table = markup.table(["t [s]", "event"], rows, total=len(run.events), more="run.events has all")
        parts.append(part(f"events ({len(run.events):,})", lambda: table))
    return card(repr(run), *parts)


def _facts(run: Run) -> list[tuple[str, str]]:
    steps = np.diff(run.t)
    steps = steps[steps > 0.0]
    reach = f"{len(steps):,}, of {steps.min():.3g} to {steps.max():.3g} s" if len(steps) else "none"
    balance = run.check()
    verdict = {None: "not known", True: "explained by the integrator's error", False: "MORE than it explains"}
    return [
        ("span", f"{run.t[0]:.6g} to {run.t[-1]:.6g} s"),
        ("steps", reach),
        ("integrator", run.integrator),
        ("stopped by", repr(run.stopped_by) if run.stopped_by else ""),
        ("energy", f"{run.energy[0]:.6g} to {run.energy[-1]:.6g} J"),
        ("imbalance", f"{balance.imbalance:.3g} J, {verdict[balance.holds]}"),
        ("violation of closures", f"at most {run.violation.max():.3g}" if run.violation.any() else ""),
        ("forces", ", ".join(map(repr, run.forces))),
        ("contacts", "recorded: run.contacts" if run.contacts is not None else ""),
    ]


def _pictures(run: Run) -> Html:
    names = [f"q[{i}]" for i in range(run.q.shape[1])] if run.labels is None else list(run.labels.q)
    shown = {name: (run.t, run.q[:, i]) for i, name in enumerate(names[:_LINES])}
    colours = [segment_colour(n) for n in range(_LINES)]
    rows = [("coordinates", sparkline(shown, f"coordinates: {', '.join(shown)}", colours))] if shown else []
    energies = {"kinetic": (run.t, run.kinetic), "potential": (run.t, run.potential), "total": (run.t, run.energy)}
    rows.append(("energy", sparkline(energies, "energy: kinetic, potential, total", colours)))
    if run.violation.any():
        rows.append(("violation", sparkline({"violation": (run.t, run.violation)}, "violation of closures", colours)))
    rest = f"the first {_LINES} of {len(names):,} coordinates; " if len(names) > _LINES else ""
    return Html(facts(rows) + markup.paragraph(f"{rest}sc.view.plot(run) has axes, names and units"))


def balance_card(balance: Balance) -> str:
    """Card of a balance: the work of forces, the growth of the energy, and the imbalance."""
    verdict = {None: "not known", True: "holds", False: "DOES NOT HOLD"}[balance.holds]
    return card(f"energy balance: {verdict}", _balance(balance))


def _balance(balance: Balance) -> Html:
    rows = [("energy grew by", f"{balance.energy:.6g} J")]
    rows += [(f"work of {name!r}", f"{x:.6g} J") for name, x in balance.work.items()]
    accuracy = "not known: compare with half the step" if balance.accuracy is None else f"{balance.accuracy:.3g} J"
    rows += [("imbalance", f"{balance.imbalance:.3g} J"), ("accuracy", accuracy)]
    rows += [("contacts gave", f"{balance.gain:.3g} J")] if balance.gain else []
    return facts([*rows, *([("shapes sank in by", f"{balance.sunk:.3g} m")] if balance.sunk else [])])


def history_card(history: ContactHistory) -> str:
    """Card of contacts: the pairs that pressed, in how many steps, and their largest impulses."""
    steps: dict[tuple[str, str], int] = {}
    largest: dict[tuple[str, str], float] = {}
    for step in history.steps:
        for pair in dict.fromkeys(step.pairs):
            on = [p for other, p in zip(step.pairs, step.impulses, strict=True) if other == pair and p.any()]
            if on:
                steps[pair] = steps.get(pair, 0) + 1
                largest[pair] = max(largest.get(pair, 0.0), float(np.linalg.norm(np.sum(on, axis=0))))
    rows = [(*pair, f"{steps[pair]:,}", f"{largest[pair]:.4g}") for pair in sorted(steps)]
    worst = max((x.residual for x in history.steps), default=0.0)
    return card(
        repr(history).strip("<>"),
        markup.table(["a", "b", "steps", "largest impulse [N s]"], rows, more="pairs has all"),
        markup.paragraph(f"largest residual {worst:.1e}"),
    )
