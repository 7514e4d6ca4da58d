"""Bodies without shapes: what stands for them is no larger than their links."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.view.space import kinematic
from soacraft.view.space.kinematic import HINGE


def extent(mb, name):
    parts = [x.surface.points for x in sc.view.scene(mb).parts if x.name == name and x.kind == "link"]
    return np.ptp(np.concatenate(parts), axis=0)


def arm(moment, mass=0.01):
    """A wrist of 10 g at the end of 1 m, whose moments may be those of a rotor seen through its gear."""
    mb = sc.Multibody()
    link = mb.add_body("link", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.5), np.eye(3) * 0.01))
    inertia = sc.Inertia(mass, (0, 0, 0.2), np.eye(3) * moment)
    mb.add_body("wrist", link, sc.Pin((0, 1, 0)), inertia, inboard=sc.Pose(translation=(0, 0, 1)))
    return mb


def test_a_ball_of_inertia_is_no_larger_than_the_links():
    """Moments of 1 kg m^2 at 10 g are those of a ball of 16 m; the links are 1 m and 0.2 m long."""
    assert extent(arm(1.0), "wrist").max() <= 1.0 + 0.2 + 1e-9
    small = 4e-5
    radius = np.sqrt(2.5 * small / 0.01)
    assert extent(arm(small), "wrist")[0] == pytest.approx(2.0 * radius, rel=1e-2)  # as large as it is


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_it_does_not_depend_on_units(factor):
    mb = sc.Multibody(gravity=(0, 0, 0))
    link = mb.add_body("link", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.5 * factor)))
    inertia = sc.Inertia(0.01, (0, 0, 0.2 * factor), np.eye(3) * factor**2)
    mb.add_body("wrist", link, sc.Pin((0, 1, 0)), inertia, inboard=sc.Pose(translation=(0, 0, factor)))
    assert extent(mb, "wrist") == pytest.approx(factor * extent(arm(1.0), "wrist"))


def test_a_free_body_is_as_large_as_it_is():
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_body("moon", None, sc.Free(), sc.Inertia.sphere(1.0, 7.0))
    assert extent(mb, "moon").max() == pytest.approx(14.0, rel=1e-2)


@pytest.mark.parametrize("name", [x.name for x in sc.models()])
def test_models_of_the_library(name):
    """No body is drawn by more than the span of all hinges, masses and shapes."""
    mb = sc.load(name)
    scene = sc.view.scene(mb)
    length = sc.model.sizes.scale.scale_of(mb).length
    for part in scene.parts:
        if part.kind == "link" and mb.body(part.name).hinge.nv != 6:
            assert np.ptp(part.surface.points, axis=0).max() <= 2.0 * length * (1.0 + HINGE), part.name


@pytest.mark.parametrize("part", [1.0, 0.3, 0.01])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_a_rod_is_never_stouter_than_its_length_allows(length, part):
    """Next to the size of the model, or of a short link to its own."""
    a, b = length * np.array([0.1, 0.2, 0.3]), length * (np.array([0.1, 0.2, 0.3]) + part * np.array([0.6, 0.0, 0.8]))
    points = kinematic._rod(a, b, length).points - a
    along = points @ [0.6, 0.0, 0.8]
    off = np.linalg.norm(points - along[:, None] * [0.6, 0.0, 0.8], axis=1)
    wanted = min(kinematic.ROD, kinematic.STOUTEST * part) * length
    assert off.max() == pytest.approx(wanted, rel=1e-3)
