"""Words of Pinocchio, MuJoCo, Drake, Matlab and URDF, and what soacraft calls the same things.

The one table of such words. A name that a module or a model does not have, or an argument that a function does not
take, is looked up here for the end of the message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def _table(text: str) -> dict[str, str]:
    """Lines `word word ...: ours`; words are kept in small letters, without underscores."""
    table: dict[str, str] = {}
    for line in text.strip().splitlines():
        words, _, ours = line.strip().partition(": ")
        table.update(dict.fromkeys(map(_plain, words.split()), ours))
    return table


def _plain(word: str) -> str:
    return word.replace("_", "").lower()


#: Functions of a state, which are of `sc.dynamics` and not methods of a model.
_OF_A_STATE = """
mass_matrix crba CalcMassMatrix massMatrix mj_fullM fullM M qM inertia_matrix: sc.dynamics.mass_matrix(mb, q)
mass_matrix_inverse computeMinverse Minv: sc.dynamics.mass_matrix_inverse(mb, q)
mass_matrix_solve mj_solveM solveM: sc.dynamics.mass_matrix_solve(mb, q, x)
mass_matrix_multiply mj_mulM: sc.dynamics.mass_matrix_multiply(mb, q, x)
forward_dynamics aba fd mj_forward forwardDynamics: sc.dynamics.forward_dynamics(mb, q, v, force)
inverse_dynamics rnea id mj_inverse CalcInverseDynamics inverseDynamics: sc.dynamics.inverse_dynamics(mb, q, v, vdot)
bias_force nle nonLinearEffects qfrc_bias CalcBiasTerm coriolis velocityProduct: sc.dynamics.bias_force(mb, q, v)
gravity_force computeGeneralizedGravity CalcGravityGeneralizedForces gravityTorque: sc.dynamics.gravity_force(mb, q)
passive_force qfrc_passive: sc.dynamics.passive_force(mb, q, v)
jacobian computeFrameJacobian getFrameJacobian computeJointJacobians mj_jac mj_jacSite mj_jacBody jacobianSpace: \
sc.dynamics.jacobian(mb, q, node)
CalcJacobianSpatialVelocity geometricJacobian: sc.dynamics.jacobian(mb, q, node)
center_of_mass centerOfMass com CalcCenterOfMassPositionInWorld subtree_com: sc.dynamics.center_of_mass(mb, q)
centroidal_momentum_matrix computeCentroidalMap ccrba: sc.dynamics.centroidal_momentum_matrix(mb, q)
momentum computeCentroidalMomentum CalcSpatialMomentumInWorldAboutPoint: sc.dynamics.momentum(mb, q, v)
kinetic_energy computeKineticEnergy CalcKineticEnergy: sc.dynamics.kinetic_energy(mb, q, v)
potential_energy computePotentialEnergy CalcPotentialEnergy: sc.dynamics.potential_energy(mb, q)
forward_dynamics_derivatives computeABADerivatives: sc.dynamics.forward_dynamics_derivatives(mb, q, v, force)
inverse_dynamics_derivatives computeRNEADerivatives: sc.dynamics.inverse_dynamics_derivatives(mb, q, v, vdot)
forwardKinematics framesForwardKinematics forward_kinematics fk mj_kinematics getTransform: \
mb.pose(node), or sc.dynamics.poses(mb, q) for all bodies
inverse_kinematics inverseKinematics ik: sc.inverse_kinematics(mb, {node: pose})
linearize linearise mjd_transitionFD: sc.analysis.linearize(mb, q, v, force)
step mj_step mj_step1 mj_step2 simulate Simulator Simulation AdvanceTo integrate_motion: \
sc.sim.Propagator(mb).advance_to(t)
show plot viewer visualize draw MeshcatVisualizer launch_passive render: sc.view.scene(mb)
""".replace("\\\n", "")

#: Names of other libraries' modules -> ours.
MODULE: Mapping[str, str] = _table(
    _OF_A_STATE
    + """
