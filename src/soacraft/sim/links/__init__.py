"""Systems and other programs: packets, shared memory, processes, flight code in C, FMUs, environments of gymnasium.

`layout` and `ports` make bytes and ports of a bundle; `exchange` is what a link does at a tick; `host` runs foreign
code in a separate process.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
