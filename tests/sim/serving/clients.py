"""A client of a served system, for tests."""

from __future__ import annotations

import json
import socket
import time

import soacraft as sc
from soacraft import sim


class Client:
    """One connection; events on the way to an answer are kept."""

    def __init__(self, served, token=None):
        self._socket = socket.create_connection(served.address, timeout=30)
        self._file, self.events, self._number = self._socket.makefile("rwb"), [], 0
        if token is not False:
            self.hello = self.ask("hello", token=token or served.token)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def close(self):
        self._file.close()
        self._socket.close()

    def send(self, data):
        self._file.write(data)
        self._file.flush()

    def receive(self):
        """The next line; None at the end."""
        line = self._file.readline()
        return json.loads(line) if line else None

    def ask(self, verb, **fields):
        self._number += 1
        self.send(json.dumps({"id": self._number, "verb": verb, **fields}).encode() + b"\n")
        while True:
            told = self.receive()
            assert told is not None, "the connection is closed"
            if told["id"] is None and "event" in told:
                self.events.append(told)
                continue
            assert told["id"] == self._number
            return told

    def good(self, verb, **fields):
        told = self.ask(verb, **fields)
        assert "answer" in told, told
        return told["answer"]

    def refused(self, verb, **fields):
        told = self.ask(verb, **fields)
        assert "error" in told, told
        return told["error"]["text"]


def swing(every=1e-3):
    """A pendulum that a sampled controller holds."""
    s = sim.System("swing", integrator="rk4", step=1e-3)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.add("smooth", sim.LowPass(time_constant=0.02))
    s.add("target", sim.Constant(value=0.5))
    s.add("control", sim.PD(kp=100.0, kd=20.0), every=every)
    s.connect("target.y", "control.target")
    s.connect("arm.q[bob]", "control.measured")
    s.connect("arm.v[bob]", "control.rate")
    s.connect("control.command", "smooth.u")
    s.connect("smooth.y", "drive.command")
    return s


def wait(check, seconds=30.0):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "still waiting"
        time.sleep(0.01)
