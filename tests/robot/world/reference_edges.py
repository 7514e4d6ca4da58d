"""Conservative advancement as one reads it (Mirtich 1996): what the compiled edges are compared with.

Along q(s) = integrate(q0, s dv) no point of a shape moves faster, relative to another, than

    mu = sum over the hinges between the two of  |dv_turn| L + |dv_slide|

with L from the hinge to the farthest point of the shape, links straight and slides at their longest. From s on nothing
is touched before s + distance / mu.
"""

from __future__ import annotations

import numpy as np

from soacraft.model.hinges.base import H_T_of
from soacraft.model.tree.frames.frame import Body


def first_touch(w, q0, q1, gap):
    """How far a motion is free, at most 1, and the distance there."""
    mb, scene = w.robot.mb, w.scene
    dv = np.asarray(mb.difference(q0, q1))
    fastest = [rates(mb, body, float(far), q0, q1, dv) for body, far in zip(mb.bodies, scene.far(), strict=True)]
    body = scene.compiled[1]
    s = 0.0
    while True:
        q = np.asarray(mb.integrate(q0, s * dv))
        rows = scene.distances(q)
        least = float(rows.distance.min(initial=np.inf))
        if least <= gap:
            return s, least
        step = np.inf
        for a, b, d in zip(body[rows.a], body[rows.b], rows.distance, strict=True):
            mine, other = (fastest[k] if k >= 0 else {} for k in (a, b))
            mu = sum(x for k, x in mine.items() if k not in other) + sum(x for k, x in other.items() if k not in mine)
            step = min(step, (d - 0.5 * gap) / mu) if mu > 0.0 else step
        s += step
        if s >= 1.0:
            return 1.0, least


def rates(mb, body, length, q0, q1, dv):
    """By hinge inboard of a body: how fast it can move the shapes of that."""
    layout, found, at = mb.layout, {}, body
    while isinstance(at, Body):
        i = layout.index[at]
        q, v = layout.hinge_q[i], layout.hinge_v[i]
        length += float(np.linalg.norm(at.outboard.translation))
        if at.hinge.nv:
            H = H_T_of(at.hinge, np.asarray(at.hinge.neutral()))
            turns, slides = np.linalg.norm(H[:3], axis=0), np.linalg.norm(H[3:], axis=0)
            out = np.maximum(np.abs(q0[q]), np.abs(q1[q]))
            if len(q0[q]) != at.hinge.nv:
                reach = 0.5 * (np.linalg.norm(q0[q][4:]) + np.linalg.norm(q1[q][4:]) + np.linalg.norm(dv[v][3:]))
                out = np.full(at.hinge.nv, reach / np.sqrt(max(1.0, float((slides > 0).sum()))))
            # a hinge of several dofs may slide what its own turns carry
            found[i] = float(np.abs(dv[v]) @ (turns * (length + out @ slides) + slides))
            length += float(out @ slides)
        length += float(np.linalg.norm(at.inboard.translation))
        at = at.parent
    return found
