"""The handle of the workbench page, and `soacraft view`."""

from __future__ import annotations

import json
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import soacraft as sc
from soacraft.cli.view import view
from soacraft.errors import ModelError, ModelFileError, ViewError
from soacraft.view.server import Limits, serve
from soacraft.view.workbench.notebook import Source
from soacraft.view.workbench.session import Session


def talk(bench):
    place = urlsplit(bench.url)
    return connect(f"ws://{place.netloc}/socket?{place.query}", origin=f"http://{place.netloc}", proxy=None)


def ask(way, **message):
    """The answer to a request; events on the way are passed over."""
    way.send(json.dumps({"id": 1, **message}))
    while True:
        told = json.loads(way.recv(timeout=60))
        if told["id"] == 1:
            return told


def test_a_page_works_over_its_socket():
    mb = sc.load("double_pendulum")
    with sc.view.open_workbench(mb) as bench, talk(bench) as way:
        told = ask(way, verb="hello")["answer"]
        assert told["model"] == "double_pendulum"
        assert urlsplit(told["scene"]).hostname == "127.0.0.1"
        assert ask(way, verb="run", text="H*D")["error"]["place"] == 1
        made = ask(way, verb="run", text="H*phi*M*phi.T*H.T")["answer"]
        assert np.allclose(made["value"]["numbers"], sc.dynamics.mass_matrix(mb, mb.q))
        mb.q = [0.5, 1.0]
        assert json.loads(way.recv(timeout=60)) == {"id": None, "event": "changed", "data": ["state"]}
        after = ask(way, verb="value", entry=made["entry"])["answer"]
        assert np.allclose(after["numbers"], sc.dynamics.mass_matrix(mb, mb.q))
        before = told["scene"]
        native = sc.files.native.to_json(sc.load("arm7")).decode()
        told = ask(way, verb="upload", name="arm.json", text=native)["answer"]
        assert (told["model"], bench.mb.name, told["scene"] != before) == ("arm7", "arm7", True)
        bench.close()
        bench.close()
        with pytest.raises(ConnectionClosed):
            way.recv(timeout=60)
    mb.q = [0.0, 0.0]  # nobody is told any more


def test_a_thousand_lines_at_once_are_answered_or_told_to_wait():
    with sc.view.open_workbench("double_pendulum") as bench, talk(bench) as way:
        for i in range(1, 1001):
            way.send(json.dumps({"id": i, "verb": "run", "text": "(" * (i % 60) + "phi" + ")" * (i % 60)}))
        told = [json.loads(way.recv(timeout=60)) for _ in range(1000)]
        assert sorted(x["id"] for x in told) == list(range(1, 1001))
        kinds = {x["error"]["kind"] for x in told if "error" in x}
        assert kinds <= {"busy", "ExpressionError"}
        assert any("answer" in x for x in told)
        assert ask(way, verb="run", text="phi")["answer"]["spaces"] == "body[12] <- body[12]"


# Where it falls into the callback of a weak reference, Python ignores `Ended` with a line, and it is sent again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_line_past_its_time_is_ended_and_the_page_goes_on():
    mb = sc.load("arm7")
    session = Session(mb, Source(mb.name, "mb = sc.load('arm7')"))
    # minutes of work: each derivative of a product has as many terms as the product has factors
    endless = "Omega" + ".diff('link2')" * 6
    with serve(lambda nonce: "", session.handlers, limits=Limits(seconds=1.0)) as made, talk(made) as way:
        assert ask(way, verb="run", text=f"F = {endless}")["error"]["kind"] == "time"
        while (told := ask(way, verb="run", text="phi")).get("error", {}).get("kind") == "time":
            pass  # on a machine that is busy
        assert (told["answer"]["spaces"], told["answer"]["entry"]) == ("body[42] <- body[42]", 0)
        assert ask(way, verb="run", text="F")["error"]["text"].startswith("there is no 'F'")
    assert [x.text for x in session._typed] == ["phi"]
    session.close()


def test_half_a_character_is_refused_in_words():
    with sc.view.open_workbench("double_pendulum") as bench, talk(bench) as way:
        told = ask(way, verb="run", text="phi*'\ud800'")["error"]  # as JavaScript sends it
        text = r"the request holds \ud800, half of a character: send whole ones."
        assert told == {"kind": "unreadable", "text": text}
        told = ask(way, verb="run", text=r"phi*'\ud800'")["error"]
        assert told == {"kind": "ExpressionError", "text": r"there is no character \ud800.", "place": 4}


def test_what_is_no_model_is_refused():
    with pytest.raises(ModelError, match="a workbench is opened for a model, its name or its file, got 7"):
        sc.view.open_workbench(7)
    with pytest.raises(ModelFileError, match="there is no model 'arm77'"):
        sc.view.open_workbench("arm77")


def test_a_port_that_is_taken_is_refused_and_nothing_stays_open():
    before = threading.active_count()
    with sc.view.open_workbench("double_pendulum") as bench:
        with pytest.raises(ViewError, match="cannot serve a page at"):
            sc.view.open_workbench("double_pendulum", port=urlsplit(bench.url).port)
        assert "<iframe" in bench._repr_html_()
    end = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < end:  # the last thread may still be on its way out
        time.sleep(0.01)
    assert threading.active_count() == before


def test_the_command_prints_the_address(capsys):
    end = threading.Event()
    end.set()
    assert view("double_pendulum", show=False, end=end) == 0
    assert capsys.readouterr().out.startswith("double_pendulum is at http://127.0.0.1:")
    with pytest.raises(ViewError, match="--port is a number from 0 to 65535, got 65536"):
        view("double_pendulum", 65536, False)


@pytest.mark.parametrize("show", [False, True])
def test_the_browser_opens_where_it_is_wanted(monkeypatch, show):
    pages = []
    monkeypatch.setattr("webbrowser.open", pages.append)
    with sc.view.open_workbench("pendulum", show=show) as bench:
        assert pages == [bench.url] * show
