"""Articulated bodies, both dynamics and the mass matrix against dense matrices; hinges that have nothing to move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import SKO, dense, models, one_of_batch, sko_models

import soacraft as sc
from soacraft.errors import SingularError
from soacraft.recursions import articulated_body, composite_body, forward_dynamics, mass_matrix, newton_euler


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(y).max(initial=0.0)))


def split(x, model, sizes):
    cuts = np.cumsum(sizes)[:-1]
    return [part[..., None] for part in np.split(x, cuts, axis=-1)] if model.n else []


def stack(y, model):
    return np.concatenate([y[k][..., 0] for k in model.nodes], axis=-1)


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data())
def test_the_riccati_equation(kind, data):
    """M = P - E_A P+ E_A*, D = H P H*, G = P H* D^-1, P+ = (I - G H) P, symmetric; prod det D = det Mcal."""
    model = data.draw(models(kind))
    d, abi = dense(model), articulated_body(model)

    def diagonal(blocks, rows, cols):
        X = np.zeros((rows(model.n - 1).stop, cols(model.n - 1).stop))
        for k in model.nodes:
            X[rows(k), cols(k)] = blocks[k]
        return X

    P, P_plus = diagonal(abi.P, d.body, d.body), diagonal(abi.P_plus, d.body, d.body)
    D, G = diagonal(abi.D, d.hinge, d.hinge), diagonal(abi.G, d.body, d.hinge)
    close(P - d.E @ P_plus @ d.E.T, d.M)
    close(D, d.H @ P @ d.H.T)
    close(G @ D, P @ d.H.T)
    close(P_plus, P - G @ d.H @ P)
    np.testing.assert_array_equal(P_plus, P_plus.T)
    close(np.linalg.slogdet(d.mass_matrix)[1], sum(np.linalg.slogdet(abi.D[k])[1] for k in model.nodes))


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_newton_euler_is_dense_inverse_dynamics(kind, data, seed):
    """alpha = A*(H* vdot + a), f = A(M alpha + b), T = H f."""
    model = data.draw(models(kind))
    d = dense(model)
    vdot = np.random.default_rng(seed).standard_normal(len(d.H))
    found = newton_euler(model, split(vdot, model, model.nvs))
    alpha = d.A.T @ (d.H.T @ vdot + d.a)
    f = d.A @ (d.M @ alpha + d.b)
    close(stack(found.alpha, model), alpha)
    close(stack(found.f, model), f)
    close(stack(found.T, model), d.H @ f)


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_forward_dynamics_solves_the_dense_equations(kind, data, seed):
    """Mcal vdot + C = T, C = H A (M A* a + b); and back by Newton-Euler."""
    model = data.draw(models(kind))
    d = dense(model)
    T = np.random.default_rng(seed).standard_normal(len(d.H))
    found = forward_dynamics(model, split(T, model, model.nvs))
    C = d.H @ d.A @ (d.M @ d.A.T @ d.a + d.b)
    vdot = stack(found.vdot, model)
    close(vdot, np.linalg.solve(d.mass_matrix, T - C))
    close(stack(newton_euler(model, found.vdot).T, model), T)
    close(stack(found.alpha, model), d.A.T @ (d.H.T @ vdot + d.a))
    close(stack(found.eps, model), T - d.H @ stack(found.z, model))


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data())
def test_the_mass_matrix_by_composite_bodies(kind, data):
    model = data.draw(models(kind))
    d = dense(model)
    Mcal = mass_matrix(model, composite_body(model))
    close(Mcal, d.mass_matrix)
    close(Mcal, Mcal.T)


@tries(10)
@given(model=sko_models(batch=3), seed=st.integers(0, 99))
def test_batches_are_loops(model, seed):
    T = np.random.default_rng(seed).standard_normal((3, sum(model.nvs)))
    abi, Mcal = articulated_body(model), mass_matrix(model, composite_body(model))
    forward, inverse = (
        forward_dynamics(model, split(T, model, model.nvs)),
        newton_euler(model, split(T, model, model.nvs)),
    )
    for i in range(3):
        one = one_of_batch(model, i)
        single = articulated_body(one)
        for k in model.nodes:
            for name in ("P", "P_plus", "D", "G"):
                close(getattr(abi, name)[k][i], getattr(single, name)[k])
        close(Mcal[i], mass_matrix(one, composite_body(one)))
        columns = split(T[i], one, one.nvs)
        close(stack(forward.vdot, model)[i], stack(forward_dynamics(one, columns).vdot, one))
        close(stack(inverse.T, model)[i], stack(newton_euler(one, columns).T, one))


def test_one_batched_block_makes_all_batched():
    """Only M of the tip differs from state to state."""
    one = np.ones((1, 1))
    M = [one, np.array([1.0, 2.0]).reshape(2, 1, 1)]
    model = sc.SKOModel([-1, 0], [None, one], [one, one], M)
    Mcal = mass_matrix(model, composite_body(model))
    np.testing.assert_allclose(Mcal, [[[2, 1], [1, 1]], [[3, 2], [2, 2]]])


# -- hinges that have nothing to move -----------------------------------------------------------------------------


def massless_tip(hinge):
    mb = sc.Multibody("arm")
    mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)))
    mb.add_body("tip", "upper", hinge, sc.Inertia(), sc.Pose(translation=(1, 0, 0)))
    return mb


def test_a_massless_tip_is_named():
    with pytest.raises(SingularError) as refusal:
        articulated_body(massless_tip(sc.Pin((0, 1, 0))).sko())
    assert str(refusal.value) == (
        "the hinge of 'tip' has no inertia to move: the smallest eigenvalue of D = H P H* is 0. "
        "Give mass or moment to 'tip' or to a body outboard of it, or weld it."
    )


@pytest.mark.parametrize(
    "hinge", [sc.Spherical(), sc.Free(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Prismatic((1, 0, 0))]
)
def test_a_massless_tip_is_named_for_any_hinge(hinge):
    with pytest.raises(SingularError, match="the hinge of 'tip' has no inertia to move"):
        articulated_body(massless_tip(hinge).sko())


def test_a_point_mass_on_a_ball_joint_is_named():
    """Its moment about the line to the point is zero: one direction of three has nothing to move."""
    mb = sc.Multibody("point")
    mb.add_body("bob", None, sc.Spherical(), sc.Inertia.point(1.0, (0, 0, -1)))
    with pytest.raises(SingularError, match="the hinge of 'bob' has no inertia to move"):
        articulated_body(mb.sko())


def test_two_pins_on_one_axis_with_nothing_between_are_named():
    """The inner one can turn its massless body only with the outer body, which the outer pin sets free."""
    mb = sc.Multibody("pins")
    mb.add_body("middle", None, sc.Pin((0, 0, 1)), sc.Inertia())
    mb.add_body("outer", "middle", sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.3, 0.1, 0.2), np.diag([0.1, 0.2, 0.3])))
    for q in ([0.0, 0.0], [0.3, 1.1]):
        with pytest.raises(SingularError, match="the hinge of 'middle' has no inertia to move"):
            articulated_body(mb.sko(mb.state(q=q)))


def test_one_state_of_a_batch_is_enough_to_be_refused():
    one = np.ones((1, 1))
    M = np.array([1.0, 0.0, 2.0]).reshape(3, 1, 1)
    with pytest.raises(SingularError, match="the hinge of 'a' has no inertia to move"):
        articulated_body(sc.SKOModel([-1], [None], [one], [M], names=["a"]))


def test_massless_bodies_are_fine_where_something_outboard_has_mass():
    mb = sc.Multibody("chain")
    mb.add_body("inner", None, sc.Pin((0, 0, 1)), sc.Inertia())
    mb.add_body("outer", "inner", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    D = articulated_body(mb.sko()).D
    assert D[0].item() > 0
    assert D[1].item() > 0


def test_scale_does_not_matter():
    """A dust grain and a ship: no absolute threshold."""
    for scale in (1e-18, 1e12):
        mb = sc.Multibody("scaled")
        mb.add_body("a", None, sc.Free(), sc.Inertia(scale, (0.1, 0, 0), scale * np.diag([0.1, 0.2, 0.15])))
        mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(scale, (0.1, 0, 0), scale * np.diag([0.1, 0.2, 0.15])))
        D = articulated_body(mb.sko()).D
        close(D[1] / scale, [[0.16]])


def test_a_weld_moves_nothing_and_needs_no_inertia():
    mb = sc.Multibody("welded")
    mb.add_body("a", None, sc.Weld(), sc.Inertia())
    abi = articulated_body(mb.sko())
    assert abi.D[0].shape == (0, 0)
    assert abi.G[0].shape == (6, 0)
    assert not abi.P_plus[0].any()


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_rounding_does_not_count_as_inertia(scale):
    """What the outboard hinge leaves of the inertia along a hinge: 1e-12 of it moves, 1e-15 is rounding."""
    one = np.eye(2)

    def model(own):
        M = [scale * np.diag([own, 1.0]), scale * one]
        return sc.SKOModel([-1, 0], [None, one], [one[:1]] * 2, M, names=["a", "b"])

    close(articulated_body(model(1e-12)).D[0] / scale, [[1e-12]])
    with pytest.raises(SingularError, match="the hinge of 'a' has no inertia to move"):
        articulated_body(model(1e-15))


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_small_moment_of_its_own_is_inertia(scale):
    """Given as it is, not left over from a difference: a wire about its axis."""
    wire = sc.SKOModel([-1], [None], [np.eye(2)[:1]], [scale * np.diag([1e-18, 1.0])])
    close(articulated_body(wire).D[0] / scale, [[1e-18]])


@pytest.mark.parametrize(("length", "mass"), [(1e-10, 1e-26), (1e-9, 1.0), (1.0, 1e-20), (1e9, 1e24)])
def test_units_do_not_make_a_hinge_singular(length, mass):
    """Molecules and moons: what counts is the inertia relative to that with the outboard hinges locked."""
    mb = sc.serial_chain(3, length=length, mass=mass)
    mb.set_state(q=[0.3, -0.5, 0.8])
    H, phi, M = sc.operators(mb, "H phi M")
    massmat = H * phi * M * phi.T * H.T
    x = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(np.asarray(massmat.inv * (massmat * x)), x, rtol=1e-9)


def test_a_star_is_not_massless():
    mb = sc.Multibody("sun")
    mb.add_body("star", hinge=sc.Free(), inertia=sc.Inertia(2e30, moment=6.7e46 * np.eye(3)))
    D = sc.operators(mb, "D")
    np.testing.assert_allclose(D.inv.array() @ D.array(), np.eye(6), atol=1e-12)


def test_four_pins_through_one_point_are_one_too_many():
    """Once three have taken the moments out, what is left for the fourth is rounding."""
    mb = sc.Multibody("wrist")
    axes = [(0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    for i, axis in enumerate(axes):
        inertia = sc.Inertia(1.0, (0.2, 0.1, 0.3), np.diag([0.2, 0.3, 0.4])) if i == 3 else sc.Inertia()
        mb.add_body(f"pin{i}", f"pin{i - 1}" if i else None, sc.Pin(axis), inertia)
    mb.q = [0.3, 0.4, -0.7, 0.2]
    with pytest.raises(SingularError, match="the hinge of 'pin0' has no inertia to move"):
        articulated_body(mb.sko())
