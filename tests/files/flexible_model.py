"""A model with flexible bodies that hang in every way a model file can tell."""

from __future__ import annotations

import numpy as np
from tests.model.modal.trees import random_modal, settle

import soacraft as sc
from soacraft.model import Keyframe


def station(modes=2, points=5):
    """Two panels of the same data on nodes of a truss of other data, one hung by its tip; nodes on nodes, some gone."""
    rng = np.random.default_rng(5)
    places = dict(points=rng.standard_normal((points, 3)), shapes=rng.standard_normal((points, 3, modes)))
    recovery = {"stress": rng.standard_normal((4, 6, modes)), "strain": rng.standard_normal(modes)}
    panel = random_modal(rng, modes, **places, recovery=recovery, kinds=("a",) * modes, notes=("by hand", "ü"))
    truss = random_modal(rng, 1, geometric=False)
    mb = sc.Multibody("station")
    mb.add_body("truss", None, sc.Free(), modal=truss)
    mb["truss"].add_node("dock", sc.Pose.from_rpy(0.1, 0.2, 0.3, translation=(-0.0, 1.0, 5e-324)), on="tip")
    mb.add_body("left", "truss/root", sc.Pin((0, 0, 1)), modal=panel, hinge_node="root")
    mb.add_body("right", "truss/dock", sc.Spherical(), None, sc.Pose(translation=(0.1, 0, 0)), modal=panel)
    mb.reattach("right", "truss/dock", sc.Spherical(), sc.Pose.from_rpy(1.0, 0, 0.3), hinge_node="tip")
    mb.add_body("camera", "left/tip", sc.Weld(), sc.Inertia(1.2), sc.Pose.from_rpy(0.3, 0.2, 0.1))
    mb["right"].remove_node("root")
    mb["left"].armature = 0.3
    settle(mb, 3)
    mb.add_keyframe(Keyframe("home", *mb.random_state(seed=9)))
    mb.set_force("left/tip", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    return mb
