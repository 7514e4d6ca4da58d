"""Flexible bodies in scenes: where their surfaces are, what rides on them, their colours, and what is written."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.flexible.test_solids import block
from tests.view.space.test_page import data_of, numbers

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ViewError
from soacraft.model.modal import ModalData
from soacraft.view.palette import rgb
from soacraft.view.space.bending import RAMP, bending_of, tinted
from soacraft.view.space.stage import stage_of
from soacraft.view.space.words import legend, written

SMALL = (160, 120)


def beam_data(**more):
    fe = fx.beam(2.0, fx.Rectangle(0.1, 0.1), fx.Elastic(70e9, 0.33, 2700.0), elements=6)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(2, 0, 0))
    return fx.reduce(fe, ["root", "tip"], modes=1, **more)


def crane(data=None):
    """A beam on a pin about z with a load at its end."""
    mb = sc.Multibody("crane")
    mb.add_body("boom", None, sc.Pin((0, 0, 1)), modal=data or beam_data(), hinge_node="root")
    load = mb.add_body("load", "boom/tip", sc.Weld(), sc.Inertia(1.0))
    load.add_geometry(sc.Geometry("box", "box", (0.2, 0.2, 0.2)))
    return mb


def skin_of(scene):
    return next(x for x in scene.parts if x.kind == "skin")


def test_the_surface_goes_where_the_load_goes():
    """The end of the drawn beam is at the node that the load rides on, however large the deformation is drawn."""
    mb = crane()
    mb.q = {"boom": 0.7, "boom.mode1": 0.1, "boom.mode2": -0.05}
    for s in (1.0, 2.0):
        seen = sc.view.scene(mb, exaggerate=s).seen()
        part, moving = seen.parts[0], seen.tracks[0]
        end = np.isclose(part.surface.points[:, 0], 2.0)
        drawn = part.bent(moving, 0).points[end].mean(axis=0)
        assert moving.R[0, 0] @ drawn + moving.p[0, 0] == pytest.approx(moving.p[0, 1], abs=1e-12)
    mb.q = {"boom.mode1": 0.2, "boom.mode2": -0.1}
    assert moving.p[0, 1] == pytest.approx(mb.pose("load").translation, abs=1e-12)


def test_a_motion_bends_it():
    mb = crane()
    q = np.zeros((3, mb.nq))
    q[:, 2] = (0.0, 0.2, -0.2)
    seen = sc.view.scene(mb, (np.arange(3.0), q)).seen(step=1.0)
    y = [seen.parts[0].bent(seen.tracks[0], i).points[:, 1].mean() for i in range(3)]
    assert y[1] > 0.05
    assert y == pytest.approx([0.0, y[1], -y[1]], abs=1e-12)


def test_only_turns_that_are_so_are_warned_of():
    """A deformation that is drawn larger, or a mode at an amplitude of ours, is no state of the body."""
    mb = crane()
    mb.q = {"boom.mode1": 0.05}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sc.view.scene(mb, exaggerate=12.0).html()
        sc.view.mode(mb["boom"].modal, 1, size=5.0).html()
    mb.q = {"boom.mode5": 0.6}
    with pytest.warns(RuntimeWarning, match="node 'tip' of flexible body 'boom' turns by 0.6 rad"):
        sc.view.scene(mb).pixels(size=SMALL)


def test_the_camera_sees_all_of_a_bent_body():
    mb = crane()
    mb.q = {"boom.mode1": 0.9}
    seen = sc.view.scene(mb).seen()
    part, moving = seen.parts[0], seen.tracks[0]
    points = part.bent(moving, 0).points @ moving.R[0, 0].T + moving.p[0, 0]
    stage = stage_of([part], [], (moving,), seen.up)
    assert np.linalg.norm(points - stage.centre, axis=1).max() <= stage.radius
    assert stage.lowest == pytest.approx((points @ seen.up).min())


def test_colours_go_from_nothing_to_the_most():
    assert tinted(np.array([0.0, 1.0, 2.0]), 1.0)[[0, 2]] == pytest.approx(np.array([rgb(RAMP[0]), rgb(RAMP[-1])]))
    assert tinted(np.array([0.0]), 0.0)[0] == pytest.approx(rgb(RAMP[0]))  # nothing is bent
    mb = crane()
    mb.q = {"boom.mode1": 0.1}
    seen = sc.view.scene(mb, exaggerate=4.0).seen()
    still = beam_data().skin.corners(np.zeros(7))
    most = np.linalg.norm(beam_data().skin.corners(mb["boom"].eta) - still, axis=1).max()
    assert seen.colouring.most == pytest.approx(most)  # as it is, not as it is drawn
    assert legend(seen.colouring) == f"deflection {most:.3g} m"


def test_stress_is_that_of_the_textbook():
    """A cantilever with a force at its end: M c / I in the middle of each element."""
    mb, force = crane(), 300.0
    mb.gravity = (0, 0, 0)
    mb.set_force("load", np.array([0, 0, 0, 0, 0, force]))
    mb.q = sc.analysis.equilibrium(mb, fixed=["boom"]).q
    seen = sc.view.scene(mb, colour="stress").seen()
    part = seen.parts[0]
    found = part.bending.values("stress", seen.tracks[0].eta[0])
    bent = force * (2.0 - (np.floor(part.surface.points[:, 0] * 3 - 1e-9).clip(0, 5) + 0.5) / 3) * 0.05 / (0.1**4 / 12)
    inside = ~np.isclose(part.surface.points[:, 0] * 3 % 1, 0, atol=1e-6)  # rings between elements belong to either
    assert inside.sum() > 40
    assert found[inside] == pytest.approx(bent[inside], rel=1e-3)
    assert legend(seen.colouring) == f"stress {found.max():.3g} Pa"
    told = data_of(sc.view.scene(mb, colour="stress").html())
    assert told["colouring"]["unit"] == "Pa"
    skin = told["skins"][0]
    assert skin["parts"] == 4
    assert numbers(skin["stress"], "<f4") == pytest.approx(mb["boom"].modal.recovery["stress"].ravel(), rel=1e-6)


def test_stress_of_a_solid_is_that_of_its_elements():
    points, cells = block((2.0, 0.4, 0.3), (3, 2, 1))
    fe = fx.solid(points, cells, fx.Elastic(70e9, 0.3, 2700.0))
    fe.interface("root", nodes=np.flatnonzero(points[:, 0] < 1e-9), by="RBE2")
    data = fx.reduce(fe, ["root"], "fixed", modes=2)
    skin = data.skin
    for triangle, element in zip(skin.triangles[::7], skin.element[::7], strict=True):
        corners = {tuple(x) for x in points[cells[element]]}
        assert all(tuple(x) in corners for x in skin.at[triangle])
    bending, eta = bending_of(data, slice(0, 2)), np.array([0.3, 0.1])
    s = data.recover("stress", eta)[bending.elements]
    mises = np.sqrt(((s[:, 0] - s[:, 1]) ** 2 + (s[:, 1] - s[:, 2]) ** 2 + (s[:, 2] - s[:, 0]) ** 2) / 2
                    + 3 * (s[:, 3:] ** 2).sum(axis=1))  # fmt: skip
    assert bending.values("stress", eta) == pytest.approx(mises)
    assert len(mises) == 3 * len(skin.triangles)


def test_a_picture_has_the_colours_of_the_ramp_or_of_the_body():
    mb = crane()
    mb.q = {"boom.mode1": 0.3}
    look = dict(size=SMALL, azimuth=-90.0, elevation=80.0)
    by_deflection, plain = (sc.view.scene(mb, colour=x).pixels(**look)[:90] for x in ("deflection", "body"))
    yellow = (by_deflection[..., 0] > 200) & (by_deflection[..., 1] > 150) & (by_deflection[..., 2] < 90)
    assert yellow.sum() > 5
    assert not ((plain[..., 0] > 200) & (plain[..., 2] < 90)).any()


def test_what_is_written_on_a_picture():
    mb = crane()
    mb.q = {"boom.mode1": 0.01}
    told = sc.view.scene(mb, exaggerate=20.0, caption="a crane").seen().colouring
    assert told.words == ("a crane", "deformation drawn 20 times as large")
    white = np.full((120, 160, 3), 255, dtype=np.uint8)
    with_words = written(white, told)
    assert (with_words[80:] < 128).any()
    assert (with_words[:60] == 255).all()
    still = crane()
    assert written(white, sc.view.scene(still).seen().colouring) is white  # nothing to say
    rigid = sc.view.scene(sc.load("arm7"), exaggerate=20.0).seen().colouring
    assert rigid.words == ()  # nothing is drawn larger


def test_a_page_has_all_to_bend_them():
    mb = crane()
    mb.q = {"boom": 0.3, "boom.mode1": 0.1}
    data = data_of(sc.view.scene(mb, exaggerate=2.0).html())
    assert data["modes"] == 7
    assert numbers(data["eta"], "<f4") == pytest.approx(mb["boom"].eta)
    told = next(x for x in data["parts"] if x["kind"] == "skin")
    skin, known = data["skins"][told["skin"]], mb["boom"].modal.skin
    assert (skin["first"], skin["n"]) == (0, 7)
    for name in ("at", "gam", "gam2", "lam", "offset", "normals"):
        assert numbers(skin[name], "<f4") == pytest.approx(getattr(known, name).ravel(), rel=1e-6, abs=1e-9)
    assert data["colouring"]["exaggerate"] == 2.0
    assert data["colouring"]["words"] == ["deformation drawn 2 times as large"]


def test_two_bodies_have_their_own_modes():
    data = beam_data()
    mb = crane(data)
    mb.add_body("fork", "load", sc.Pin((0, 0, 1)), modal=fx.rereference(data, "mean"), hinge_node="root")
    mb.q = {"boom.mode1": 0.1, "fork.mode2": 0.2}
    seen = sc.view.scene(mb).seen()
    skins = [x for x in seen.parts if x.kind == "skin"]
    assert [x.bending.modes for x in skins] == [slice(0, 7), slice(7, 14)]
    for x, eta in zip(skins, (mb["boom"].eta, mb["fork"].eta), strict=True):
        wanted = mb[x.name].modal.skin.corners(eta)
        assert x.bent(seen.tracks[0], 0).points == pytest.approx(wanted, abs=1e-12)
    drum = next(x for x in seen.parts if x.name == "fork" and x.kind == "hinge")
    at = seen.tracks[0].R[0, 2] @ drum.bent(seen.tracks[0], 0).points.mean(axis=0) + seen.tracks[0].p[0, 2]
    assert at == pytest.approx(mb.pose("load").translation, abs=1e-9)  # on the node, though the body frame is elsewhere


def test_a_solid_and_what_has_no_skin_are_drawn():
    points, cells = block((2.0, 0.4, 0.3), (3, 1, 1))
    fe = fx.solid(points, cells, fx.Elastic(70e9, 0.3, 2700.0))
    fe.interface("root", nodes=np.flatnonzero(points[:, 0] < 1e-9), by="RBE2")
    solid = fx.reduce(fe, ["root"], "fixed", modes=2)
    given = fx.matrices(fe.K, fe.M, points)
    given.interface("root", nodes=np.flatnonzero(points[:, 0] < 1e-9), by="RBE2")
    balls = fx.reduce(given, ["root"], "fixed", modes=2)
    assert balls.skin is None
    kept = ("mass", "first", "second", "p", "N", "Q", "M", "K", "D", "nodes")
    bare = ModalData(**{name: getattr(beam_data(geometric=False), name) for name in kept})
    for data, volume in ((solid, 0.24), (balls, None), (bare, None)):
        mb = sc.Multibody()
        mb.add_body("body", None, sc.Free(), modal=data)
        eta = 0.05 * np.ones(data.n) / np.sqrt(np.diagonal(data.M)).max()
        mb.q = {f"body.{name}": x for name, x in zip(data.modes, eta, strict=True)}
        seen = sc.view.scene(mb).seen()
        part = skin_of(sc.view.scene(mb))
        moved = part.bent(seen.tracks[0], 0)
        assert np.abs(moved.points - part.surface.points).max() > 1e-4
        assert np.linalg.norm(moved.normals, axis=1) == pytest.approx(np.ones(len(moved.normals)))
        if volume is not None:
            a, b, c = (part.surface.points[part.surface.triangles[:, i]] for i in range(3))
            assert np.einsum("ki,ki->", a, np.cross(b, c)) / 6.0 == pytest.approx(volume)
        assert (sc.view.scene(mb).pixels(size=(48, 36)) != 255).any()


def test_a_thin_beam_is_drawn_thick_enough_to_be_seen():
    fe = fx.beam(2.0, fx.Circle(1e-5), fx.Elastic(70e9, 0.33, 2700.0), elements=6)
    fe.interface("root", at=(0, 0, 0))
    data = fx.reduce(fe, ["root"], "fixed", modes=1)
    still = bending_of(data, slice(0, 1)).still.points
    assert np.linalg.norm(still[:, 1:], axis=1).max() == pytest.approx(0.01)
    assert [still[:, 0].min(), still[:, 0].max()] == [0.0, 2.0]


def test_the_ends_of_rods_are_at_the_nodes():
    kept = ("mass", "first", "second", "p", "N", "Q", "M", "K", "D", "nodes")
    data = ModalData(**{name: getattr(beam_data(geometric=False), name) for name in kept})
    points = bending_of(data, slice(0, 7)).still.points
    assert [points[:, 0].min(), points[:, 0].max()] == pytest.approx([0.0, 2.0])


def test_what_cannot_be_shown_is_refused():
    mb = crane()
    with pytest.raises(ViewError, match="colour='strain' is unknown; give 'deflection' or 'stress' or 'body'"):
        sc.view.scene(mb, colour="strain")
    kept = ("mass", "first", "second", "p", "N", "Q", "M", "K", "D", "nodes")
    bare = ModalData(**{name: getattr(beam_data(geometric=False), name) for name in kept})
    with pytest.raises(ViewError, match="colour='stress' needs modal data that recover stress"):
        sc.view.scene(crane(bare), colour="stress").pixels(size=SMALL)
    with pytest.raises(ViewError, match="exaggerate must be positive, got 0"):
        sc.view.scene(mb, exaggerate=0.0)
    with pytest.raises(ViewError, match="caption= is a text for the picture, got int"):
        sc.view.scene(mb, caption=3)


def test_topology_and_facts_name_the_modes():
    mb = crane()
    assert "Pin, 7 modes" in [getattr(x, "text", "") for x in sc.view.draw(mb).marks]
    assert "└─ boom  Pin(axis=(0, 0, 1)), 7 modes  [root, tip]" in str(mb.tree())
    H, phi, M = sc.operators(mb, "H phi M")
    spy = sc.view.spy(H * phi * M * phi.T * H.T)
    assert [x.text for x in spy.marks if getattr(x, "anchor", "") == "end"] == ["boom + 7 modes"]
    assert "[boom + 7 modes, load]" in [getattr(x, "title", "") for x in sc.view.spy(phi).marks]
    facts = dict(data_of(sc.view.scene(mb).html())["about"][0])
    assert facts["modes"].startswith("7: static tip.tx, static tip.ty, ")
