"""Editable tree: frames, bodies and nodes, the parts attached to them, sub-graphs, and their names.

`multibody` is the model a user edits. `graph` is the interface of it and of a `subgraph` for operators and algorithms;
`lookup`, `drawing` and, in `states`, `stated` and `frame_motion` are further methods for users.

A model is composed of a `body_tree`, `attachments`, its current state (`states.current`) and its `edits`; `editing` has
the edits that concern several of them. `frames` and `parts` are what trees and attachments are made of, `joining` takes
trees apart and puts them together.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
