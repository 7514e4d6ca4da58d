"""Links by datagrams and by memory: in lockstep and free; what is bad is refused and counted, who is gone is named."""

from __future__ import annotations

import socket
import threading
import time
from multiprocessing import shared_memory

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import CheckpointError, LinkError, LostPeerError, StateError, WiringError
from soacraft.sim.links.layout import Layout

IN, OUT = {"angle": "rad"}, {"torque": "N m"}
SENT, RECEIVED = Layout("board_in", IN), Layout("board_out", OUT)


class Board(threading.Thread):
    """The other side: answers each packet by what `answers(packet)` gives."""

    def __init__(self, answers):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5.0)
        self.address, self.answers, self.got = self.socket.getsockname(), answers, []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", self.address)
        self.join()
        self.socket.close()

    def run(self):
        while True:
            data, where = self.socket.recvfrom(100)
            if not data:
                return
            self.got.append(SENT.unpack(data))
            for answer in self.answers(self.got[-1]):
                self.socket.sendto(answer, where)


def answered(packet):
    return [RECEIVED.pack(packet.sequence, packet.ns, (-2.0 * packet.values[0],))]


def system(link, every=0.1) -> sim.System:
    s = sim.System("bench", integrator="rk4", step=0.1)
    s.add("wave", sim.Sine(frequency=1.0))
    s.add("angle", sim.SampleHold(), every=every)
    s.add("board", link, every=every)
    s.connect("wave.y", "angle.u")
    s.connect("angle.y", "board.angle")
    return s


def udp(board, **more):
    return sim.Udp("board", IN, OUT, board.address, **{"timeout": 5.0, **more})


def test_lockstep_has_the_bits_of_the_answers():
    with Board(answered) as board, udp(board) as link:
        s = system(link)
        s.check()
        assert board.got == []
        run = s.run(1.0)
        assert np.array_equal(run.signals["board.torque"], -2.0 * run.signals["angle.y"])
        assert run.signals["board.fresh"].all()
        assert [x.sequence for x in board.got] == list(range(11))
        assert [x.ns for x in board.got] == [k * 10**8 for k in range(11)]
        assert (link.counts.sent, link.counts.received, link.counts.lost, link.counts.refused) == (11, 11, 0, 0)


def test_bad_packets_are_refused_and_counted():
    def answers(packet):
        (good,) = answered(packet)
        if packet.sequence != 3:
            return [good]
        return [
            good[:-1],
            b"x" + good[1:],
            good[:-1] + bytes([good[-1] ^ 1]),
            SENT.pack(3, 0, (1.0,)),
            RECEIVED.pack(2, 0, (1.0,)),
            RECEIVED.pack(3, 0, (float("inf"),)),
            good,
        ]

    with Board(answers) as board, udp(board) as link:
        run = system(link).run(1.0)
        assert np.array_equal(run.signals["board.torque"], -2.0 * run.signals["angle.y"])
        assert link.counts.bad == {"length": 1, "magic": 1, "crc": 1, "layout": 1, "sequence": 1, "value": 1}


def test_a_lost_answer_is_asked_for_again():
    dropped = []

    def answers(packet):
        if packet.sequence == 2 and not dropped:
            dropped.append(packet)
            return []
        return answered(packet)

    with Board(answers) as board, udp(board, timeout=1.0) as link:
        run = system(link).run(0.5)
        assert np.array_equal(run.signals["board.torque"], -2.0 * run.signals["angle.y"])
        assert (link.counts.timeouts, link.counts.sent, link.counts.lost) == (1, 7, 0)


def test_a_lost_peer_has_a_name():
    with Board(lambda packet: answered(packet) if packet.sequence < 3 else []) as board:
        with udp(board, timeout=0.3, tries=2) as link, pytest.raises(LostPeerError) as e:
            system(link).run(1.0)
        text = "lost peer: 'board' gave no answer to packet 3 within 2 x 0.3 s. Is it running"
        assert text in str(e.value)
        assert (e.value.peer, link.counts.timeouts, link.counts.lost) == ("board", 2, 1)
        assert e.value.t == pytest.approx(0.2)


def test_a_peer_that_sends_rubbish_is_lost_and_the_rubbish_told():
    with (
        Board(lambda packet: [b"rubbish"]) as board,
        udp(board, timeout=0.5, tries=1) as link,
        pytest.raises(LostPeerError, match=r"1 bad packets were refused \(1 by length\); the last one: 7 bytes"),
    ):
        system(link).run(1.0)


def test_nobody_there_is_a_lost_peer():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    text = "lost peer: 'board' gave no answer to packet 0"
    with sim.Udp("board", IN, OUT, address, timeout=0.05, tries=2) as link, pytest.raises(LostPeerError, match=text):
        system(link).run(1.0)


def test_free_running_takes_the_newest_and_counts_what_is_missing():
    class Sender:
        """A transport whose packets are written by hand: what came before each tick."""

        def __init__(self, ticks):
            self.ticks, self.here = ticks, []

        def send(self, data):
            self.here = list(self.ticks.pop(0))

        def receive(self, seconds):
            return self.here.pop(0) if self.here else None

    def p(number, value):
        return RECEIVED.pack(number, 0, (value,))

    ticks = [[p(4, 1.0)], [p(5, 2.0), p(8, 3.0)], [], [p(7, 9.0)], [p(9, 4.0)]]
    from soacraft.sim.links.exchange import Exchange

    exchange = Exchange("board", Sender(ticks), SENT, RECEIVED, "free", 5.0, 1)
    exchange.begin()
    got = [exchange(0, SENT.body((0.0,))) for _ in range(5)]
    assert got == [((1.0,), True), ((3.0,), True), ((3.0,), False), ((3.0,), False), ((4.0,), True)]
    counts = exchange.counts
    assert (counts.lost, counts.timeouts, counts.bad) == (2, 2, {"sequence": 1})


