"""What modal data and flexible bodies refuse, by its text; the model is as it was."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from tests.model.modal.trees import Cloud, flexible_tree, random_modal, random_node

import soacraft as sc
from soacraft.errors import ModelError, SingularError
from soacraft.model.modal import ModalData, ModalNode


def cloud(**changed):
    rng = np.random.default_rng(1)
    return ModalData(**(Cloud(rng, 2).moments() | dict(K=np.eye(2)) | changed))


SKEW = np.array([[1.0, 0.5], [0.0, 1.0]])
BAD = [
    (dict(mass=-1.0), "the mass of modal data must be positive, got -1"),
    (dict(second=-np.eye(3)), "mass, first and second of modal data are those of no body: moment of an"),
    (dict(K=SKEW), "K of modal data must be symmetric; entries differ by 0.5"),
    (dict(D=SKEW), "D of modal data must be symmetric; entries differ by 0.5"),
    (dict(M=SKEW), "M of modal data must be symmetric; entries differ by 0.5"),
    (dict(K=np.diag([1.0, -1.0])), "the modal stiffness K is indefinite: its least eigenvalue, with ones on the "),
    (dict(K=1e-9 * np.diag([1.0, -1.0])), "K is indefinite: its least eigenvalue, with ones on the diagonal, is -1,"),
    (dict(K=np.array([[1.0, 1e-9], [1e-9, 0.0]])), "K is indefinite: its least eigenvalue, with ones on the diagonal"),
    (dict(D=np.diag([-1e-3, 1.0])), "the modal damping D is indefinite: its least eigenvalue, with ones on the "),
    (dict(D=np.diag([-1e-3, 1.0])), "is -1, mostly of 'mode0'; correct it"),
    (dict(M=np.ones((2, 2))), "the modal mass M is singular or indefinite: its least eigenvalue, with ones on the "),
    (dict(M=np.diag([0.5, 0.5])), "N and Q must be moments of the same field; give translational"),
    (dict(T=None), "modal data have both S and T, the moments of the second-order displacement, or neither."),
    (dict(p=np.zeros((2, 2))), "p of modal data must have shape (any, 3), got shape (2, 2)"),
    (dict(modes=("a", "a")), "modal data of 2 modes need as many names of their own, got ('a', 'a')."),
    (dict(kinds=("a",)), "modal data of 2 modes have 1 words for their kinds; give one for each."),
    (dict(nodes={"tip": random_node(np.random.default_rng(0), 3)}), "node 'tip' of modal data of 2 modes"),
    (dict(points=np.zeros((1, 3))), "modal data have both points and the shapes of the modes at them, or neither."),
]


@pytest.mark.parametrize(("changed", "text"), BAD, ids=[text[:30] for _, text in BAD])
def test_modal_data_refuse(changed, text):
    with pytest.raises(ModelError, match=re.escape(text)):
        cloud(**changed)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_motion_of_the_rigid_body_among_the_modes(scale):
    shape = Cloud(np.random.default_rng(2), 2)
    shape.phi *= scale
    shape.phi[:, :, 1] = [0.0, 0.3 * scale, 0.0]  # all points alike
    text = r"the modes hold a motion of the rigid body \(mostly 'mode1', a move along y\): the hinge moves it so"
    with pytest.raises(ModelError, match=text):
        ModalData(**shape.moments(), K=np.eye(2))
    shape.phi[:, :, 1] = scale * np.cross([1.0, 0.0, 0.0], shape.r)
    with pytest.raises(ModelError, match=r"\(mostly 'mode1', a turn about x\)"):
        ModalData(**shape.moments(), K=np.eye(2))


def test_symmetry_is_judged_in_the_units_of_each_mode():
    """A mode in units a million times smaller: what differs in its row is seen next to the stiffness of the others."""
    K = np.array([[1e12, 0.0], [1e-3, 1e-6]])
    with pytest.raises(ModelError, match="K of modal data must be symmetric"):
        cloud(K=K)


def test_a_modal_mass_that_is_not_the_trace_of_Q_says_how_far():
    moments = Cloud(np.random.default_rng(1), 2).moments()
    for scale in (1e-4, 1.0):  # in other units of the modes the same part is off
        other = {name: x * scale**2 if name in ("M", "Q") else x for name, x in moments.items()}
        other |= {name: moments[name] * scale for name in ("p", "N")} | dict(S=None, T=None)
        M = other["M"] * np.array([[1.0, 1.0], [1.0, 1.02]])
        with pytest.raises(ModelError, match=r"of 'mode1' and 'mode1' is .*, but the trace of Q is .*: 0\.02 of it is"):
            ModalData(**(other | dict(M=M)), K=np.eye(2))


def test_dependent_modes_are_told_in_any_units():
    shape = Cloud(np.random.default_rng(1), 3, geometric=False)
    shape.phi[:, :, 2] = 1e-5 * (shape.phi[:, :, 0] - 2.0 * shape.phi[:, :, 1])
    with pytest.raises(ModelError, match=r"the modal mass M is singular or indefinite.*leave out modes that repeat"):
        ModalData(**shape.moments(), K=np.eye(3))


def test_nodes_refuse():
    with pytest.raises(ModelError, match="the pose of a modal node must be one Pose"):
        ModalNode(None, np.zeros((3, 1)), np.zeros((3, 1)))
    with pytest.raises(ModelError, match="gam2 of a modal node must be symmetric"):
        ModalNode(sc.Pose(), np.zeros((3, 2)), np.zeros((3, 2)), np.broadcast_to(SKEW, (3, 2, 2)))
    with pytest.raises(ModelError, match="these modal data have no node 'tup'"):
        random_modal(np.random.default_rng(0), 1).node("tup")


def model():
    return flexible_tree((-1, 0, 0), 0, modes=(2, 0, 2))


HANGING = [
    (dict(modal=3), "modal of body 'new' must be ModalData, as sc.flexible.reduce gives, got 3."),
    (dict(modal="data", inertia=sc.Inertia(1.0)), "flexible body 'new' takes its inertia from its modal data"),
    (dict(hinge_node="root"), "hinge_node='root' of body 'new' needs modal data"),
    (dict(modal="data", hinge_node="middle"), "these modal data have no node 'middle'"),
    (dict(parent="body0"), "'body0' is fixed on the frame of flexible body 'body0', which is no point of it; hang the"),
    (dict(modal="data", outboard="root"), "moves its node 'root', which the hinge is at, as the hinge Pin("),
    (dict(parent="body0/bare"), "'body0/bare' is fixed on the frame of flexible body 'body0', which is no point of it"),
]


@pytest.mark.parametrize(("given", "text"), HANGING, ids=[text[:30] for _, text in HANGING])
def test_add_body_refuses(given, text):
    mb, data = model(), random_modal(np.random.default_rng(1), 2)
    mb["body0"].add_node("bare")
    given = dict(given)
    if given.get("modal") == "data":
        given["modal"] = data
    if given.get("outboard") == "root":
        given["outboard"] = data.nodes["root"].pose.inv
    version, count = mb.version, len(mb)
    with pytest.raises(ModelError, match=re.escape(text)):
        mb.add_body("new", hinge=sc.Pin((0, 0, 1)), **given)
    assert (mb.version, len(mb)) == (version, count)


NOT_YET = {
    "diagonalize": lambda mb: sc.analysis.diagonalize(mb, mb.q, mb.v),
}


@pytest.mark.parametrize("what", NOT_YET)
def test_what_is_for_rigid_bodies_alone_says_so(what):
    text = "'body0' of 'flexible' is flexible, and these are derivatives of rigid bodies; give a function of the model"
    text = text if what == "parameters" else "is for rigid bodies: 'body0' is flexible, it has modes"
    with pytest.raises(ModelError, match=text):
        NOT_YET[what](model())


def test_what_else_flexible_bodies_refuse():
    mb = model()
    with pytest.raises(ModelError, match="is fixed on the frame of flexible body 'body0', which is no point of it"):
        mb.set_force("body0", np.ones(6))
    mb["body0"].add_node("bare")
    with pytest.raises(ModelError, match="'body0/bare' is fixed on the frame of flexible body 'body0', which is"):
        mb.set_force("body0/bare", np.ones(6))
    assert not mb.acting_forces
    with pytest.raises(ModelError, match="the inertia of flexible body 'body0' is that of its modal data"):
        mb["body0"].inertia = sc.Inertia(1.0)
    with pytest.raises(ModelError, match="node 'x' cannot be on 'tip': body 'body1' is rigid"):
        mb["body1"].add_node("x", on="tip")
    with pytest.raises(ModelError, match="body 'body1' has no modal data with points"):
        mb["body1"].deformed()


def test_a_mass_matrix_that_is_no_longer_positive():
    rng = np.random.default_rng(3)
    shape = Cloud(rng, 1)
    shape.phi2 = -np.abs(shape.phi2) * 40.0
    mb = sc.Multibody()
    tip = ModalNode(sc.Pose(), np.zeros((3, 1)), np.array([[0.0], [0.08], [0.0]]))
    mb.add_body("beam", None, sc.Free(), modal=ModalData(**shape.moments(), K=np.eye(1), nodes={"tip": tip}))
    mb.q = {"beam.mode0": 3.0}
    before = mb.q.copy()
    text = r"body 'beam' is not positive at eta = \(3\), where its node 'tip' turns by 0\.24 rad: its modes are taken"
    with pytest.raises(SingularError, match=text):
        sc.dynamics.mass_matrix(mb, mb.q)
    np.testing.assert_array_equal(mb.q, before)


def test_large_elastic_turns_are_told_once():
    mb = sc.Multibody()
    tip = ModalNode(sc.Pose(), np.zeros((3, 1)), np.array([[0.0], [0.5], [0.0]]))
    for name in ("one", "two"):
        mb.add_body(name, None, sc.Free(), modal=cloud_of_one(nodes={"tip": tip}))
    mb.sko()
    text = r"node 'tip' of flexible body 'one' turns by 0\.31 rad relative to its body; modes hold up to about 0\.3 rad"
    mb.q = {"one.mode0": 0.62}
    with pytest.warns(RuntimeWarning, match=text):
        mb.sko()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for small in (0.59, 0.7):
            mb.q = {"one.mode0": small, "two.mode0": 0.59}  # 0.295 rad of the other is not told
            mb.sko()
    mb.q = {"one.mode0": 0.0, "two.mode0": -0.7}
    with pytest.warns(RuntimeWarning, match=r"node 'tip' of flexible body 'two' turns by 0\.35 rad"):
        mb.sko()


def cloud_of_one(**more):
    return ModalData(**Cloud(np.random.default_rng(1), 1, geometric=False).moments(), K=np.eye(1), **more)


def at_hinge(gam, lam, size=1.0):
    """Data of one mode with a node "root" at (0.5, 0, 0), of lengths in other units where size is given."""
    shape = Cloud(np.random.default_rng(1), 1, geometric=False)
    shape.r, shape.phi = size * shape.r, size * shape.phi
    node = ModalNode(sc.Pose(translation=(0.5 * size, 0, 0)), size * np.reshape(gam, (3, 1)), np.reshape(lam, (3, 1)))
    return ModalData(**shape.moments(), K=np.eye(1), nodes={"root": node})


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_modes_may_move_the_hinge_frame_as_the_hinge_lets_it(size):
    """N* Pi = 0 with N the null space of H, not Pi = 0, in any units."""
    place = sc.Pose(translation=(-0.5 * size, 0, 0))
    turn, slide = at_hinge((0, 0, 0), (0, 0, 0.2), size), at_hinge((0, 0.2, 0), (0, 0, 0), size)
    little = at_hinge((0, 0, 0), (0, 1e-9, 0.2), size)
    for data, hinge, allowed in (
        (turn, sc.Pin((0, 0, 1)), True), (turn, sc.Pin((0, 1, 0)), False), (turn, sc.Spherical(), True),
        (turn, sc.Weld(), False), (turn, sc.Universal((1, 0, 0), (0, 0, 1)), True), (little, sc.Pin((0, 0, 1)), True),
        (turn, sc.Universal((0, 0, 1), (1, 0, 0)), False), (slide, sc.Prismatic((0, 1, 0)), True),
        (slide, sc.Spherical(), False), (slide, sc.Free(), True), (slide, sc.Planar(), True),
    ):  # fmt: skip
        mb = sc.Multibody()
        if allowed:
            mb.add_body("boom", None, hinge, outboard=place, modal=data)
            continue
        text = r"mode 'mode0' of flexible body 'boom' moves its node 'root', .* as the hinge \w+\(.*\) does not let it"
        with pytest.raises(ModelError, match=text):
            mb.add_body("boom", None, hinge, outboard=place, modal=data)
        assert len(mb) == 0
        mb.add_body("boom", None, hinge, outboard=sc.Pose(), modal=data)  # elsewhere nobody knows
        version = mb.version
        with pytest.raises(ModelError, match=text):
            mb.reattach("boom", None, hinge, outboard=place)
        assert mb.version == version
        mb.reattach("boom", None, hinge, hinge_node="root")


def test_a_turned_hinge_frame_is_judged_in_its_own_axes():
    """The pin's axis is that of the outboard frame, which may be turned relative to the node."""
    data, turned = at_hinge((0, 0, 0), (0, 0, 0.2)), sc.Pose.from_rpy(np.pi / 2, 0, 0)
    outboard = (sc.Pose(translation=(0.5, 0, 0)) @ turned).inv  # z of the body is y of the hinge
    sc.Multibody().add_body("boom", None, sc.Pin((0, 1, 0)), outboard=outboard, modal=data)
    with pytest.raises(ModelError, match="does not let it"):
        sc.Multibody().add_body("boom", None, sc.Pin((0, 0, 1)), outboard=outboard, modal=data)


def test_large_elastic_turns_of_a_run_are_told_at_its_end():
    mb = sc.Multibody(gravity=(0, 0, 0))
    tip = ModalNode(sc.Pose(translation=(0.5, 0, 0)), np.zeros((3, 1)), np.array([[0.0], [0.5], [0.0]]))
    mb.add_body("one", None, sc.Weld(), modal=cloud_of_one(nodes={"tip": tip}))
    mb.set_state([0.0], [10.0 * float(np.sqrt(1.0 / mb["one"].modal.M[0, 0]))])  # swings to eta = 10
    propagator = sc.sim.Propagator(mb)
    with pytest.warns(RuntimeWarning, match=r"node 'tip' of flexible body 'one' turns by .* rad relative to its body"):
        propagator.advance_to(0.1)
