"""`LiveScene`: a page that follows a model, and the requests that it may make."""

from __future__ import annotations

import webbrowser
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import msgspec
import numpy as np

from soacraft.attributes import Uncopied
from soacraft.errors import SoacraftError, StaleError, StateError, ViewError
from soacraft.model.tree.multibody import model_of
from soacraft.model.tree.subscriptions import Change
from soacraft.spatial.checks import finite
from soacraft.view.server import Handler, Request, serve
from soacraft.view.space.content import Content
from soacraft.view.space.live.following import RATE, Grip
from soacraft.view.space.live.frames import Picked, frame
from soacraft.view.space.live.sliders import Sliders
from soacraft.view.space.page import page, page_data

if TYPE_CHECKING:
    from soacraft.view.space.scenes import Scene

#: First view of a page: azimuth and elevation in degrees.
LOOK = (-60.0, 18.0)
Three = tuple[float, float, float]


class Move(Request):
    """Move a dof to a value."""

    dof: Annotated[str, msgspec.Meta(max_length=1000)]
    value: float


class Pick(Request):
    """See R and P of a body, by number; -1 for none."""

    body: Annotated[int, msgspec.Meta(ge=-1)]
    composite: bool = False
    articulated: bool = False


class PullAt(Request):
    """Pull a point of a body, in its axes, to a place, in the inertial frame; -1 lets go."""

    body: Annotated[int, msgspec.Meta(ge=-1)]
    point: Three = (0.0, 0.0, 0.0)
    target: Three = (0.0, 0.0, 0.0)


