"""`_core.rigid_model`, the compiled form of a tree, and its `run`: what makes no sense is refused."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.model.flat.compiled import CompiledModel, _hinges, _tree
from soacraft.model.samples.random_models import random_inertia, random_pose

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
    layout = tree().layout
    given = {**_tree(layout), **_hinges(layout), "nq": NQ, "nv": NV}
    assert _core.rigid_model(**given).count == ELEMENTS
    return given


BEYOND = "a hinge is beyond q or v"
BAD_ENTRIES = {
    "carries itself": ("parent", 2, 2, "the bodies are not those of a tree, parents first"),
    "after its child": ("parent", 0, 1, "the bodies are not those of a tree, parents first"),
    "parent below": ("parent", 0, -2, "the bodies are not those of a tree, parents first"),
    "hinge below": ("hinge", 1, -1, "body 1 is not that of a tree"),
    "hinge beyond": ("hinge", 3, 4, "body 3 is not that of a tree"),
    "q below": ("q", 0, -1, "body 0 is not that of a tree"),
    "q beyond": ("q", 3, NQ, BEYOND),
    "quaternion beyond": ("q", 1, NQ - 3, BEYOND),
    "v below": ("v", 2, -1, "body 2 is not that of a tree"),
    "v beyond": ("v", 3, NV, BEYOND),
    "dofs beyond": ("v", 1, NV - 2, BEYOND),
    "another hinge": ("hinge", 1, 0, "the elements have 4 dofs, not 6"),
    "no such kind": ("hinge_kind", 1, 99, "hinge 1 has no such kind, or not its screws"),
    "a kind below": ("hinge_kind", 0, -3, "hinge 0 has no such kind, or not its screws"),
    "a kind of a screw": ("hinge_kind", 1, 2, "hinge 1 has no such kind, or not its screws"),
    "a ball with screws": ("hinge_kind", 0, 3, "hinge 0 has no such kind, or not its screws"),
    "screws beyond": ("hinge_end", 3, 4, "hinge 3 has no such kind, or not its screws"),
    "screws backwards": ("hinge_end", 2, 0, "hinge 2 has no such kind, or not its screws"),
    "no such screw": ("screw_kind", 2, 3, "screw 2 has no such kind"),
    "a screw below": ("screw_kind", 0, -1, "screw 0 has no such kind"),
}


@pytest.mark.parametrize("case", BAD_ENTRIES)
def test_bodies_of_no_tree_are_refused(arrays, case):
    name, at, value, message = BAD_ENTRIES[case]
    arrays[name][at] = value
    with pytest.raises(ValueError, match=message):
        _core.rigid_model(**arrays)


@pytest.mark.parametrize(
    ("name", "cut", "message"),
    [
        ("hinge", np.s_[:3], "a body has one parent, hinge, q and v"),
        ("q", np.s_[:3], "a body has one parent, hinge, q and v"),
        ("v", np.s_[:3], "a body has one parent, hinge, q and v"),
        ("hinge_end", np.s_[:3], "a hinge has one end of its screws"),
        ("hinge_ball", np.s_[:3], r"hinge_ball must be \(4, 10\)"),
        ("hinge_ball", np.s_[:, :9], r"hinge_ball must be \(4, 10\)"),
        ("screw", np.s_[:2], r"screw must be \(3, 14\)"),
        ("screw", np.s_[:, :13], r"screw must be \(3, 14\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arrays, name, cut, message):
    arrays[name] = np.ascontiguousarray(arrays[name][cut])
    with pytest.raises(ValueError, match=message):
        _core.rigid_model(**arrays)


def test_seven_screws_are_more_than_a_hinge_has():
    pin = {**_tree(one := sc.serial_chain(1).layout), **_hinges(one)}
    pin |= {"hinge_end": np.array([7]), "screw_kind": np.zeros(7, np.int64), "screw": np.tile(pin["screw"], (7, 1))}
    with pytest.raises(ValueError, match="hinge 0 has no such kind, or not its screws"):
        _core.rigid_model(**pin, nq=7, nv=7)


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        ("set_inertia", (4, 1.0, np.zeros(3), np.eye(3)), "there is no body 4"),
        ("set_inertia", (0, 1.0, np.zeros(2), np.eye(3)), "com must be an array of 3 float64"),
        ("set_inertia", (0, 1.0, np.zeros(3), [[1.0]]), "moment is no array"),
        ("set_pose", (-1, True, np.eye(3), np.zeros(3)), "there is no body -1"),
        ("set_pose", (0, True, np.eye(3, dtype=np.float32), np.zeros(3)), "rotation must be an array of 9 float64"),
        ("set_pose", (0, False, np.eye(3), np.zeros((1, 1, 3))), "translation must be an array of 3 float64"),
        ("set_armature", (0, np.zeros(2)), "armature must be an array of 1 float64"),
        ("set_armature", (1, np.zeros(1)), "armature must be an array of 3 float64"),
        ("set_gravity", (np.array(1.0),), "gravity must be an array of 3 float64"),
        ("place", (5,), "there is no body 5"),
    ],
)
def test_a_parameter_that_does_not_fit_is_refused(call, given, message):
    """And nothing changes: not the numbers, not the count of changes."""
    kernels = CompiledModel(tree().layout).kernels
    before = kernels.stamp, *(kernels.place(k).tobytes() for k in range(4))
    with pytest.raises(ValueError, match=message):
        getattr(kernels, call)(*given)
    assert (kernels.stamp, *(kernels.place(k).tobytes() for k in range(4))) == before


@pytest.mark.parametrize("cut", ["inboard_R", "inboard_p", "outboard_R", "outboard_p", "mass", "com", "moment"])
def test_parameters_that_are_too_few_are_refused(cut):
    layout = tree().layout
    names = "inboard_R inboard_p outboard_R outboard_p mass com moment".split()
    (R_in, p_in), (R_out, p_out) = layout.inboard, layout.outboard
    given = dict(zip(names, (R_in.reshape(4, 9), p_in, R_out.reshape(4, 9), p_out, *layout.inertias), strict=True))
    given[cut] = given[cut][:3]
    with pytest.raises(ValueError, match=r"must be \(4, |a body has one mass"):
        CompiledModel(layout).kernels.set_parameters(**given, armature=np.zeros(NV))


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
    "x missing": ({"x": None}, "forward_dynamics takes x"),
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


def mixed(**changed):
    outs = (np.empty((3, NV)), np.empty((3, NV)))
    return {"algorithm": "mixed_dynamics", "outs": outs, "y": np.ones((3, NV)), "mask": np.arange(NV) > 2, **changed}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": None}, "mixed_dynamics takes y"),
        ({"mask": None}, "mixed_dynamics takes a mask of 6 dofs"),
        ({"mask": np.zeros(NV)}, "mixed_dynamics takes a mask of 6 dofs"),
        ({"mask": np.zeros(NV + 1, bool)}, "mixed_dynamics takes a mask of 6 dofs"),
        ({"place": np.zeros(11)}, "place has 12 numbers"),
    ],
)
def test_mixed_dynamics_that_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        call(**mixed(**changes))


def test_calls_that_fit():
    assert call(**mixed())
    assert call(algorithm="bias_force", x=None)  # zeros, where a kernel is given none
    assert call(**jacobian(outs=(np.empty((3, 12 * NV)),), frame=np.concatenate([frame(1.0), frame(-1.0)])))
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
    for name in _core.algorithms():
        assert kernels.time(name, q, zero, zero, 1) > 0.0
