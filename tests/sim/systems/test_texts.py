"""A system in words."""

from __future__ import annotations

import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


def swing() -> sim.System:
    s = sim.System("swing", integrator="rk4", step=1e-3)
    bob = s.add("bob", sim.Plant(sc.load("pendulum")))
    s.add("drive", sim.Motor(R=1.0, L=0.1, k=0.2), at=bob.dof("bob"))
    s.add("target", sim.Constant(value=0.5))
    s.add("control", sim.PID(kp=10.0, ki=1.0), rate=100)
    s.add("shown", sim.Gain(gain=2.0))
    s.connect("target.y", "control.target")
    s.connect("bob.q[bob]", "control.measured")
    s.connect("control.command", "drive.voltage")
    s.connect("bob.q[bob]", "shown.u")
    return s


def test_the_schedule_says_what_when():
    assert str(swing().schedule()).splitlines() == [
        "at every stage of a step:",
        "  drive.torque",
        "  bob.vdot: 1 forces, and the dynamics of the plant",
        "  rate of drive.current",
        "at every row, for the record alone:",
        "  shown.y",
        "  target.y",
        "every 0.01 s: outputs",
        "  target.y",
        "  control.command",
        "  then at once: control.last_next, control.sum_next",
    ]


def test_signals_and_a_port_explained():
    s = swing()
    text = str(s.signals())
    assert "control.measured  <-  bob.q[0]  [any unit]" in text
    assert "drive.torque  ->  a force on 'bob'" in text
    told = str(s.explain("control.command"))
    assert "every 0.01 s, held between" in told
    assert "output command(p, dt, target, measured, sum, last)" in told
    assert "depends at once on target.y" in told
    assert "fills drive.voltage" in told
    assert "pushes the plant as 'drive.torque'" in str(s.explain("drive.torque"))
    assert "depends at once on states and parameters alone" in str(s.explain("drive.torque"))
    assert "filled by bob.v[0]" in str(s.explain("drive.speed"))
    assert "rate current_rate(p, voltage, speed, current)" in str(s.explain("drive.current"))
    with pytest.raises(WiringError, match=r"there is no port or state 'drive.torqe'; did you mean 'drive.torque'"):
        s.explain("drive.torqe")


def test_the_diagram_names_every_part_and_connection():
    text = str(swing().to_mermaid())
    assert text.startswith("flowchart LR\n")
    for part in ('["bob"]', '["control"]', '|"command to voltage"|', '==>|"torque"|', '|"q(0) to measured"|'):
        assert part in text, part


def test_a_system_and_its_parts_say_what_they_are():
    s = swing()
    assert repr(s) == "System 'swing' at t = 0 s: 4 components, 1 plant, 4 connections"
    assert "drive: Motor(R=1.0, L=0.1, k=0.2, n=1.0) at dof 'bob' of 'bob'" in str(s.tree())
