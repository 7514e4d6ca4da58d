"""The text picture of an operator."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SpaceError
from soacraft.view import structure


def test_zero_blocks_of_unrelated_bodies_are_dots():
    mb = sc.load("biped")
    H, phi, M = sc.operators(mb, "H phi M")
    mass_matrix = H * phi * M * phi.T * H.T
    lines = structure(mass_matrix, labels=False, borders=False).splitlines()
    moving = [body for body in mb.bodies if body.hinge.nv]
    assert len(lines) == len(moving)
    for i, a in enumerate(moving):
        for j, b in enumerate(moving):
            related = mb.topology.path(mb.index(a), mb.index(b)) or mb.topology.path(mb.index(b), mb.index(a))
            if not related:
                assert lines[i][j] == "·", (a.name, b.name)
    assert [line[i] for i, line in enumerate(lines)].count("·") == 0


def test_labels_stand_left():
    H, phi = sc.operators(sc.serial_chain(3), "H phi")
    assert [line.split()[0] for line in structure(H * phi).splitlines()] == ["link1", "link2", "link3"]


def test_shades_by_tens():
    assert structure(np.array([[1.0, 0.1, 0.01, 0.001, 1e-9, 0.0]])) == "█▓▒░░·"


def test_zero_matrix():
    assert structure(np.zeros((1, 2))) == "··"


def test_too_large_is_refused():
    with pytest.raises(SpaceError, match="look at a sub-graph"):
        structure(sc.operators(sc.serial_chain(61), "M"))
    with pytest.raises(SpaceError, match="at most 60 x 60"):
        structure(np.zeros((61, 2)))


def test_zeros_of_one_pose_are_no_structure():
    """At q = 0 half of the mass matrix of arm7 is zero; the picture shows where it can be non-zero: everywhere."""
    mb = sc.load("arm7")
    mb.set_state(np.zeros(mb.nq))
    H, phi, M = sc.operators(mb, "H phi M")
    mass_matrix = H * phi * M * phi.T * H.T
    assert (np.abs(mass_matrix.array()) < 1e-12).any()
    assert "·" not in structure(mass_matrix)


def test_lines_between_segments():
    """The seven-body tree of 004 Fig. 3: borders where another serial segment begins, and nowhere in a chain."""
    mb = sc.load("biped")
    s = sc.operators(mb)
    lines = structure(s.phi, labels=False).splitlines()
    segment = [mb.topology.branch_of(body).index for body in mb.bodies]
    changes = sum(a != b for a, b in pairwise(segment))
    assert changes == lines[0].count("│") == sum("┼" in line for line in lines) > 0
    plain = structure(s.phi, labels=False, borders=False).splitlines()
    assert [line.replace("│", "") for line in lines if "┼" not in line] == plain
    assert "│" not in structure(sc.operators(sc.serial_chain(4), "phi"))
