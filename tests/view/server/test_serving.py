"""A live page: who may come in, what a request may be, and what many at once get."""

from __future__ import annotations

import gc
import http.client
import json
import socket
import threading
import time
from contextlib import suppress
from struct import unpack
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from soacraft.errors import SoacraftError, SpaceError, ViewError
from soacraft.view.server import Handler, Limits, Request, serve


class Add(Request):
    a: float
    b: float


class Plain(Request):
    pass


def refuse(asked):
    error = SpaceError("cannot form H * D\udc80")
    error.place = 4
    raise error


def broken(asked):
    raise KeyError("inside")


def leave(asked):
    raise SystemExit(1)


HANDLERS = {
    "add": Handler(Add, lambda x: x.a + x.b),
    "array": Handler(Plain, lambda x: {"q": np.arange(3.0), "n": np.int64(2)}),
    "bytes": Handler(Plain, lambda x: b"frame"),
    "refuse": Handler(Plain, refuse),
    "broken": Handler(Plain, broken),
    "leave": Handler(Plain, leave),
    "large": Handler(Plain, lambda x: "x" * 2_000_000),
    "half": Handler(Plain, lambda x: {"name\ud800": ["\udc00", ("a", 1.5, np.arange(2))]}),
    "strange": Handler(Plain, lambda x: object()),
}
LIMITS = Limits(message=100_000, answer=1_000_000, connections=3, requests=8, seconds=30.0)


def page(nonce):
    return f'<!doctype html><title>π</title><script nonce="{nonce}">1</script>'


@pytest.fixture(scope="module")
def server():
    with serve(page, HANDLERS, limits=LIMITS) as made:
        yield made


def parts(server):
    place = urlsplit(server.url)
    return place.netloc, place.query


def talk(server, origin=None, host=None, query=None):
    netloc, own = parts(server)
    headers = {"Host": host} if host else {}
    # the client sends its own Host as well, so another one needs another name in the address
    address = f"ws://{host or netloc}/socket?{own if query is None else query}"
    at = dict(sock=socket.create_connection(netloc.split(":"))) if headers else {}
    return connect(address, origin=origin or f"http://{netloc}", compression=None, proxy=None, **at)


def ask(way, **message):
    way.send(json.dumps(message))
    return json.loads(way.recv(timeout=30))


def get(server, path, **headers):
    netloc, _ = parts(server)
    way = http.client.HTTPConnection(netloc, timeout=30)
    way.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        way.putheader(name, value)
    way.endheaders()
    answer = way.getresponse()
    text = answer.read().decode()
    way.close()
    return answer, text


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_page_has_a_policy_that_lets_its_own_script_run_alone(server):
    answer, text = get(server, f"/?{parts(server)[1]}")
    policy = dict(x.split(" ", 1) for x in answer.headers["Content-Security-Policy"].split("; "))
    nonce = text.split('nonce="')[1].split('"')[0]
    assert answer.status == 200
    assert "<title>π</title>" in text
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == f"'nonce-{nonce}'"
    assert {urlsplit(x).hostname for x in policy["connect-src"].split()} == {"127.0.0.1", "localhost", "::1"}
    assert answer.headers["Cache-Control"] == "no-store"
    assert nonce not in get(server, f"/?{parts(server)[1]}")[1]  # another one each time


@pytest.mark.parametrize("query", ["", "token=", "token=guess", "token=%FF%00", "a=1&a=2&" * 20])
def test_a_wrong_token_is_refused(server, query):
    answer, text = get(server, f"/?{query}")
    assert (answer.status, text) == (403, "refused: the token in the address is not that of this page.\n")
    with pytest.raises(InvalidStatus, match="403"):
        talk(server, query=query)


def test_two_tokens_are_no_token(server):
    own = parts(server)[1]
    assert get(server, f"/?{own}&token=guess")[0].status == 403


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "localhost:1", "127.0.0.1.evil:{}"])
def test_a_wrong_host_is_refused(server, host):
    netloc, own = parts(server)
    host = host.format(netloc.split(":")[1])
    answer, text = get(server, f"/?{own}", Host=host)
    assert (answer.status, text) == (403, "refused: the address asked for is not one of this server.\n")
    with pytest.raises(InvalidStatus, match="403"):
        talk(server, host=host)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{}", "http://127.0.0.1:1", "file://"])
