"""Components that edit the model of their plant: refused by name, in compiled steps as in those of Python."""

from __future__ import annotations

import pytest
from tests.sim.combinations import tree

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim.stride import Stride, Walked

EDITS = {
    "structure": lambda mb: mb.add_body("new", "second", sc.Pin((0, 1, 0)), sc.Inertia(1.0)),
    "parameters": lambda mb: setattr(mb["second"], "inertia", sc.Inertia(2.0)),
}


def system(edit, late, integrator):
    """A component of which one equation edits the model at the first call after a time."""
    mb = tree()

    def at(t, name):
        if name == edit[1] and t > late:
            EDITS[edit[0]](mb)

    class Editor(sim.Component):
        x = sim.Continuous(start=0.0)

        @sim.output("N m", to="force")
        def force(t):
            at(t, "force")
            return 0.1

        @sim.rate(x)
        def slope(t):
            at(t, "slope")
            return 1.0

        @sim.crossing()
        def passes(t):
            at(t, "passes")
            return t - 5.0

    class Ticking(sim.Component):
        k = sim.Discrete(start=0.0)

        @sim.update(k)
        def step(t):
            at(t, "step")
            return t

    s = sim.System("edited", integrator=integrator, **({} if integrator == "dop853" else {"step": 0.005}))
    plant = s.add("body", sim.Plant(mb))
    s.add("editor", Editor(), at=plant.dof("first"))
    s.add("ticking", Ticking(), every=0.01)
    return s


@pytest.mark.parametrize("python", [False, True])
@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("where", ["force", "slope", "step", "passes"])
@pytest.mark.parametrize("what", EDITS)
def test_an_edit_is_refused(what, where, integrator, python, monkeypatch):
    """The run ends before the step in which the model changed, with a run of the rows before."""
    if python:
        monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))
    s = system((what, where), 0.021, integrator)
    part = "ticking" if where == "step" else "editor"
    with pytest.raises(SimulationError, match=rf"the equation '{part}.{where}' changed the model 'tree': ") as error:
        s.run(0.1)
    assert error.value.run is not None
    assert error.value.run.t[0] == 0.0
