"""A Stewart platform: six legs, five loops. Mobility, inverse kinematics, three solvers, the forces of the legs."""

import numpy as np

import soacraft as sc
from soacraft.view import structure

#: Where the legs stand on the base and where they carry the platform, in pairs, (6, 3); and this at home.
FEET = np.array([[np.cos(t), np.sin(t), 0] for t in np.radians([-10, 10, 110, 130, 230, 250])])
HEADS = np.array([[0.6 * np.cos(t), 0.6 * np.sin(t), 0] for t in np.radians([-50, 50, 70, 170, 190, 290])])
HOME = HEADS + np.array([0, 0, 1])


def towards(z):
    """Axes with z along a direction."""
    z = np.asarray(z) / np.linalg.norm(z)
    x = np.cross((0, 1, 0), z)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def stewart_platform(platform=20.0, cylinder=2.0, piston=1.0):
    """Each leg: a cylinder on a universal hinge, and a piston that slides in it; masses in kg.

    The first leg carries the platform on a ball, so that this is a tree; balls close it on the other five. All
    coordinates are zero at home, where the platform is level; a leg's force is that of its piston.
    """
    mb = sc.Multibody("stewart")
    for i, (foot, head, along) in enumerate(zip(FEET, HEADS, HOME - FEET, strict=True), 1):
        half = 0.5 * np.linalg.norm(along)
        moment = [sc.Inertia.cylinder(m, 0.04, half).moment for m in (cylinder, piston)]
        joint = sc.Universal((1, 0, 0), (0, 1, 0))
        lower = mb.add_body(f"cylinder{i}", None, joint, sc.Inertia(cylinder, (0, 0, half / 2), moment[0]),
                            sc.Pose(towards(along), foot))
        upper = mb.add_body(f"piston{i}", lower, sc.Prismatic((0, 0, 1)),
                            sc.Inertia(piston, (0, 0, half / 2), moment[1]), sc.Pose(translation=(0, 0, half)))
        upper.add_node("head", sc.Pose(towards(along).T, (0, 0, half)))      # level axes
        if i == 1:
            mass = sc.Inertia.cylinder(platform, 0.6, 0.05)
            table = mb.add_body("platform", upper, sc.Spherical(), mass, upper.nodes[0].pose,
                                sc.Pose(translation=head).inv)
        else:
            table.add_node(f"socket{i}", sc.Pose(translation=head))
            mb.close_loop(f"leg{i}", table.nodes[-1], upper.nodes[0], sc.Spherical())
    return mb


if __name__ == "__main__":
    np.set_printoptions(precision=4, suppress=True)
    mb = stewart_platform()
    print(mb.tree())
    print(sc.loops.report(mb))

    # inverse kinematics: the platform raised and tilted; the legs' lengths in closed form, to compare
    goal = sc.Pose.from_rpy(0.1, -0.15, 0.2, translation=(0.05, -0.1, 1.1))
    q = sc.inverse_kinematics(mb, {"platform": goal}).q
    legs = [f"piston{i}" for i in range(1, 7)]
    travel = np.array([q[mb.q_slice(leg)][0] for leg in legs])
    sockets = HEADS @ goal.rotation.T + goal.translation
    expected = np.linalg.norm(sockets - FEET, axis=1) - np.linalg.norm(HOME - FEET, axis=1)
    print("travel of the legs:", travel)
    print("against closed form:", f"{np.max(np.abs(travel - expected)):.0e}")

    # three solvers, the same numbers: it falls and swings
    solvers = [make(mb) for make in (sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding, sc.loops.FullyAugmented)]
    v = solvers[0].project_velocity(q, np.linspace(-0.3, 0.4, mb.nv))
    mb.set_state(q, v)
    found = [s.forward_dynamics(q, v, np.zeros(mb.nv)) for s in solvers]
    for s, r in zip(solvers, found, strict=True):
        print(f"{type(s).__name__}: rank {r.rank}, residual {r.residual:.0e}")
    print("apart:", f"{max(np.max(np.abs(r.vdot - found[0].vdot)) for r in found):.0e}")

    # which forces of the legs hold it there?
    rest = np.zeros(mb.nv)
    holding = solvers[0].inverse_dynamics(q, rest, rest, actuated=legs)
    push = np.array([holding[mb.v_slice(leg)][0] for leg in legs])
    print("forces of the legs, N:", push)
    print("then it stays:", f"{np.max(np.abs(solvers[0].forward_dynamics(q, rest, holding).vdot)):.0e}")
    up = (sockets - FEET) / np.linalg.norm(sockets - FEET, axis=1, keepdims=True)
    print("they carry, N:", f"{push @ up[:, 2]:.2f} of {-mb.gravity[2] * mb.total_mass:.2f}")

    # the tree's mass matrix has a block for each leg; embedded it is one compound body, which the legs move together
    tree = sc.operators(mb, ignore_loops=True)
    print(structure(tree.H * tree.phi * tree.M * tree.phi.T * tree.H.T))
    s = sc.operators(sc.loops.ConstraintEmbedding(mb, independent=legs))
    massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
    print(structure(massmat.array()))
    print("mass felt by each leg, kg:", 1 / np.diag(massmat.inv.array()))
