"""Derivatives as programs: nothing of them is left to Python, and they give what the recursions give."""

import numpy as np
import pytest
from tests.ops.differences import along_dofs, dofs, expressions, mass_matrix, part
from tests.ops.programs.test_programs import agree, close, every_hinge
from tests.strategies import AXES
from tests.user_hinges import with_a_slide

import soacraft as sc
from soacraft import _core
from soacraft.errors import ModelFileError
from soacraft.model.hinges import examples
from soacraft.ops.programs import fields
from soacraft.ops.programs.roads import binding_of, road_of


def lowered(expr):
    return road_of(binding_of(expr)).lowered(expr)


@pytest.mark.parametrize("axes", AXES)
def test_every_operator_along_the_dofs_of_every_hinge(axes):
    """With armature and two bases; every fifth dof for an operator, all of them over all operators."""
    mb = every_hinge()
    which = dofs(mb)
    for i, (name, expr) in enumerate(expressions(sc.operators(mb, axes=axes), ["body3/tip", "body9/tip"]).items()):
        for body, dof, _ in which[i % 5 :: 5]:
            change = expr.diff(body, dof)
            x = np.linspace(-1, 1, 2 * expr.shape[1]).reshape(-1, 2)
            wanted = change.apply(x)
            program = lowered(change)
            assert program is not None, name
            assert not program.outside or name == "block diagonal", (name, body.name, dof)  # diag_of is Python's
            size = np.abs(wanted).max() + np.abs(expr.apply(x)).max()  # some derivatives cancel to rounding
            np.testing.assert_allclose(change * x, wanted, rtol=0, atol=1e-12 * size, err_msg=f"{name} {body}")


