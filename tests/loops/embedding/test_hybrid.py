"""Some loops embedded, the rest as rows on the embedded tree: the same answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.by_name import by_name
from tests.loops.cases import (
    LIBRARY,
    closed_graphs,
    comparable,
    dense,
    force_of,
    generalized,
    library,
    near,
    row_of_four_bars,
)
from tests.profiles import tries

from soacraft.loops import ConstraintEmbedding


def ties(mb):
    return [x.name for x in mb.loops] + [x.name for x in mb.couplings]


@tries(25)
@given(mb=closed_graphs(), data=st.data())
def test_random_closed_graphs(mb, data):
    force = force_of(mb)
    expected = comparable(mb, force)
    chosen = [name for name in ties(mb) if data.draw(st.booleans())]
    found = ConstraintEmbedding(mb, embed=chosen).forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, expected.vdot)
    near(generalized(mb, found), expected.constraint_force)
    assert found.rank == expected.rank
    assert len(found.vdot_independent) == mb.nv - found.rank


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("which", ["first", "others", "none"])
def test_library(name, which):
    mb = library(name)
    force, names = force_of(mb), ties(mb)
    chosen = {"first": names[:1], "others": names[1:], "none": []}[which]
    found = ConstraintEmbedding(mb, embed=chosen).forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, dense(mb, force).vdot)
    assert found.rank == dense(mb, force).rank
    assert found.residual < 1e-10


def test_rows_that_repeat_embedded_ones_do_nothing():
    mb = row_of_four_bars(1)
    mb.close_loop("again", "crank1/tip", "coupler0/tip", mb.loops["loop0"].hinge)
    alone = ConstraintEmbedding(row_of_four_bars(1)).forward_dynamics(mb.q, mb.v, np.zeros(3))
    found = ConstraintEmbedding(mb, embed=["loop0"]).forward_dynamics(mb.q, mb.v, np.zeros(3))
    near(found.vdot, alone.vdot)
    assert found.rank == 2
    assert len(found.redundant) == 8
    near(found.multipliers["again"], np.zeros(6))


def test_independent_dofs_of_the_whole():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, embed=["loop0"])
    found = solver.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    assert len(found.independent) == 1
    force = solver.inverse_dynamics(mb.q, mb.v, by_name(solver, mb.q, [1.5]))
    near(solver.forward_dynamics(mb.q, mb.v, force).vdot_independent, [1.5])
