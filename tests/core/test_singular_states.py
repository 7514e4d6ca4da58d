"""States that are singular to rounding through every kernel, lane and thread, through functions and handles."""

import numpy as np
import pytest
from tests.core.singular import ALWAYS, MODELS, states

import soacraft as sc
from soacraft import _core, analysis
from soacraft import dynamics as dyn
from soacraft.errors import SingularError
from soacraft.model.flat.compiled import CompiledModel

KERNELS = {  # the shapes of the results, and whether v and a force are taken
    "forward_dynamics": ("v", True),
    "mass_matrix_inverse": ("vv", False),
    "log_det_mass_matrix": ("1", False),
    "log_det_gradient": ("v", False),
    "forward_dynamics_derivatives": ("vv vv vv", True),
}
LANES = _core.lanes()

each_model = pytest.mark.parametrize("which", MODELS)
each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def answers(mb, kernel, q, threads=1, keep=False, outs=None):
    """Whether a kernel answers for a batch."""
    tails, moving = KERNELS[kernel]
    widths = [mb.nv ** tail.count("v") for tail in tails.split()]
    outs = tuple(np.empty((len(q), width)) for width in widths) if outs is None else outs
    v = np.linspace(-1.0, 1.0, mb.nv) if moving else None
    return CompiledModel.of(mb.layout).kernels.run(kernel, q, v, v, None, None, outs, threads, None, keep)


@each_model
@each_kernel
@pytest.mark.parametrize("threads", [1, 3])
def test_one_singular_state_wherever_it_stands(which, kernel, threads):
    """In every lane of a pack, in a pack that is not full, and in the share of every thread."""
    mb, (q, singular) = MODELS[which](), states(which, 3 * LANES + 2)
    assert answers(mb, kernel, q, threads)
    for i in range(len(q)):
        bad = q.copy()
        bad[i] = singular(q[i])
        assert not answers(mb, kernel, bad, threads), f"state {i} of {len(q)}, {LANES} lanes"


@pytest.mark.parametrize("which", ALWAYS)
def test_many_singular_states(which):
    """Where a hinge has next to nothing to move, rounding is larger at the next: not one state in a thousand passes."""
    mb, rng = ALWAYS[which](), np.random.default_rng(3)
    for q in [mb.random_state(rng)[0][None] for _ in range(1000)]:
        assert [kernel for kernel in KERNELS if answers(mb, kernel, q)] == []


@pytest.mark.parametrize("which", ALWAYS)
def test_many_singular_states_by_the_functions(which):
    mb, rng = ALWAYS[which](), np.random.default_rng(4)
    for q in [mb.random_state(rng)[0] for _ in range(100)]:
        with pytest.raises(SingularError):
            dyn.mass_matrix_inverse(mb, q)


CALLS = {
    "forward_dynamics": lambda f, q, x: f(q, x, x),
    "mass_matrix_inverse": lambda f, q, x: f(q),
    "mass_matrix_solve": lambda f, q, x: f(q, x),
    "log_det_mass_matrix": lambda f, q, x: f(q),
    "forward_dynamics_derivatives": lambda f, q, x: f(q, x, x),
    "mixed_dynamics": lambda f, q, x: f(q, x, x, 0.0 * x, []),
}


@each_model
@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("by_handle", [False, True])
def test_functions_and_handles_refuse(which, function, by_handle):
    """One state, and a batch of which they name the state at fault."""
    mb, (q, singular) = MODELS[which](), states(which, LANES + 3)
    bound = getattr(dyn.Dynamics(mb), function) if by_handle else lambda *a: getattr(dyn, function)(mb, *a)
    x = np.linspace(-1.0, 1.0, mb.nv)
    call = CALLS[function]
    call(bound, q, np.tile(x, (len(q), 1)))
    with pytest.raises(SingularError):
        call(bound, singular(q[0]), x)
    for i in (0, LANES - 1, len(q) - 1):
        bad = q.copy()
        bad[i] = singular(q[i])
        with pytest.raises(SingularError, match=rf"state {i} of {len(q)}: "):
            call(bound, bad, np.tile(x, (len(q), 1)))


@each_model
def test_gradients_and_operators_refuse(which):
    mb, (q, singular) = MODELS[which](), states(which, 1)
    with pytest.raises(SingularError):
        analysis.log_det_gradient(mb, singular(q[0]))
    H, phi, M = sc.operators(mb.state(q=singular(q[0])), "H phi M")
    with pytest.raises(SingularError):
        (H * phi * M * phi.T * H.T).inv * np.ones(mb.nv)


@each_model
@pytest.mark.parametrize(("mass", "length"), [(1.0, 1e-10), (1e-26, 1e-10), (1.0, 1e5), (1e24, 1e7), (1e-3, 1e10)])
def test_units_change_no_verdict(which, mass, length):
    """A molecule, a moon: the kernels answer as for a metre and a kilogram, and refuse the same states."""
    mb, (q, singular) = MODELS[which](mass, length), states(which, LANES + 1, length=length)
    one, (q1, _) = MODELS[which](), states(which, LANES + 1)
    unit = np.array([1.0 if name != "slider" else length for name in mb.dof_names])  # of each dof
    if which == "rod on a free hinge":
        unit[3:6] = length
    for kernel in KERNELS:
        assert answers(mb, kernel, q), kernel
        bad = q.copy()
        bad[LANES - 1] = singular(q[LANES - 1])
        assert not answers(mb, kernel, bad), kernel
    small, plain = dyn.mass_matrix_inverse(mb, q), dyn.mass_matrix_inverse(one, q1)
    scaled = small / unit[:, None] / unit * (mass * length**2)
    np.testing.assert_allclose(scaled, plain, rtol=1e-9, atol=1e-9 * np.abs(plain).max())


# -- doubt is not refusal ------------------------------------------------------------------------------------


def wire(ratio):
    """A body whose moment about its pin is small relative to the others."""
    mb = sc.Multibody("wire")
    mb.add_body("wire", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.diag([1.0, 1.0, ratio])))
    return mb


@each_kernel
def test_a_small_moment_of_its_own_is_answered(kernel):
    """Beyond the kernels' doubt, 1e-12 of the traces, they leave it to the reference, which has the right answer."""
    assert answers(wire(4e-12), kernel, np.zeros((1, 1)))
    assert not answers(wire(1e-12), kernel, np.zeros((1, 1)))
    for ratio in (4e-12, 1e-12, 1e-18):
        assert dyn.mass_matrix_inverse(wire(ratio), [0.0])[0, 0] == pytest.approx(1.0 / ratio, rel=1e-12)
        assert dyn.log_det_mass_matrix(wire(ratio), [0.0]) == pytest.approx(np.log(ratio), rel=1e-12)


def test_a_long_chain_is_answered_by_the_kernels():
    """What is carried inward does not grow from body to body: no doubt after hundreds of them."""
    rng = np.random.default_rng(0)
    mb = sc.Multibody("long")
    for i in range(400):
        axis = rng.standard_normal(3)
        inertia = sc.Inertia(1.0, 0.5 * rng.standard_normal(3), 0.1 * np.eye(3))
        pose = sc.Pose(translation=rng.standard_normal(3))
        mb.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Pin(axis), inertia, pose)
    q = rng.uniform(-3.0, 3.0, (2, 400))
    for kernel in ("forward_dynamics", "mass_matrix_inverse", "log_det_mass_matrix"):
        assert answers(mb, kernel, q), kernel
