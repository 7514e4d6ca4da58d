"""Random changes of a running system: done whole or refused whole, and kept by checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.systems.test_builder import lag

from soacraft import sim
from soacraft.errors import WiringError


def edited_at_random(s: sim.System, rng: np.random.Generator, number: int) -> None:
    """One change that may be refused; a refusal changes nothing."""
    kinds = {
        "gain": (lambda: sim.Gain(gain=float(rng.normal())), None),
        "lag": (lambda: sim.LowPass(time_constant=0.2), None),
        "delay": (sim.UnitDelay, 0.05),
        "seen": (lambda: sim.Sensor(deviation=0.1), 0.03),
    }
    outputs = [f"{x}.y" for x in s.diagram.parts]
    source, build = outputs[rng.integers(len(outputs))], s.board.build
    wires = list(s.diagram.wires)
    try:
        match rng.integers(4) if wires else 0:
            case 0:
                kind = [*kinds][rng.integers(len(kinds))]
                s.add(f"{kind}{number}", kinds[kind][0](), every=kinds[kind][1])
                s.connect(source, f"{kind}{number}.u")
                return
            case 1:
                s.remove([*s.diagram.parts][rng.integers(len(s.diagram.parts))])
            case 2:
                s.disconnect(*wires[rng.integers(len(wires))][:2])
            case _:
                wire = wires[rng.integers(len(wires))]
                with s.edit():
                    s.disconnect(wire.source, wire.target)
                    s.connect(source, wire.target)
    except WiringError:
        assert s.board.build is build
        assert s.diagram is build.diagram


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_leave_a_system_that_is_one_of_its_checkpoint(seed, tmp_path):
    """After many changes, done and refused, a system has the bits of the one that is restored where they ended."""
    rng, s = np.random.default_rng(seed), lag()
    for i in range(12):
        s.run(0.1 * (i + 1) + 0.01 * float(rng.uniform()))
        edited_at_random(s, rng, i)
    assert len(s.changes) > 3
    s.check()
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert str(other.schedule()) == str(s.schedule())
    a, b = s.run(2.0), other.run(2.0)
    assert [*a.signals] == [*b.signals]
    for name in a.signals:
        assert np.array_equal(a.signals[name], b.signals[name]), name
