"""Limits of what a page may ask of the machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one server. Beyond them a request is answered with an error, a connection is refused or closed.

    >>> Limits().seconds
    20.0
    """

    #: Bytes of one message to the server: a model file fits.
    message: int = 8 * 2**20
    #: Bytes of one answer.
    answer: int = 32 * 2**20
    #: Pages that are open at once.
    connections: int = 16
    #: Requests that are computed or wait to be, of all pages.
    requests: int = 64
    #: Requests that are computed at once.
    workers: int = 2
    #: Seconds for one request, waiting included.
    seconds: float = 20.0
    #: Seconds for opening and for closing a connection.
    opening: float = 5.0
    #: Bytes that wait for a slow page before frames to it are left out.
    backlog: int = 4 * 2**20
