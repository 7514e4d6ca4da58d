"""Random states within limits and on couplings."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Polynomial

import soacraft as sc
from soacraft.errors import StateError
from soacraft.model.tree.parts.closures import coordinate_names, coupling_error

Y = (0.0, 1.0, 0.0)


def hand(scale: float = 1.0) -> sc.Multibody:
    """Pins and slides with limits on both, one and no side, a ball, and couplings, one of them cubic."""
    mb = sc.Multibody("hand")
    for name, hinge, limits in (
        ("palm", sc.Pin(Y), sc.Limits(-0.5, 0.25, velocity=0.1)),
        ("thumb", sc.Pin(Y), sc.Limits(lower=1.0)),
        ("index", sc.Prismatic(Y), sc.Limits(0.0, 0.1 * scale)),
        ("middle", sc.Prismatic(Y), sc.Limits(upper=0.3 * scale, velocity=0.05 * scale)),
        ("ring", sc.Pin(Y), sc.Limits(0.0, 1.0)),
        ("little", sc.Pin(Y), sc.Limits(-2.0, 2.0)),
        ("wrist", sc.Spherical(), sc.Limits(upper=0.4)),
        ("arm", sc.Universal((1, 0, 0), Y), sc.Limits([-1.0, 0.0], [1.0, 0.5])),
        ("free", sc.Free(), None),
    ):
        body = mb.add_body(name, None, hinge, sc.Inertia(1.0))
        if limits is not None:
            body.limits = limits
    mb.couple("tendon", {"index": 1.0, "middle": -2.0}, offset=0.02 * scale)
    mb.couple("linkage", {"ring": (1.0, 0.0, 0.5), "little": 1.0, "arm.1": -1.0}, offset=0.1)
    mb.couple("off", {"palm": 1.0, "thumb": 1.0}, active=False)
    return mb


def check(mb, q, v):
    for body in mb.bodies:
        part, limits = q[mb.q_slice(body)], body.limits
        if body.name == "wrist":
            assert 2 * np.arcsin(np.linalg.norm(part[:3])) <= limits.upper[0] + 1e-12
        elif body.name != "free":
            assert (limits.lower <= part).all()
            assert (part <= limits.upper).all()
        assert (np.abs(v[mb.v_slice(body)]) <= limits.velocity).all()
    names = coordinate_names(mb)
    for coupling in mb.couplings:
        if not coupling.active:
            continue
        size = sum(abs(c[0] * q[names[dof]]) for dof, c in coupling.terms.items()) + abs(coupling.offset)
        assert abs(coupling_error(coupling, names, q)) <= 1e-10 * size
        slopes = {dof: Polynomial((0.0, *c)).deriv()(q[names[dof]]) for dof, c in coupling.terms.items()}
        rates = [slope * v[mb.v_slice(dof)][0] for dof, slope in slopes.items()]
        assert abs(sum(rates)) <= 1e-10 * max(map(abs, rates))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_limits_and_couplings_are_kept(scale):
    """In any units of length: a slide of nanometres and one of a thousand kilometres."""
    mb = hand(scale)
    before = mb.current
    for seed in range(20):
        q, v = mb.random_state(seed, limits=True)
        check(mb, q, v)
    assert mb.current is before
    again = mb.random_state(19, limits=True)
    assert np.array_equal(q, again[0])
    assert np.array_equal(v, again[1])
    part = mb.subgraph(["index", "middle", "wrist"])
    check(part, *part.random_state(1, limits=True))


def test_without_limits_nothing_is_kept():
    mb = hand()
    q, v = mb.random_state(0)
    with pytest.raises(AssertionError):
        check(mb, q, v)
    twin = sc.serial_chain(3)
    assert np.array_equal(twin.random_state(4)[0], twin.random_state(4, limits=False)[0])


def test_coordinates_fill_their_ranges():
    mb = sc.serial_chain(2)
    mb["link1"].limits = sc.Limits(-0.2, 0.6)
    mb["link2"].limits = sc.Limits(0.5, 0.5)
    q = np.array([mb.random_state(seed, limits=True)[0] for seed in range(200)])
    assert q[:, 0].min() < -0.15
    assert q[:, 0].max() > 0.55
    assert abs(q[:, 0].mean() - 0.2) < 0.08
    assert (q[:, 1] == 0.5).all()


def test_limits_that_meet_in_one_point():
    mb = sc.serial_chain(2)
    mb["link1"].limits, mb["link2"].limits = sc.Limits(0.0, 1.0), sc.Limits(1.0, 2.0)
    mb.couple("same", {"link1": 1.0, "link2": -1.0})
    q, _ = mb.random_state(0, limits=True)
    assert np.allclose(q, 1.0, atol=1e-10)


def test_what_cannot_be_kept_is_refused():
    mb = sc.serial_chain(2)
    mb["link1"].limits, mb["link2"].limits = sc.Limits(0.0, 1.0), sc.Limits(2.0, 3.0)
    mb.couple("same", {"link1": 1.0, "link2": -1.0})
    with pytest.raises(StateError, match=r"random_state of 'chain': .* the limits and coupling 'same' \(off by -1\)"):
        mb.random_state(0, limits=True)
    mb["link1"].limits = sc.Limits(1.0, 0.0)
    with pytest.raises(StateError, match="dof 'link1' has its lower limit 1 above its upper limit 0"):
        mb.random_state(0, limits=True)
    with pytest.raises(StateError, match="limits of random_state must be True or False, got 'yes'"):
        mb.random_state(0, limits="yes")
    free = sc.serial_chain(1, sc.Free())
    free["link1"].limits = sc.Limits(-1.0, 1.0)
    with pytest.raises(StateError, match="the limits of hinge 'link1' cannot be kept"):
        free.random_state(0, limits=True)

