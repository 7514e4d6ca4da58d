"""Closed chains that move far: through full turns, dead points and flat poses."""

import numpy as np
from tests.loops.cases import Z, rod

import soacraft as sc


def four_bar(crank, coupler, rocker, ground, angle, rate):
    """A planar four-bar in the xy plane, the crank at an angle and moving."""
    mb = sc.Multibody("four-bar", gravity=(0, -9.81, 0))
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, crank))
    mb.add_body("coupler", "crank", sc.Pin(Z), rod(1.0, coupler), sc.Pose(translation=(crank, 0, 0)))
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, rocker), sc.Pose(translation=(ground, 0, 0)))
    mb["coupler"].add_node("end", sc.Pose(translation=(coupler, 0, 0)))
    mb["rocker"].add_node("end", sc.Pose(translation=(rocker, 0, 0)))
    mb.close_loop("loop", "coupler/end", "rocker/end", sc.Pin(Z))
    return started(mb, [angle, 0.2, 2.0], rate)


def slider_crank(rate):
    """A crank of 0.4 with a rod of 1.0 on a slider along x."""
    mb = sc.Multibody("slider crank", gravity=(0, -9.81, 0))
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, 0.4))
    mb.add_body("rod", "crank", sc.Pin(Z), rod(1.0, 1.0), sc.Pose(translation=(0.4, 0, 0)))
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(1.0, (0, 0, 0)))
    mb["rod"].add_node("end", sc.Pose(translation=(1.0, 0, 0)))
    mb.close_loop("loop", "rod/end", "slider", sc.Pin(Z))
    return started(mb, [0.7, -1.0, 1.2], rate)


def ball_jointed_four_bar(rate):
    """A crank about z and a rocker about x, with a coupler on ball joints between them, which may spin."""
    mb = sc.Multibody("ball-jointed four-bar", gravity=(0, 0, -9.81))
    mb.add_body("crank", None, sc.Pin(Z), rod(1.0, 0.3))
    mb.add_body("coupler", "crank", sc.Spherical(), rod(1.0, 1.45), sc.Pose(translation=(0.3, 0, 0)))
    along = sc.Pose([[0, 0, 1], [1, 0, 0], [0, 1, 0]], (1.0, 0.5, 0))  # the arm along y at rest, turning about x
    mb.add_body("rocker", None, sc.Pin(Z), rod(1.0, 1.0), along)
    mb["coupler"].add_node("end", sc.Pose(translation=(1.45, 0, 0)))
    mb["rocker"].add_node("end", sc.Pose(translation=(1.0, 0, 0)))
    mb.close_loop("loop", "coupler/end", "rocker/end", sc.Spherical())
    turn = np.array([0, -0.35, 0.3, 0.89])
    return started(mb, [0.0, *(turn / np.linalg.norm(turn)), 1.2], rate)


def started(mb, q, rate):
    """Closed next to q, the crank where it is, and moving at this rate."""
    s = sc.loops.TreeAugmented(mb)
    mb.q = s.assemble(q, fixed=["crank"])
    v = s.project_velocity(mb.q, np.eye(mb.nv)[0])
    mb.v = rate / v[0] * v
    return mb


def turned(angle):
    """A rotation about z after one about x, both by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def turned_four_bar(angle):
    """A parallelogram with links of 1 m, on a base that is turned with gravity: it moves alike at all angles."""
    R, pin = turned(angle), sc.Pin((0, 1, 0))
    mb = sc.Multibody(gravity=tuple(R @ [0, 0, -9.81]))
    base = mb.add_body("base", None, sc.Weld(), sc.Inertia(1.0), sc.Pose(R))
    hangs = sc.Inertia(1.0, com=(0, 0, -0.5), moment=np.eye(3) * 0.1)
    a = mb.add_body("a", base, pin, hangs)
    lies = sc.Inertia(1.0, com=(0.5, 0, 0), moment=np.eye(3) * 0.1)
    c = mb.add_body("c", a, pin, lies, sc.Pose(translation=(0, 0, -1)))
    d = mb.add_body("d", base, pin, hangs, sc.Pose(translation=(1, 0, 0)))
    ends = [x.add_node("end", sc.Pose(translation=at)) for x, at in ((c, (1, 0, 0)), (d, (0, 0, -1)))]
    mb.close_loop("loop", *ends, pin)
    mb.set_state([-0.3, 0.3, -0.3], np.zeros(3))
    return mb