Revolute RevoluteJoint JointModelRX JointModelRY JointModelRZ JointModelRevolute Continuous HingeJoint RotaryJoint: \
sc.Pin(axis)
PrismaticJoint JointModelPX JointModelPY JointModelPZ JointModelPrismatic Slide Slider SliderJoint: sc.Prismatic(axis)
Ball BallJoint BallRpyJoint JointModelSpherical SphericalJoint: sc.Spherical()
FreeFlyer JointModelFreeFlyer QuaternionFloatingJoint RpyFloatingJoint Floating FloatingJoint FreeJoint: sc.Free()
Fixed FixedJoint WeldJoint RigidJoint: sc.Weld()
PlanarJoint JointModelPlanar: sc.Planar()
Screw ScrewJoint JointModelHelical: sc.Helical(axis, pitch)
UniversalJoint JointModelUniversal: sc.Universal(axis, axis2)
CylindricalJoint: sc.Cylindrical(axis)
Joint JointModel: sc.Hinge, such as sc.Pin(axis)
Link RigidBody RigidLink: mb.add_body(name, parent, hinge, inertia)
SE3 SE3Quat RigidTransform Transform Isometry Isometry3 Transform3d: sc.Pose(rotation, translation)
SpatialInertia RotationalInertia: sc.Inertia(mass, com, moment)
SpatialForce: sc.Wrench
Model Data MjModel MjData MultibodyPlant RobotWrapper RigidBodyTree Mechanism: sc.Multibody(name), or sc.load(file)
buildModelFromUrdf buildModelFromMJCF buildModelFromXML from_xml_path from_xml_string loadModel Parser AddModels \
importrobot loadrobot load_urdf load_mjcf load_model read: sc.load(file)
World PlanningScene: sc.robot.World
Robot: sc.robot.Robot(mb)
Diagram DiagramBuilder System: sc.sim.System(name)
Propagator Integrator: sc.sim.Propagator(mb)
Collision GeometryModel SceneGraph HalfSpace: sc.contact
Box Sphere Cylinder Capsule Plane: sc.contact, such as sc.contact.Box
integrate mj_integratePos: mb.integrate(q, dq)
difference mj_differentiatePos: mb.difference(q0, q1)
neutral randomConfiguration homeConfiguration: mb.neutral(), mb.random_state(seed=1)
Jacobian: sc.dynamics.jacobian(mb, q, node)
""".replace("\\\n", "")
)

#: Attributes that models of other libraries have -> ours.
GRAPH: Mapping[str, str] = _table(
    _OF_A_STATE
    + """
qpos positions configuration joint_positions: mb.q
qvel velocities qd dq joint_velocities: mb.v
qacc qdd qddot ddq a joint_accelerations: mb.vdot
nqpos num_positions: mb.nq
nqvel ndof ndofs dof num_dofs num_velocities nvel: mb.nv
nbody nbodies num_bodies njnt njoints num_joints: len(mb)
joints links jnt frames: mb.bodies, each with its hinge
names joint_names jointnames dofs: mb.dof_names
body_names bodynames: [body.name for body in mb.bodies]
oMf oMi xpos xquat xmat site_xpos getFrame framePlacement EvalBodyPoseInWorld CalcRelativeTransform: mb.pose(node)
getFrameId getJointId getBodyId GetFrameByName GetBodyByName GetJointByName site: mb.body(name), mb.node(name)
getFrameVelocity mj_objectVelocity: mb.velocity(node)
getFrameAcceleration: mb.acceleration(node)
ctrl tau torque qfrc_applied: force=, an argument of sc.dynamics.forward_dynamics
xfrc_applied fext f_ext: mb.set_force(node, wrench)
opt option timestep dt time: sc.sim.Propagator(mb, integrator, step=...), which has t
gravity_vector: mb.gravity
lowerPositionLimit upperPositionLimit jnt_range limits: body.limits of each body of mb.bodies
mass totalmass computeTotalMass: mb.total_mass
addJoint addBody AddRigidBody AddJoint addFrame attach: mb.add_body(name, parent, hinge, inertia)
AddBallConstraint AddWeldConstraint AddDistanceConstraint equality: mb.close_loop(name, a, b, hinge)
operators ops: sc.operators(mb)
save export: sc.save(mb, file)
check validate: sc.check(mb)
modes eigenfrequencies: sc.analysis.modes(mb, q)
energy: sc.dynamics.kinetic_energy(mb, q, v), sc.dynamics.potential_energy(mb, q)
randomConfiguration random: mb.random_state(seed=1)
homeConfiguration home zero: mb.neutral()
Finalize finalize compile build createData MakeContext CreateDefaultContext: nothing: a Multibody may be used at once
referenceConfigurations key keys: mb.keyframes
""".replace("\\\n", "")
)

#: Arguments of functions of other libraries -> ours.
ARGUMENT: Mapping[str, str] = _table(
    """
