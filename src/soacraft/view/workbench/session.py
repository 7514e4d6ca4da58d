"""`Session`: a model, the names and the history of a page, and the answers to its requests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock
from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.block_colours import drawn_blocks
from soacraft.cards.colours import segment_colour
from soacraft.errors import ExpressionError
from soacraft.model import Multibody
from soacraft.model.tree.subscriptions import Change
from soacraft.ops.namespace import operators
from soacraft.view.server import Handler, Request
from soacraft.view.workbench import requests
from soacraft.view.workbench.cards import card, numbers
from soacraft.view.workbench.notebook import Source, Typed, notebook
from soacraft.view.workbench.scope import Scope
from soacraft.view.workbench.syntax import parse
from soacraft.view.workbench.upload import new_folder, read_upload, report_of, source_of

#: Lines that are kept: a notebook has them all, and their values can be asked for again.
MOST_LINES = 1000
#: Bodies that the page lists.
MOST_BODIES = 2000


class Session:
    """Session of one page. `told` is called with an event when the model changes, `opened` with a new model."""

    def __init__(
        self,
        mb: Multibody,
        source: Source,
        told: Callable[[str, Any], None] = lambda name, data: None,
        opened: Callable[[Multibody, str], str] = lambda mb, folder: "",
    ) -> None:
        self._lock = RLock()
        self._told, self._opened = told, opened
        self._sources: list[Source] = []
        self._typed: list[Typed] = []
        self._values: list[Any] = []
        self._folder: TemporaryDirectory[str] | None = None
        self._scene, self._behind = "", False
        self._subscription: Any = None
        self._take(mb, source)

    @property
    def handlers(self) -> dict[str, Handler]:
        """The answers to the verbs of the page."""
        return {
            "hello": Handler(Request, self._held(lambda asked: self.hello())),
            "run": Handler(requests.Run, self._held(lambda asked: self.run(asked.text))),
            "value": Handler(requests.Value, self._held(lambda asked: self.value(asked.entry))),
            "block": Handler(requests.Block, self._held(lambda x: self.block(x.entry, x.row, x.column))),
            "upload": Handler(requests.Upload, self._held(lambda asked: self.upload(asked.name, asked.text))),
            "notebook": Handler(Request, self._held(lambda asked: self.notebook())),
        }

    def close(self) -> None:
        """Follow the model no more, and forget files that were sent."""
        if self._subscription is not None:
            self._subscription.cancel()
        if self._folder is not None:
            self._folder.cleanup()

    def _held(self, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """One request after the other: they share the model and the names."""

        def call(asked: Any) -> Any:
            with self._lock:
                self._follow_structure()
                return answer(asked)

        return call

    def _take(self, mb: Multibody, source: Source, folder: str = "") -> None:
        scope = Scope(operators(mb, ignore_loops=True))
        self._scene = self._opened(mb, folder)  # from here on nothing is refused
        before, self._subscription = self._subscription, mb.subscribe(self._changed)
        if before is not None:
            before.cancel()
        self.mb, self.scope, self._version = mb, scope, mb.version
        self._sources.append(source)

    def _follow_structure(self) -> None:
        """Operators of a structure that is no more are stale: the page gets those of the present one, and names that
        were given to others end."""
        if self._version != self.mb.version:  # a request that is ended on the way leaves the old version for the next
            scope, source, version = Scope(operators(self.mb, ignore_loops=True)), source_of(self.mb), self.mb.version
            self._sources.append(source)
            self.scope, self._version = scope, version

    def _changed(self, change: Change) -> None:
        """Tell the page, which then asks for numbers; until it has, further changes of the state are no news."""
        if change.kinds == {"state"} and self._behind:
            return
        self._behind = True
        self._told("changed", sorted(change.kinds))

    # -- answers ---------------------------------------------------------------------------------------------------

    def hello(self) -> dict[str, Any]:
        """Data that a page shows when it opens: the model, its tree, its report, and the address of its scene."""
        self._behind = False
        mb, tree = self.mb, self.mb.topology
        shown = list(enumerate(mb.bodies))[:MOST_BODIES]
        bodies = [
            {
                "name": body.name,
                "parent": tree.parents[k],
                "depth": tree.depth[k],
                "hinge": type(body.hinge).__name__,
                "dofs": body.hinge.nv,
                "modes": 0 if body.modal is None else body.modal.n,
                "colour": segment_colour(tree.branch_of(k).index),
            }
            for k, body in shown
        ]
        ignored = "Its loops and couplings are ignored in expressions." if mb.is_closed else ""
        return {
            "model": mb.name,
            "size": f"{len(mb)} bodies, {mb.nv} dofs",
            "note": ignored,
            "bodies": bodies,
            "more": len(mb) - len(shown),
            "report": report_of(mb),
            "names": self.scope.known(),
            "scene": self._scene,
        }

    def run(self, text: str) -> dict[str, Any]:
        """The card of a line."""
        self._behind = False
        line = parse(text)
        if len(self._typed) >= MOST_LINES:
            raise ExpressionError(f"the page has {MOST_LINES} lines, which is the most: save its notebook.")
        state = self.mb.current
        value = self.scope.value(line)
        made = card(value, [body.name for body in self.mb.bodies])
        self._typed.append(Typed(text, len(self._sources) - 1, tuple(state.q.tolist()), tuple(state.v.tolist())))
        self._values.append((self.mb, value))
        self.scope.name(line, value)
        return {**made, "entry": len(self._values) - 1, "name": line.name}

    def _kept(self, entry: int) -> Any:
        if entry >= len(self._values):
            raise ExpressionError(f"there is no answer {entry}.")
        mb, value = self._values[entry]
        if mb is not self.mb:
            raise ExpressionError("this answer belongs to a model that was on the page before.")
        return value

    def value(self, entry: int) -> dict[str, Any]:
        """The numbers of an answer at the present state."""
        self._behind = False
        return numbers(self._kept(entry))

    def block(self, entry: int, row: int, column: int) -> dict[str, Any]:
        """One block of an answer, by row and column of its picture; from structure, the rest is not formed."""
        value = self._kept(entry)
        if not isinstance(value, Operator) or value.rows is None:
            raise ExpressionError("an operator has blocks, and this is none.")
        rows, cols = value.spaces
        up, across = drawn_blocks(rows), drawn_blocks(cols)
        if row >= len(up) or column >= len(across):
            raise ExpressionError(f"there is no block [{row}, {column}]; there are {len(up)} x {len(across)}.")
        names = rows.labels[up[row]], cols.labels[across[column]]
        return {"names": names, **numbers(np.asarray(value[names[0], names[1]]))}

    def upload(self, name: str, text: str) -> dict[str, Any]:
        """Another model, from the text of its file; the names of the page are forgotten. As `hello`."""
        folder = new_folder()
        try:
            mb = read_upload(name, text, Path(folder.name))
            self._take(mb, source_of(mb), folder.name)
        except BaseException:
            folder.cleanup()
            raise
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = folder
        self._told("changed", ["structure"])  # other pages of the same server
        return self.hello()

    def notebook(self) -> dict[str, Any]:
        """The history as a notebook."""
        return {"name": "workbench.ipynb", "text": notebook(self._sources, self._typed)}
