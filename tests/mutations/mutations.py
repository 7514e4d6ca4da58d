"""Signs and orders to break on purpose, each by one replacement in one file of `src/soacraft`."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """Replace `old` by `new` in `path`; `old` occurs there `of` times, and the one counted `nth` (from 0) is meant."""

    group: str
    name: str
    path: str
    old: str
    new: str
    nth: int = 0
    of: int = 1

    @property
    def title(self) -> str:
        """The group and the name."""
        return f"{self.group}: {self.name}"


PHI = "spatial/transforms.py"
QUATERNION = "spatial/rotations.py"
AXES = "model/flat/axes.py"
STATE = "model/states/state.py"
MOTION = "model/states/motion.py"
REALIZE = "model/flat/realize.py"
PRODUCT = "model/hinges/product.py"
FREE = "model/hinges/free.py"
BALL = "model/hinges/rolling_ball.py"
FRAMES = "model/states/kinematics.py"
RICCATI = "recursions/articulated_body.py"
LYAPUNOV = "recursions/lyapunov.py"
BLOCKS = "recursions/products.py"
TABLE = "ops/table.py"
ROWS = "kinematics/rows.py"
SPLIT = "loops/embedding/split.py"
EMBEDDED = "loops/embedding/model.py"
PASSIVE = "model/flat/passive.py"
LAWS = "model/flat/laws.py"
LINKS = "model/flat/links.py"
CURVES = "model/tree/parts/curves.py"
EDITS = "model/tree/edits.py"
MODEL = "model/tree/composed_model.py"
TELLING = "model/tree/frames/frame.py"
MODAL_BODIES = "model/modal/bodies.py"
MODAL_INERTIA = "model/modal/inertia.py"
MODAL_NODES = "model/modal/nodes.py"
DEFORMATION = "model/modal/deformation.py"

STEPS = "dynamics/reference/derivatives.py"
SEGMENTS = "dynamics/reference/segments.py"
BENT = "model/modal/node_derivatives.py"
SHAPES = "model/modal/bodies.py"
MODAL_BLOCKS = "model/modal/block_rates.py"
SPECTRA = "analysis/spectra.py"

MUTATIONS = (
    # -- flexible bodies -----------------------------------------------------------------------------------------
    Mutation(
        "modal", "Mdot left out of b", MODAL_BODIES, "turning = np.einsum(", "turning = 0.0 * np.einsum("
    ),
    Mutation(
        "modal", "d(V* M V)/d eta left out of b", MODAL_BODIES,
        "turning[..., 6:] - 0.5 * np.einsum(", "turning[..., 6:] - 0.0 * np.einsum(",
    ),
    Mutation(
        "modal", "S left out of the coupling", MODAL_INERTIA,
        've = ve + np.einsum("...i,ija->...ja", eta, data.S)', "ve = ve + 0.0",
    ),
    Mutation(
        "modal", "S left out of the first moment", MODAL_INERTIA,
        'c = c + 0.5 * np.einsum("...i,...j,ija->...a", eta, eta, data.S)', "c = c + 0.0",
    ),
    Mutation(
        "modal", "gam2 left out of the place of a node", MODAL_NODES,
        "+ eta @ node.gam.T + second(node.gam2, eta, eta, 0.5)", "+ eta @ node.gam.T",
    ),
    Mutation(
        "modal", "gam2 left out of Pi", MODAL_NODES,
        "slopes(node.gam, node.gam2, eta)\n    return", "slopes(node.gam, None, eta)\n    return",
    ),
    Mutation(
        "modal", "Pidot of the parent's node left out of a", DEFORMATION,
        "at_frame = own - times(", "at_frame = -times(",
    ),
    Mutation(
        "modal", "Pidot of the own node left out of a", DEFORMATION,
        "total[..., k, :] -= times(self.to_body[..., k, :, :], own)", "total[..., k, :] -= 0.0 * own",
    ),
    Mutation(
        "modal", "transposed corner of A(p,k)", DEFORMATION,
        "self._to_child(relative, k) @ x for", "self._to_child(relative, k).mT @ x for",
    ),
    # -- phi ---------------------------------------------------------------------------------------------------
    Mutation("phi", "sign of l", PHI, "corner = skew(l) @ R", "corner = -skew(l) @ R", 0, 2),
    Mutation("phi", "corner in the lower left", PHI, "X[..., :3, 3:] = corner", "X[..., 3:, :3] = corner"),
    Mutation("phi", "l in the child's axes", PHI, "corner = skew(l) @ R", "corner = R @ skew(l)", 0, 2),
    Mutation("phi", "sign of l in the adjoint", PHI, "corner = skew(l) @ R", "corner = -skew(l) @ R", 1, 2),
    Mutation(
        "phi",
        "sign of l in inertial axes",
        AXES,
        "A = frozen(phi(np.eye(3), times(",
        "A = frozen(phi(np.eye(3), -times(",
    ),
    Mutation(
        "phi", "l in parent's axes, inertial", AXES, "times(world[0][..., parents, :, :], relative[1])", "relative[1]"
    ),
    Mutation(
        "phi", "sign of l to a node, body axes", AXES, "return phi(R_node, p_node)", "return phi(R_node, -p_node)"
    ),
    Mutation("phi", "sign of l to a node, other axes", AXES, "arm = times(R, p_node)", "arm = -times(R, p_node)"),
    Mutation(
        "phi",
        "sign of l to the body frame",
        "model/flat/layout.py",
        "phi(*self.outboard).mT",
        "phi(self.outboard[0], -self.outboard[1]).mT",
    ),
    Mutation("phi", "gather", "recursions/gather.py", "y[k] = x[k] + sum(", "y[k] = x[k] - sum("),
    Mutation("phi", "gather, tilde", "recursions/gather.py", "(y[j] + x[j])", "(y[j] - x[j])"),
    Mutation("phi", "scatter", "recursions/scatter.py", "x[k] + A(p, k).mT @ y[p]", "x[k] - A(p, k).mT @ y[p]"),
    Mutation("phi", "scatter, tilde", "recursions/scatter.py", "(y[p] + x[p])", "(y[p] - x[p])"),
    Mutation("phi", "composite body", LYAPUNOV, "Y[k] = X[k] + sum(", "Y[k] = X[k] - sum("),
    Mutation("phi", "mass matrix", "recursions/mass_matrix.py", "X = sko.A(p, j) @ X", "X = -sko.A(p, j) @ X"),
    Mutation("phi", "a block of phi M phi*", BLOCKS, "Z = weight @ Z", "Z = -weight @ Z"),
    Mutation("phi", "a block of phi M phi*, transposed", BLOCKS, "Z = Z @ weight.mT", "Z = -Z @ weight.mT"),
    Mutation("phi", "velocity sweep", REALIZE, "y[..., k, :] += times(", "y[..., k, :] -= times("),
    # -- P+ ----------------------------------------------------------------------------------------------------
    Mutation("P+", "P + G H P", RICCATI, "_symmetric(P[k] - G[k] @ HP)", "_symmetric(P[k] + G[k] @ HP)"),
    Mutation("P+", "M - sum of P+", RICCATI, "P[k] = M(k) + sum(", "P[k] = M(k) - sum("),
    Mutation("P+", "tau_bar = I + G H", TABLE, "np.eye(G.shape[-2]) - G @ H", "np.eye(G.shape[-2]) + G @ H"),
    Mutation("P+", "sign of K", TABLE, "sko.A(p, k) @ G[k])", "-sko.A(p, k) @ G[k])"),
    Mutation("P+", "z+ = z - G eps", "recursions/forward_dynamics.py", "z[k] + G[k] @ eps[k]", "z[k] - G[k] @ eps[k]"),
    Mutation("P+", "vdot = nu + G* alpha+", "recursions/forward_dynamics.py", "nu[k] - G[k].mT @", "nu[k] + G[k].mT @"),
    # -- diagOf and the backward Lyapunov recursion --------------------------------------------------------------
    Mutation(
        "diagOf",
        "backward Lyapunov",
        LYAPUNOV,
        "X[k] + A(p, k).mT @ Y[p] @ B(p, k)",
        "X[k] - A(p, k).mT @ Y[p] @ B(p, k)",
    ),
    Mutation("diagOf", "weight not transposed", LYAPUNOV, "A(p, k).mT @ Y[p] @ B(p, k)", "A(p, k) @ Y[p] @ B(p, k).mT"),
    Mutation(
        "diagOf",
        "diag_of of sparse",
        "ops/derived.py",
        "dict(enumerate(_sparse_diagonal(self.expr)))",
        "{k: -x for k, x in enumerate(_sparse_diagonal(self.expr))}",
    ),
    Mutation("diagOf", "a block of psi* X psi, left", BLOCKS, "Z = weight.mT @ Z", "Z = -weight.mT @ Z"),
    Mutation("diagOf", "a block of psi* X psi, right", BLOCKS, "Z = Z @ weight\n", "Z = -Z @ weight\n"),
    # -- the order of a quaternion -----------------------------------------------------------------------------
    Mutation(
        "quaternion",
        "read as [w, x, y, z]",
        QUATERNION,
        "U = skew(q[..., :3])",
        "q = np.roll(q, -1, axis=-1)\n    U = skew(q[..., :3])",
    ),
    Mutation(
        "quaternion",
        "turns the other way",
        QUATERNION,
        "(q[..., 3, None, None] * U + U @ U)",
        "(-q[..., 3, None, None] * U + U @ U)",
    ),
    Mutation(
        "quaternion",
        "product in the other order",
        QUATERNION,
        "a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)\n    ax",
        "b, a = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)\n    ax",
    ),
    Mutation("quaternion", "sign of the exponential", QUATERNION, "0.5 * sinc(half) * w", "-0.5 * sinc(half) * w"),
    Mutation(
        "quaternion",
        "rate for inboard axes",
        QUATERNION,
        "quaternion_multiply(q, np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1))",
        "quaternion_multiply(np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1), q)",
    ),
    Mutation("quaternion", "of a matrix", QUATERNION, "R[..., k, j] - R[..., j, k]", "R[..., j, k] - R[..., k, j]"),
    # -- Hdot --------------------------------------------------------------------------------------------------
    Mutation("Hdot", "bias of screws", PRODUCT, "total -= v[..., j, None]", "total += v[..., j, None]"),
    Mutation("Hdot", "dH of screws", PRODUCT, "dH[..., j, :, :j] = -crm(", "dH[..., j, :, :j] = crm("),
    Mutation("Hdot", "dbias of screws in q", PRODUCT, "in_q += vj *", "in_q -= vj *"),
    Mutation("Hdot", "dbias of screws in v", PRODUCT, "in_v[..., j] -=", "in_v[..., j] +="),
    Mutation(
        "Hdot",
        "bias of a rolling ball",
        BALL,
        "linear = cross(v, cross(v, lever))",
        "linear = -cross(v, cross(v, lever))",
    ),
    Mutation("Hdot", "dH of a rolling ball", BALL, "skew(-skew(lever))", "skew(skew(lever))"),
    Mutation(
        "Hdot",
        "added to a",
        REALIZE,
        "+= times(to_body[..., group.bodies, :, :], bias)",
        "-= times(to_body[..., group.bodies, :, :], bias)",
    ),
    Mutation("Hdot", "crm(V) H* v in a", REALIZE, "a = times(crm(V), twists)", "a = -times(crm(V), twists)"),
    Mutation("Hdot", "a in inertial axes, own turn", AXES, "moved = moved + turning", "moved = moved - turning"),
    Mutation(
        "Hdot",
        "a in inertial axes, parent's turn",
        AXES,
        "moved[..., inner, :] -= times(",
        "moved[..., inner, :] += times(",
    ),
    Mutation(
        "Hdot", "sign of H of a rolling ball", BALL, "H[..., 3:, :] = skew(lever)", "H[..., 3:, :] = -skew(lever)", 0, 2
    ),
    Mutation(
        "Hdot",
        "sign of derivatives of H of a rolling ball",
        BALL,
        "H[..., 3:, :] = skew(lever)",
        "H[..., 3:, :] = -skew(lever)",
        1,
        2,
    ),
    Mutation("Hdot", "columns of H not carried outward", PRODUCT, "v + p @ skew(w).T", "v - p @ skew(w).T"),
    # -- the frame of a free hinge's velocity --------------------------------------------------------------------
    Mutation(
        "free",
        "integrate in inboard axes",
        FREE,
        "(quaternion_to_matrix(q[..., :4]) @ step[..., None])[..., 0]",
        "step",
    ),
    Mutation(
        "free",
        "qdot in inboard axes",
        FREE,
        "(quaternion_to_matrix(q[..., :4]) @ v[..., 3:, None])[..., 0]",
        "v[..., 3:]",
    ),
    Mutation(
        "free",
        "linear velocity in inboard axes",
        FREE,
        "        lead = np.shape(q)[:-1]\n        return np.broadcast_to(_H_T, (*lead, 6, 6)) if lead else _H_T",
        "        H = np.zeros((*np.shape(q)[:-1], 6, 6))\n"
        "        H[..., :3, :3] = np.eye(3)\n"
        "        H[..., 3:, 3:] = quaternion_to_matrix(np.asarray(q)[..., :4]).mT\n"
        "        return H",
    ),
    Mutation(
        "free",
        "position in outboard axes",
        FREE,
        "q[..., 4:].copy())",
        "(quaternion_to_matrix(q[..., :4]) @ q[..., 4:, None])[..., 0])",
    ),
    Mutation(
        "free",
        "turn in inboard axes",
        "model/hinges/spherical.py",
        "quaternion_multiply(q, quaternion_exp(dv))",
        "quaternion_multiply(quaternion_exp(dv), q)",
    ),
    Mutation(
        "free",
        "difference the other way",
        FREE,
        "self.pose(q0).inv @ self.pose(q1)",
        "self.pose(q1).inv @ self.pose(q0)",
    ),
    # -- parameters that change ----------------------------------------------------------------------------------
    Mutation("parameters", "not counted", EDITS, "self.parameter()", "pass", 0, 2),
    Mutation("parameters", "an attribute of a hinge not counted", EDITS, "self.parameter()", "pass", 1, 2),
    Mutation("parameters", "kernels not told of springs", EDITS, "model.kernels.outdate()", "pass"),
    Mutation("parameters", "quick calls of before", EDITS, "model.kernels.retire()", "pass"),
    Mutation("parameters", "kernels not told of gravity", MODEL, "model.kernels.set_gravity(gravity)", "pass"),
    Mutation("parameters", "outboard for inboard", TELLING, "set_pose(k, False,", "set_pose(k, True,"),
    Mutation("parameters", "armature not told", TELLING, "model.kernels.set_armature(k, armature)", "pass"),
    Mutation("parameters", "frames noted before", TELLING, "model.frames.clear()", "pass", 0, 3),
    Mutation("parameters", "nodes noted before", TELLING, "model.frames.clear()", "pass", 2, 3),
    Mutation("parameters", "first armature", TELLING, "if (J is None) == (self._armature", "if True or (None"),
    Mutation("parameters", "old states", STATE, "motion = motion.renewed(layout)", "pass"),
    Mutation("parameters", "part of a model", "model/tree/subgraph.py", "self._layout.renewed()", "self._layout"),
    Mutation("parameters", "compiled form", "model/flat/compiled.py", "model.parameters < layout.parameters", "False"),
    Mutation("parameters", "old inertias", "model/flat/layout.py", "not in drop}", 'not in drop or name == "M"}'),
    # -- forces ------------------------------------------------------------------------------------------------
    Mutation(
        "forces",
        "sign of gravity",
        STATE,
        "b - weight.bodies",
        "b + weight.bodies",
    ),
    Mutation("forces", "gravity turned the wrong way", REALIZE, "times(R.mT, gravity)", "times(R, gravity)"),
    Mutation("forces", "sign of external forces", STATE, "b[..., k, :] -= pull", "b[..., k, :] += pull"),
    Mutation(
        "forces",
        "axes of a wrench turned the wrong way",
        STATE,
        "turn = pose_of_frame(self, frame)[0].mT @ pose_of_frame(self, expressed_in)[0]",
        "turn = pose_of_frame(self, expressed_in)[0].mT @ pose_of_frame(self, frame)[0]",
    ),
    Mutation(
        "forces",
        "crf(V) M V",
        REALIZE,
        "return turning_force(layout.M, V)",
        "return -turning_force(layout.M, V)",
    ),
    Mutation("forces", "b in inertial axes", AXES, "WithModes(moved - times(", "WithModes(moved + times("),
    Mutation("forces", "acceleration of a moving anchor", MOTION, "a[..., k, :] += times(", "a[..., k, :] -= times("),
    Mutation("forces", "sign of crm", PHI, "X[..., 3:, :3] = v", "X[..., 3:, :3] = -v"),
    Mutation("forces", "sign of crf", PHI, "X[..., :3, 3:] = v", "X[..., :3, 3:] = -v"),
    Mutation(
        "forces",
        "first moment in M",
        "spatial/inertia.py",
        "M[:3, 3:] = self._mass * C\n            M[3:, :3] = -self._mass * C",
        "M[:3, 3:] = -self._mass * C\n            M[3:, :3] = self._mass * C",
    ),
    Mutation(
        "forces",
        "parallel axes in M",
        "spatial/inertia.py",
        "self._moment - self._mass * (C @ C)",
        "self._moment + self._mass * (C @ C)",
    ),
    # -- frames and hinges ---------------------------------------------------------------------------------------
    Mutation("frames", "velocity of a node", FRAMES, "v = v + cross(w, times(", "v = v - cross(w, times("),
    Mutation("frames", "w x v of a body-axes alpha", FRAMES, "alpha[..., 3:] + cross(", "alpha[..., 3:] - cross("),
    Mutation(
        "frames",
        "centripetal acceleration",
        FRAMES,
        "origin + cross(wdot, r) + cross(w, cross(w, r))",
        "origin + cross(wdot, r) - cross(w, cross(w, r))",
    ),
    Mutation(
        "frames",
        "centripetal acceleration of a moving frame",
        FRAMES,
        "turning = cross(wdot, r) + cross(w, cross(w, r))",
        "turning = cross(wdot, r) - cross(w, cross(w, r))",
    ),
    Mutation(
        "frames",
        "Coriolis acceleration seen from a frame",
        FRAMES,
        "+ 2.0 * cross(w_to, v_rel)",
        "- 2.0 * cross(w_to, v_rel)",
    ),
    Mutation(
        "hinges",
        "lever of a rolling ball",
        BALL,
        "-self._radius * (self._normal @ R)",
        "self._radius * (self._normal @ R)",
    ),
    Mutation(
        "hinges",
        "travel of a rolling ball",
        BALL,
        "np.stack([w @ t2, -(w @ t1)], axis=-1)",
        "np.stack([-(w @ t2), w @ t1], axis=-1)",
    ),
    Mutation(
        "hinges",
        "turn of a screw",
        PRODUCT,
        "basis[2, :9], basis[2, 9:] = K.ravel()",
        "basis[2, :9], basis[2, 9:] = -K.ravel()",
    ),
    Mutation(
        "hinges",
        "screws in the other order",
        PRODUCT,
        "pose = pose @ Pose.unchecked(*self._screws[i].motion(q[..., i]))",
        "pose = Pose.unchecked(*self._screws[i].motion(q[..., i])) @ pose",
    ),
    Mutation(
        "hinges",
        "pitch of a helical hinge",
        "model/hinges/helical.py",
        "self._pitch * self._axis",
        "-self._pitch * self._axis",
    ),
    Mutation(
        "hinges",
        "travel before angle",
        "model/hinges/cylindrical.py",
        "[[*self._axis, *zero], [*zero, *self._axis]]",
        "[[*zero, *self._axis], [*self._axis, *zero]]",
    ),
    Mutation(
        "hinges",
        "turn before the slides",
        "model/hinges/planar.py",
        "[[0.0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]]",
        "[[0, 0, 1, 0, 0, 0], [0.0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]",
    ),
    # -- loops -------------------------------------------------------------------------------------------------
    Mutation(
        "loops",
        "without Gcdot of the bodies",
        ROWS,
        "parts = [x.gamma + sum(W @ alpha[k] for k, W in x.W.items()) for x in self.loops]",
        "parts = [x.gamma for x in self.loops]",
    ),
    Mutation("loops", "without the turning of X", ROWS, "Q @ (crm(xi) @ seen - bias_of(", "Q @ (-bias_of("),
    Mutation("loops", "sign of the turning of X", ROWS, "Q @ (crm(xi) @ seen -", "Q @ (-crm(xi) @ seen -"),
    Mutation("loops", "without Qdot", ROWS, "crm(xi) @ seen - bias_of(closure.hinge, theta, rate)", "crm(xi) @ seen"),
    Mutation("loops", "sign of Qdot", ROWS, "crm(xi) @ seen - bias_of(", "crm(xi) @ seen + bias_of("),
    Mutation("loops", "velocity of a taken at a", ROWS, "seen = X @ V_a", "seen = V_a"),
    Mutation(
        "loops",
        "without the curvature of a coupling",
        ROWS,
        "gamma += second * float(v[i]) ** 2",
        "gamma += 0.0",
    ),
    Mutation(
        "loops", "without x0", SPLIT, "X[d], x0[d] = solution[:, :-1], solution[:, -1]", "X[d] = solution[:, :-1]"
    ),
    Mutation(
        "loops",
        "without x0 in a",
        EMBEDDED,
        "compound.scattered(tree, a) + compound.HA.T @ x0",
        "compound.scattered(tree, a)",
    ),
    Mutation("loops", "without A_S* in a", EMBEDDED, "compound.scattered(tree, a) + compound", "a + compound"),
    # -- passive forces ----------------------------------------------------------------------------------------
    Mutation("passive", "sign of dampers", PASSIVE, "-= passive.damping * v[", "+= passive.damping * v["),
    Mutation(
        "passive",
        "travel in inboard axes",
        PASSIVE,
        "quaternion_to_matrix(q[..., :4]).mT",
        "quaternion_to_matrix(q[..., :4])",
    ),
    Mutation("passive", "tendons never slack", LAWS, "length - np.clip(length, *x.rest)", "length", 0, 2),
    Mutation("passive", "slack tendons stiff", LAWS, "x.stiffness * taut", "x.stiffness + 0 * taut"),
    Mutation("passive", "turns of a free hinge that travels", PASSIVE, "skew(u[..., 3:])", "-skew(u[..., 3:])"),
    Mutation("passive", "sign of compensation", PASSIVE, "-body.gravity_compensation", "body.gravity_compensation"),
    Mutation("passive", "sign of the rate of a rotation vector", PHI, "(np.eye(3) + 0.5 * K", "(np.eye(3) - 0.5 * K"),
    Mutation("passive", "sign of the rate of a twist", PHI, "= np.eye(3) + 0.5 * K", "= np.eye(3) - 0.5 * K"),
    Mutation("passive", "rate of a twist along its travel", PHI, ":3] = 0.5 * along", ":3] = -0.5 * along"),
    Mutation("passive", "pull of a spring on its first node", LINKS, ":-1, :] += pull", ":-1, :] -= pull"),
    Mutation("passive", "damping of a spring", LAWS, "elastic(x, length) + damping", "elastic(x, length) - damping"),
    Mutation("passive", "energy of a curve", CURVES, "before + s * (c0 + s * (0.5 * c1", "before + s * (c0 + s * (c1"),
    Mutation(
        "passive",
        "curves where the spring is stiff",
        LAWS,
        "curves.slope(x.stiffness.pieces, length)",
        "x.stiffness(length)",
    ),
    Mutation("passive", "moment of a bushing on its first node", LINKS, "moment + cross(p,", "moment - cross(p,"),
    Mutation("passive", "twist of a bushing", LINKS, "va + cross(wa, p)", "va - cross(wa, p)"),
    # -- derivatives of flexible trees ------------------------------------------------------------------------
    Mutation("flexible", "turn of the twists of a held node", SEGMENTS, "-crm(S.mT) @ S", "crm(S.mT) @ S"),
    Mutation("flexible", "bias of a held node", SEGMENTS, "crm(bias) @ S - X @", "-crm(bias) @ S - X @"),
    Mutation("flexible", "second slope of Jr", BENT, "dC * _dot(t, z) * cross(x, across)", "0.0 * cross(x, across)"),
    Mutation("flexible", "turn of the travel of a node", BENT, "None, :, :] - cross(w", "None, :, :] + cross(w"),
    Mutation("flexible", "d2M", SHAPES, "- 0.5 * np.einsum", "+ 0.5 * np.einsum", 1, 2),
    Mutation("flexible", "momentum of modes that change", SHAPES, "+ push @ slopes[..., :6].mT", ""),
    Mutation("flexible", "modes that a child pulls", STEPS, "step.dofs, :] += step.", "step.dofs, :] -= step."),
    Mutation("flexible", "dM in operators", MODAL_BLOCKS, "s_E) - change.mT", "s_E) + change.mT"),
    Mutation("flexible", "riding corner of E_phi", MODAL_BLOCKS, "C_T @ crf(own + s_E) +", "C_T @ crf(s_E) +"),
    Mutation("flexible", "null vectors without their sizes", SPECTRA, "(null * s).T", "null.T"),
    Mutation("flexible", "damped rigid motions", SPECTRA, "[2 * r - singles :]", "[2 * r :]"),
)
