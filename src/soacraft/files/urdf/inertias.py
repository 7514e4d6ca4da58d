"""Inertias of links; with `lenient`, also of links whose inertial element says what no body can have."""

from __future__ import annotations

import numpy as np

from soacraft.errors import ModelError
from soacraft.files.urdf.parts import Inertial, Link
from soacraft.files.urdf.reading import IDENTITY, Reading, placed
from soacraft.files.xml_tree import fail
from soacraft.spatial import Array, Inertia, Pose

_MASSLESS, _HERE = Inertia(), Pose()
_PATH = "robot/link/inertial"


def inertia_of(r: Reading, link: Link) -> Inertia:
    """The inertia of a link in its frame: the moment is turned from the axes of the inertial element's origin."""
    inertial = link.inertial
    if inertial is None:
        r.later(link.element, "robot/link", "converted", "has no <inertial>: a massless body")
        return _MASSLESS
    origin = _HERE if inertial.origin is None else inertial.origin
    if inertial.mass is None:
        _fault(r, inertial, link, f"needs a <mass>; link {link.name!r:.80} would have none.", "is massless")
    if inertial.moment is None:
        _fault(r, inertial, link, f"needs a <inertia>; link {link.name!r:.80} would have none.", "is a point mass")
    if inertial.mass is None:
        return _MASSLESS
    moment = np.zeros((3, 3)) if inertial.moment is None else turned(inertial.moment, origin)
    try:
        return Inertia.of_finite(inertial.mass, origin.translation, moment)
    except ModelError as problem:
        what = "has the moment without its negative part"
        _fault(r, inertial, link, f"link {link.name!r:.80} cannot have this inertia: {problem}.", what)
        with placed(inertial.element):
            return Inertia(inertial.mass, origin.translation, nearest_moment(moment))


def turned(moment: Array, pose: Pose) -> Array:
    """R J R*."""
    R = pose.rotation
    return moment if R is IDENTITY else R @ moment @ R.T


def _fault(r: Reading, inertial: Inertial, link: Link, text: str, what: str) -> None:
    """Refuse, or say with what instead the link is read."""
    r.owner = link.name
    r.go_on(fail(inertial.element, text), _PATH)
    note = f"{text.rstrip('.')}: with lenient the link {what}"
    r.later(inertial.element, _PATH, "repaired", note, dynamic=True, name=link.name)


def nearest_moment(moment: Array) -> Array:
    """The nearest symmetric matrix without negative eigenvalues: J = sum of max(j, 0) u u* over its axes u.

    >>> nearest_moment(np.diag([2.0, 1.0, -0.5]))
    array([[2., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    j, U = np.linalg.eigh(0.5 * (moment + moment.T))
    J = (U * np.maximum(j, 0.0)) @ U.T
    return np.asarray(0.5 * (J + J.T))
