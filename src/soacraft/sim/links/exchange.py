"""Exchange of a link at a tick: a packet out and one in, in lockstep or free-running; failures are counted."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from soacraft.errors import LostPeerError, StateError, near
from soacraft.sim.links.layout import BadPacketError, Layout
from soacraft.spatial.checks import finite

#: Ways in which links keep step with the other side.
MODES = ("lockstep", "free")


class Transport(Protocol):
    """A way for packets."""

    def send(self, data: bytes) -> None:
        """Send one."""

    def receive(self, seconds: float) -> bytes | None:
        """The next one that came in, waiting so long at most; None where there is none."""


@dataclass
class Counts:
    """Counters of a link: packets sent and received, sequence numbers that never came (`lost`), ticks without an
    answer in time (`timeouts`), and packets that were refused (`bad`), by reason: length, magic, crc, layout, sequence,
    value."""

    sent: int = 0
    received: int = 0
    lost: int = 0
    timeouts: int = 0
    bad: dict[str, int] = field(default_factory=dict)

    def refuse(self, kind: str) -> None:
        """Count a packet that was refused."""
        self.bad[kind] = self.bad.get(kind, 0) + 1

    @property
    def refused(self) -> int:
        """Number of packets that were refused."""
        return sum(self.bad.values())


class Exchange:
    """Packets by sequence number.

    In lockstep packet k is sent, again after each `timeout`, `tries` times in all, until the answer with number k came.
    Free-running, a packet is sent and the newest of those that came is taken; what was there stays where none came, for
    `timeout` seconds at most. Until the first came there is nothing to stay: the packet is sent again as in lockstep.
    """

    def __init__(
        self, peer: str, transport: Transport, sent: Layout, received: Layout, mode: str, timeout: float, tries: int
    ) -> None:
        if mode not in MODES:
            raise StateError(f"mode={mode!r:.40} of {peer!r} is none{near(str(mode), MODES)}")
        self._timeout = float(finite(timeout, (), f"the timeout of {peer!r}", StateError))
        if not self._timeout > 0.0 or tries < 1:
            raise StateError(
                f"timeout= and tries= of {peer!r} must be positive, got {timeout!r:.40} and {tries!r:.40}."
            )
        self._peer, self._transport, self._tries = peer, transport, tries
        self._sent, self._received, self._lockstep = sent, received, mode == "lockstep"
        self._sequence, self._newest = 0, -1
        self._heard = 0.0
        self._values: tuple[Any, ...] | None = None
        self.counts = Counts()
        self._why = ""

    def begin(self) -> None:
        """A run begins: silence is counted from now on."""
        self._heard = time.monotonic()

    def __call__(self, ns: int, body: bytes) -> tuple[tuple[Any, ...], bool]:
        """Send inputs; the values that came, and whether they are new."""
        packet = self._sent.frame(self._sequence, ns, body)
        self._sequence += 1
        return self._in_step(packet) if self._lockstep else self._free(packet)

    def _in_step(self, packet: bytes) -> tuple[tuple[Any, ...], bool]:
        wanted = self._sequence - 1
        for _ in range(self._tries):
            self._send(packet)
            end = time.monotonic() + self._timeout
            while (remaining := end - time.monotonic()) > 0.0:
                packet_in = self._next(remaining)
                if packet_in is not None and packet_in[0] == wanted:
                    return packet_in[1], True
                if packet_in is not None:
                    self._refuse("sequence", f"number {packet_in[0]} came, and {wanted} was due")
            self.counts.timeouts += 1
        self.counts.lost += 1
        raise self._gone(f"gave no answer to packet {wanted} within {self._tries} x {self._timeout:g} s")

    def _free(self, packet: bytes) -> tuple[tuple[Any, ...], bool]:
        self._send(packet)
        if self._values is None:
            return self._first(packet), True
        fresh = self._newer(0.0)
        if not fresh:
            self.counts.timeouts += 1
            if time.monotonic() - self._heard > self._timeout:
                raise self._gone(f"was silent for {self._timeout:g} s")
        return self._values, fresh

    def _first(self, packet: bytes) -> tuple[Any, ...]:
        """The first values: a peer that answers has nothing to say until a packet reaches it, so this one is sent again
        after each `timeout`, `tries` times in all."""
        for again in range(self._tries):
            if again:
                self._send(packet)
            if self._newer(self._timeout):
                assert self._values is not None
                return self._values
            self.counts.timeouts += 1
        raise self._gone(f"was silent for {self._tries} x {self._timeout:g} s from the first packet on")

    def _newer(self, seconds: float) -> bool:
        """Take all packets that are there; whether one was new."""
        fresh = False
        while (packet := self._next(0.0 if fresh else seconds)) is not None:
            number, values = packet
            if number <= self._newest:
                self._refuse("sequence", f"number {number} came after {self._newest}")
                continue
            self.counts.lost += number - self._newest - 1 if self._newest >= 0 else 0
            self._newest, self._values, fresh, self._heard = number, values, True, time.monotonic()
        return fresh

    def _next(self, seconds: float) -> tuple[int, tuple[Any, ...]] | None:
        """The next good packet, waiting so long at most."""
        end = time.monotonic() + seconds
        while (data := self._transport.receive(max(0.0, end - time.monotonic()))) is not None:
            try:
                packet = self._received.unpack(data)
            except BadPacketError as wrong:
                self._refuse(wrong.kind, str(wrong))
                continue
            self.counts.received += 1
            return packet.sequence, packet.values
        return None

    def _send(self, packet: bytes) -> None:
        self._transport.send(packet)
        self.counts.sent += 1

    def _refuse(self, kind: str, why: str) -> None:
        self.counts.refuse(kind)
        self._why = why

    def _gone(self, what: str) -> LostPeerError:
        bad = ""
        if self.counts.bad:
            kinds = ", ".join(f"{n} by {kind}" for kind, n in sorted(self.counts.bad.items()))
            bad = f" {self.counts.refused} bad packets were refused ({kinds}); the last one: {self._why}."
        error = LostPeerError(f"lost peer: {self._peer!r} {what}.{bad} Is it running, with the layout of this link?")
        error.peer = self._peer
        return error
