"""Flight code in a shared library, called in a separate process; see `native` for its interface."""

from __future__ import annotations

import ctypes
import json
from typing import Any


class Server:
    """A library, and the sizes of its structs."""

    def __init__(self, config: dict[str, Any]) -> None:
        prefix = config["prefix"]
        library = ctypes.CDLL(config["library"])
        self._in, self._out = (ctypes.create_string_buffer(max(8, config[x])) for x in ("in", "out"))
        self._in_size, self._out_size = config["in"], config["out"]
        kinds: dict[str, tuple[Any, list[Any]]] = {
            "state_size": (ctypes.c_uint32, []),
            "init": (ctypes.c_int, []),
            "get_state": (None, [ctypes.c_void_p]),
            "set_state": (None, [ctypes.c_void_p]),
            "step": (ctypes.c_int, [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]),
        }
        self._call = {}
        for name, (result, arguments) in kinds.items():
            try:
                function = getattr(library, f"{prefix}_{name}")
            except AttributeError:
                raise LookupError(f"it has no function {prefix}_{name}") from None
            function.restype, function.argtypes = result, arguments
            self._call[name] = function
        mark = getattr(library, f"{prefix}_layout", None)
        if mark is not None:
            mark.restype = ctypes.c_uint32
            if mark() != config["layout"]:
                raise ValueError(
                    f"it was made for other structs: {prefix}_layout() gives {mark():#010x}, and the bundle has "
                    f"{config['layout']:#010x}"
                )

    def begin(self, server: dict[str, Any]) -> bytes:
        """Initialize; the size of the state, and the first one."""
        server["self"] = self
        code = self._call["init"]()
        if code:
            raise RuntimeError(f"init gave {code}")
        self._size = self._call["state_size"]()
        if self._size > 1 << 20:
            raise ValueError(f"its state has {self._size} bytes, and 1048576 are allowed")
        self._state = ctypes.create_string_buffer(max(1, self._size))
        return json.dumps({"state": self._got().hex()}).encode()

    def _got(self) -> bytes:
        self._call["get_state"](self._state)
        return self._state.raw[: self._size]

    def step(self, body: bytes) -> bytes:
        """Time, state if it is another one, inputs; outputs and the next state."""
        ns, has_state = int.from_bytes(body[:8], "little", signed=True), body[8]
        at = 9
        if has_state:
            ctypes.memmove(self._state, body[at : at + self._size], self._size)
            self._call["set_state"](self._state)
            at += self._size
        ctypes.memmove(self._in, body[at : at + self._in_size], self._in_size)
        ctypes.memset(self._out, 0, self._out_size)
        code = self._call["step"](ns, self._in, self._out)
        if code:
            raise RuntimeError(f"step gave {code}")
        return self._out.raw[: self._out_size] + self._got()