dt timestep time_step h delta_t stepsize: step=, the length of a step in seconds
tau torque torques u ctrl actuation generalized_forces qfrc joint_torques forces: force=
a acc qacc qdd qddot ddq vd accelerations: vdot=
qd dq qvel qdot velocity velocities: v=
qpos position positions configuration joint_positions: q=
q_init qinit initial guess seed_q: q0=
joint joint_type jointtype connection: hinge=
joint_name: hinge_name=
mass I spatial_inertia moment com: inertia=sc.Inertia(mass, com, moment)
placement transform origin X_PF pose offset: inboard=sc.Pose(rotation, translation)
frame frame_id frame_name site body link end_effector ee tip node: nodes=, a node, its name or several
fext external external_forces wrench wrenches: f_ext={node: wrench}
free_flyer freeflyer floating floating_base free_base root_joint: root=sc.Free()
fixed_base: root=sc.Weld()
package_dirs package_path mesh_dir mesh_path meshdir: mesh_roots=[folder]
reltol rel_tol accuracy: rtol=
atol tol abs_tol eps: tolerance=
method scheme: integrator=
duration t_final tfinal tf t_end horizon until_time: t=, the time to go to
reference_frame rf axes frame_of_expression: expressed_in=, a frame or "inertial"
max_iter maxiter iterations: steps=
"""
)


def hint(word: str, table: Mapping[str, str], names: Iterable[str] = ()) -> str:
    """The end of a message about a name that is not there: the same in our words, or what is spelled alike.

    >>> hint("Revolute", MODULE), hint("mass_matrx", {}, ["mass_matrix"]), hint("xyzzy", MODULE)
    ('; here it is sc.Pin(axis)', "; did you mean 'mass_matrix'?", '')
    """
    ours = table.get(_plain(word))
    if ours is not None:
        return f"; here it is {ours}"
    close = get_close_matches(word[:80], names, 2, 0.7)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'$")


def add_hint(error: TypeError, function: Callable[..., Any]) -> None:
    """Add to an error our name of an argument that Python did not expect, where the function takes that one."""
    unexpected = _UNEXPECTED.search(str(error))
    ours = ARGUMENT.get(_plain(unexpected[1]), "") if unexpected else ""
    if ours.partition("=")[0] in signature(function).parameters:
        error.args = (f"{error}; here it is {ours}",)


def hinted(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors about arguments it does not have say what we call them.

    >>> hinted(lambda step=None: step)(dt=0.1)
    Traceback (most recent call last):
        ...
    TypeError: <lambda>() got an unexpected keyword argument 'dt'; here it is step=, the length of a step in seconds
    """

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            add_hint(error, function)
            raise

    return called


def missing(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """The error of a module about a name that it does not have."""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint(name, MODULE, names)}")


def lookup(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """`__getattr__` of a module: it has no further names, but hints."""

    def __getattr__(name: str) -> Any:
        raise missing(module, name, () if name.startswith("_") else names)

    return __getattr__
