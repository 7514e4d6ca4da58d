"""Flight code in C: right, with its state as bytes; its crash and its silence are errors with a name."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import LinkError, LostPeerError, SimulationError, WiringError

IN, OUT = {"angle": "rad", "gains": sim.In("N m/rad", shape=2)}, {"torque": "N m", "count": sim.In(dtype=int)}
C = """
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
static struct { double last; int64_t count; } state;
uint32_t fsw_layout(void) { return FSW_LAYOUT; }
uint32_t fsw_state_size(void) { return sizeof state; }
int fsw_init(void) { state.last = 0.5; state.count = 0; return 0; }
void fsw_get_state(void *bytes) { memcpy(bytes, &state, sizeof state); }
void fsw_set_state(const void *bytes) { memcpy(&state, bytes, sizeof state); }
int fsw_step(int64_t time_ns, const fsw_in_t *in, fsw_out_t *out) {
    printf("flight code prints\\n");
    if (in->angle > 90.0) return 7;
    if (in->angle > 80.0) abort();
    if (in->angle > 70.0) *(volatile int *)8 = 1;
    if (in->angle > 60.0) for (;;) {}
    if (in->angle > 50.0) { out->torque = NAN; return 0; }
    out->torque = in->gains[0] * in->angle + in->gains[1] * (in->angle - state.last) + 1e-9 * (double)time_ns;
    state.last = in->angle;
    out->count = ++state.count;
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("native")
    (folder / "fsw.c").write_text(f"{sim.Native.header(IN, OUT)}\n{C}")
    command = ["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-o", folder / "libfsw.so", folder / "fsw.c"]
    subprocess.run(command, check=True, timeout=30)
    return folder / "libfsw.so"


class Twin(sim.Component):
    """The same in Python."""

    angle = sim.In("rad")
    gains = sim.In("N m/rad", shape=2)
    last = sim.Discrete("rad", start=0.5)
    steps = sim.Discrete(start=0, dtype=int)

    @sim.output("N m")
    def torque(t, angle, gains, last):
        return float(gains[0]) * angle + float(gains[1]) * (angle - last) + 1e-9 * float(round(t * 1e9))

    @sim.output(dtype=int)
    def count(steps):
        return steps + 1

    @sim.update(last)
    def last_next(angle):
        return angle

    @sim.update(steps)
    def steps_next(steps):
        return steps + 1


def system(*flown, slope=1.0) -> sim.System:
    s = sim.System("flight", integrator="rk4", step=0.1)
    s.add("ramp", sim.Ramp(slope=slope))
    s.add("gains", sim.Constant(value=(3.0, 2.0), unit="N m/rad"))
    for i, x in enumerate(flown):
        s.add(f"fsw{i}", x, every=0.2)
        s.connect("ramp.y", f"fsw{i}.angle")
        s.connect("gains.y", f"fsw{i}.gains")
    return s


def test_it_has_the_bits_of_a_twin_in_python(library):
    with sim.Native(library, IN, OUT) as native:
        run = system(native, Twin()).run(3.0)
    assert np.array_equal(run.signals["fsw0.torque"], run.signals["fsw1.torque"])
    assert np.array_equal(run.signals["fsw0.count"], run.signals["fsw1.count"])
    assert run.signals["fsw0.count"][-1] == 16


def test_the_state_is_bytes_that_can_be_put_back(library):
    with sim.Native(library, IN, OUT) as native:
        s = system(native)
        assert np.array(s.states["fsw0.state"], np.uint8).tobytes() == np.array([0.5, 0.0]).tobytes()
        s.run(1.0)
        kept = s.states["fsw0.state"]
        assert np.frombuffer(kept.astype(np.uint8).tobytes()[8:], np.int64)[0] == 6
        whole = system(sim.Native(library, IN, OUT)).run(3.0)
        s.run(2.0)
        s.states["fsw0.state"] = kept  # as it was a second ago
        again = s.run(3.0)
    assert again.signals["fsw0.count"][-1] == 6 + 5
    assert again.signals["fsw0.count"][-1] != whole.signals["fsw0.count"][-1] == 16


def test_a_state_that_is_put_into_another_process_goes_on_with_the_same_bits(library):
    with sim.Native(library, IN, OUT) as native, sim.Native(library, IN, OUT) as other:
        s = system(native)
        s.run(1.0)
        values = [native.called(1.2, 0.2, 0.7, np.array([3.0, 2.0]), s.states["fsw0.state"])]
        for x in (native, other):
            x.begin()
            values.append(x.called(1.2, 0.2, 0.7, np.array([3.0, 2.0]), s.states["fsw0.state"]))
    assert values[0][0] == 0.0  # outside of a run nothing is called
    assert values[1][:2] == values[2][:2]
    assert np.array_equal(values[1][2], values[2][2])


def test_a_checkpoint_holds_the_bytes(library, tmp_path):
    with sim.Native(library, IN, OUT) as native, sim.Native(library, IN, OUT) as other:
        s = system(native)
        s.run(1.0)
        s.checkpoint(tmp_path / "a.h5")
        t = sim.restore(tmp_path / "a.h5", components={"fsw0": other})
        a, b = s.run(3.0), t.run(3.0)
    assert a.signals["fsw0.torque"].tobytes() == b.signals["fsw0.torque"].tobytes()
    assert b.signals["fsw0.count"][-1] == 16


@pytest.mark.parametrize(
    ("angle", "text"),
    [
        (95.0, r"'libfsw.so' failed in fsw_step at t = 0\.2 s: RuntimeError: step gave 7"),
        (85.0, r"lost peer: the process of 'libfsw.so' ended by SIGABRT, in fsw_step at t = 0\.2 s"),
        (75.0, r"lost peer: the process of 'libfsw.so' ended by SIGSEGV, in fsw_step at t = 0\.2 s"),
        (65.0, r"lost peer: 'libfsw.so' gave no answer within 1 s, in fsw_step at t = 0\.2 s; it was ended"),
        (55.0, r"'libfsw.so' gave a bad answer in fsw_step at t = 0\.2 s: 'torque' of 'libfsw.so_out' is not finite"),
    ],
)
def test_what_goes_wrong_there_is_an_error_with_a_name(library, angle, text):
    with sim.Native(library, IN, OUT, timeout=1.0) as native:
        s = system(native, slope=angle / 0.2)
        with pytest.raises(LinkError, match=text) as e:
            s.run(1.0)
        assert e.value.peer == "libfsw.so"
        assert e.value.t == pytest.approx(0.1)
        assert isinstance(e.value, LostPeerError) == ("lost peer" in text)
        s.params["ramp.slope"] = 1.0  # it can be tried again: a new process gets the state of the old one
        run = s.run(1.0)
    assert run.signals["fsw0.count"][-1] == 6


def test_a_library_that_is_none_is_refused(library, tmp_path):
    with pytest.raises(LinkError, match="there is no library"):
        sim.Native(tmp_path / "none.so", IN, OUT)
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(LinkError, match=r"'text\.so' failed at its start: OSError"):
        sim.Native(tmp_path / "text.so", IN, OUT)
    with pytest.raises(LinkError, match="it has no function gnc_state_size"):
        sim.Native(library, IN, OUT, prefix="gnc")
    with pytest.raises(WiringError, match="the prefix of functions in C is a name, got 'a b'"):
        sim.Native(library, IN, OUT, prefix="a b")
    with pytest.raises(LinkError, match="it was made for other structs: fsw_layout"):
        sim.Native(library, IN, {**OUT, "more": "m"})


def test_a_state_that_is_no_bytes_is_refused(library):
    with sim.Native(library, IN, OUT) as native:
        s = system(native)
        s.states["fsw0.state"] = np.full(16, 300)
        with pytest.raises(SimulationError, match=r"the state of 'libfsw\.so' has numbers that are no bytes"):
            s.run(1.0)
