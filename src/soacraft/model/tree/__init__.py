"""The editable tree: frames, bodies and nodes, what hangs on them, sub-graphs, and the names of it all.

`multibody` is the model a user edits. `graph` is what operators and algorithms ask of it or of a `subgraph`; `lookup`,
`drawing` and, in `states`, `stated` and `frame_motion` are what users ask besides.

A model is composed of a `body_tree`, `attachments`, its current state (`states.current`) and its `edits`; `editing` has
the edits that concern several of them. `frames` and `parts` are what trees and attachments are made of, `joining` takes
trees apart and puts them together.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
