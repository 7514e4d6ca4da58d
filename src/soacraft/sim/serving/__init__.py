"""A system that is served: clients on this machine list, read, set and follow what it has, and pause and step it.

In: a `System`. Out: `Lines`, a server of JSON lines; pages of `view` use the same `Desk`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
