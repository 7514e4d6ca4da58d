"""`Native`: flight code in C as a component."""

from __future__ import annotations

from hashlib import blake2b
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from soacraft.errors import LinkError, WiringError
from soacraft.markup import Text
from soacraft.sim.components.bundles import Bundle
from soacraft.sim.links.host import Host, named
from soacraft.sim.links.layout import BadPacketError, Layout
from soacraft.sim.links.ports import Linked


class Native(Linked):
    """Flight code in a shared library, with its state as bytes. It runs in a separate process, so that its crash is a
    `LostPeerError` here. The library has, with a prefix,

        uint32_t fsw_state_size(void);                int fsw_init(void);
        void fsw_get_state(void *bytes);              void fsw_set_state(const void *bytes);
        int fsw_step(int64_t time_ns, const fsw_in_t *in, fsw_out_t *out);

    where the structs are those of `to_c()`, and what is not 0 is an error. At a tick the state is set where it is
    another one than the library has, and a step is taken: y[k] = g(x[k], u[k]), x[k+1] = f(x[k], u[k]). The state is
    the discrete state "state", a byte in each number, and is stored like any other. Let the library keep all that it
    remembers there. If it has uint32_t fsw_layout(void), which gives FSW_LAYOUT, structs are compared.

    >>> import soacraft as sc
    >>> print(sc.sim.Native.header({"angle": "rad"}, {"torque": "N m"}))
    #include <stdint.h>
    <BLANKLINE>
    #define FSW_LAYOUT 0xC8C658B7u
    <BLANKLINE>
    typedef struct {
        double angle;        /* [rad] */
    } fsw_in_t;
    <BLANKLINE>
    typedef struct {
        double torque;        /* [N m] */
    } fsw_out_t;
    <BLANKLINE>
    uint32_t fsw_layout(void);
    uint32_t fsw_state_size(void);
    int fsw_init(void);
    void fsw_get_state(void *bytes);
    void fsw_set_state(const void *bytes);
    int fsw_step(int64_t time_ns, const fsw_in_t *in, fsw_out_t *out);
    """

    def __init__(
        self,
        library: str | PathLike[str],
        inputs: Bundle,
        outputs: Bundle,
        prefix: str = "fsw",
        name: str = "",
        timeout: float = 10.0,
    ) -> None:
        path = Path(fspath(library))
        if not path.is_file():
            raise LinkError(f"there is no library {str(path)!r:.120}: give the path of a shared library.")
        if not prefix.isidentifier():
            raise WiringError(f"the prefix of functions in C is a name, got {prefix!r:.40}.")
        title = name or path.name
        self._sizes = [Layout(title, x).size - Layout(title, {}).size for x in (inputs, outputs)]
        self._config = {
            "library": str(path.resolve()),
            "prefix": prefix,
            "in": self._sizes[0],
            "out": self._sizes[1],
            "layout": _mark(inputs, outputs),
        }
        self._peer, self._timeout, self._prefix = title, timeout, prefix
        self.content = prefix, blake2b(path.read_bytes(), digest_size=16).hexdigest()
        self._bundles = inputs, outputs
        self._host: Host | None = self._start()
        self._first = np.frombuffer(bytes.fromhex(self._host.hello["state"]), dtype=np.uint8).astype(np.int64)
        self._known = self._first
        super().__init__(title, inputs, outputs, state=len(self._first))

    def _start(self) -> Host:
        return Host(self._peer, "serve_native", self._config, self._timeout)

    def first(self) -> Any:
        """The state after init."""
        return self._first

    def exchange(self, t: float, dt: float, body: bytes, state: Any) -> tuple[tuple[Any, ...], Any]:
        """A step of the library."""
        if self._host is None or not self._host.alive:
            self._host, self._known = self._start(), self._first
        ns, when = round(t * 1e9), f"in {self._prefix}_step at t = {t:.9g} s"
        same = np.array_equal(state, self._known)
        if not same and not ((state >= 0) & (state <= 255)).all():
            raise named(LinkError(f"the state of {self._peer!r} has numbers that are no bytes, {when}."), self._peer)
        packed = b"" if same else state.astype(np.uint8).tobytes()
        answer = self._host.call(
            "step", ns.to_bytes(8, "little", signed=True) + bytes([not same]) + packed + body, when
        )
        try:
            values = self.received.fields(answer[: self._sizes[1]])
        except BadPacketError as wrong:
            raise named(LinkError(f"{self._peer!r} gave a bad answer {when}: {wrong}."), self._peer) from None
        self._known = np.frombuffer(answer[self._sizes[1] :], dtype=np.uint8).astype(np.int64)
        return values, self._known

    def close(self) -> None:
        """End the process."""
        if self._host is not None:
            self._host.close()
            self._host = None

    @classmethod
    def header(cls, inputs: Bundle, outputs: Bundle, prefix: str = "fsw") -> Text:
        """The header of the library in C."""
        lines = ["#include <stdint.h>", "", f"#define {prefix.upper()}_LAYOUT 0x{_mark(inputs, outputs):08X}u", ""]
        for way, bundle in (("in", inputs), ("out", outputs)):
            fields = Layout(way, bundle).c_fields() or ["    uint8_t nothing[8];"]
            lines += ["typedef struct {", *fields, f"}} {prefix}_{way}_t;", ""]
        lines += [
            f"uint32_t {prefix}_layout(void);",
            f"uint32_t {prefix}_state_size(void);",
            f"int {prefix}_init(void);",
            f"void {prefix}_get_state(void *bytes);",
            f"void {prefix}_set_state(const void *bytes);",
            f"int {prefix}_step(int64_t time_ns, const {prefix}_in_t *in, {prefix}_out_t *out);",
        ]
        return Text("\n".join(lines))

    def to_c(self) -> Text:
        """The header of this library in C."""
        return self.header(*self._bundles, self._prefix)


def _mark(inputs: Bundle, outputs: Bundle) -> int:
    marks = [Layout(x, y).mark for x, y in (("in", inputs), ("out", outputs))]
    return crc32(np.array(marks, "<u4").tobytes())
