"""The lift of the pages on closed chains: a four-bar that stands on the ground, and a smaller one on its coupler."""

import numpy as np

import soacraft as sc

Z = (0, 0, 1)
START = (1.2, -0.5, 1.5, 1.0, -0.5, 1.3)
STYLE = {"lift": {"color": "#3b6ea5", "lw": 3}, "grip": {"color": "#c8553d", "lw": 3}}


def rod(mass, length):
    """A thin rod along x, from its end."""
    moment = mass * length**2 / 12
    return sc.Inertia(mass, (length / 2, 0, 0), np.diag([1e-3 * moment, moment, moment]))


def along(x, y=0.0):
    """A place in the plane."""
    return sc.Pose(translation=(x, y, 0))


def add_four_bar(mb, name, base, at, crank, coupler, rocker, ground):
    """Three rods on `base`; the joint between coupler and rocker is cut."""
    mb.add_body(f"{name}_crank", base, sc.Pin(Z), rod(1.0, crank), at)
    middle = mb.add_body(f"{name}_coupler", f"{name}_crank", sc.Pin(Z), rod(2.0, coupler), along(crank))
    middle.add_node("end", along(coupler))
    last = mb.add_body(f"{name}_rocker", base, sc.Pin(Z), rod(1.0, rocker), at @ along(ground))
    last.add_node("end", along(rocker))
    mb.close_loop(name, f"{name}_rocker/end", f"{name}_coupler/end", sc.Pin(Z))


def lift():
    """The lift, at neutral coordinates, where nothing closes."""
    mb = sc.Multibody("lift", gravity=(0, -9.81, 0))
    add_four_bar(mb, "lift", None, along(0), 0.4, 1.1, 0.9, 1.0)
    add_four_bar(mb, "grip", "lift_coupler", along(0.4, 0.1), 0.3, 0.5, 0.4, 0.45)
    return mb


def closed_lift():
    """The lift with its loops closed and both cranks moving: the model, q and v."""
    mb = lift()
    solver = sc.loops.TreeAugmented(mb)
    q = solver.assemble(START, fixed=["lift_crank"])
    v = solver.project_velocity(q, np.ones(mb.nv))
    mb.set_state(q, v)
    return mb, q, v


def draw(ax, mb, q):
    """The lift in the plane, at the coordinates q."""
    mb.q = q
    p = {}
    for name in STYLE:
        corners = (f"{name}_crank", f"{name}_coupler", f"{name}_coupler/end", f"{name}_rocker")
        p[name] = np.array([mb.pose(corner).translation for corner in corners])
    ax.fill(*np.array([p["lift"][1], p["grip"][0], p["grip"][3], p["lift"][2]])[:, :2].T, color="#3b6ea5", alpha=0.2)
    for name, points in p.items():
        ax.plot(points[:, 0], points[:, 1], "o-", **STYLE[name], markersize=6, label=name)
    ax.plot([-0.2, 1.2], [0, 0], color="0.6", lw=1)
    ax.set_aspect("equal")
    ax.axis("off")
