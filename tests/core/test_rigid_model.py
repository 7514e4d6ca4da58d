"""`_core.rigid_model`, the compiled form of a tree, and its `run`: what makes no sense is refused."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.model.compiled import CompiledModel
from soacraft.model.random_models import random_inertia, random_pose

PARENT, KIND, Q, V, WIDE, BRANCH, LAST = range(7)
NQ, NV, ELEMENTS = 7, 6, 4


def tree():
    """A pin that carries a ball and a chain of two pins."""
    mb = sc.Multibody("a fork", gravity=(1.0, -2.0, -9.0))
    hinges = (sc.Pin((1, 2, 3)), sc.Spherical(), sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0)))
    for k, (parent, hinge) in enumerate(zip([None, "0", "0", "2"], hinges, strict=True)):
        mb.add_body(f"{k}", parent, hinge, random_inertia(k), random_pose(k))
    return mb


@pytest.fixture
def arrays():
    """What the compiled form is made from."""
    names = ("whole", "real", "body_element", "body_place", "armature")
    given = dict(zip(names, CompiledModel(tree().layout)._arrays(), strict=True))
    assert given["whole"].shape == (ELEMENTS, 8)
    return given | {"nq": NQ, "nv": NV}


BAD_ELEMENTS = {
    "no such kind": (1, KIND, 99),
    "a kind below": (0, KIND, -1),
    "carries itself": (2, PARENT, 2),
    "after its child": (0, PARENT, 1),
    "parent below": (0, PARENT, -2),
    "q below": (0, Q, -1),
    "q beyond": (3, Q, NQ),
    "quaternion beyond": (1, Q, NQ - 3),
    "v below": (0, V, -1),
    "v beyond": (3, V, NV),
    "dofs beyond": (1, V, NV - 2),
    "ends at itself": (3, LAST, 3),
    "ends beyond": (0, LAST, ELEMENTS + 1),
    "a wide pin": (0, WIDE, 0),
    "a narrow ball": (1, WIDE, -1),
    "balls not in order": (1, WIDE, 1),
    "branch below": (0, BRANCH, -2),
    "branch beyond": (0, BRANCH, ELEMENTS),
    "no branch, and another's child follows": (1, LAST, 3),
}


@pytest.mark.parametrize("case", BAD_ELEMENTS)
def test_elements_of_no_tree_are_refused(arrays, case):
    element, entry, value = BAD_ELEMENTS[case]
    arrays["whole"][element, entry] = value
    with pytest.raises(ValueError, match=f"element {element} is not that of a tree"):
        _core.rigid_model(**arrays)


@pytest.mark.parametrize(
    ("name", "cut", "message"),
    [
        ("whole", np.s_[:, :7], "an element has 8 whole and 35 real numbers"),
        ("real", np.s_[:3], "an element has 8 whole and 35 real numbers"),
        ("real", np.s_[:, :34], "an element has 8 whole and 35 real numbers"),
        ("body_place", np.s_[:3], "a body has a place of 12 numbers"),
        ("body_place", np.s_[:, :11], "a body has a place of 12 numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, name, cut, message):
    arrays[name] = np.ascontiguousarray(arrays[name][cut])
    with pytest.raises(ValueError, match=message):
        _core.rigid_model(**arrays)


@pytest.mark.parametrize("element", [-2, ELEMENTS])
def test_a_body_on_no_element_is_refused(arrays, element):
    arrays["body_element"][2] = element
    with pytest.raises(ValueError, match="body 2 is on no element"):
        _core.rigid_model(**arrays)


def test_a_body_on_the_ground_or_on_the_last_element(arrays):
    arrays["body_element"][:2] = -1, ELEMENTS - 1
    assert not _core.rigid_model(**arrays).retired


# -- run -----------------------------------------------------------------------------------------------------------


def call(**changed):
    """Run an algorithm on three states."""
    q, v, x = np.tile(tree().q, (3, 1)), np.zeros((3, NV)), np.ones((3, NV))
    given = {"algorithm": "forward_dynamics", "q": q, "v": v, "x": x, "pull": None, "base": None,
             "outs": (np.empty((3, NV)),)}  # fmt: skip
    return CompiledModel(tree().layout).kernels.run(**(given | changed))


def frame(element, numbers=13):
    return np.array([element, *np.eye(3).ravel(), 0, 0, 0, 0], dtype=float)[:numbers]


def jacobian(**changed):
    return {"algorithm": "jacobian", "outs": (np.empty((3, 6 * NV)),), "frame": frame(1.0), **changed}


BAD_CALLS = {
    "no such algorithm": ({"algorithm": "nothing"}, "there is no kernel nothing"),
    "no output": ({"outs": ()}, "forward_dynamics has 1 outputs"),
    "narrow output": ({"outs": (np.empty((3, NV - 1)),)}, f"out 0 must have {NV} columns"),
    "uneven outputs": (
        {"algorithm": "poses", "outs": (np.empty((3, 36)), np.empty((2, 12)))},
        "out 1 must have 12 columns, and as many rows as the others",
    ),
    "q a list": ({"q": [0.0] * NQ}, "q is no array"),
    "q narrow": ({"q": np.zeros((3, NQ - 1))}, rf"q must be a contiguous float64 array of shape \(3, {NQ}\)"),
    "q short": ({"q": np.zeros((2, NQ))}, "q must be a contiguous float64 array"),
    "q deep": ({"q": np.zeros((1, 3, NQ))}, "q must be a contiguous float64 array"),
    "q without axes": ({"q": np.array(1.0)}, "q must be a contiguous float64 array"),
    "v float32": ({"v": np.zeros((3, NV), "f4")}, "v must be a contiguous float64 array"),
    "v strided": ({"v": np.zeros((6, NV))[::2]}, "v must be a contiguous float64 array"),
    "x missing": ({"x": None}, "forward_dynamics takes 3 inputs"),
    "pull narrow": ({"pull": np.zeros((3, 23))}, r"pull must be a contiguous float64 array of shape \(3, 24\)"),
    "base short": ({"base": np.zeros(11)}, "base has 12 numbers"),
    "no frame": (jacobian(frame=None), "jacobian takes a frame"),
    "frame short": (jacobian(frame=frame(1.0, 12)), "frame has 13 numbers, the first an element"),
    "frame below": (jacobian(frame=frame(-2.0)), "frame has 13 numbers, the first an element"),
    "frame beyond": (jacobian(frame=frame(ELEMENTS)), "frame has 13 numbers, the first an element"),
    "frame nowhere": (jacobian(frame=frame(np.nan)), "frame has 13 numbers, the first an element"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_calls_that_do_not_fit_are_refused(case):
    changes, message = BAD_CALLS[case]
    with pytest.raises(ValueError, match=message):
        call(**changes)


def test_calls_that_fit():
    assert call()
    assert call(q=tree().q, v=np.zeros(NV), pull=np.zeros((3, 24)), base=np.zeros(12))
    assert call(**jacobian())
    assert call(**jacobian(frame=frame(-1.0)))
    assert call(**jacobian(frame=frame(ELEMENTS - 1.0)))


def test_the_time_of_a_kernel():
    kernels = CompiledModel(tree().layout).kernels
    q, zero = tree().q, np.zeros(NV)
    assert kernels.time("forward_dynamics", q, zero, zero, 3) > 0.0
    for bad in ((q[1:], zero, zero), (q, zero[1:], zero), (q, zero, zero[1:])):
        with pytest.raises(ValueError, match="q, v or x has a wrong length"):
            kernels.time("forward_dynamics", *bad, 3)
    with pytest.raises(ValueError, match="a Jacobian takes a frame"):
        kernels.time("jacobian", q, zero, zero, 3)
