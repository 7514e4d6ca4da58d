"""The other end of `host`: a program that is started in a separate process, and imports nothing of soacraft.

    python serve.py MODULE

imports the file MODULE, which has a class `Server(config)` with methods that take and give bytes, and answers frames
on its standard input: 4 bytes with the length, a byte with the length of a name, the name of a method, its argument.
What foreign code prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<I")


def frame(status: int, body: bytes) -> bytes:
    """An answer: 0 and a result, or 1 and a text."""
    return _LENGTH.pack(len(body) + 1) + bytes([status]) + body


def read(stream: BinaryIO, size: int) -> bytes:
    """Read `size` bytes; fewer at the end."""
    data = b""
    while len(data) < size:
        part = stream.read(size - len(data))
        if not part:
            break
        data += part
    return data


def answer(server: Any, request: bytes) -> bytes:
    """Answer to a request, as a frame."""
    at = 1 + request[0]
    name = request[1:at].decode()
    try:
        if name == "begin":
            reply: bytes = server["Server"](json.loads(request[at:])).begin(server)
            return frame(0, reply)
        return frame(0, getattr(server["self"], name)(request[at:]))
    except Exception as wrong:
        return frame(1, f"{type(wrong).__name__}: {wrong}".encode()[:2000])


def end_with(parent: int) -> None:
    """End when the process that started this one has, also where foreign code is in a loop without end."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def main(path: str) -> None:
    """Answer until there is nothing more to read."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    spec = spec_from_file_location("served", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    server: dict[str, Any] = {"Server": module.Server}
    while len(head := read(requests, 4)) == 4:
        request = read(requests, _LENGTH.unpack(head)[0])
        answers.write(answer(server, request))
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
