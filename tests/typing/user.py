"""What a user writes, with the type an editor must show for it. Type checkers read it in `./run check`; it runs too."""

from typing import TYPE_CHECKING, assert_type

import numpy as np
import numpy.typing as npt

import soacraft as sc

Array = npt.NDArray[np.float64]

mb = sc.load("arm7")
assert_type(mb, sc.Multibody)

# bodies, nodes, frames
body = mb["link1"]
assert_type(body, sc.Body)
assert_type(body.hinge, sc.Hinge)
assert_type(body.inertia.mass, float)
body.limits = sc.Limits(-1.0, 1.0)
tip = body.add_node("tip", sc.Pose(translation=(0.1, 0, 0)))
assert_type(tip, sc.Node)
assert_type(mb.node("link1/tip"), sc.Node)
assert_type(mb.node("link1/tip").pose, sc.Pose)
assert_type(mb.body("link2"), sc.Body)
assert_type([each.name for each in mb], list[str])
assert_type(mb.bodies[0], sc.Body)
part = mb.subgraph(["link2", "link3"])
assert_type(part, sc.SubGraph)
assert_type(part["link2"], sc.Body)
assert_type([each.name for each in part], list[str])

# states
mb.set_state({"link3": 0.3}, v={"link3": 1.0})
mb.q = np.zeros(7)
mb.q = {"link3": 0.4}
mb.v = [0.0] * 7
assert_type(mb.q, Array)
assert_type(mb.q_of("link3"), Array)
assert_type(mb.state({"link3": 0.1}), sc.State)
assert_type(mb.state().v_of(body), Array)
assert_type(mb.random_state(1, limits=True), tuple[Array, Array])

# operators and what is made of them
s = sc.operators(mb)
assert_type(s, sc.Operators)
assert_type(s.H, sc.Operator)
assert_type(s.coriolis, sc.Operator)
assert_type(s.B("link7"), sc.Operator)
assert_type(s.V, sc.StackedVector)
H, phi, M = sc.operators(mb, "H phi M")
assert_type(H, sc.Operator)
assert_type(sc.operators(mb, "psi"), sc.Operator)
assert_type(sc.operators(mb, "alpha"), sc.StackedVector)
assert_type(s["H"], sc.Operator)
assert_type(s["eps"], sc.StackedVector)
G, K = s["G K"]
assert_type(K, sc.Operator)
mass_matrix = H * phi * M * phi.T * H.T
assert_type(mass_matrix, sc.Operator)
assert_type(H @ phi, sc.Operator)
assert_type(mass_matrix.inv, sc.Operator)
assert_type(2 * mass_matrix - mass_matrix / 2, sc.Operator)
assert_type(sc.I - H.T * H, sc.Operator)
assert_type(mass_matrix * mb.v, sc.StackedVector)
assert_type(mass_matrix * ([1.0] * 7), sc.StackedVector)
assert_type(mass_matrix @ mb.v, sc.StackedVector)
assert_type(phi.T * s.V, sc.StackedVector)
assert_type(s.V + 2 * s.V, sc.StackedVector)
assert_type(s.V["link3"], Array)
assert_type(mass_matrix["link1", "link2"], Array)
assert_type(phi["link1"]["link2"], Array)
assert_type(mass_matrix.diff("link3"), sc.Operator)
assert_type(mass_matrix.at(q={"link3": 0.3}), sc.Operator)
assert_type(mass_matrix.array(), Array)
assert_type(mass_matrix.text(), str)
f = mass_matrix.inv.compile()
assert_type(f(mb.q), Array)
assert_type(f(mb.q, None, mb.v), Array)
assert_type(f(mb.q, None, mb.v, mb.v), tuple[Array, ...])
assert_type(f.expr, sc.Operator)
assert_type(f.explain().program, tuple[str, ...])
if TYPE_CHECKING:
    assert_type(f.save("inverse.soacraft"), None)

# functions, and what is imported when first asked for
assert_type(sc.dynamics.mass_matrix(mb, mb.q), Array)
assert_type(sc.dynamics.poses(mb, mb.q)["link3"], sc.Pose)
assert_type(sc.dynamics.velocities(mb, mb.q, mb.v)["link3"], Array)
assert_type(sc.Dynamics(mb).forward_dynamics(mb.q, mb.v, mb.v), Array)
assert_type(sc.analysis.linearize(mb, mb.q, mb.v, mb.v), sc.analysis.Linearization)
mb.root.add_node("hook", mb.pose("link7"))
ring = mb.close_loop("ring", "inertial/hook", "link7", sc.Spherical())
assert_type(ring, sc.Closure)
assert_type(mb.loops["ring"], sc.Closure)
assert_type(mb.loops[0].hinge, sc.Hinge)
solver = sc.loops.TreeAugmented(mb)
assert_type(solver, sc.loops.TreeAugmented)
assert_type(solver.forward_dynamics(mb.q, mb.v, mb.v), sc.loops.Result)
assert_type(sc.loops.report(mb), sc.loops.Report)

# robots
rb = sc.robot.Robot(sc.load("panda"))
rb.mb.q = [0.0, -0.8, 0.0, -2.3, 0.0, 1.6, 0.8]
arm = rb.limb("arm", "link0", "link7")
assert_type(arm, sc.robot.Limb)
assert_type(arm.pose(arm.q), sc.Pose)
assert_type(arm.jacobian(arm.q), Array)
r = arm.ik(arm.pose(arm.q))
assert_type(r, sc.robot.Reach)
assert_type(r.q, Array)
w = sc.robot.World(rb)
w.add("table", sc.contact.Box(1.0, 1.0, 0.1), sc.Pose(translation=(1.0, 0.0, 0.0)))
assert_type(w.distances(rb.mb.q, within=0.2), sc.robot.Distances)
assert_type(w.distances(rb.mb.q).gradient, Array)
assert_type(w.edge(rb.mb.q, rb.mb.q), sc.robot.Edge)
step = rb.velocity([sc.robot.Posture(rb.mb.q)], rb.mb.q, 0.01)
assert_type(step, sc.robot.Step)
assert_type(step.v, Array)
assert_type(sc.robot.plan(w, rb.mb.q, rb.mb.q), sc.robot.Plan)
assert_type(sc.robot.gravity(rb, rb.mb.q), Array)
assert_type(rb.predict(horizon=0.01), sc.robot.Prediction)
w.add("cup", sc.contact.Sphere(0.05), sc.Pose(translation=(0.5, 0.0, 0.5)))
w.give_to_robot("cup", sc.Inertia(0.2))
assert_type(rb.attach("cup", "link7"), sc.robot.Joined)
assert_type(rb.undo(), str)

if TYPE_CHECKING:  # what is misspelled is marked: mypy complains of an "ignore" that is not needed
    _ = s.mass_matrx  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    _ = mb["link1"].mass  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    _ = f.sve  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    _ = arm.manipulabilty  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    _ = sc.dynamics.mass_matrx  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