@pytest.mark.parametrize("axes", AXES)
def test_along_every_dof_of_a_chain(axes):
    """The first too, which moves all of it: against differences."""
    mb = sc.load("arm7")
    mb.set_state(*mb.random_state(2))
    phi = sc.operators(mb, axes=axes).phi
    wanted = along_dofs(mb, phi, range(mb.nv))
    for body, rate in zip(mb.bodies, wanted, strict=True):
        change = phi.diff(body)
        assert not lowered(change).outside
        np.testing.assert_allclose(change * np.eye(phi.shape[1]), rate, rtol=0, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_new_states_blocks_and_transposes(axes):
    mb = every_hinge()
    s = sc.operators(mb, axes=axes)
    gimbal = next(b.name for b in mb.bodies if isinstance(b.hinge, sc.Gimbal))
    ball = next(b.name for b in mb.bodies if isinstance(b.hinge, sc.RollingBall))
    changes = [mass_matrix(s).diff(gimbal, 2), s.psi.diff(ball, 1), s.P.diff("body9"), s.H.diff(ball), s.M.diff(gimbal)]
    for seed in (1, 2):
        mb.set_state(*mb.random_state(seed))
        for change in changes:
            agree(change, change.text()[:80], 1e-11)
            agree(change.T, change.text()[:80], 1e-11)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("twice", [False, True])
def test_compiled_functions_and_batches(axes, twice):
    """By programs alone, second derivatives along two hinges too: Python answers no call."""
    mb = sc.random_tree(6, seed=5, hinges=examples())
    body, other = [b for b in mb.bodies if b.hinge.nv][-1:-3:-1]
    Q = np.array([mb.random_state(i)[0] for i in range(3)])
    for form in (mass_matrix, lambda s: s.psi, lambda s: s.H * s.R):
        change = form(sc.operators(mb, axes=axes)).diff(body)
        if twice:
            change = change.diff(other)
        f, x = change.compile(), np.linspace(-1, 1, change.shape[1])
        wanted = np.array([change.at(q=q).apply(x[:, None])[:, 0] for q in Q])
        size = np.abs(wanted).max()
        np.testing.assert_allclose(f(Q[0], None, x), wanted[0], rtol=0, atol=1e-11 * size)
        np.testing.assert_allclose(f(Q, None, x), wanted, rtol=0, atol=1e-11 * size)
        assert not lowered(change).outside
        assert f._quick.passed_on == 0


@pytest.mark.parametrize("axes", AXES)
def test_sub_graphs_and_moving_anchors(axes):
    for graph in (part(), part("moving")):
        s = sc.operators(graph, axes=axes)
        for body, dof, _ in dofs(graph)[::3]:
            for expr in (mass_matrix(s), s.B([graph.bodies[-1].name]).T * s.phi.T * s.H.T):
                agree(expr.diff(body, dof), (body.name, dof), 1e-11)


def test_a_program_runs_in_one_pass():
    """A vector and its rate go through the factors together: at most twice the sweeps, however many factors change."""
    s = sc.operators(every_hinge())

    def sweeps(expr):
        return sum("gather" in line or "scatter" in line for line in lowered(expr).listing if line.startswith("r"))

    for expr in (mass_matrix(s), mass_matrix(s) * mass_matrix(s) * mass_matrix(s)):
        assert 0 < sweeps(expr.diff("body6")) <= 2 * sweeps(expr)


def test_registers_are_used_again():
    """A long product takes no more registers than a short one."""
    s = sc.operators(sc.serial_chain(3))

    def registers(expr):
        written = [line.split(" = ")[0] for line in lowered(expr).listing if line.startswith("r")]
        return len(set(written))

    M = mass_matrix(s)
    assert registers((M * M * M * M).diff("link2")) == registers((M * M).diff("link2"))


def test_a_hinge_of_the_users_own():
    """Its dH is given by Python, all the rest is compiled; without dofs of its own along the way nothing is given."""

    mb = with_a_slide()
    for axes in AXES:
        s = sc.operators(mb, axes=axes)
        for seed in (1, 2):
            mb.set_state(*mb.random_state(seed))
            for body in ("link2", "slide", "last"):
                agree(mass_matrix(s).diff(body), (axes, body), 1e-11)
                agree(s.P.diff(body), (axes, body), 1e-11)
        assert not lowered(mass_matrix(s).diff("link2")).outside
        assert len(lowered(mass_matrix(s).diff("slide")).outside) == 1


def test_parameters_of_the_model_follow():
    mb = every_hinge()
    change = mass_matrix(sc.operators(mb)).diff("body3")
    x = np.ones(mb.nv)
    before = np.asarray(change * x)
    f = change.compile()
    mb.bodies[3].inertia = sc.Inertia(7.0, (0.2, 0.1, -0.3))
    fresh = mass_matrix(sc.operators(mb.copy())).diff("body3")
    close(change * x, fresh.apply(x[:, None])[:, 0], "", 1e-11)
    close(f(np.array(mb.q), None, x), fresh.apply(x[:, None])[:, 0], "", 1e-11)
    assert np.abs(np.asarray(change * x) - before).max() > 1e-3 * np.abs(before).max()


def test_a_plan_does_not_grow_with_every_direction(monkeypatch):
    """Past a size derivatives are left to Python, with the same numbers; other expressions keep their programs."""
    monkeypatch.setattr(fields, "MOST_NUMBERS", 1000)
    monkeypatch.setattr(fields, "MOST_TIMES", 3)
    mb = sc.random_tree(9, seed=3)
    s = sc.operators(mb)
    which = dofs(mb)
    compiled = []
    for body, dof, _ in which:
        change, x = s.psi.diff(body, dof), np.linspace(-1, 1, s.psi.shape[1])
        compiled.append(lowered(change) is not None)
        wanted = change.apply(x[:, None])[:, 0]
        np.testing.assert_allclose(change * x, wanted, rtol=0, atol=1e-11 * np.abs(s.psi.apply(x[:, None])).max())
    assert compiled[0]
    assert not compiled[-1]
    plan = road_of(s.binding).fields.plan
    size = plan.size
    assert s.psi.diff(*which[-1][:2]) * np.ones(s.psi.shape[1]) is not None
    assert plan.size == size
    agree(s.Omega * s.P)


def test_what_is_zero_has_a_program():
    s = sc.operators(sc.load("arm7"))
    change = s.M.diff("link3")
    assert not np.asarray(change * np.ones(42)).any()
    assert lowered(change) is not None


def test_derivatives_are_saved_for_cpp(tmp_path):
    mb = sc.load("arm7")
    change = mass_matrix(sc.operators(mb)).diff("link3")
    change.compile().save(tmp_path / "change.soacraft")
    assert (tmp_path / "change.soacraft").stat().st_size > 1000
    with pytest.raises(ModelFileError, match="depends on v"):
        mass_matrix(sc.operators(mb)).dot().compile().save(tmp_path / "rate.soacraft")


# -- what a plan refuses ----------------------------------------------------------------------------------------------


def test_columns_and_sweeps_that_a_plan_refuses():
    plan = _core.plan(*(np.array(x, dtype=np.int64) for x in ([0, 1], [-1, 0], [0, 6, 12], [0, 1, 2])))
    plan.blocks_given()
    nowhere, both = np.zeros(0, dtype=np.int64), np.array([0, 1])
    column = plan.given(0, plan.space(np.array([0, 1])), both, np.zeros(2, dtype=np.int64), True)
    twice = plan.given(0, plan.space(np.array([0, 1])), np.array([1, 1]), np.zeros(2, dtype=np.int64), True)
    short = plan.given(1, plan.space(np.array([0, 1])), both, np.zeros(2, dtype=np.int64), True)
    assert plan.sweep(2, 0, column) == plan.sweep(2, 0, column) != plan.sweep(3, 0, column)
    assert plan.cross(0, column, 0, nowhere) == plan.cross(0, column, 0, nowhere) != plan.cross(1, column, 0, nowhere)
    refusals = {
        "there is no sweep 1": lambda: plan.sweep(1, 0, column),
        "there is no sweep 6": lambda: plan.sweep(6, 0, column),
        "there is no field 99": lambda: plan.sweep(2, 0, 99),
        "field 2 is no column": lambda: plan.sweep(2, 0, 2),
        "a column has one block": lambda: plan.sweep(2, 0, twice),
        "a block is on no edge": lambda: plan.sweep(2, 2, column),
        "there is no cross product 3": lambda: plan.cross(3, column, 0, nowhere),
        "a slice takes the numbers": lambda: plan.cross(0, column, 0, np.array([0])),
        "there is no slice 2": lambda: plan.cross(0, column, 0, np.array([0, 2])),
        "there is no slice -1": lambda: plan.cross(0, column, 0, np.array([0, -1])),
        "takes six numbers": lambda: plan.cross(0, short, 0, nowhere),
        "there is no space 9": lambda: plan.cross(0, column, 9, nowhere),
        "there is no dof 0 of node 0 of a rigid tree": lambda: plan.hinge_rate(0, 0),
    }
    for text, ask in refusals.items():
        with pytest.raises(ValueError, match=text):
            ask()
