"""Lines of JSON: who may come in, what a line may be, and what many at once get."""

from __future__ import annotations

import json
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.profiles import tries
from tests.sim.serving.clients import Client, swing, wait
from tests.sim.systems.changes.test_switchover import flight

from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim.serving.lines import Limits

VERBS = "list get set subscribe unsubscribe status pause step run change checkpoint hello".split()


@pytest.fixture(scope="module")
def served():
    with swing().serve(limits=Limits(line=20_000, clients=3, rate=1e6, seconds=10.0)) as made:
        yield made


def test_the_token_is_asked_for_first(served):
    for first in (b'{"id": 1, "verb": "list"}\n', b"GET / HTTP/1.1\r\n", b'{"id": 1, "verb": "hello", "token": "x"}\n'):
        with Client(served, token=False) as client:
            client.send(first)
            assert set(client.receive()) == {"id", "error"}
            try:
                client.send(b'{"id": 2, "verb": "list"}\n')
                assert client.receive() is None  # closed
            except OSError:
                pass
    with Client(served) as client:
        assert client.hello["answer"] == {"system": "swing", "format": "soacraft-lines/1"}
    with Client(served, token="guess") as client:
        assert client.hello["error"] == {"kind": "token", "text": "the token is not that of this system."}
    assert served.token not in repr(served)
    assert served.address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"nonsense\n", "a request is a JSON object, and this is none"),
        (b"[1, 2]\n", "the request is not as it must be"),
        (b'{"id": 1}\n', "a request is a JSON object with a number id and a text verb."),
        (b'{"id": 1, "verb": "lits"}\n', "there is no verb 'lits'; did you mean 'list'"),
        (b'{"id": -1, "verb": "list"}\n', "the request is not as it must be"),
        (b'{"id": 1, "verb": "get"}\n', "missing required field `names`"),
        (b'{"id": 1, "verb": "get", "names": []}\n', "length >= 1"),
        (b'{"id": 1, "verb": "get", "names": ["t"], "nme": 1}\n', "unknown field `nme`"),
        (b'{"id": 1, "verb": "get", "names": ["arm.z"]}\n', "has nothing named 'arm.z'"),
        (b'{"id": 1, "verb": "get", "names": ["x*.q"]}\n', "the pattern 'x*.q' matches nothing"),
        (b'{"id": 1, "verb": "set", "name": "control.kp", "value": "a"}\n', "parameters of PD: Expected `float`"),
        (b'{"id": 1, "verb": "set", "name": "control.command", "value": 1}\n', "of 'swing' is an output"),
        (b'{"id": 1, "verb": "set", "name": "contrl.kp", "value": 1}\n', "did you mean 'control.kp'"),
        (b'{"id": 1, "verb": "step", "count": 0}\n', "`int` >= 1"),
        (b'{"id": 1, "verb": "run", "t": 1e300}\n', "<= 1000000000.0"),
        (b'{"id": 1, "verb": "subscribe", "names": ["t"], "period": 0}\n', ">= 0.01"),
        (b'{"id": 1, "verb": "checkpoint", "file": "a.h5"}\n', "let it, with s.serve(folder=...)."),
        (b'{"id": 1, "verb": "checkpoint", "file": "../a.h5"}\n', "matching regex"),
        (b'{"id": 1, "verb": "checkpoint", "file": "/a.h5"}\n', "matching regex"),
        (b'{"id": 1, "verb": "list", "under": "' + b"x" * 5000 + b'"}\n', "length <= 1000"),
        (b"[" * 15_000 + b"\n", ""),
        (b"\xff\xfe\x00\n", "a request is a JSON object, and this is none"),
    ],
)  # fmt: skip
def test_garbage_gets_an_answer_and_the_next_line_too(served, line, text):
    with Client(served) as client:
        client.send(line)
        told = client.receive()
        assert text in told["error"]["text"]
        assert client.good("status")["status"] == "idle"


def test_a_line_that_is_too_long_is_answered_and_the_connection_closed(served):
    with Client(served) as client:
        client.send(b"x" * 30_000 + b"\n")
        assert client.receive()["error"]["text"] == "a line has 20,000 bytes at most; the connection is closed."
        assert client.receive() is None
    with Client(served) as client:
        assert client.good("list", under="control")["parts"] == [{"path": "control", "type": "PD", "every": "0.001"}]
        assert {x.partition(".")[0] for x in client.good("list", under="control")["names"]} == {"t", "control"}
        assert {x.partition(".")[0] for x in client.good("list")["names"]} > {"t", "control"}


def test_too_many_clients_are_told(served):
    wait(lambda: served.clients == 0)
    clients = [Client(served) for _ in range(3)]
    extra = Client(served, token=False)
    assert extra.receive()["error"]["text"] == "3 clients are here, which is the most; come again later."
    for x in [*clients, extra]:
        x.close()
    wait(lambda: served.clients == 0)


