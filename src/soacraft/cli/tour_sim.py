"""`soacraft tour sim`: a simulation with a progress bar, a table of energies and a file, each with its check."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import soacraft as sc

NEXT = """
Where to go next:
  soacraft tour system     a satellite with sensors, a controller and wheels
In Python: import soacraft as sc; help(sc.sim.Propagator)
"""


def tour_sim(console: Console | None = None) -> int:
    """Walk through a simulation; 0 when every check passed, 1 otherwise."""
    console = Console(highlight=False) if console is None else console
    failed = 0

    def check(what: str, good: bool) -> None:
        nonlocal failed
        failed += not good
        console.print(f"  {'✓' if good else '✗'} {what}", markup=False)

    console.print(Rule("a double pendulum falls", align="left", style="cyan"))
    mb = sc.load("double_pendulum")
    mb.set_state([np.pi / 2, 0.0], [0.0, 0.0])
    p = sc.sim.Propagator(mb, rtol=1e-9)
    console.print(str(p.report()), markup=False)
    p.event("straight", lambda t, state: state.q[1])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.h5"
        logged = find_spec("h5py") is not None
        run = p.advance_to(2.0, log=file if logged else None, progress=True)
        console.print(_energies(run))
        check("the angles after 2 s are those of the literature", abs(mb.q[0] + 0.4829715342517544) < 1e-7)
        console.print(f"  straight at t = {', '.join(f'{x.t:.6f}' for x in run.events)} s", markup=False)
        console.print(str(run.check()), markup=False)
        check("the energy balances to the accuracy of the integrator", bool(run.check().holds))
        if logged:
            back = sc.sim.read(file)
            check(f"{file.name} ({file.stat().st_size} bytes) reads back", np.array_equal(back.q, run.q))
        else:
            console.print("  no file is written: pip install 'soacraft[sim]' for h5py", markup=False)

    console.print(Rule("two four-bars pass their singular poses", align="left", style="cyan"))
    row = _row_of_four_bars()
    run = sc.sim.Propagator(row, rtol=1e-8).advance_to(1.0, progress=True)
    check(f"their pins stay closed: open by {run.violation.max():.1e}", run.violation.max() < 1e-10)
    check("the cranks stay parallel", float(np.abs(run.q[:, 0] - run.q[:, 1]).max()) < 1e-6)
    console.print(NEXT, markup=False)
    return 1 if failed else 0


def _energies(run: sc.sim.Run) -> Table:
    table = Table("t (s)", "kinetic (J)", "potential (J)", "energy (J)", title="energies")
    for t in np.linspace(run.t[0], run.t[-1], 6):
        i = int(np.searchsorted(run.t, t - 1e-12))
        table.add_row(*(f"{x[i]:.9f}" for x in (run.t, run.kinetic, run.potential, run.energy)))
    return table


def _row_of_four_bars() -> sc.Multibody:
    """Benchmark A02 of the IFToMM library with two four-bars: rods of 1 m and 1 kg."""
    mb = sc.Multibody("two four-bars", gravity=(0, -9.81, 0))
    pin, end = sc.Pin((0, 0, 1)), sc.Pose(translation=(1, 0, 0))
    rod = sc.Inertia(1.0, (0.5, 0, 0), np.diag([0.0, 1.0, 1.0]) / 12.0)
    for i in range(3):
        mb.add_body(f"crank{i}", None, pin, rod, sc.Pose(translation=(i, 0, 0))).add_node("end", end)
    for i in range(2):
        mb.add_body(f"coupler{i}", f"crank{i}", pin, rod, end).add_node("end", end)
        mb.close_loop(f"pin{i}", f"crank{i + 1}/end", f"coupler{i}/end", pin)
    mb.set_state([np.pi / 2] * 3 + [-np.pi / 2] * 2, [-1.0] * 3 + [1.0] * 2)
    return mb
