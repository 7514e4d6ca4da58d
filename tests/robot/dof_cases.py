"""Robots some of whose dofs have no motor, for the tests of actuated and movable dofs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import soacraft as sc
import soacraft.flexible as fx
from soacraft import robot as rob


@dataclass
class Case:
    """A robot at a state on its closures, with a limb and the dofs that each set must have."""

    rb: Any
    q: np.ndarray
    v: np.ndarray
    limb: Any
    tip: str
    actuated: tuple[str, ...]
    still: tuple[str, ...] = ()
    target: np.ndarray = field(default_factory=lambda: np.zeros(3))

    @property
    def mb(self):
        return self.rb.mb

    @property
    def idle(self):
        return np.array([x not in self.actuated for x in self.mb.dof_names])

    @property
    def stays(self):
        """Coordinates of the dofs that stay, (nq)."""
        mask = np.array([x in self.still for x in self.mb.dof_names])
        found = np.zeros(self.mb.nq, dtype=bool)
        for q, v in zip(self.mb.layout.q_slices, self.mb.layout.v_slices, strict=True):
            if q.stop - q.start == v.stop - v.start:
                found[q] = mask[v]
        return found

    def vdot(self, force):
        if self.mb.is_closed:
            return sc.loops.TreeAugmented(self.mb).forward_dynamics(self.q, self.v, force).vdot
        return sc.dynamics.forward_dynamics(self.mb, self.q, self.v, force)


def bar(modes, length=1.0, stiff=7e10):
    """A slender bar of two interfaces with elastic modes."""
    fe = fx.beam(length, fx.Rectangle(0.02, 0.02), fx.Elastic(stiff, 0.3, 2700.0), 6)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(length, 0, 0))
    return fx.reduce(fe, ["root", "tip"], modes=modes, damping=0.01)


ROD = sc.Inertia(1.0, (0.25, 0, 0), np.diag([1e-3, 3e-2, 3e-2]))


def flexible_arm():
    """Three pins; the second link bends."""
    mb = sc.Multibody("flexible arm", gravity=(0, 0, -9.81))
    mb.add_body("turn", None, sc.Pin((0, 0, 1)), ROD)
    data = bar(1)
    out = sc.Pose(translation=(0.5, 0, 0))
    mb.add_body("beam", "turn", sc.Pin((0, 1, 0)), modal=data, hinge_node="root", inboard=out)
    mb.add_body("fore", "beam/tip", sc.Pin((0, 1, 0)), ROD)
    mb["fore"].add_node("tool", out)
    q = np.array(mb.q)
    for name, x in (("turn", 0.2), ("beam", 0.3), ("fore", -0.7)):
        q[mb.q_slice(name).start] = x
    mb.set_state(q=q)
    rb = rob.Robot(mb)
    modes = tuple(f"beam.{x}" for x in data.modes)
    return Case(rb, q, np.zeros(mb.nv), rb.limb("arm", "inertial", "fore/tool"), "fore/tool",
                ("turn", "beam", "fore"), modes)  # fmt: skip


def lid_in_hand():
    """An arm that holds a box with a hinged lid, which stands open."""
    mb = sc.load("panda")
    mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia.box(1.0, (0.2, 0.2, 0.1)))
    lid = sc.Inertia(0.4, (0.1, 0, 0), np.diag([1e-3, 1.5e-3, 2e-3]))
    mb.add_body("lid", "box", sc.Pin((0, 1, 0)), lid, sc.Pose(translation=(-0.1, 0, 0.05)))
    q = np.array(mb.q)
    q[:7] = [0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5]
    q[mb.q_slice("box")][4:] = 0.0
    q[mb.q_slice("lid")] = 0.4
    mb.set_state(q=q)
    rb = rob.Robot(mb)
    rb.attach("box", "link7")
    q = np.array(mb.q)
    limb = rb.limb("arm", "inertial", "link7")
    return Case(rb, q, np.zeros(mb.nv), limb, "link7", tuple(f"joint{i}" for i in range(1, 8)), ("lid",))


def bars():
    """The closed chain of the library with two motors at six hinges."""
    rb = rob.Robot(sc.load("five_bar"))
    s = sc.loops.TreeAugmented(rb.mb)
    q = s.assemble(np.array(rb.mb.q))
    rb.mb.set_state(q=q)
    return Case(rb, q, np.zeros(rb.mb.nv), rb.limb("arm", "inertial", "rod_2"), "rod_2", ("mot1", "mot2"))


def humanoid():
    """A robot on a free base."""
    rb = rob.Robot(sc.load("h1"))
    mb = rb.mb
    names = tuple(x for x in mb.dof_names if not x.startswith(f"{mb.bodies[0].hinge_name}."))
    limb = rb.limb("arm", "torso_link", "right_elbow_link")
    return Case(rb, np.array(mb.q), np.zeros(mb.nv), limb, "right_elbow_link", names)


def flexible_four_bar():
    """A crank, a coupler that bends and a rocker in a plane."""
    mb = sc.Multibody("four bar", gravity=(0, -9.81, 0))
    pin = sc.Pin((0, 0, 1))
    crank = mb.add_body("crank", None, pin, ROD)
    crank.add_node("end", sc.Pose(translation=(0.4, 0, 0)))
    mb.add_body("coupler", "crank/end", pin, modal=bar(1, stiff=4e9), hinge_node="root")
    rocker = mb.add_body("rocker", None, pin, ROD, inboard=sc.Pose(translation=(0.8, 0, 0)))
    rocker.add_node("end", sc.Pose(translation=(0.7, 0, 0)))
    mb.close_loop("joint", "rocker/end", "coupler/tip", pin)
    return mb


CASES = {"flexible": flexible_arm, "lid": lid_in_hand, "bars": bars, "humanoid": humanoid}
