"""Connections of bundles: field by field, refused where the fields are others."""

from __future__ import annotations

from soacraft.errors import WiringError

#: The ports of bundles, by field.
Bundles = dict[str, dict[str, str]]


def paired(source: str, target: str, sources: Bundles, targets: Bundles) -> list[tuple[str, str]]:
    """The ports of a connection from a bundle to others, as its texts name them.

    >>> paired("a.u", "b.w", {"a.u": {"x": "a.u_x"}}, {"b.w": {"x": "b.w_x"}})
    [('a.u_x', 'b.w_x')]
    """
    if len(sources) > 1:
        raise WiringError(f"{source!r:.80} is {len(sources)} bundles; a connection has one source.")
    if not sources or not targets:
        text, other = (source, target) if sources else (target, source)
        ports = next(iter((sources or targets).values()))
        raise WiringError(
            f"{source!r:.80} -> {target!r:.80}: {text!r:.80} is a bundle, and {other!r:.80} is none; connect its "
            f"fields, as {next(iter(ports.values()))!r}."
        )
    pairs = []
    ((source, offered),) = sources.items()
    for target, wanted in targets.items():
        for a, b, x, y in ((offered, wanted, source, target), (wanted, offered, target, source)):
            lost = next((field for field in a if field not in b), None)
            if lost is not None:
                raise WiringError(
                    f"{source!r} -> {target!r}: the field {lost!r} of {x!r} is not in {y!r}, which has "
                    f"{', '.join(map(repr, b))}."
                )
        pairs += [(offered[field], wanted[field]) for field in wanted]
    return pairs
