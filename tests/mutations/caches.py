"""Caches to leave stale on purpose: what was derived from a structure, parameters, q, v or forces is kept too long."""

from tests.mutations.mutations import Mutation

COMPILED = "model/flat/compiled.py"
LAYOUT = "model/flat/layout.py"
STATE = "model/states/state.py"
CURRENT = "model/states/current.py"
ROADS = "ops/programs/roads.py"
BINDING = "ops/binding.py"
FUNCTIONS = "ops/sko_binding.py"
HANDLE = "dynamics/handle.py"
RESULTS = "dynamics/per_body.py"
SOLVER = "loops/planned.py"
FINDINGS = "loops/findings.py"
EMBEDDED = "loops/embedding/binding.py"

CACHES = (
    # -- model/flat and states -----------------------------------------------------------------------------------
    Mutation("caches", "frames after an update", COMPILED, "        self.frames.clear()\n", ""),
    Mutation(
        "caches",
        "an older form goes on",
        LAYOUT,
        "return self.parameters == self._model.parameters and self.version",
        "return self.version",
    ),
    Mutation("caches", "parameters of a user's hinge", LAYOUT, "else _PARAMETERS | _OF_HINGES", "else _PARAMETERS"),
    Mutation(
        "caches",
        "gravity of before",
        LAYOUT,
        "other.parameters, other.gravity = self._model.parameters, self._model.gravity",
        "other.parameters = self._model.parameters",
    ),
    Mutation(
        "caches",
        "poses of before",
        "model/states/configuration.py",
        "if self._next is None or self._next.layout is not layout:",
        "if self._next is None:",
    ),
    Mutation(
        "caches",
        "velocities of before",
        "model/states/motion.py",
        "if self._next is None or self._next.configuration.layout is not layout:",
        "if self._next is None:",
    ),
    Mutation("caches", "forces of before", STATE, "memo = self._new_memo(motion)", "pass"),
    Mutation("caches", "current state of other parameters", CURRENT, "or state.made_for is not layout or", "or"),
    Mutation("caches", "current state of other numbers", CURRENT, " or store.stamp != self._stamp:", ":"),
    # -- ops -----------------------------------------------------------------------------------------------------
    Mutation(
        "caches", "parameters of a plan", ROADS, "self.rigid and self.parameters != layout.parameters", "False"
    ),
    Mutation("caches", "nodes of a plan", ROADS, "self.fields.plan.set_spots(which, spots_of(layout, frames))", "pass"),
    Mutation("caches", "numbers of another state", ROADS, "if own is None or own[0] is not at:", "if own is None:"),
    Mutation("caches", "programs with leaves of Python", ROADS, "if not low.outside:", "if True:"),
    Mutation(
        "caches",
        "an operator at another state",
        "algebra/expressions/operator.py",
        "if len(old) == len(tokens) and all(a is b for a, b in zip(old, tokens, strict=True)):",
        "if old:",
    ),
    Mutation("caches", "functions at another q", FUNCTIONS, "made[0] is not q or made[1] is not v", "made[1] is not v"),
    Mutation("caches", "functions at another v", FUNCTIONS, "made[0] is not q or made[1] is not v", "made[0] is not q"),
    Mutation("caches", "memo of another q", FUNCTIONS, "if made is not None and made[0] is q:", "if made is not None:"),
    Mutation("caches", "expressions of a structure", BINDING, "if self.graph.version != self.version:", "if False:"),
    # -- dynamics ------------------------------------------------------------------------------------------------
    Mutation("caches", "handles of a structure", HANDLE, "if self._graph.version != self._version:", "if False:"),
    Mutation("caches", "results of a structure", RESULTS, "if graph.version != self._source.version:", "if False:"),
    Mutation(
        "caches",
        "results of other parameters",
        RESULTS,
        "not isinstance(carried, Body) and graph.parameters != self._source.parameters",
        "False",
    ),
    # -- loops ---------------------------------------------------------------------------------------------------
    Mutation("caches", "solvers of a structure", SOLVER, "if self._graph.version != self._version:", "if False:"),
    Mutation("caches", "solvers of other parameters", SOLVER, "if self._parameters != self._graph.parameters or", "if"),
    Mutation("caches", "solvers of another anchor", SOLVER, " or self._axes != axes:", ":"),
    Mutation(
        "caches",
        "compiled solvers of other parameters",
        SOLVER,
        "        self._compiled = self._compile()\n        self._theta = theta\n",
        "        self._theta = theta\n",
    ),
    Mutation(
        "caches",
        "derivatives of other parameters",
        SOLVER,
        "self._chosen, self._beside = Chosen(Findings(self)), None",
        "self._chosen = Chosen(Findings(self))",
    ),
    Mutation(
        "caches",
        "findings of other parameters",
        SOLVER,
        "self._chosen, self._beside = Chosen(Findings(self)), None",
        "self._beside = None",
    ),
    Mutation(
        "caches",
        "prescribed dofs of other parameters",
        SOLVER,
        "self._prescribing, self._actuation = {}, Actuation(self)",
        "self._actuation = Actuation(self)",
    ),
    Mutation(
        "caches",
        "actuation of other parameters",
        SOLVER,
        "self._prescribing, self._actuation = {}, Actuation(self)",
        "self._prescribing = {}",
    ),
    Mutation(
        "caches",
        "hinge forces of other parameters",
        FINDINGS,
        "if graph.parameters != self._parameters or self._anchored",
        "if self._anchored",
    ),
    Mutation("caches", "hinge forces of another anchor", FINDINGS, " or self._anchored is not _anchored(graph)", ""),
    Mutation("caches", "rank of other parameters", FINDINGS, "if graph.parameters != self._parameters:", "if False:"),
    Mutation("caches", "expressions of other independent dofs", EMBEDDED, "if now is not self:", "if False:"),
    Mutation(
        "caches",
        "compound bodies at another state",
        EMBEDDED,
        "if before is None or before[0] is not state or before[1] is not motion:",
        "if before is None:",
    ),
    Mutation("caches", "compound bodies of other parameters", EMBEDDED, " or before[1] is not motion:", ":"),
    Mutation(
        "caches",
        "memo of compound bodies at another q",
        EMBEDDED,
        "if before is not None and before[1].configuration is motion.configuration:",
        "if before is not None:",
    ),
    Mutation(
        "caches",
        "rates of compound bodies at another state",
        "loops/embedding/sensitivity.py",
        "if stored is None or stored[0] is not token:",
        "if stored is None:",
    ),
)