def test_a_wrong_origin_is_refused(server, origin):
    netloc, own = parts(server)
    origin = origin.format(netloc.split(":")[1])
    with pytest.raises(InvalidStatus, match="403"):
        talk(server, origin=origin)
    assert get(server, f"/?{own}", Origin=origin)[1] == "refused: the request comes from a page of another site.\n"


def test_a_socket_without_an_origin_is_refused(server):
    netloc, own = parts(server)
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://{netloc}/socket?{own}", proxy=None)


def test_every_name_of_this_machine_leads_to_the_page(server):
    netloc, own = parts(server)
    assert get(server, f"/?{own}", Host=f"localhost:{netloc.split(':')[1]}")[0].status == 200


def test_there_is_one_page(server):
    assert get(server, f"/etc/passwd?{parts(server)[1]}")[0].status == 404
    assert get(server, f"//[?{parts(server)[1]}")[0].status == 404


MANY = b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 999


@pytest.mark.parametrize("data", [b"\x00\xff" * 50 + b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", MANY])
def test_garbage_at_the_door_ends_that_connection_alone(server, data):
    netloc, own = parts(server)
    with socket.create_connection(netloc.split(":"), timeout=30) as way:
        way.sendall(data)
        with suppress(ConnectionResetError):
            assert b"200 OK" not in way.recv(4096)
    assert get(server, f"/?{own}")[0].status == 200


# -- requests ----------------------------------------------------------------------------------------------------------


def test_answers_are_json_or_frames(server):
    with talk(server) as way:
        assert ask(way, id=7, verb="add", a=1, b=2.5) == {"id": 7, "answer": 3.5}
        assert ask(way, id=8, verb="array") == {"id": 8, "answer": {"q": [0.0, 1.0, 2.0], "n": 2}}
        way.send(json.dumps({"id": 9, "verb": "bytes"}))
        frame = way.recv(timeout=30)
    assert (unpack("<I", frame[:4]), frame[4:]) == ((9,), b"frame")


@pytest.mark.parametrize(
    ("message", "id", "text"),
    [
        ("hello", None, "a request is a JSON object, and this is none"),
        ("[1, 2]", None, "the request is not as it must be: Expected `object`, got `array`"),
        ("{}", None, "a request is a JSON object with a number id and a text verb."),
        ('{"id": 1, "verb": 3}', 1, "a request is a JSON object with a number id and a text verb."),
        ('{"id": 1, "verb": "ad"}', 1, "there is no verb 'ad'; did you mean 'add'?"),
        ('{"id": 1, "verb": "add", "a": 1}', 1, "missing required field `b`"),
        ('{"id": 1, "verb": "add", "a": 1, "b": "2"}', 1, "Expected `float`, got `str` - at `$.b`"),
        ('{"id": 1, "verb": "add", "a": 1, "b": 2, "c": 3}', 1, "unknown field `c`"),
        ('{"id": -1, "verb": "add", "a": 1, "b": 2}', None, "Expected `int` >= 1"),
        ('{"id": 1, "verb": "add", "a": 1, "b": ' + "[" * 5000, None, ""),
        ('{"id": 1, "verb": "add", "a": 1, "b": 1e999}', 1, "Number out of range"),
        ('{"id": 1, "verb": "add\\ud800"}', 1, r"the request holds \ud800, half of a character: send whole ones."),
        ('{"id": 1, "verb": "add", "a": "\\uDC00\\uD83D", "b": 2}', 1, r"the request holds \uDC00, half of a char"),
        ('{"id": 1, "verb": "\\ud83d\\ude00\\\\ud800"}', 1, "there is no verb '\U0001f600\\\\ud800'"),
        (b"bytes", None, "a request is a JSON object, not a binary frame."),
    ],
)  # fmt: skip
def test_what_is_no_request_gets_a_message(server, message, id, text):
    with talk(server) as way:
        way.send(message)
        answer = json.loads(way.recv(timeout=30))
        assert answer["id"] == id
        assert answer["error"]["kind"] in ("unreadable", "unknown")
        assert text in answer["error"]["text"]
        assert ask(way, id=2, verb="add", a=1, b=1)["answer"] == 2


def test_half_a_character_in_an_answer_is_a_question_mark(server):
    with talk(server) as way:
        assert ask(way, id=1, verb="half") == {"id": 1, "answer": {"name?": ["?", ["a", 1.5, [0, 1]]]}}
        server.send("name\udfff", "\ud800")
        assert json.loads(way.recv(timeout=30)) == {"id": None, "event": "name?", "data": "?"}


def test_errors_are_messages(server, caplog):
    with talk(server) as way:
        told = ask(way, id=1, verb="refuse")["error"]
        assert told == {"kind": "SpaceError", "text": "cannot form H * D?", "place": 4}
        for verb, kind in (("broken", "KeyError"), ("leave", "RuntimeError"), ("strange", "TypeError")):
            told = ask(way, id=1, verb=verb)["error"]
            assert told == {"kind": "fault", "text": f"a mistake inside soacraft, please report it: {kind}."}
        assert [x.exc_info[0] for x in caplog.records] == [KeyError, RuntimeError, TypeError]  # not told
        told = ask(way, id=1, verb="large")["error"]
        assert told["text"].endswith("bytes, and 1,000,000 are the most; ask for less.")


def test_a_message_that_is_too_large_ends_its_connection(server):
    with talk(server) as way:
        way.send("x" * 100_001)
        with pytest.raises(ConnectionClosed, match="1009"):
            way.recv(timeout=30)
    with talk(server) as way:
        assert ask(way, id=1, verb="add", a=1, b=1)["answer"] == 2


def test_a_slow_handler_is_answered_for_and_others_go_on():
    gate = threading.Event()
    handlers = {"wait": Handler(Plain, lambda x: gate.wait(60)), "add": HANDLERS["add"]}
    with serve(page, handlers, limits=Limits(workers=2, seconds=0.3)) as made, talk(made) as way:
        assert ask(way, id=1, verb="wait")["error"] == {
            "kind": "time", "text": "no answer in 0.3 s, which is the limit; ask for something smaller.",
        }  # fmt: skip
        assert ask(way, id=2, verb="add", a=1, b=1)["answer"] == 2
        gate.set()


def test_a_handler_out_of_time_is_ended_and_not_only_answered_for():
    ended, lock = threading.Event(), threading.Lock()

    def forever(asked):
        with lock:  # as a page's session holds its model
            try:
                while True:
                    pass
            finally:
                ended.set()

    def under_the_lock(asked):
        with lock:
            return asked.a + asked.b

    handlers = {"forever": Handler(Plain, forever), "add": Handler(Add, under_the_lock)}
    with serve(page, handlers, limits=Limits(workers=1, seconds=0.3)) as made, talk(made) as way:
        for number in (1, 2, 3):
            assert ask(way, id=number, verb="forever")["error"]["kind"] == "time"
            assert ended.wait(30)
            ended.clear()
        while (told := ask(way, id=4, verb="add", a=1, b=1)).get("error", {}).get("kind") == "time":
            pass  # on a machine that is busy
        assert told["answer"] == 2


def test_an_end_that_is_swallowed_is_tried_again():
    swallowed, ended = [], threading.Event()

    def stubborn(asked):
        try:
            while True:
                try:
                    while True:
                        pass
                except BaseException as error:
                    swallowed.append(type(error).__name__)
                    if len(swallowed) > 2:
                        raise
        finally:
            ended.set()

    with serve(page, {"stubborn": Handler(Plain, stubborn)}, limits=Limits(seconds=0.1)) as made, talk(made) as way:
        assert ask(way, id=1, verb="stubborn")["error"]["kind"] == "time"
        assert ended.wait(30)
    assert swallowed == ["Ended"] * 3


def test_closing_a_server_ends_its_handlers():
    began, ended = threading.Event(), threading.Event()

    def forever(asked):
        began.set()
        try:
            while True:
                pass
        finally:
            ended.set()

    with serve(page, {"forever": Handler(Plain, forever)}) as made, talk(made) as way:
        way.send(json.dumps({"id": 1, "verb": "forever"}))
        assert began.wait(30)
    assert ended.wait(30)


@pytest.mark.parametrize("politely", [True, False])
def test_a_page_that_closes_while_its_answer_is_on_its_way_leaves_no_error(politely, caplog):
    began, gate = threading.Event(), threading.Event()

    def wait(asked):
        began.set()
        return gate.wait(60)

    with serve(page, {"wait": Handler(Plain, wait), "add": HANDLERS["add"]}) as made:
        way = talk(made)
        way.send(json.dumps({"id": 1, "verb": "wait"}))
        assert began.wait(30)
        if politely:
            way.close()
        else:  # without a closing handshake, as a browser that is killed
            way.socket.shutdown(socket.SHUT_RDWR)
        opened(made, 0)
        gate.set()
        with talk(made) as another:
            assert ask(another, id=1, verb="add", a=1, b=1)["answer"] == 2
    gc.collect()
    assert [x.getMessage() for x in caplog.records if x.name != "websockets.client"] == []


def test_a_thousand_requests_are_answered_or_told_to_wait(server):
    with talk(server) as way:
        for i in range(1, 1001):
            way.send(json.dumps({"id": i, "verb": "add", "a": i, "b": 1}))
        answers = [json.loads(way.recv(timeout=30)) for _ in range(1000)]
        assert sorted(x["id"] for x in answers) == list(range(1, 1001))
        for x in answers:
            assert x.get("answer") == x["id"] + 1 or x["error"] == {
                "kind": "busy", "text": "8 requests are in work, which is the most; ask again later.",
            }  # fmt: skip
        assert ask(way, id=1, verb="add", a=1, b=1)["answer"] == 2


def test_what_waits_is_bounded():
    gate = threading.Event()
    handlers = {"wait": Handler(Plain, lambda x: gate.wait(60))}
    with serve(page, handlers, limits=Limits(requests=8)) as made, talk(made) as way:
        for i in range(1, 1001):
            way.send(json.dumps({"id": i, "verb": "wait"}))
        busy = [json.loads(way.recv(timeout=30)) for _ in range(992)]
        assert [x["error"]["kind"] for x in busy] == ["busy"] * 992
        gate.set()
        assert sorted(json.loads(way.recv(timeout=30))["id"] for _ in range(8)) == list(range(1, 9))


def test_pages_are_bounded():
    with serve(page, {}, limits=Limits(connections=3)) as made:
        ways = [talk(made) for _ in range(3)]
        opened(made, 3)
        with pytest.raises(InvalidStatus, match="503"):
            talk(made)
        ways.pop().close()
        opened(made, 2)
        ways.append(talk(made))
        for way in ways:
            way.close()


def opened(server, count):
    while server.pages != count:
        time.sleep(0.01)


def test_events_reach_every_page_from_any_thread():
    with serve(page, {}) as made, talk(made) as one, talk(made) as two:
        opened(made, 2)
        thread = threading.Thread(target=made.send, args=("state", {"q": np.zeros(2)}))
        thread.start()
        thread.join()
        made.send("poses", b"1234")
        for way in (one, two):
            assert json.loads(way.recv(timeout=30)) == {"id": None, "event": "state", "data": {"q": [0.0, 0.0]}}
            assert way.recv(timeout=30) == b"\0\0\0\0" + b"1234"


def test_closing_ends_pages_and_gives_the_port_back():
    made = serve(page, HANDLERS)
    netloc, _ = parts(made)
    port = int(netloc.split(":")[1])
    with pytest.raises(ViewError, match=rf"cannot serve a page at '127.0.0.1', port {port}: .* Take another port"):
        serve(page, HANDLERS, port=port)
    way = talk(made)
    assert "<iframe" in made._repr_html_()
    made.close()
    made.close()
    made.send("state", 1)
    with pytest.raises(ConnectionClosed):
        way.recv(timeout=30)
    way.close()
    with serve(page, HANDLERS, port=port) as again:
        assert parts(again)[0] == netloc
        assert again.url != made.url  # another token
    assert repr(made) == "a page, closed"
    assert "iframe" not in made._repr_html_()


def test_a_handler_that_never_ends_does_not_hold_the_close():
    gate = threading.Event()
    made = serve(page, {"wait": Handler(Plain, lambda x: gate.wait(60))})
    way = talk(made)
    way.send(json.dumps({"id": 1, "verb": "wait"}))
    made.close()
    gate.set()
    way.close()


def test_a_page_that_cannot_be_made_says_so():
    def bad(nonce):
        raise SoacraftError("no such model")

    with serve(bad, {}) as made:
        answer, text = get(made, f"/?{parts(made)[1]}")
    assert (answer.status, text) == (500, "SoacraftError: no such model\n")


@pytest.mark.parametrize(("host", "port"), [("256.1.1.1", 0), ("127.0.0.1", 70000), ("\udc80", 0)])
def test_an_address_that_is_none_is_refused(host, port):
    with pytest.raises(ViewError, match="cannot serve a page at"):
        serve(page, {}, host=host, port=port)
