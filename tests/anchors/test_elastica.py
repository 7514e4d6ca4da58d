"""Large deflection by substructures, through `analysis.equilibrium`: the elastica, a rolled beam, a bent one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.models import slender

import soacraft as sc
import soacraft.flexible as fx
from soacraft.analysis import equilibrium

#: Tip of a cantilever at P L^2 / EI.
TIPS = {1: (0.9435667637, 0.3017207738), 2: (0.8393582792, 0.4934574804), 5: (0.6123716393, 0.7137915236),
        10: (0.4450044022, 0.8106090249)}  # fmt: skip


def chain(fe, n, geometric=True):
    """The pieces of a beam as bodies welded to each other."""
    mb, parent = sc.Multibody("chain", gravity=(0, 0, 0)), None
    for k, piece in enumerate(fx.substructure(fe, n)):
        data = fx.reduce(piece, ["root", "tip"], "guyan", geometric=geometric)
        mb.add_body(f"piece{k}", parent, sc.Weld(), modal=data, hinge_node="root")
        parent = f"piece{k}/tip"
    return mb, parent


def tip(mb, node, moment=(0, 0, 0), force=(0, 0, 0)):
    """Where the tip comes to rest under a dead load."""
    eq = equilibrium(mb, f_ext={node: sc.Wrench(moment, force, expressed_in=mb.root)})
    return mb.pose(node, state=mb.state(eq.q)).translation


@pytest.mark.parametrize("P", TIPS)
def test_the_elastica(P):
    """The error falls with the third power of the number of pieces."""
    off = []
    for n in (4, 8):
        mb, node = chain(slender(n), n)
        off.append(np.linalg.norm(tip(mb, node, force=(0, P, 0))[:2] - TIPS[P]))
    assert off[1] < 3e-3
    assert off[0] / off[1] > 6.0


@pytest.mark.parametrize(
    ("geometric", "power", "published"), [(True, 3, (0.0131, 0.00161)), (False, 2, (0.0664, 0.0164))]
)
def test_half_a_ring(geometric, power, published):
    """Bent by pi EI / L to a half circle: the third power of the number of pieces with phi2, the second without."""
    off = []
    for n in (4, 8):
        mb, node = chain(slender(n), n, geometric)
        off.append(np.linalg.norm(tip(mb, node, moment=(0, 0, np.pi))[:2] - (0.0, 2 / np.pi)))
    assert np.log2(off[0] / off[1]) == pytest.approx(power, abs=0.15)
    np.testing.assert_allclose(off, published, rtol=0.02)


def test_the_45_degree_bend_of_bathe_and_bolourchi():
    """Radius 100, unit square, E = 1e7, nu = 0, GJ = E/12, 600 lb across its plane; eight bodies."""
    R, n = 100.0, 8
    angle = np.linspace(0.0, np.pi / 4, n + 1)
    joints = {f"j{i}": (R * np.sin(x), R * (1 - np.cos(x)), 0.0) for i, x in enumerate(angle)}
    section, material = fx.Section(A=1.0, Iy=1 / 12, Iz=1 / 12, J=1 / 6), fx.Elastic(1e7, 0.0, 1.0)
    members = [fx.Member(f"j{i}", f"j{i + 1}", section, material, 1) for i in range(n)]
    mb, node = chain(fx.frame(joints, members), n)
    start = np.array(joints[f"j{n}"])
    moved = tip(mb, node, force=(0, 0, 600.0)) - start
    assert np.abs(moved - (-23.5, -13.4, 53.4)).max() < 0.01 * R * np.pi / 4
