"""Another propagator continues from a state with the same bits, whatever the method and what acts."""

from __future__ import annotations

import pytest
from tests.sim.state_scenes import (
    ADAPTIVE,
    FIXED,
    buried,
    closed,
    driven,
    embedded,
    eventful,
    flexible,
    holding,
    prescribed,
    same_run,
    touching,
    tree,
)

from soacraft.errors import SoacraftError
from soacraft.sim.states.sim_state import SimState

SCENES = {x.__name__: x for x in (tree, closed, embedded, flexible, touching, eventful, driven, holding, prescribed)}
#: Pairs that may be refused, by what their errors say.
REFUSED = {
    (scene, integrator): text
    for scenes, integrators, text in (
        (("closed", "embedded"), ("moreau_midpoint",), "takes trees"),
        (("holding", "prescribed"), ("variational", "variational4", "moreau_midpoint"), "takes free motions"),
        (("holding",), ("generalized_alpha",), "would stick, which generalized_alpha does not know"),
    )
    for scene in scenes
    for integrator in integrators
}


@pytest.mark.parametrize("integrator", [*FIXED, *ADAPTIVE])
@pytest.mark.parametrize("scene", SCENES)
def test_another_propagator_continues_with_the_same_bits(scene, integrator):
    """From the bytes of the state in the middle of a motion, between two steps of the grid."""
    p, other = SCENES[scene](integrator), SCENES[scene](integrator)
    error = ""
    try:
        p.run(0.067)
    except SoacraftError as refused:
        error = str(refused)
    if error:
        assert REFUSED.get((scene, integrator), "no refusal") in error
        return
    state = p.state()
    copied = SimState.decode(state.encode())
    assert copied == state
    assert copied.t == p.t == 0.067
    other.set_state(copied)
    assert other.state() == p.state() == state
    a, b = p.run(0.18), other.run(0.18)
    assert len(a) > 1
    same_run(a, b)
    assert p.state() == other.state()


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
def test_shapes_that_are_taken_out_of_each_other(integrator):
    """In the middle of it, and back there from after its end."""
    p, other, late = (buried(integrator) for _ in range(3))
    p.run(0.01)
    middle = p.state()
    assert not middle.began
    other.set_state(middle)
    a, b = p.run(0.4), other.run(0.4)
    same_run(a, b)
    after = p.state()
    assert after.began
    late.run(0.01)
    late.set_state(after)
    same_run(p.run(0.5), late.run(0.5))
    p.set_state(middle)
    same_run(p.run(0.4), a)
