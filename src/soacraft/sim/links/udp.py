"""`Udp`: a link by datagrams."""

from __future__ import annotations

import socket
from typing import Any

from soacraft.errors import LinkError
from soacraft.markup import Text
from soacraft.sim.components.bundles import Bundle
from soacraft.sim.components.declarations import Quantity
from soacraft.sim.links.exchange import Counts, Exchange, Transport
from soacraft.sim.links.layout import LARGEST
from soacraft.sim.links.ports import Linked
from soacraft.spatial.checks import Array

#: Outputs of a link in addition to those of its bundle.
_TOLD: dict[str, Quantity] = {"fresh": Quantity(dtype=bool), "lost": Quantity(dtype=int)}


class PacketLink(Linked):
    """A component that exchanges packets with another program at each tick.

    Its inputs are sent, its outputs are received. It also has the outputs `fresh` (true if a new packet came) and
    `lost` (how many never did). `counts` has the rest. The state of the other side is not in a checkpoint.
    """

    unkept = "the other side keeps a state"

    def __init__(
        self,
        name: str,
        inputs: Bundle,
        outputs: Bundle,
        transport: Transport,
        mode: str,
        timeout: float,
        tries: int,
    ) -> None:
        super().__init__(name, inputs, outputs, _TOLD)
        self._exchange = Exchange(name, transport, self.sent, self.received, mode, timeout, tries)

    @property
    def counts(self) -> Counts:
        """Counters of packets."""
        return self._exchange.counts

    def begin(self) -> None:
        """A run begins."""
        super().begin()
        self._exchange.begin()

    def exchange(self, t: float, dt: float, body: bytes, state: Any) -> tuple[tuple[Any, ...], Array | None]:
        """A packet out, and one in."""
        values, fresh = self._exchange(round(t * 1e9), body)
        return (*values, fresh, self.counts.lost), None

    def to_c(self) -> Text:
        """Both packets as structs in C."""
        once = str(self.received.to_c()).replace("#include <stdint.h>\n\n", "")
        return Text(f"{self.sent.to_c()}\n\n{once}")


class Udp(PacketLink):
    """A link by datagrams: at each tick the inputs go to `peer`, (host, port), and the outputs come from there.

    `mode` "lockstep" waits for the answer with the same sequence number, `timeout` seconds, `tries` times; "free" takes
    the newest that came, and waits so for the first one. A peer that is silent is a `LostPeerError`. The own socket is
    at `address`, by default on loopback; packets of others than the peer are not seen. A packet is described in
    `sim.Udp.to_c()`.

    >>> import soacraft as sc
    >>> link = sc.sim.Udp("board", {"angle": "rad"}, {"torque": "N m"}, peer=("127.0.0.1", 9001))
    >>> link.address[0], link.sent.size, link.counts.sent
    ('127.0.0.1', 40, 0)
    >>> link.close()
    """

    def __init__(
        self,
        name: str,
        inputs: Bundle,
        outputs: Bundle,
        peer: tuple[str, int],
        bind: tuple[str, int] = ("127.0.0.1", 0),
        mode: str = "lockstep",
        timeout: float = 1.0,
        tries: int = 3,
    ) -> None:
        self._way = _Datagrams(name, peer, bind)
        try:
            super().__init__(name, inputs, outputs, self._way, mode, timeout, tries)
        except BaseException:
            self._way.close()
            raise

    @property
    def address(self) -> tuple[str, int]:
        """Address of this side's socket."""
        host, port = self._way.socket.getsockname()[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Close the socket."""
        self._way.close()


class _Datagrams:
    """A socket that knows one peer."""

    def __init__(self, name: str, peer: Any, bind: Any) -> None:
        self._name = name
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.bind(bind)
            self.socket.connect(peer)
        except (OSError, TypeError, OverflowError) as wrong:
            self.socket.close()
            raise self._error(f"cannot be reached at {peer!r:.60} from {bind!r:.60}: {wrong}") from None

    def _error(self, text: str) -> LinkError:
        error = LinkError(f"the peer {self._name!r} {text}")
        error.peer = self._name
        return error

    def send(self, data: bytes) -> None:
        try:
            self.socket.send(data)
        except ConnectionRefusedError:  # nobody is there yet: the answer will not come
            return
        except OSError as wrong:
            raise self._error(f"cannot be sent to: {wrong}") from None

    def receive(self, seconds: float) -> bytes | None:
        try:
            self.socket.settimeout(seconds)
            return self.socket.recv(LARGEST + 1)
        except (TimeoutError, BlockingIOError):
            return None
        except ConnectionRefusedError:
            return self.receive(seconds) if seconds else None
        except OSError as wrong:
            raise self._error(f"cannot be received from: {wrong}") from None

    def close(self) -> None:
        self.socket.close()
