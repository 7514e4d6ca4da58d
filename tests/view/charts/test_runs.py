"""Charts of runs: which lines, with which names and units, and what is written on the figure."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StateError, ViewError
from soacraft.view.charts import SMOOTH


@pytest.fixture(scope="module")
def cart():
    mb = sc.load("cart_pole")
    mb.q = [0.0, 0.3]
    return mb, sc.sim.Propagator(mb).advance_to(1.0)


def test_without_a_word_coordinates_and_energy(cart):
    chart = sc.view.plot(cart[1])
    assert [(x.title, x.y_label, list(x.lines)) for x in chart.panels] == [
        ("coordinates", "coordinates [m]", ["cart"]),
        ("coordinates", "coordinates [rad]", ["pole"]),
        ("energy", "energy [J]", ["kinetic", "potential", "total"]),
    ]
    assert repr(chart) == "Chart: coordinates (1); coordinates (1); energy (3)"


def test_the_figure_has_the_numbers_names_and_units(cart):
    _, run = cart
    chart = sc.view.plot(run, "velocities", "energy", "accelerations", dofs="pole")
    speeds, energies, rates = chart.figure.axes
    assert speeds.get_ylabel() == "velocities [rad/s]"
    assert rates.get_ylabel() == "accelerations [rad/s²]"
    assert speeds.get_xlabel() == "t [s]"
    assert [x.get_text() for x in energies.get_legend().get_texts()] == ["kinetic", "potential", "total"]
    t, total = energies.lines[2].get_data()
    assert np.array_equal(t, run.t)
    assert np.array_equal(total, run.energy)
    assert np.ptp(total) < 1e-6  # nothing acts but gravity


def test_lines_pass_through_the_states_between_rows(cart):
    """A pole turns through a quarter in one step: a straight line would cut the corner."""
    _, run = cart
    (panel,) = sc.view.plot(run, "phase", dofs="pole").panels
    angle, rate = panel.lines["pole"]
    assert len(angle) >= SMOOTH > len(run)
    (coordinates,) = sc.view.plot(run, "coordinates", dofs="pole").panels
    t, q = coordinates.lines["pole"]
    assert (np.diff(t) >= 0.0).all()
    assert np.array_equal(q, angle)
    for i in (7, 111, 300):
        assert (q[i], rate[i]) == pytest.approx((run.at(t[i]).q[1], run.at(t[i]).v[1]), abs=1e-12)
    assert set(run.t) <= set(t)


def test_forces_and_accelerations_have_their_peaks():
    """An adaptive method has few rows, and the largest of them is off by parts of a hundred."""
    mb = sc.load("cart_pole")
    p = sc.sim.Propagator(mb)
    p.control("cart", lambda t, state: 3.0 * np.exp(-20.0 * (t - 0.77) ** 2))
    run = p.advance_to(1.5)
    force, acceleration, energy = sc.view.plot(run, "forces", "accelerations", "energy", dofs="cart").panels
    assert 3.0 - run.forces["cart"].max() > 1e-3
    assert force.lines["cart"][1].max() == pytest.approx(3.0, abs=1e-3)  # of lines between 400 points
    t, vdot = acceleration.lines["cart"]
    assert len(t) >= SMOOTH
    for i in (7, 111, 300):
        assert vdot[i] == pytest.approx(run.at(t[i]).vdot[0], abs=1e-9)
    np.testing.assert_allclose(energy.lines["kinetic"][1], run.at(t).kinetic, atol=1e-12)


def test_a_run_whose_model_was_changed_is_drawn_by_its_rows():
    mb = sc.load("cart_pole")
    run = sc.sim.Propagator(mb).advance_to(0.5)
    mb["pole"].inertia = sc.Inertia(9.0, (0, 0, 0), np.eye(3))
    rates, places = sc.view.plot(run, "accelerations", "coordinates", dofs="pole").panels
    assert np.array_equal(rates.lines["pole"][1], run.vdot[:, 1])
    assert len(places.lines["pole"][0]) >= SMOOTH


def test_a_phase_portrait_of_a_free_oscillator_is_a_circle():
    mb = sc.Multibody(gravity=(0, 0, 0))
    body = mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    body.passive = sc.Passive(stiffness=[8.0], damping=[0.0])
    mb.q = [0.5]
    run = sc.sim.Propagator(mb).advance_to(2.0)
    (panel,) = sc.view.plot(run, "phase").panels
    x, v = panel.lines["mass"]
    assert np.hypot(x, v / 2.0) == pytest.approx(0.5, abs=1e-6)  # omega = sqrt(8 / 2)
    assert (panel.x_label, panel.y_label) == ("coordinate [m]", "velocity [m/s]")
    (energy,) = sc.view.plot(run, "energy").panels
    assert list(energy.lines) == ["kinetic", "potential", "springs", "total"]
    (balance,) = sc.view.plot(run, "balance").panels
    grown, work = balance.lines["energy grown"][1], balance.lines["work done"][1]
    assert grown == pytest.approx(0.5 * 8.0 * (0.25 - run.q[:, 0] ** 2), abs=1e-6)
    assert work == pytest.approx(grown, abs=1e-6)
    assert np.abs(balance.lines["left over"][1]).max() == pytest.approx(run.check().imbalance)


def test_forces_and_violation_of_a_linkage():
    mb = sc.Multibody("rhombus")
    a = mb.add_body("a", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    mb.add_body("b", a, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)),
                inboard=sc.Pose(translation=(1, 0, 0)))  # fmt: skip
    c = mb.add_body("c", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)),
                    inboard=sc.Pose(translation=(1, 0, 0)))  # fmt: skip
    mb.close_loop("ring", mb["b"].add_node("tip", sc.Pose(translation=(1, 0, 0))),
                  c.add_node("tip", sc.Pose(translation=(1, 0, 0))), sc.Pin((0, 1, 0)))  # fmt: skip
    mb.q = [1.0, -1.0, 1.0]
    run = sc.sim.Propagator(mb, step=0.01, integrator="rk4").advance_to(0.2)
    chart = sc.view.plot(run, "violation")
    _, opening = chart.panels[0].lines["violation"]
    assert np.array_equal(opening, run.violation)
    assert (opening > 0.0).any()
    assert chart.figure.axes[0].get_yscale() == "log"
    assert sc.view.plot(run).panels[-1].title == "violation of closures"


def test_names_are_written_as_they_are():
    """What begins with an underscore has its line in the legend, and what looks like a formula is none."""
    mb = sc.Multibody()
    names = ["_hidden", r"$\frac{$", "<b>"]
    for name in names:
        mb.add_body(name, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)))
    run = sc.sim.Propagator(mb).advance_to(0.1)
    chart = sc.view.plot(run, "coordinates")
    assert [x.get_text() for x in chart.figure.axes[0].get_legend().get_texts()] == names
    assert chart._repr_png_()[:4] == b"\x89PNG"


def test_long_names_are_shortened_in_legends_alone():
    mb = sc.Multibody()
    name = "start" + 3000 * "x" + "end"
    mb.add_body(name, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)))
    chart = sc.view.plot(sc.sim.Propagator(mb).advance_to(0.1), "coordinates")
    (text,) = chart.figure.axes[0].get_legend().get_texts()
    shown = text.get_text()
    assert len(shown) == 40
    assert shown.startswith("start")
    assert shown.endswith("end")
    assert list(chart.panels[0].lines) == [name]


def test_nothing_to_draw_is_refused(cart):
    _, run = cart
    with pytest.raises(ViewError, match="nothing to draw for the chart 'forces': the run has none of its lines"):
        sc.view.plot(run, "energy", "forces")
    with pytest.raises(ViewError, match="nothing to draw for the chart 'coordinates': dofs= leaves none of its lines"):
        sc.view.plot(run, "coordinates", dofs=[])
    for wrong in (3, [3], [["pole"]], {"pole"}):
        with pytest.raises(ViewError, match="dofs are names of dofs or hinges, one or a list of them; got"):
            sc.view.plot(run, dofs=wrong)
    for wrong in (["energy", "phase"], 3, None):
        with pytest.raises(ViewError, match="charts are named one by one"):
            sc.view.plot(run, wrong)


def test_a_run_without_dofs_is_refused():
    mb = sc.Multibody()
    mb.add_body("block", None, sc.Weld(), sc.Inertia(1.0))
    run = sc.sim.Propagator(mb).advance_to(0.1)
    with pytest.raises(ViewError, match="the run has no coordinates and no dofs"):
        sc.view.plot(run)


def test_a_long_legend_says_how_many_more_there_are():
    mb = sc.serial_chain(14)
    run = sc.sim.Propagator(mb).advance_to(0.01)
    axes = sc.view.plot(run, "coordinates").figure.axes[0]
    texts = [x.get_text() for x in axes.get_legend().get_texts()]
    assert texts[-1] == "and 2 more"
    assert texts[:12] == [f"link{i}" for i in range(1, 13)]
    assert len([x for x in axes.lines if len(x.get_xdata())]) == 14


def test_events_are_marked():
    mb = sc.load("pendulum")
    mb.q = [0.5]
    p = sc.sim.Propagator(mb)
    p.event("level", lambda t, s: s.q[0])
    run = p.advance_to(1.0)
    assert len(run.events) == 1
    axes = sc.view.plot(run, "coordinates").figure.axes[0]
    assert [x.get_text() for x in axes.texts] == [x.name for x in run.events]


def test_a_run_from_a_log_is_drawn_with_its_names(cart, tmp_path):
    """Those of the log; of a log of before, which has none, by number, or with those of a model."""
    mb, _ = cart
    mb.set_state([0.0, 0.3], [0.0, 0.0])
    sc.sim.Propagator(mb).advance_to(0.2, log=tmp_path / "run.h5")
    kept = sc.sim.read(tmp_path / "run.h5")
    assert [list(x.lines) for x in sc.view.plot(kept, "coordinates").panels] == [["cart"], ["pole"]]
    with h5py.File(tmp_path / "run.h5", "a") as file:
        for name in kept.labels._fields:
            del file[f"label_{name}"]
    kept = sc.sim.read(tmp_path / "run.h5")
    assert list(sc.view.plot(kept, "coordinates").panels[0].lines) == ["q[0]", "q[1]"]
    assert list(sc.view.plot(kept, "coordinates", graph=mb).panels[1].lines) == ["pole"]
    with pytest.raises(StateError, match="2 coordinates and 2 dofs, but the model has 7 and 7"):
        sc.view.plot(kept, graph=sc.load("arm7"))


def test_saved(cart, tmp_path):
    chart = sc.view.plot(cart[1], "energy")
    for end, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        assert chart.save(tmp_path / f"chart{end}").read_bytes().startswith(start)


def test_refused(cart):
    _, run = cart
    with pytest.raises(ViewError, match=r"a run of sc.sim, or several in a list or by name; got an empty list"):
        sc.view.plot([])
    with pytest.raises(ViewError, match=r"there is no chart 'energies'; did you mean 'energy'\?"):
        sc.view.plot(run, "energies")
    with pytest.raises(ViewError, match=r"the run has no dof 'poll'; did you mean 'pole'\?"):
        sc.view.plot(run, dofs=["poll"])
    with pytest.raises(ViewError, match=r"saved as .png, .svg or .pdf, by the end of the name; got 'a.txt'"):
        sc.view.plot(run, "energy").save("a.txt")
    with pytest.raises(StateError, match="of another model: where it has the coordinate 'cart', this model has"):
        sc.view.plot(run, graph=sc.load("double_pendulum"))
    top = sc.load("top")
    spun = sc.sim.Propagator(top).advance_to(0.01)
    with pytest.raises(ViewError, match="a phase portrait needs a dof whose velocity is the rate of a coordinate"):
        sc.view.plot(spun, "phase")
    assert [x.y_label for x in sc.view.plot(spun, "coordinates").panels] == ["coordinates"]
    with pytest.raises(ViewError, match=r"or several in a list or by name; got str"):
        sc.view.plot("energy")
    with pytest.raises(ViewError, match=r"plot takes runs of sc.sim; 'run 2' is a int"):
        sc.view.plot([run, 3])
    with pytest.raises(ViewError, match=r"has no contacts to draw: add sc.sim.Contact\(\) to its propagator"):
        sc.view.plot(run, "contacts")


def test_several_runs_are_drawn_over_one_another(cart):
    mb, run = cart
    mb.set_state([0.0, 0.3], [0.0, 0.0])
    other = sc.sim.Propagator(mb, integrator="rk4", step=0.05).advance_to(0.5)
    chart = sc.view.plot({"fine": run, "coarse": other}, "coordinates", "energy", "balance", dofs="pole")
    assert [x.title for x in chart.panels] == ["coordinates", "energy", "balance"]
    assert list(chart.panels[0].lines) == ["pole, fine", "pole, coarse"]
    assert np.array_equal(chart.panels[1].lines["total, coarse"][1], other.energy)
    assert len(chart.figure.axes[1].lines) == 6
    assert list(sc.view.plot([run, other], "phase", dofs="pole").panels[0].lines) == ["pole, run 1", "pole, run 2"]


def test_a_spectrum_has_its_peak_at_the_frequency_and_the_height_of_an_oscillation():
    mb = sc.Multibody(gravity=(0, 0, 0))
    body = mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    body.passive = sc.Passive(stiffness=[2.0 * (2 * np.pi * 3.0) ** 2], damping=[0.0])
    mb.q = [0.25]
    run = sc.sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(10.0)
    (panel,) = sc.view.plot(run, "spectrum").panels
    f, amplitude = panel.lines["mass"]
    peak = int(np.argmax(amplitude))
    assert f[peak] == pytest.approx(3.0, abs=0.5 * f[0])  # the nearest of its frequencies
    assert amplitude[peak] == pytest.approx(0.25, rel=0.01)
    assert amplitude[np.abs(f - 3.0) > 0.5].max() < 1e-3
    assert (panel.x_label, panel.y_label) == ("frequency [Hz]", "amplitude [m]")
    assert len(f) == len(run) // 2  # even rows as they are


def test_a_spectrum_of_a_log_needs_even_rows(cart, tmp_path):
    mb, _ = cart
    for name, how in (("fixed", {"integrator": "rk4", "step": 0.01}), ("free", {})):
        mb.set_state([0.0, 0.3], [0.0, 0.0])
        sc.sim.Propagator(mb, **how).advance_to(0.5, log=tmp_path / name)
    kept = sc.sim.read(tmp_path / "fixed")
    assert len(sc.view.plot(kept, "spectrum", dofs="pole").panels[0].lines["pole"][0]) == len(kept) // 2
    mb.set_state([0.0, 0.3], [0.0, 0.0])
    dense = sc.sim.Propagator(mb).advance_to(0.5)
    assert len(sc.view.plot(dense, "spectrum", dofs="pole").panels[0].lines["pole"][0]) == 128  # of 256 samples
    with pytest.raises(ViewError, match=r"rows at even times, and those of this log are not: write it with"):
        sc.view.plot(sc.sim.read(tmp_path / "free"), "spectrum")


def test_contact_forces_carry_the_weight():
    mb = sc.Multibody(gravity=(0, 0, -10.0))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    for name, mass, x in (("light", 1.0, 0.0), ("heavy", 3.0, 2.0)):
        ball = mb.add_body(name, None, sc.Free(), sc.Inertia(mass, moment=np.eye(3) * 0.01))
        ball.add_geometry(sc.Geometry("skin", "sphere", (0.5,)))
        mb.q = {name: [0, 0, 0, 1, x, 0, 0.5]}
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    (panel,) = sc.view.plot(p.advance_to(0.1), "contacts").panels
    last = {name: y[-1] for name, (_, y) in panel.lines.items()}
    assert last == pytest.approx({"heavy/skin - inertial/floor": 30.0, "inertial/floor - light/skin": 10.0}, abs=1e-6)
    assert panel.y_label == "force [N]"
