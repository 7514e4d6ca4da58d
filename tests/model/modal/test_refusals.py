"""What modal data and flexible bodies refuse, by its text; the model is as it was."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.model.modal.trees import Cloud, flexible_tree, random_modal, random_node

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError, SingularError
from soacraft.files.native import to_json
from soacraft.model.modal import ModalData, ModalNode


def cloud(**changed):
    rng = np.random.default_rng(1)
    return ModalData(**(Cloud(rng, 2).moments() | dict(K=np.eye(2)) | changed))


SKEW = np.array([[1.0, 0.5], [0.0, 1.0]])
BAD = [
    (dict(mass=-1.0), "the mass of modal data must be positive, got -1"),
    (dict(K=SKEW), "K of modal data must be symmetric; entries differ by 0.5"),
    (dict(D=SKEW), "D of modal data must be symmetric; entries differ by 0.5"),
    (dict(K=np.diag([1.0, -1.0])), "the modal stiffness K is indefinite: its least eigenvalue"),
    (dict(M=np.ones((2, 2))), "the modal mass M is singular or indefinite"),
    (dict(M=np.diag([0.5, 0.5])), "N and Q must be moments of the same field"),
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


def test_a_motion_of_the_rigid_body_among_the_modes():
    shape = Cloud(np.random.default_rng(2), 2)
    shape.phi[:, :, 1] = [0.0, 0.3, 0.0]  # all points alike
    with pytest.raises(ModelError, match=r"the modes hold a motion of the rigid body \(mostly 'mode1'\)"):
        ModalData(**shape.moments(), K=np.eye(2))


def test_symmetry_is_judged_in_the_units_of_each_mode():
    """A mode in units a million times smaller: what differs in its row is seen next to the stiffness of the others."""
    K = np.array([[1e12, 0.0], [1e-3, 1e-6]])
    with pytest.raises(ModelError, match="K of modal data must be symmetric"):
        cloud(K=K)


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
    (dict(modal="data", outboard="root"), "moves its node 'root', which the hinge is at"),
]


@pytest.mark.parametrize(("given", "text"), HANGING, ids=[text[:30] for _, text in HANGING])
def test_add_body_refuses(given, text):
    mb, data = model(), random_modal(np.random.default_rng(1), 2)
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
    "derivatives": lambda mb: sc.dynamics.inverse_dynamics_derivatives(mb, mb.q, mb.v, mb.vdot),
    "gradient": lambda mb: sc.analysis.mass_matrix_gradient(mb, mb.q),
    "diff": lambda mb: sc.operators(mb).M.diff("body1"),
    "regressor": lambda mb: sc.analysis.parameter_regressor(mb, mb.q, mb.v, mb.vdot),
    "solver": lambda mb: sc.loops.TreeAugmented(mb),
    "contact": lambda mb: sc.contact.Scene(mb),
    "native": lambda mb: to_json(mb),
}


@pytest.mark.parametrize("what", NOT_YET)
def test_what_is_for_rigid_bodies_alone_says_so(what):
    with pytest.raises(ModelError, match="is for rigid bodies: 'body0' is flexible, it has modes"):
        NOT_YET[what](model())


def test_closures_and_springs_on_flexible_bodies(tmp_path):
    mb = model()
    for tie in (
        lambda: mb.close_loop("loop", "body0/tip", "body1/tip", sc.Spherical()),
        lambda: mb.add_spring("spring", "body0/tip", "body1/tip", 1.0, 0.5),
        lambda: mb.add_bushing("bushing", "body1/tip", "body2/tip", np.eye(6)),
    ):
        with pytest.raises(ModelError, match=r"cannot be at 'body[02]/tip': body 'body[02]' is flexible"):
            tie()
    with pytest.raises(ModelFileError, match="body 'body0' is flexible, and no format holds its modes"):
        sc.save(mb, tmp_path / "flexible.json")
    with pytest.raises(ModelError, match="is fixed on the frame of flexible body 'body0', which is no point of it"):
        mb.set_force("body0", np.ones(6))
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
    mb.add_body("beam", None, sc.Free(), modal=ModalData(**shape.moments(), K=np.eye(1)))
    mb.q = {"beam.mode0": 3.0}
    with pytest.raises(SingularError, match=r"the mass matrix of flexible body 'beam' is not positive at eta = \(3\)"):
        sc.dynamics.mass_matrix(mb, mb.q)
