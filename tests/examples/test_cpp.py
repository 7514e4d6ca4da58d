"""The core without Python: installed as a CMake package, it loads what Python saved and computes the same.

`./run check` runs this: a compiler works for ten seconds on it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CMAKE = [sys.executable, "-m", "cmake"]


def run(*words: object) -> str:
    done = subprocess.run([str(x) for x in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The headers installed, and the example built by `find_package`."""
    folder = tmp_path_factory.mktemp("cpp")
    run(*CMAKE, "-S", ROOT / "core", "-B", folder / "core", f"-DCMAKE_INSTALL_PREFIX={folder}/installed")
    run(*CMAKE, "--install", folder / "core")
    options = f"-DCMAKE_PREFIX_PATH={folder}/installed", "-DCMAKE_CXX_FLAGS=-O1 -DSOACRAFT_NOT_FLAT"
    run(*CMAKE, "-S", ROOT / "examples" / "cpp", "-B", folder / "example", *options, "-DCMAKE_BUILD_TYPE=")
    run(*CMAKE, "--build", folder / "example")
    return folder


def lines(text: str) -> dict[str, np.ndarray]:
    parts = (line.partition(":") for line in text.splitlines())
    return {name: np.array(rest.split(), float) for name, _, rest in parts}


def test_the_example_gives_what_python_gives(built):
    expected = lines(run(sys.executable, ROOT / "examples" / "cpp" / "save.py", built))
    found = lines(run(built / "example" / "arm", built))
    assert found.pop("pendulum") == pytest.approx([-9.81 / 0.5 * np.sin(0.3)], rel=1e-12)
    assert found.keys() == expected.keys() == {"vdot", "J v", "massmat.inv * force"}
    for name, numbers in expected.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-9, atol=1e-12)


def test_headers_are_installed_with_their_licence_and_version(built):
    installed = built / "installed" / "share"
    assert (installed / "licenses" / "soacraft" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    version = (installed / "cmake" / "soacraft" / "soacraftConfigVersion.cmake").read_text()
    assert f'set(PACKAGE_VERSION "{sc.__version__}")' in version


def test_headers_of_the_package_build_the_example(built):
    """`sc.include_dir()` is what a compiler needs."""
    program = built / "from_package"
    flags = ("-std=c++17", "-O1", "-DSOACRAFT_NOT_FLAT", f"-I{sc.include_dir()}")
    run("c++", *flags, "-fsyntax-only", ROOT / "examples" / "cpp" / "arm.cpp", "-o", program)


def test_a_file_that_is_no_model_is_refused_by_name(built):
    (built / "arm.soacraft").write_bytes(b"not a model")
    done = subprocess.run([built / "example" / "arm", built], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"arm: {built}/arm.soacraft: no saved model or expression of soacraft\n"


@pytest.fixture(scope="module")
def replay(built) -> Path:
    """A program that computes everything of a model and an expression."""
    (built / "replay").mkdir()
    program = built / "replay" / "replay"
    flags = ("-std=c++17", "-O1", "-DSOACRAFT_NOT_FLAT", f"-I{built}/installed/include")
    run("c++", *flags, ROOT / "tests" / "examples" / "replay.cpp", "-o", program)
    return program


def expression(mb, kind):
    """Expressions that need every kind of field, in all axes."""
    axes = ("body", "inertial", "origin")[kind]
    s = sc.operators(mb, axes=axes)
    last = mb.bodies[-1]
    if kind == 0:
        return s.H * s.psi * s.tau_bar * s.Upsilon * s.psi.T * s.H.T + 2 * s.D.inv
    if kind == 1:
        B = s.B([last.name, f"{last.name}/tool"])
        return B.T * s.phi.T * s.H.T * (s.H * s.phi * s.M * s.phi.T * s.H.T).inv
    return s.R * s.phi.T - s.P * s.psi.T


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_saved_models_and_expressions_give_what_python_gives(replay, kind):
    """Random trees with every built-in hinge, armature, springs and dampers; numbers of the reference engine."""
    mb = sc.random_tree(14, seed=kind + 3)
    rng = np.random.default_rng(kind)
    mb.gravity = rng.normal(size=3)
    for body in mb.bodies:
        if body.hinge.nv and body.hinge.holonomic:
            k, d = rng.uniform(0, 2, (2, body.hinge.nv))
            body.passive = sc.Passive(stiffness=k, damping=d)
        if body.hinge.nv and rng.random() < 0.5:
            body.armature = rng.uniform(0.1, 1, body.hinge.nv)
    mb.bodies[-1].add_node("tool", sc.Pose.from_rpy(0.3, -0.2, 0.5, [0.1, 0.2, 0.3]))
    X = expression(mb, kind)
    (q, v), force = mb.random_state(kind), rng.normal(size=mb.nv)
    x = rng.normal(size=X.shape[1])
    folder = replay.parent
    sc.save_core(mb, folder / "model")
    X.compile().save(folder / "expression")
    np.concatenate([q, v, force, x]).tofile(folder / "numbers")
    run(replay, folder / "model", folder / "expression", folder / "numbers", folder / "results")
    found = np.fromfile(folder / "results")
    vdot = sc.dynamics.forward_dynamics(mb, q, v, force)
    expected = [vdot, force, sc.dynamics.mass_matrix(mb, q)]
    poses = sc.dynamics.poses(mb, q)
    expected += [poses.rotation, poses.translation, np.asarray(X.at(q=q) * x)]
    expected += [sc.dynamics.jacobian(mb, q, frame) for body in mb.bodies for frame in (body, *body.nodes)]
    expected = np.concatenate([np.ravel(x) for x in expected])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.max(np.abs(expected)))
