"""Who subscribes to a model is told of every change, after it."""

import copy
import pickle
import threading

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError


def told(mb):
    seen = []
    mb.subscribe(lambda change: seen.append(set(change.kinds)))
    return seen


CHANGES = [
    (lambda mb: mb.set_state([0.1, 0.2, 0.3]), {"state"}),
    (lambda mb: mb.set_state({"link2": 0.5}), {"state"}),
    (lambda mb: setattr(mb, "v", [1.0, 2.0, 3.0]), {"state"}),
    (lambda mb: mb.subgraph(["link2"]).set_state([0.7]), {"state"}),
    (lambda mb: mb.set_force("link2", (1,) * 6), {"state"}),
    (lambda mb: mb.clear_forces(), {"state"}),
    (lambda mb: setattr(mb, "gravity", (0, 0, -1)), {"parameters"}),
    (lambda mb: setattr(mb["link1"], "inertia", sc.Inertia(3.0)), {"parameters"}),
    (lambda mb: setattr(mb["link2"], "inboard", sc.Pose(translation=(2, 0, 0))), {"parameters"}),
    (lambda mb: setattr(mb["link2"], "passive", sc.Passive(damping=1)), {"parameters"}),
    (lambda mb: setattr(mb["link3/tip"], "pose", sc.Pose()), {"parameters"}),
    (lambda mb: setattr(mb["link2"], "armature", 0.1), {"structure"}),
    (lambda mb: mb.add_body("more", "link3", sc.Pin((0, 0, 1)), sc.Inertia(1.0)), {"structure"}),
    (lambda mb: mb.reattach("link3", None, sc.Pin((0, 1, 0))), {"structure"}),
    (lambda mb: mb.remove("link3"), {"structure"}),
    (lambda mb: mb["link1"].add_node("n"), {"structure"}),
    (lambda mb: mb.close_loop("l", "inertial", "link3", sc.Spherical()), {"structure"}),
    (lambda mb: mb.couple("c", {"link1": 1, "link2": 2}), {"structure"}),
    (lambda mb: mb["link1"].add_geometry(sc.Geometry("g", "plane")), {"geometry"}),
    (lambda mb: mb.add_material(sc.Material("m")), {"geometry"}),
    (lambda mb: setattr(mb["link1"], "limits", sc.Limits(upper=1)), {"records"}),
    (lambda mb: mb.add_actuator(sc.Actuator("a", "motor", {"link1": 1})), {"records"}),
    (lambda mb: mb.add_record(sc.Record("sensor", "s")), {"records"}),
    (lambda mb: mb.add_keyframe(sc.Keyframe("k", mb.q, mb.v)), {"records"}),
    (lambda mb: mb.add_model(sc.serial_chain(1), prefix="x_"), {"state", "structure", "geometry", "records"}),
]


@pytest.mark.parametrize(("change", "kinds"), CHANGES)
def test_every_change_is_told_once(change, kinds):
    mb = sc.serial_chain(3)
    mb.q  # noqa: B018  (the state is made)
    seen = told(mb)
    change(mb)
    assert seen == [kinds]


def test_what_is_read_or_refused_is_not_told():
    mb = sc.serial_chain(2)
    seen = told(mb)
    mb.q, mb.layout, mb.pose("link2"), sc.dynamics.mass_matrix(mb, mb.q), mb.copy(), mb.extract("link2")
    for refused in (
        lambda: mb.set_state([1.0]),
        lambda: mb.add_body("link1", None, sc.Pin((0, 0, 1))),
        lambda: mb.add_model(sc.serial_chain(1)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011  (each with a text of its own)
            refused()
    assert seen == []


def test_the_change_is_complete_when_it_is_told():
    mb, seen = sc.serial_chain(2), []

    def look(change):
        assert change.model is mb
        seen.append((len(mb.bodies), mb.q.tolist(), len(mb.acting_forces), mb["link1"].inertia.mass))

    mb.subscribe(look)
    mb.q = [1.0, 2.0]
    mb.set_force("link1", np.ones(6))
    mb["link1"].inertia = sc.Inertia(7.0)
    mb.add_model(sc.serial_chain(1), prefix="x_")
    assert seen == [
        (2, [1, 2], 0, 1), (2, [1, 2], 1, 1), (2, [1, 2], 1, 7), (3, [1, 2, 0], 1, 7),
    ]  # fmt: skip


def test_cancelled_and_copied_ones_are_not_told():
    mb = sc.serial_chain(2)
    seen, other = told(mb), []
    with mb.subscribe(lambda change: other.append(change)) as subscription:
        mb.q = [1.0, 0.0]
    mb.q = [2.0, 0.0]
    subscription.cancel()
    assert (len(seen), len(other)) == (2, 1)
    assert repr(subscription).endswith("to 'chain'")
    for twin in (mb.copy(), copy.deepcopy(mb), pickle.loads(pickle.dumps(mb))):
        twin.q = [3.0, 0.0]
    assert len(seen) == 2


def test_errors_of_subscribers_are_raised_after_the_change_and_others_are_told():
    mb = sc.serial_chain(2)

    def fail(change):
        raise ValueError("the view is closed")

    first, seen = mb.subscribe(fail), told(mb)
    with pytest.raises(ValueError, match="the view is closed"):
        mb.q = [1.0, 2.0]
    assert (mb.q.tolist(), seen) == ([1.0, 2.0], [{"state"}])
    mb.subscribe(fail)
    with pytest.raises(ExceptionGroup, match="2 subscribers of 'chain' failed"):
        mb.add_body("more", "link2", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    assert mb.nv == 3
    assert seen[1:] == [{"structure"}]
    first.cancel()


def test_a_subscriber_may_change_the_model_and_a_circle_is_refused():
    mb, seen = sc.serial_chain(2), []

    def follow(change):
        seen.append((set(change.kinds), mb.q[1]))
        if mb.q[1] != -mb.q[0]:
            mb.q = [mb.q[0], -mb.q[0]]

    one = mb.subscribe(follow)
    mb.q = [1.0, 0.0]
    assert seen == [({"state"}, 0.0), ({"state"}, -1.0)]
    one.cancel()
    mb.subscribe(lambda change: mb.set_state([mb.q[0] + 1.0, 0.0]))
    with pytest.raises(ModelError, match="answered every change of it with another one, 100 times"):
        mb.q = [0.0, 0.0]
    with pytest.raises(ModelError, match="subscribe takes a function of one Change, got 3"):
        mb.subscribe(3)


def test_changes_of_several_threads_are_each_told_by_their_own():
    mb, by = sc.serial_chain(2), []
    mb.subscribe(lambda change: by.append(threading.get_ident()))

    def work():
        for k in range(50):
            mb.set_state([float(k), 0.0])
            mb["link1"].inertia = sc.Inertia(1.0 + k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(by) == 400
    assert threading.get_ident() not in by
