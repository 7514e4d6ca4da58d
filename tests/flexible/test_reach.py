"""How far M(eta) is positive along single modes, as reductions say it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.models import slender
from tests.flexible.test_solids import bar

import soacraft.flexible as fx
from soacraft.flexible.reach import mass_reach, reach_note
from soacraft.model.modal.inertia import mass_matrix


def least(data, eta):
    M = mass_matrix(data, eta)
    root = np.sqrt(np.abs(M.diagonal()))
    return np.linalg.eigvalsh(M / np.outer(root, root))[0]


@pytest.mark.parametrize("make", [lambda: slender(thin=1e-4), bar], ids=["beam", "solid"])
@pytest.mark.parametrize("modes", [4, 12])
def test_the_mass_matrix_is_positive_up_to_there_and_not_beyond(make, modes):
    """A uniform bar of length one has the size one."""
    data = fx.reduce(make(), ["root", "tip"], "fixed", modes=modes)
    part, j = mass_reach(data)
    unit = np.eye(data.n) * np.sqrt(data.mass / data.M.diagonal())
    for e in unit:
        assert min(least(data, s * 0.98 * part * e) for s in (1.0, -1.0)) > 0.0
    assert min(least(data, s * 1.02 * part * unit[j]) for s in (1.0, -1.0)) < 0.0


def test_reductions_say_it_and_units_do_not_matter():
    data = fx.reduce(slender(thin=1e-4), ["root", "tip"], "fixed", modes=12)
    part, j = mass_reach(data)
    note = f"M(eta) of the free body is positive up to a displacement of {part:.2g} (root mean square) of its size"
    assert data.notes[-1].startswith(f"{note} along mode {j} (normal ")
    section, soft = fx.Section(A=1e-6, Iy=1e-16, Iz=1e-16, J=2e-16), fx.Elastic(1e10, 0.3, 1e9)  # in millimetres
    fe = fx.beam(1e-3, section, soft, 20, "euler")
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1e-3, 0, 0))
    small = mass_reach(fx.reduce(fe, ["root", "tip"], "fixed", modes=12))
    assert small == (pytest.approx(part, rel=1e-4), j)


def test_without_terms_of_second_order_it_holds_everywhere():
    data = fx.reduce(slender(thin=1e-4), ["root", "tip"], "fixed", modes=12, geometric=False)
    assert mass_reach(data)[0] > 1e3
    assert reach_note(data) == ()