def test_free_running_loses_a_silent_peer():
    board = Board(lambda packet: answered(packet) if packet.sequence < 2 else [])
    with board, udp(board, mode="free", timeout=0.3) as link:
        with pytest.raises(LostPeerError, match=r"lost peer: 'board' was silent for 0\.3 s"):
            system(link).run(10.0, pace=10.0)
        assert link.counts.received >= 1


@pytest.mark.parametrize("way", ["there", "back"])
def test_free_running_survives_the_loss_of_first_packets(way):
    """A peer that answers what it is sent: packets are lost on the way there, or its answers on the way back."""
    seen = []

    def answers(packet):
        seen.append(packet.sequence)
        return [] if len(seen) <= 2 else answered(packet)

    with Board(answers) as board, udp(board, mode="free", timeout=0.2, tries=3) as link:
        if way == "there":
            send, lost = link._way.send, []
            link._way.send = lambda data: lost.append(data) if len(lost) < 2 else send(data)
            seen += [0, 0]
        run = system(link).run(0.5, pace=10.0)
        assert run.signals["board.fresh"][0]
        assert run.signals["board.torque"][0] == -2.0 * run.signals["angle.y"][0]
        assert seen[:3] == [0, 0, 0]
        assert link.counts.sent == 8  # six ticks, and the first packet three times


def test_free_running_gives_up_a_peer_that_never_spoke():
    with Board(lambda packet: []) as board, udp(board, mode="free", timeout=0.1, tries=2) as link:
        with pytest.raises(LostPeerError, match=r"'board' was silent for 2 x 0\.1 s from the first packet on"):
            system(link).run(1.0)
        assert (link.counts.sent, link.counts.timeouts) == (2, 2)


def test_shared_memory_in_lockstep():
    with sim.SharedMemory("board", IN, OUT, timeout=10.0) as link:
        memory = shared_memory.SharedMemory(link.block)
        stop = threading.Event()

        def board():
            done = -1
            while not stop.is_set():
                try:
                    packet = SENT.unpack(bytes(memory.buf[: SENT.size]))
                except Exception:
                    packet = None
                if packet is None or packet.sequence == done:
                    time.sleep(1e-5)
                    continue
                done = packet.sequence
                answer, at = answered(packet)[0], link.answer_at
                memory.buf[at : at + 20] = answer[:20]  # torn: the rest comes later
                time.sleep(1e-4)
                memory.buf[at + 20 : at + RECEIVED.size] = answer[20:]

        thread = threading.Thread(target=board, daemon=True)
        thread.start()
        try:
            run = system(link).run(2.0)
        finally:
            stop.set()
            thread.join()
            memory.close()
        assert np.array_equal(run.signals["board.torque"], -2.0 * run.signals["angle.y"])
        assert (link.counts.received, link.counts.refused) == (21, 0)
        assert f"the second at {link.answer_at}" in link.to_c()


def test_shared_memory_without_a_peer():
    with sim.SharedMemory("board", IN, OUT, timeout=0.03, tries=1) as link:
        with pytest.raises(LostPeerError, match=r"lost peer: 'board' gave no answer to packet 0 within 1 x 0\.03 s"):
            system(link).run(1.0)
        name = link.block
        with pytest.raises(LinkError, match="cannot be made"):
            sim.SharedMemory("other", IN, OUT, block=name)
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(name)


def test_a_checkpoint_is_refused_by_name(tmp_path):
    text = "'board' cannot be in a checkpoint: the other side keeps a state"
    with sim.SharedMemory("board", IN, OUT) as link, pytest.raises(CheckpointError, match=text):
        system(link).checkpoint(tmp_path / "a.h5")


def test_refusals():
    with pytest.raises(StateError, match="mode='fre' of 'board' is none; did you mean 'free'"):
        sim.Udp("board", IN, OUT, ("127.0.0.1", 9), mode="fre")
    with pytest.raises(StateError, match="timeout= and tries= of 'board' must be positive, got 0 and 3"):
        sim.Udp("board", IN, OUT, ("127.0.0.1", 9), timeout=0)
    with pytest.raises(LinkError, match="the peer 'board' cannot be reached at"):
        sim.Udp("board", IN, OUT, ("127.0.0.1", "x"))
    with pytest.raises(WiringError, match="'board' has two ports 'a'"):
        sim.Udp("board", {"a": "m"}, {"a": "m"}, ("127.0.0.1", 9))
    link = sim.Udp("board", IN, OUT, ("127.0.0.1", 9))
    with link, pytest.raises(WiringError, match="needs ticks: give every= or rate="):
        system(link, every=None).check()


def test_a_link_that_was_closed_says_so():
    link = sim.Udp("board", IN, OUT, ("127.0.0.1", 9))
    s = system(link)
    link.close()
    with pytest.raises(LinkError, match="the peer 'board' cannot be sent to: "):
        s.run(1.0)
    with pytest.raises(LinkError, match="the peer 'board' cannot be received from: "):
        link._way.receive(0.1)
