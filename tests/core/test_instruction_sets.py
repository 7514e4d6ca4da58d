"""Which build of the kernels runs, and which calls run on them at once."""

import os
import subprocess
import sys

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.dynamics import Dynamics

#: One number or more from each file of kernels (`add_kernels` in CMakeLists.txt), of one state and of a batch with a
#: remainder whatever the lanes: sweeps and matrices, motions, mixed dynamics, coordinates, closed chains, programs,
#: distances of shapes.
PROGRAM = """
import numpy as np, soacraft as sc
from soacraft import _core, dynamics
rng = np.random.default_rng(0)
mb = sc.load("biped")
q = mb.integrate(np.stack([mb.q] * 11), 0.3 * rng.normal(size=(11, mb.nv)))
v, f = rng.normal(size=(2, 11, mb.nv))
loop = sc.loops.TreeAugmented(sc.load("five_bar"))
closed = loop.assemble(sc.load("five_bar").q)
op = sc.operators(mb)
results = {"coordinates": mb.difference(q[::-1], q)}
for name, i in (("one", 4), ("batch", slice(None))):
    chain = [np.tile(x, (11, 1))[i] for x in (closed, np.zeros(6))]
    results |= {
        f"forward, {name}": dynamics.forward_dynamics(mb, q[i], v[i], f[i]),
        f"inverse of the mass matrix, {name}": dynamics.mass_matrix_inverse(mb, q[i]),
        f"derivatives, {name}": dynamics.inverse_dynamics_derivatives(mb, q[i], v[i], f[i])[0],
        f"momentum, {name}": dynamics.momentum(mb, q[i], v[i]),
        f"mixed, {name}": dynamics.mixed_dynamics(mb, q[i], v[i], f[i], v[i], [7, 8, 11])[0],
        f"closed chain, {name}": loop.forward_dynamics(*chain, v[i][..., :6]).vdot,
    }
a, b, turn = sc.contact.Box(0.5, 0.6, 0.7), sc.contact.Capsule(0.2, 0.6), rng.normal(size=(11, 4))
places = sc.Pose.from_quaternion(turn / np.linalg.norm(turn, axis=1)[:, None], 0.6 * rng.normal(size=(11, 3)))
results["distances"] = [sc.contact.distance(a, sc.Pose(), x, places).distance for x in (a, b)]
results["program"] = (op.H * op.phi * op.M * op.phi.T * op.H.T) * v[0]
print(_core.instruction_set(), _core.lanes())
for name, x in results.items():
    print(name, *(float(y).hex() for y in np.ravel(x)), sep=";")
"""


def started(name):
    """A new interpreter with SOACRAFT_KERNELS set."""
    environment = {k: v for k, v in os.environ.items() if k != "SOACRAFT_KERNELS"}
    environment |= {} if name is None else {"SOACRAFT_KERNELS": name}
    return subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)


def test_each_that_the_machine_has_can_be_chosen():
    """And gives the same numbers to rounding."""
    numbers = {}
    for name in (None, *_core.instruction_sets()):
        run = started(name)
        assert run.returncode == 0, run.stderr
        head, *rows = run.stdout.splitlines()
        used, lanes = head.split()
        assert used == (name or _core.instruction_sets()[-1])
        assert int(lanes) == {"portable": 2, "x86_64_v3": 4, "x86_64_v4": 8}[used]
        parts = (row.split(";") for row in rows)
        numbers[name] = {title: np.array([float.fromhex(x) for x in given]) for title, *given in parts}
    for other in numbers.values():
        for title, x in numbers["portable"].items():
            assert np.isfinite(x).all()
            np.testing.assert_allclose(other[title], x, rtol=0, atol=1e-10 * np.abs(x).max(), err_msg=title)


def test_an_unknown_one_is_an_error_that_lists_what_there_is():
    run = started("x86_64_v9")
    assert run.returncode != 0
    last = run.stderr.strip().splitlines()[-1]
    assert last == (
        "soacraft.errors.SoacraftError: SOACRAFT_KERNELS='x86_64_v9': there are no kernels of that name that this "
        f"machine can run; it has {', '.join(_core.instruction_sets())}. Unset the variable for the best of them."
    )


def test_none_is_chosen_once_a_model_is_compiled():
    Dynamics(sc.load("arm7"))
    with pytest.raises(ValueError, match="a model was compiled already"):
        _core.use_instruction_set("portable")


# -- quick calls ---------------------------------------------------------------------------------------------

QUICK = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "mass_matrix_inverse": 1,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
    "poses": 1,
}


def counts(call):
    return call.answered, call.passed_on


@pytest.mark.parametrize("function", QUICK)
@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_quick_call_answers_what_it_is_meant_for(function, batch):
    """One state or a batch, with and without out= and threads=; lists, other dtypes and forces go to Python."""
    mb = sc.load("arm7")
    call = getattr(Dynamics(mb), function)
    args = [np.full((*batch, mb.nv), 0.1 * (i + 1)) for i in range(QUICK[function])]
    assert counts(call) == (0, 0)
    found = call(*args)
    assert counts(call) == (1, 0)
    if function != "poses":
        out = tuple(np.empty_like(x) for x in found) if isinstance(found, tuple) else np.empty_like(found)
        call(*args, out=out, threads=2)
        assert counts(call) == (2, 0)
    before = counts(call)[0]
    call(*(x.tolist() for x in args))
    call(*(x.astype(np.float32) for x in args))
    assert counts(call) == (before, 2)


def test_refusals_are_passed_on():
    call = Dynamics(sc.load("arm7")).forward_dynamics
    with pytest.raises(sc.errors.StateError):
        call(np.zeros(7), np.full(7, np.nan), np.zeros(7))
    assert counts(call) == (0, 1)
    call(np.zeros(7), np.zeros(7), np.zeros(7))
    assert counts(call) == (1, 1)


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_states_of_other_scales_are_quick(threads):
    """The verdict of a kernel does not depend on units: a molecule needs no fallback."""
    mb = sc.serial_chain(4, length=1e-10, mass=1e-26)
    call = Dynamics(mb).forward_dynamics
    q = np.array([0.3, -0.5, 0.8, 0.2])
    call(q, np.zeros(4), np.full(4, 1e-46))
    call(np.stack([q] * 9), np.zeros((9, 4)), np.full((9, 4), 1e-46), threads=threads)
    assert counts(call) == (2, 0)
