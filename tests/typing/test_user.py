"""A user's file with the types an editor shows: `./run check` reads it with type checkers, here it runs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import get_args

import pytest

import soacraft as sc
from soacraft.ops import namespace
from soacraft.ops.table import NAMES


def test_the_file_runs():
    """What type checkers believe of it is what happens."""
    found = runpy.run_path(str(Path(__file__).with_name("user.py")))
    assert isinstance(found["body"], sc.Body)
    assert isinstance(found["mass_matrix"], sc.Operator)


def test_type_checkers_know_every_operator_and_vector():
    """The annotations of `Operators` and the names its overloads list are those of the tables."""
    known = {name: kind for name, kind in sc.Operators.__annotations__.items() if not name.startswith("_")}
    assert {name for name, kind in known.items() if kind == "Operator"} == set(NAMES)
    assert {name for name, kind in known.items() if kind == "StackedVector"} == set(namespace.VECTORS)
    assert set(get_args(namespace.OneVector)) == set(namespace.VECTORS)
    assert set(get_args(namespace.OneOperator)) == {*NAMES, "I", *namespace.ALONG_VELOCITY}


def test_one_name_gives_one_and_several_a_tuple():
    s = sc.operators(sc.load("pendulum"))
    for name in get_args(namespace.OneOperator):
        assert isinstance(s[name], sc.Operator)
    for name in get_args(namespace.OneVector):
        assert isinstance(s[name], sc.StackedVector)
    assert isinstance(s["H phi"], tuple)


def test_completion_of_the_namespace():
    s = sc.operators(sc.load("pendulum"))
    shown = dir(s)
    assert {"H", "phi", "alpha", "coriolis", "B", "vector", "hinge"} <= set(shown)
    assert not [name for name in shown if name.startswith("_")]
    assert all(hasattr(s, name) for name in shown)
    assert set(s._ipython_key_completions_()) == {*s.names(), *namespace.ALONG_VELOCITY}


@pytest.mark.parametrize("make", [
    lambda mb: mb,
    lambda mb: mb.subgraph(["link2", "link3"]),
    lambda mb: sc.operators(mb).V,
    lambda mb: sc.operators(mb).T,
    lambda mb: sc.operators(mb).phi,
    lambda mb: sc.operators(mb).phi["link2"],
    lambda mb: sc.dynamics.poses(mb, mb.q),
    lambda mb: sc.dynamics.velocities(mb, mb.q, mb.v),
    lambda mb: mb.loops,
    lambda mb: sc.dynamics.composite_inertia(mb, mb.q),
])  # fmt: skip
def test_every_key_that_completes_can_be_asked_for(make):
    mb = sc.serial_chain(3)
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical(), active=False)
    thing = make(mb)
    keys = thing._ipython_key_completions_()
    assert keys
    for key in keys:
        thing[key]
