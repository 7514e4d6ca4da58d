"""Tree-augmented, fully augmented, embedded and hybrid solvers agree with a dense KKT solution on random graphs."""

import numpy as np
import pytest
from tests.loops.agreement import Sweep, built, drawn, reference, sweep
from tests.loops.compiled_cases import one_compiled
from tests.scales.scaled import Units, scaled

import soacraft as sc
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented
from soacraft.model.hinges.base import pose_of
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.hinge_fit import gap_size, hinge_gap, nearest_coordinates

FEW, MANY = 100, 10_000


def told(found, count):
    """What came of it, printed; all that can be compared agrees, and nothing of that is refused."""
    print(found)
    assert found.wrong == []
    assert found.refused == []
    assert found.counts["compared"] >= 0.95 * count


def test_solvers_agree_on_random_closed_graphs():
    """Every hinge, redundant rows, armature, masses of four decades, lengths from a micrometre to 1,000 kilometres."""
    told(sweep(range(FEW)), FEW)


@pytest.mark.slow
def test_solvers_agree_on_many_random_closed_graphs():
    told(sweep(range(FEW, FEW + MANY)), MANY)


def test_a_closure_that_holds_nothing_in_a_model_of_a_thousand_kilometres():
    """Turns and slides are far apart in the fully augmented system: its sparse solution alone is off by 1.2e-9."""
    told(sweep([1315]), 1)


def test_rows_of_turns_and_of_slides_in_a_loop_of_ten_micrometres():
    """Heavy slides, light turns: dependent dofs that leave 1e-11 of the slides make embedded answers off by 3e-9."""
    told(sweep([4778]), 1)


def test_bodies_of_a_few_micrometres_have_inertia_to_turn():
    """Fully augmented too: moments are 1e-12 of the masses there, in kg m^2 and kg, and no rounding. Closures by a
    slide and by a ball that rolls repeat each other and the hinge of their body."""
    told(sweep([9174]), 1)


@pytest.mark.parametrize("length", [1e-4, 1.0, 1e4, 1e5])
def test_forbidden_directions_are_as_exact_in_any_unit_of_length(length):
    """A light ball that rolls between heavy bodies, solved in Python. Directions that hinges forbid, orthonormal in
    metres, have slides of 1e-4 with the rounding of turns: the fully augmented answer is off by 2e-10 at 1e4."""
    mb, force, _ = drawn(4959)
    units = Units(length=length)
    other = scaled(mb, units)
    before, after = (measure_of(x, x.q).dofs for x in (mb, other))
    force = force * units.energy * after / before
    found, wanted = FullyAugmented(other).forward_dynamics(other.q, other.v, force), reference(other, force)
    assert np.abs(after * found.vdot - wanted.vdot).max() < 2e-11 * wanted.largest


@pytest.mark.parametrize("kept", [["loop1"], ["loop0", "loop2"], ["loop1", "loop2"]])
def test_embedded_rows_hold_to_rounding_whatever_the_unit_of_length(kept):
    """The same graph with some of its closures, all embedded: one without redundant rows, two with them."""
    mb, force = built(4778)
    for loop in mb.loops:
        if loop.name not in kept:
            mb.remove_loop(loop)
    wanted, solver = reference(mb, force), ConstraintEmbedding(mb)
    found = solver.forward_dynamics(mb.q, mb.v, force)
    off = measure_of(mb, mb.q).dofs * found.vdot - wanted.vdot
    assert np.abs(off).max() < 1e-11 * wanted.largest
    rows = Constraints(mb, mb.state())
    left = (rows.jacobian() @ found.vdot + rows.gamma) / rows.units
    assert np.abs(left).max() < 1e-14 * wanted.largest
    assert one_compiled(solver, mb.q, mb.v, force)[1]


def test_the_sweep_sees_what_it_is_for():
    """Among the first graphs are all that its title says; and a wrong answer is told by seed."""
    graphs = [built(seed)[0] for seed in range(60)]
    lengths = [Constraints(mb, mb.state()).measure.length for mb in graphs if mb.nv]
    masses = [body.inertia.mass for mb in graphs for body in mb.bodies]
    assert min(lengths) < 1e-5
    assert max(lengths) > 1e5
    assert max(masses) / min(masses) > 1e4
    assert any(body.armature.any() for mb in graphs for body in mb.bodies)
    assert {type(body.hinge) for mb in graphs for body in mb.bodies} >= {sc.Pin, sc.Free, sc.Spherical, sc.RollingBall}
    assert len({type(x.hinge) for mb in graphs for x in mb.loops}) >= 8
    found = Sweep(wrong=[(7, "embedded", 2e-9)])
    found.counts["compared"] += 1
    assert str(found) == "1 compared\nseed 7: embedded is off by 2e-09"
    with pytest.raises(AssertionError, match="embedded"):
        told(found, 1)


@pytest.mark.parametrize("length", [1e-6, 1e6])
def test_the_coordinates_of_a_closure_are_found_in_any_unit(length):
    """Screws that the neutral coordinates do not lead to: starts are drawn in lengths of the loop."""
    hinge = sc.Screws([(0.4, 0.1, 0.7, 0.2, -0.5, 0.3), sc.Prismatic((0.3, 1.0, 0.2)), (0.9, 0.2, -0.1, 0, 0.4, 0.1)])
    mb = sc.Multibody("one")
    mb.add_body("body", None, hinge, sc.Inertia(1.0))
    other = scaled(mb, Units(length=length)).bodies[0].hinge
    for seed in range(8):
        q, at = hinge.random(np.random.default_rng(seed)), [1.0, length, 1.0]
        found = nearest_coordinates(other, pose_of(other, q * at), length=length)
        assert gap_size(hinge_gap(other, found, pose_of(other, q * at)), length) < 1e-9