def test_who_asks_too_fast_is_told():
    with swing().serve(limits=Limits(rate=20.0)) as served, Client(served) as client:
        client.send(b'{"id": 1, "verb": "status"}\n' * 60)
        told = [client.receive() for _ in range(60)]
        slow = [x["error"]["text"] for x in told if "error" in x]
        assert len(slow) >= 15
        assert set(slow) == {"more than 20 requests in a second: ask more slowly."}


def test_more_than_allowed_is_refused():
    with swing().serve(limits=Limits(names=3, subscriptions=1, answer=300)) as served, Client(served) as client:
        assert "names, and 3 are the most at once: ask for fewer." in client.refused("get", names=["**"])
        client.good("subscribe", names=["t"])
        assert "there are 1 subscriptions, which is the most: end one." in client.refused("subscribe", names=["t"])
        assert "bytes, and 300 are the most; ask for less." in client.refused("list")


def test_many_clients_at_once():
    s = swing()
    with s.serve() as served:
        faults = []

        def work(k):
            try:
                with Client(served) as client:
                    client.good("subscribe", names=["arm.q"], period=0.01)
                    for i in range(5):
                        client.good("set", name="target.value", value=0.01 * (k + i))
                        client.good("get", names=["arm.*", "control.*"])
            except BaseException as wrong:
                faults.append(wrong)

        with Client(served) as first:
            first.good("run", t=1e4)
            threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
            for x in threads:
                x.start()
            for x in threads:
                x.join()
            assert not faults
            assert first.good("status")["status"] == "running"


def test_a_port_that_is_taken_is_refused(served):
    with pytest.raises(SimulationError, match=r"cannot serve 'swing' at port \d+: .* Take another port, or none."):
        swing().serve(port=served.address[1])
    with pytest.raises(SimulationError, match="cannot serve 'swing' at port 70000"):
        swing().serve(port=70000)


messages = st.fixed_dictionaries(
    {"id": st.integers(0, 3), "verb": st.sampled_from(VERBS)},
    optional={
        "names": st.lists(st.sampled_from(["t", "**", "arm.q", "", "*", "control.kp", "\0"]), max_size=3),
        "name": st.sampled_from(["control.kp", "smooth.x", "arm.q", "target.value", "t", "", "arm.v[0]"]),
        "value": st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3), st.lists, max_leaves=5),
        "t": st.floats() | st.none(),
        "count": st.integers(-1, 3),
        "period": st.floats(),
        "file": st.text(max_size=5),
    },
)
lines = st.binary(max_size=60) | messages.map(lambda x: json.dumps(x).encode())


@settings(tries(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines, min_size=1, max_size=5))
def test_any_bytes_get_answers(served, given_lines):
    with Client(served) as client:
        for line in given_lines:
            client.send(line.replace(b"\n", b"") + b"\n")
        client.send(b'{"id": 9, "verb": "pause"}\n')
        while (told := client.receive())["id"] != 9:
            assert {"answer", "error", "event"} & set(told)
            assert "a mistake inside soacraft" not in json.dumps(told)
        assert "answer" in told


def test_a_client_changes_what_runs():
    """Two arms catch a box, one lets go, and a connection comes and goes; what is wrong is answered."""
    s, _ = flight()
    s.add("wave", sim.Sine(frequency=1.0))
    s.add("offset", sim.Gain(gain=2.0))
    s.connect("wave.y", "offset.u")
    body = {"plant": "ship", "body": "box"}
    with s.serve() as served, Client(served) as client:
        client.good("step", count=5)
        told = [client.good("change", do="capture", **body, parent=x) for x in ("left_hand", "right_hand")]
        assert [x["changes"][0]["kind"] for x in told] == ["capture", "capture"]
        assert told[1]["changes"][0]["energy_lost"] == s.changes[1].energy_lost > 0.0
        assert told[1]["t"] == 0.01
        client.good("step", count=5)
        client.good("change", do="release", **body, parent="left_hand")
        assert "cannot float" not in client.good("change", do="detach", **body)
        told = client.refused("change", do="disconnect", source="wave.y", target="offset.u")
        assert "the input 'offset.u' is not connected" in told
        assert "needs parent=" in client.refused("change", do="release", **body)
        assert "there is no plant 'shop'; did you mean 'ship'" in client.refused(
            "change", do="detach", plant="shop", body="box"
        )
        assert "Invalid enum value 'explode'" in client.refused("change", do="explode")
        assert client.good("step", count=5)["t"] == 0.03
    assert [x.kind for x in s.changes] == ["capture", "capture", "release", "detach"]
