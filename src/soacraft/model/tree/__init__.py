"""The editable tree: frames, bodies and nodes, what hangs on them, sub-graphs, and the names of it all.

`multibody` is the model a user edits. `graph` is what operators and algorithms ask of it or of a `subgraph`; `lookup`,
`drawing` and, in `states`, `stated` and `frame_motion` are what users ask besides. `frame`, `structure` and `holdings`
hold the parts, `closures`, `properties`, `tendons`, `gears` and `records` are the parts besides bodies.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
