"""Fingerprints of classes: another one for another equation, declaration, parameter or helper; not for words."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Meta

from soacraft import sim
from soacraft.sim.components.fingerprint import class_fingerprint
from soacraft.sim.library.listed import COMPONENTS, examples

HEAD = """
from soacraft import sim
FACTOR = 2.0
def helper(x):
    return FACTOR * x
def inner(x):
    return helper(x)
class Own(sim.Component):
    class Params(sim.Params):
        k: float = 1.0
    u = sim.In("V")
    x = sim.Continuous("A", start=0.5)
    @sim.output("N m", to="force")
    def y(p, x):
        return p.k * inner(x)
    @sim.rate(x)
    def rise(p, u, x):
        return u - x
    @sim.crossing(direction=1)
    def up(p, x):
        return x - 1.0
    @sim.jump(x, at=up)
    def down(p, x):
        return 0.5 * x
"""


def made(tmp_path, text, source=True):
    """A class from a text; with a file, or without one."""
    name = str(tmp_path / f"own{abs(hash(text))}.py") if source else "<nowhere>"
    if source:
        (tmp_path / name).write_text(text)
    space = {"__name__": "own"}
    exec(compile(text, name, "exec"), space)
    return space["Own"]()


@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("u - x", "u - 2.0 * x"),
        ("p.k * inner(x)", "inner(x) * p.k"),
        ("FACTOR = 2.0", "FACTOR = 3.0"),
        ("FACTOR * x", "FACTOR + x"),
        ('sim.In("V")', 'sim.In("mV")'),
        ("start=0.5", "start=0.25"),
        ("start=0.5", "start=0.5, nominal=2.0"),
        ('sim.In("V")', 'sim.In("V", default=0.0)'),
        ('to="force"', "to=None"),
        ("k: float = 1.0", "k: float = 2.0"),
        ("k: float = 1.0", "k: int = 1"),
        ("k: float = 1.0", "k: float = 1.0\n        n: float = 0.0"),
        ("direction=1", "direction=-1"),
        ("0.5 * x", "0.25 * x"),
        ("def up(p, x)", "def up(p, x, u)"),
    ],
)
def test_what_acts_differently_is_another_class(tmp_path, old, new, source):
    assert old in HEAD
    a, b = made(tmp_path, HEAD, source), made(tmp_path, HEAD.replace(old, new), source)
    assert class_fingerprint(a) == class_fingerprint(made(tmp_path, HEAD, source))
    assert class_fingerprint(a) != class_fingerprint(b)


def test_words_and_layout_do_not_matter(tmp_path):
    words = HEAD.replace("return u - x", '"""The rate."""\n        # what comes in\n        return (u  -  x)')
    assert class_fingerprint(made(tmp_path, words)) == class_fingerprint(made(tmp_path, HEAD))


def test_a_class_of_a_program_without_a_name_has_one(tmp_path):
    """As one that is executed from a text, outside of any module."""
    space = {}
    exec(compile(HEAD.replace("return u - x", "return u - 3.0 * x"), "<nowhere>", "exec"), space)
    assert class_fingerprint(space["Own"]()) != class_fingerprint(made(tmp_path, HEAD, False))


def test_bounds_of_parameters_count():
    class Bounded(sim.Component):
        class Params(sim.Params):
            k: Annotated[float, Meta(gt=0)] = 1.0

    first = class_fingerprint(Bounded())

    class Bounded(sim.Component):  # type: ignore[no-redef]
        class Params(sim.Params):
            k: Annotated[float, Meta(ge=0)] = 1.0

    assert class_fingerprint(Bounded()) != first


def test_all_that_come_along_differ():
    assert len({class_fingerprint(x).digest for x in examples()}) == len(COMPONENTS)