class LiveScene(Uncopied):
    """Result of `scene.serve`: a page at `url` that follows its model until `close()`.

    A thread checks `RATE` times a second if the model has announced a change. A change of the state sends the numbers
    of that instant; one of structure, parameters, geometry or limits makes the pages fetch the scene again.
    """

    _instead: ClassVar = "it serves a page in this process; serve another one there"

    def __init__(self, scene: Scene, host: str, port: int, show: bool) -> None:
        self._scene, self._graph = scene, scene.graph
        self._lock, self._end = Lock(), Event()
        self._changed: set[str] = set()
        self._version, self._picked = 0, Picked()
        self._shown: tuple[int, Content, Sliders] | None = None
        self._problem = ""
        answers = {
            "scene": Handler(Request, self._answer_scene), "move": Handler(Move, self._answer_move),
            "pick": Handler(Pick, self._answer_pick), "pull": Handler(PullAt, self._answer_pull),
            "assemble": Handler(Request, self._answer_assemble),
        }  # fmt: skip
        self._serving = serve(lambda nonce: page(None, self._graph.name, nonce), answers, host=host, port=port)
        self._subscription = model_of(self._graph.root).subscribe(self._tell)
        self._thread = Thread(target=self._follow, name="soacraft-scene", daemon=True)
        self._thread.start()
        if show:
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """The address of the page, with its token: who has it may move the model."""
        return self._serving.url

    @property
    def pages(self) -> int:
        """Number of open pages."""
        return self._serving.pages

    def close(self) -> None:
        """End the page and the thread that follows the model. A second call does nothing."""
        self._subscription.cancel()
        self._end.set()
        self._thread.join()
        self._serving.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Live scene of {self._graph.name!r}: {self._serving!r}"

    def _repr_html_(self) -> str:
        return self._serving._repr_html_()

    # -- following -------------------------------------------------------------------------------------------------

    def _tell(self, change: Change) -> None:
        with self._lock:
            self._changed |= change.kinds

    def refresh(self) -> None:
        """Make the pages fetch the scene again."""
        with self._lock:
            self._changed.add("geometry")

    def _follow(self) -> None:
        while not self._end.wait(1.0 / RATE):
            if self._serving.pages:
                self.look()

    def look(self) -> bytes | None:
        """Send the changes since the last look, and return the frame that was sent, if any. A refusal by the model at
        its present state is sent once, and tried again at the next change.
        """
        with self._lock:
            kinds, self._changed = self._changed, set()
            if kinds - {"state"}:
                self._version, self._shown = self._version + 1, None
            shown = self._shown
        try:
            if kinds - {"state"}:
                self._serving.send("changed", {"version": self._version})
            elif kinds and shown is not None and not self._scene.motions:
                version, seen, sliders = shown
                state = self._graph.current
                if sliders.tied and sliders.free(np.asarray(state.q)).tolist() != [x["number"] for x in sliders.last]:
                    self.refresh()  # loops were closed or opened, or others are independent
                data = frame(version, seen, sliders, state, self._picked)
                self._serving.send("frame", data)
                self._problem = ""
                return data
        except StaleError:  # the structure changes just now: it will be told
            self.refresh()
        except SoacraftError as problem:
            self._say(str(problem))
        except Exception as fault:  # the thread goes on: the next state may be fine
            self._say(f"a mistake inside soacraft, please report it: {type(fault).__name__}.")
        return None

    def _say(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._serving.send("problem", {"text": problem})

    # -- answers ---------------------------------------------------------------------------------------------------

    def _answer_scene(self, _: Request) -> dict[str, Any]:
        """All data of the page, at one version."""
        with self._lock:
            version = self._version
        seen, sliders = self._scene.seen(), Sliders(self._graph, self._scene.exaggerate)
        q = np.asarray(seen.tracks[0].q[0])
        data = page_data(seen, LOOK)
        data["version"] = version
        data["dofs"] = [] if self._scene.motions else sliders.told(q)
        data["open"] = bool(data["dofs"]) and not sliders.closed(q)
        data["nv"] = self._graph.nv
        follower = self._scene.follower
        data["pull"] = follower is not None and follower.pull is not None
        with self._lock:
            if version == self._version:
                self._shown = version, seen, sliders
        return data

    def _moving(self) -> tuple[int, Content, Sliders]:
        """Content that is shown, where its state may be set; refused elsewhere."""
        follower, shown = self._scene.follower, self._shown
        if follower is not None and follower.running:
            raise StateError(f"{self._graph.name!r} is being simulated: its state is that of the run until it ends.")
        if shown is None or self._scene.motions:
            raise ViewError("the sliders are of a model that has changed, or of a recorded motion; nothing was moved.")
        return shown

    def _answer_move(self, asked: Move) -> None:
        """Move a dof, or say why not."""
        sliders, state = self._moving()[2], self._graph.current
        q = sliders.moved(np.asarray(state.q), asked.dof, asked.value)
        self._graph.set_state(q, sliders.velocities(q, np.asarray(state.v)))

    def _answer_assemble(self, _: Request) -> None:
        """Close the loops, or say why not."""
        sliders, state = self._moving()[2], self._graph.current
        q = sliders.assembled(np.asarray(state.q))
        self._graph.set_state(q, sliders.velocities(q, np.asarray(state.v)))

    def _answer_pick(self, asked: Pick) -> None:
        """Store the picked body; a frame follows. A page sends this when it has a new scene, too."""
        self._picked = Picked(asked.body, asked.composite, asked.articulated)
        with self._lock:
            self._changed.add("state")

    def _answer_pull(self, asked: PullAt) -> None:
        follower = self._scene.follower
        if follower is None or follower.pull is None:
            raise ViewError("nothing is simulated here that could be pulled: scene.follow(p), then p.advance_to(t).")
        if asked.body < 0:
            follower.pull.want(None)
            return
        if asked.body >= len(self._graph):
            raise ViewError(f"there is no body number {asked.body}; {self._graph.name!r} has {len(self._graph)}.")
        point, target = (finite(x, (3,), "a point to pull") for x in (asked.point, asked.target))
        follower.pull.want(Grip(self._graph.bodies[asked.body], point, target))
