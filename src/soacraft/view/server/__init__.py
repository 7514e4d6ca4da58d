"""Live pages: a small server for one page and its requests, on this machine alone.

In: the text of a page, and a handler for each verb. Out: an address with a token. A request is a JSON message over a
WebSocket, `{"id": 1, "verb": "move", ...}`. Its answer is `{"id": 1, "answer": ...}`, or
`{"id": 1, "error": {"kind": ..., "text": ...}}`, or a binary frame that begins with the id as four bytes, least first.
What Python sends unasked is `{"id": null, "event": ..., "data": ...}`, or a binary frame of id 0.
"""

from soacraft.messages import Handler, Request
from soacraft.view.server.limits import Limits
from soacraft.view.server.serving import Serving, serve

__all__ = ["Handler", "Limits", "Request", "Serving", "serve"]


def __dir__() -> list[str]:
    return __all__
