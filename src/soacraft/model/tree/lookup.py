"""`Lookup`: the bodies, nodes and dofs of a graph, found by name or number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from soacraft.algebra.spaces.tree import Branch
from soacraft.errors import ModelError
from soacraft.model.tree import names
from soacraft.model.tree.frames.frame import Body, Frame, Node, Root
from soacraft.model.tree.graph import Graph


class Lookup(Graph):
    """A graph whose parts users find by name; `soacraft.model.tree.names` has the rules for names."""

    def __getitem__(self, name: str) -> Body:
        """`mb["upper"]` is a body, `mb["elbow"]` the body of that hinge.

        `mb["upper/tool"]` is a node, and `mb["inertial"]` the inertial frame; type checkers, which cannot read names,
        see them as such by `mb.node("upper/tool")` and `mb.root`.
        """
        return cast(Body, names.find_keyed(self, name))

    def _ipython_key_completions_(self) -> list[str]:
        return names.key_names(self)

    def __iter__(self) -> Iterator[Body]:
        return iter(self.bodies)

    def body(self, body: Body | str) -> Body:
        """A body from itself, its name or the name of its hinge.

        >>> import soacraft as sc
        >>> sc.load("panda").body("joint4").name
        'link4'
        """
        return names.find_body(self, body)

    def node(self, node: Node | str) -> Node:
        """A node from itself or its name `body/node`.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).node("link2/tip").pose
        Pose(translation=(1, 0, 0))
        """
        found = self.frame(node)
        if not isinstance(found, Node):
            raise ModelError(f"{found.full_name!r} is {_a(found)} of {self.name!r}, not a node; give 'body/node'.")
        return found

    def q_slice(self, of: Body | str) -> slice:
        """Slice of the coordinates of a hinge in q: of a hinge, its body, or a dof that is one coordinate.

        >>> import soacraft as sc
        >>> sc.load("panda").q_slice("joint4"), sc.load("anymal_b").q_slice("base")
        (slice(3, 4, None), slice(0, 7, None))
        """
        return names.q_place(self, of)

    def v_slice(self, of: Body | str) -> slice:
        """Slice of the velocities of a hinge in v: of a hinge, its body, or a dof.

        >>> import soacraft as sc
        >>> sc.load("anymal_b").v_slice("base"), sc.load("anymal_b").v_slice("base.5")
        (slice(0, 6, None), slice(5, 6, None))
        """
        return names.v_place(self, of)

    def branches(self) -> tuple[Branch, ...]:
        """The tree of serial segments, base segments first (004 section 7).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).branches()
        (Branch 0 on the root: link1 -> link2 -> link3,)
        """
        return self.layout.tree.branches


def _a(frame: Frame) -> str:
    return "the inertial frame" if isinstance(frame, Root) else f"a {frame.kind}"
