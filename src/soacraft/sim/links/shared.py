"""`SharedMemory`: a link by a block of memory that two programs on one machine have."""

from __future__ import annotations

import time
from multiprocessing import shared_memory
from typing import Any
from zlib import crc32

from soacraft.errors import LinkError
from soacraft.markup import Text
from soacraft.sim.components.bundles import Bundle
from soacraft.sim.links.layout import Layout
from soacraft.sim.links.udp import PacketLink

#: Seconds between looks, and how long a packet may be half written.
_LOOK, _TORN = 2e-5, 0.01
#: The second packet begins at a multiple of this.
_LINE = 64


class SharedMemory(PacketLink):
    """A link by memory: the packet of the inputs is at the start of the block `block`, that of the outputs at
    `answer_at`. A packet is new when its sequence number is; one that is half written has a wrong check sum, and is
    looked at again. Modes and errors as of `sim.Udp`.

    The block is made here, and goes when the link is closed. In C it is opened by shm_open("/" + block).

    >>> import soacraft as sc
    >>> with sc.sim.SharedMemory("board", {"angle": "rad"}, {"torque": "N m"}) as link:
    ...     link.answer_at, link.sent.size
    (64, 40)
    """

    def __init__(
        self,
        name: str,
        inputs: Bundle,
        outputs: Bundle,
        block: str | None = None,
        mode: str = "lockstep",
        timeout: float = 1.0,
        tries: int = 3,
    ) -> None:
        there = -Layout(name, inputs).size // _LINE * -_LINE
        self._way = _Block(name, block, there, Layout(name, outputs).size)
        try:
            super().__init__(name, inputs, outputs, self._way, mode, timeout, tries)
        except BaseException:
            self._way.close()
            raise

    @property
    def block(self) -> str:
        """The name of the block."""
        return self._way.memory.name

    @property
    def answer_at(self) -> int:
        """Offset of the packet of the outputs, in bytes."""
        return self._way.there

    def close(self) -> None:
        """Give the block back."""
        self._way.close()

    def to_c(self) -> Text:
        """Both packets as structs in C, and where they are."""
        return Text(f"{super().to_c()}\n\n/* in the block: the first at 0, the second at {self.answer_at} */")


class _Block:
    """Two packets in memory, one to each side."""

    def __init__(self, name: str, block: str | None, there: int, size: int) -> None:
        try:
            self.memory = shared_memory.SharedMemory(block, create=True, size=there + size)
        except (OSError, ValueError, TypeError) as wrong:
            error = LinkError(f"the block of memory {block!r:.60} of {name!r} cannot be made: {wrong}")
            error.peer = name
            raise error from None
        self.there, self._size = there, size
        self._last = bytes(size)

    def _bytes(self) -> Any:
        return self.memory.buf

    def send(self, data: bytes) -> None:
        self._bytes()[: len(data)] = data

    def receive(self, seconds: float) -> bytes | None:
        end, since = time.monotonic() + seconds, None
        while True:
            data = bytes(self._bytes()[self.there : self.there + self._size])
            now = time.monotonic()
            if data != self._last:
                since = now if since is None else since
                if not _is_torn(data) or now - since > _TORN:
                    self._last = data
                    return data
            elif now >= end:
                return None
            time.sleep(_LOOK)

    def close(self) -> None:
        try:
            self.memory.close()
            self.memory.unlink()
        except FileNotFoundError:  # closed twice
            pass


def _is_torn(data: bytes) -> bool:
    """True if the check sum does not fit: someone may be writing."""
    return int.from_bytes(data[4:8], "little") != crc32(data[8:])
