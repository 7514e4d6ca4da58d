"""Changes carried from one robot to another: the same bits after them, also in another process; bad ones refused."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError, SoacraftError
from soacraft.files.native import same
from soacraft.robot import Changes, Robot


def shop():
    """Two arms with a free base, a box, a door."""
    mb = sc.Multibody("shop")
    mb.add_body("hull", hinge=sc.Free(), inertia=sc.Inertia(5.0, (0.1, 0, 0), np.eye(3)))
    for side, y in (("left", 0.4), ("right", -0.4)):
        for i, hinge in enumerate((sc.Spherical(), sc.Pin((0, 1, 0)))):
            at = sc.Pose(translation=(0, y, 0) if i == 0 else (0.4, 0, 0))
            inertia = sc.Inertia(1.0, (0.2, 0, 0), 0.05 * np.eye(3))
            mb.add_body(f"{side}{i}", "hull" if i == 0 else f"{side}0", hinge, inertia, at)
        mb[f"{side}1"].add_node("hand", sc.Pose(translation=(0.4, 0, 0)))
    mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia(2.0, moment=np.diag([0.1, 0.2, 0.3])))
    mb.add_body("door", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(3.0, (0.4, 0, 0), 0.2 * np.eye(3)))
    mb.set_state(*mb.random_state(np.random.default_rng(0)))
    return Robot(mb)


def edit(rb, rng):
    """One edit at random; its name."""
    mb, held = rb.mb, rb.held
    body = mb.bodies[rng.integers(0, len(mb.bodies))]
    choice = int(rng.integers(0, 14))
    if choice == 0:
        mb.set_state(*mb.random_state(rng))
    elif choice == 1 and len(held.get("box", ())) < 2:
        rb.grasp("box", [next(x for x in ("left1/hand", "right1/hand") if x not in held.get("box", ()))])
    elif choice == 2 and "door" not in held:
        rb.grasp("door", ["right1/hand"], sc.Spherical())
    elif choice == 3 and held:
        rb.ungrasp(str(rng.choice(list(held))))
    elif choice == 4 and isinstance(mb["box"].hinge, sc.Weld):
        rb.update_attachment("box", sc.Pose.from_rpy(*rng.uniform(-1, 1, 3), rng.normal(size=3)))
    elif choice == 5:
        body.inertia = sc.Inertia(rng.uniform(0.5, 2), rng.normal(size=3), np.diag(rng.uniform(0.5, 0.6, 3)))
    elif choice == 6:
        body.outboard = sc.Pose.from_rpy(*rng.uniform(-1, 1, 3), rng.normal(size=3))
    elif choice == 7 and body.hinge.nv and body.name != "box":
        dry = {"friction": rng.uniform(0, 1), "static": rng.uniform(1, 2), "stribeck_speed": rng.uniform(0, 1)}
        body.passive = sc.Passive(damping=rng.uniform(0, 1), **dry)
        body.limits = sc.Limits(effort=rng.uniform(1, 2))
    elif choice == 8:
        mb.gravity = rng.normal(size=3)
    elif choice == 9:
        rb.limb(f"limb{rng.integers(0, 3)}", "hull", str(rng.choice(["left1/hand", "right1"])))
    elif choice == 10:
        new = f"seen{rng.integers(0, 10**6)}"
        mb.add_body(new, hinge=sc.Free(), inertia=sc.Inertia(1.0, moment=np.eye(3)))
        mb[new].add_geometry(sc.Geometry("skin", "box", tuple(rng.uniform(0.1, 1, 3))))
    elif choice == 11 and (seen := [x.name for x in mb.bodies if x.name.startswith("seen")]):
        mb.remove(str(rng.choice(seen)))
    elif choice == 12:
        body.add_geometry(sc.Geometry("", "sphere", (float(rng.uniform(0.1, 1)),)))
    elif choice == 13:
        mb.set_force("hull", rng.normal(size=6))
    else:
        return None
    return choice


def bits(rb):
    """Numbers that both must have alike, as bytes."""
    mb = rb.mb
    force = np.linspace(-1.0, 1.0, mb.nv)
    vdot = sc.dynamics.forward_dynamics(mb, mb.q, mb.v, force, ignore_loops=True)
    torque = sc.dynamics.inverse_dynamics(mb, mb.q, mb.v, vdot, ignore_loops=True)
    found = [mb.q, mb.v, vdot, torque, *(mb.pose(x).as_matrix() for x in mb.bodies)]
    found += [mb.pose(x.a, x.b).as_matrix() for x in mb.loops]
    return b"".join(np.ascontiguousarray(x).tobytes() for x in found) + repr((rb.held, rb.limbs, mb.dof_names)).encode()


def test_both_have_the_same_bits_after_any_edits():
    rng, done = np.random.default_rng(1), set()
    one = shop()
    two = one.copy()
    since = one.version
    assert two.version == since
    for _ in range(40):
        for _ in range(rng.integers(1, 4)):
            done.add(edit(one, rng))
        changes = one.changes(since)
        since = two.apply(changes.to_bytes() if rng.random() < 0.7 else changes)
        assert since == one.version == two.version
        assert same(one.mb, two.mb) == []
        assert bits(one) == bits(two)
    assert set(range(14)) <= done
    for obj in one.held:  # and they go on alike
        one.detach(obj)
        two.detach(obj)
    assert same(one.mb, two.mb) == []
    assert one.version == two.version


def test_estimated_parameters_leave_the_structure_and_the_handles():
    one = shop()
    two, since = one.copy(), one.version
    body, count = two.mb["left1"], two.mb.version
    limb = two.limb("arm", "hull", "left1/hand")
    one.limb("arm", "hull", "left1/hand")
    since = one.version
    one.mb["left1"].inertia = sc.Inertia(1.2, (0.21, 0, 0), 0.06 * np.eye(3))
    one.mb.gravity = (0, 0, -1.62)
    one.mb.set_state(q=one.mb.random_state(np.random.default_rng(5))[0])
    two.apply(one.changes(since))
    assert bits(one) == bits(two)
    assert two.mb.version == count
    assert two["arm"] is limb
    assert two.mb["left1"] is body


def test_another_process_gets_the_same_bits(tmp_path):
    one = shop()
    start = tmp_path / "start.json"
    sc.save(one.mb, start)
    since, rng = one.version, np.random.default_rng(8)
    one.grasp("box", ["left1/hand", "right1/hand"])
    for _ in range(25):
        edit(one, rng)
    (tmp_path / "changes").write_bytes(one.changes(since).to_bytes())
    program = (
        "import sys, soacraft as sc\n"
        "from tests.robot.changes.test_changes import bits\n"
        "rb = sc.robot.Robot(sc.load(sys.argv[1]))\n"
        "version = rb.apply(open(sys.argv[2], 'rb').read())\n"
        "sys.stdout.write(version + ' ' + bits(rb).hex())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(start), str(tmp_path / "changes")], capture_output=True, text=True
    )
    assert not run.returncode, run.stderr
    version, theirs = run.stdout.split()
    assert version == one.version
    assert bytes.fromhex(theirs) == bits(one)


def test_what_is_undone_is_a_change_too_and_a_history_starts_anew():
    one = shop()
    two, since = one.copy(), one.version
    one.attach("box", "left1/hand")
    middle = one.version
    two.apply(one.changes(since))
    one.undo()
    assert one.version == since
    with pytest.raises(ModelError, match="nothing was grasped or let go since changes were applied"):
        two.undo()
    two.apply(one.changes(middle))
    assert two.version == since
    assert one.changes(since).difference is None
    assert two.apply(one.changes(since)) == since
    assert repr(one.changes(middle)).startswith(f"Changes from {middle[:8]} to {since[:8]}: ")


def test_changes_for_another_version_are_refused():
    one = shop()
    two, since = one.copy(), one.version
    one.mb.gravity = (0, 0, -1.0)
    two.mb.gravity = (0, 0, -2.0)
    before = two.mb.copy()
    with pytest.raises(ModelError, match=r"the changes lead from version .*, and the robot 'shop' is at"):
        two.apply(one.changes(since))
    assert same(two.mb, before) == []
    with pytest.raises(ModelError, match=r"since is a version, as rb\.version gave it"):
        one.changes("yesterday")
    with pytest.raises(ModelError, match="does not know its version 00000000: it remembers the last 16"):
        one.changes("0" * 64)
    with pytest.raises(ModelError, match=r"rb\.apply takes Changes, or the bytes of them, got 3"):
        one.apply(3)
    for i in range(20):
        one.mb.gravity = (0, 0, -3.0 - i)
        assert one.version
    with pytest.raises(ModelError, match="does not know its version"):
        one.changes(since)


def test_a_hinge_of_ones_own_is_refused():
    class Mine(sc.Pin):
        pass

    mb = sc.Multibody("own")
    mb.add_body("a", hinge=Mine((0, 0, 1)), inertia=sc.Inertia(1.0))
    with pytest.raises(ModelFileError, match="a class of your own, which a model file cannot hold"):
        print(Robot(mb).version)


def _example():
    one = shop()
    since = one.version
    one.grasp("box", ["left1/hand", "right1/hand"])
    one.mb["door"].inertia = sc.Inertia(1.0, moment=np.eye(3))
    return one.changes(since).to_bytes()


EXAMPLE = _example()


@given(st.data())
@tries(60)
def test_damaged_bytes_are_refused_and_change_nothing(data):
    rb = shop()
    before, version = rb.mb.copy(), rb.version
    damaged = bytearray(EXAMPLE)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at] = data.draw(st.integers(0, 255))
    if bytes(damaged) == EXAMPLE:
        return
    try:
        rb.apply(bytes(damaged))
    except SoacraftError:
        assert same(rb.mb, before) == []
        assert rb.version == version
    else:  # the same numbers in other digits, such as 1e0
        assert rb.version == msgspec.json.decode(EXAMPLE)["version"]


def test_hostile_bytes_are_refused():
    rb = shop()
    with pytest.raises(ModelFileError, match="changes are read from bytes, got 'x'"):
        Changes.from_bytes("x")
    with pytest.raises(ModelFileError, match="changes cannot be read"):
        rb.apply(b"{}")
    with pytest.raises(ModelFileError, match="has more than 1000000 arrays, too many to read"):
        Changes.from_bytes(b"[" * 2_000_000)
    good = msgspec.json.decode(EXAMPLE)
    for key, value in (("since", "a"), ("version", 3), ("format", "pickle"), ("more", 1)):
        with pytest.raises(ModelFileError, match="changes cannot be read"):
            Changes.from_bytes(msgspec.json.encode({**good, key: value}))
    with pytest.raises(ModelFileError, match="do not lead to the version"):
        rb.apply(msgspec.json.encode({**good, "version": "0" * 64}))


def test_a_document_that_lies_about_what_is_held_is_refused():
    """Its version fits, and the model does not hold what it says: nothing changes."""
    from soacraft.robot.changes.changes import _plain, _read
    from soacraft.robot.changes.difference import difference
    from soacraft.robot.changes.document import document_of, version_of

    rb = shop()
    liar = rb.copy()
    since = liar.version
    old = _plain(document_of(liar))
    liar.attach("box", "left1/hand")
    new = _plain(document_of(liar))
    new["model"] = old["model"]
    bad = Changes("soacraft-changes/1", since, version_of(_read(new)), difference(old, new))
    before = rb.mb.copy()
    with pytest.raises(ModelError, match="'box' is not held by 'left1/hand' in 'shop', as the changes say"):
        rb.apply(bad)
    assert same(rb.mb, before) == []
    assert rb.held == {}
