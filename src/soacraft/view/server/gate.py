"""Admission of requests. A page of another site must reach nothing, even where its name leads to this machine."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import parse_qs

#: Hosts that pages of this machine may come from.
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]"))
#: Pages that may be in a page, and it in them: those of a notebook, and scenes.
_NEAR = " ".join(f"http://{x}:*" for x in sorted(_LOOPBACK))


@dataclass(frozen=True)
class Gate:
    """The checks of one server.

    The token is in the address. `Host` must be an address of this server, or the name of a stranger could lead here
    (DNS rebinding). A WebSocket has no same-origin rule, so its `Origin` must be this server's page.
    """

    host: str
    port: int
    token: str

    @property
    def hosts(self) -> frozenset[str]:
        """Values that `Host` may have."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset(f"{x}:{self.port}" for x in (_LOOPBACK if shown in _LOOPBACK else {shown}))

    def refused(self, path: str, hosts: list[str], origins: list[str], socket: bool) -> str:
        """Reason why a request for this path is refused; empty where it is not.

        >>> gate = Gate("127.0.0.1", 80, "secret")
        >>> gate.refused("/?token=secret", ["localhost:80"], [], socket=False)
        ''
        >>> gate.refused("/?token=guess", ["localhost:80"], [], socket=False)
        'the token in the address is not that of this page.'
        """
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return "the address asked for is not one of this server."
        allowed = {f"http://{x}" for x in self.hosts}
        if (socket and len(origins) != 1) or any(x not in allowed for x in origins):
            return "the request comes from a page of another site."
        try:
            tokens = parse_qs(path.partition("?")[2], max_num_fields=8).get("token", [])
        except ValueError:
            tokens = []
        # compared as bytes, in a time that does not tell how much of it is right
        wanted = self.token.encode()
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0].encode("utf-8", "surrogatepass"), wanted):
            return "the token in the address is not that of this page."
        return ""

    def policy(self, nonce: str) -> str:
        """The Content-Security-Policy of a page: its own scripts and styles alone, requests to this server alone."""
        ways = " ".join(sorted(f"ws://{x}" for x in self.hosts))
        return (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src {ways}; "
            f"img-src data: blob:; base-uri 'none'; form-action 'none'; frame-src {_NEAR}; frame-ancestors {_NEAR}"
        )
