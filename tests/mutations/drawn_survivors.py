"""Mutants of the Python code that no test can notice, as (file, statement, changed): the reason."""

_LINEAR = "src/soacraft/sim/systems/linear.py"
_RECORDER = "src/soacraft/sim/runs/recorder.py"
_RATE = "unit, rate = (1.0 / measure.dofs, max(float(np.abs(self._v * measure.dofs).max()), falls) or %s)"
_GOOD = "good = next((i for i in range(len(t)) if not self._is_good(x[i:i + 1])), %s)"

SURVIVORS: dict[tuple[str, str, str], str] = {
    (_LINEAR, _RATE % "1.0", _RATE % "2.0"): "a model at rest without gravity has no pace: any step will do",
    (_RECORDER, _GOOD % "len(t) - 1", _GOOD % "len(t) + 1"): "energies of rows do not depend on each other: one is bad",
    (
        "src/soacraft/robot/limbs/telling.py",
        "balls = [b for b in bounds.balls if at[b.v].any()]",
        "balls = [b for b in bounds.balls if at[b.v].all()]",
    ): "the three dofs of a ball are at its largest angle together, and move with a limb together",
    (
        "src/soacraft/robot/studies/payload.py",
        "return float('nan') if np.isnan(self.most).any() else float(self.most.min())",
        "return float('nan') if np.isnan(self.most).all() else float(self.most.min())",
    ): "the least of numbers of which one is NaN is NaN",
    (
        "src/soacraft/robot/standing/stability.py",
        "edges = list(zip(corners, np.roll(corners, -1, axis=0), strict=True)) if len(corners) > 1 else []",
        "edges = list(zip(corners, np.roll(corners, -1, axis=0), strict=False)) if len(corners) > 1 else []",
    ): "a roll of an array is as long as the array",
    (
        "src/soacraft/flexible/elements.py",
        "columns, signs = ([v, r, v + 6, r + 6], np.array([1.0, sign, 1.0, sign]))",
        "columns, signs = ([v, r, v - 6, r + 6], np.array([1.0, sign, 1.0, sign]))",
    ): "counted from the end of twelve columns, v - 6 is v + 6",
    (
        "src/soacraft/flexible/elements.py",
        "columns, signs = ([v, r, v + 6, r + 6], np.array([1.0, sign, 1.0, sign]))",
        "columns, signs = ([v, r, v + 6, r - 6], np.array([1.0, sign, 1.0, sign]))",
    ): "counted from the end of twelve columns, r - 6 is r + 6",
    (
        "src/soacraft/loops/coupled.py",
        "q = np.reshape(x['q'], (-1, s.graph.nq))[0]",
        "q = np.reshape(x['q'], (-2, s.graph.nq))[0]",
    ): "any negative number in a shape is the one that numpy finds",
    (
        "src/soacraft/view/drawing/png.py",
        "return b'\\x89PNG\\r\\n\\x1a\\n' + b''.join(map(_chunk, *zip(*parts, strict=True)))",
        "return b'\\x89PNG\\r\\n\\x1a\\n' + b''.join(map(_chunk, *zip(*parts, strict=False)))",
    ): "each part of a file has a name and its bytes",
    (
        "src/soacraft/kinematics/tasks.py",
        "extra = [CouplingRow(x, {i: 1.0}, 0.0, 0.0, unit[i]) for x, i in zip(couplings, dofs, strict=True)]",
        "extra = [CouplingRow(x, {i: 1.0}, 0.0, 0.0, unit[i]) for x, i in zip(couplings, dofs, strict=False)]",
    ): "a constraint is made for each dof, in the same call",
    (
        "src/soacraft/robot/control/freedoms.py",
        "for body, dofs in zip(mb.bodies, mb.layout.hinge_v, strict=True):",
        "for body, dofs in zip(mb.bodies, mb.layout.hinge_v, strict=False):",
    ): "a model has as many slices as bodies",
    (
        "src/soacraft/robot/estimation/prediction.py",
        "vs.append(V[-1])",
        "vs.append(V[1])",
    ): "one step has two rows: the second is the last",
    (
        "src/soacraft/sim/systems/running/values.py",
        "return f'an array of shape {shape}' if shape else 'a number'",
        "return 'a number' if shape else f'an array of shape {shape}'",
    ): "every value has the shape of its signal before it gets there (`kinds.checked`)",
    (
        "src/soacraft/sim/integrators/variational.py",
        "if not problem.coordinates.turn(xi) < 2.0 * np.pi:",
        "if not problem.coordinates.turn(xi) < 4.0 * np.pi:",
    ): "an iterate beyond 2 pi leaves 4 pi a round later, or its step is refused as a turn of more than 3 rad",
    (
        "src/soacraft/sim/links/serve_fmu.py",
        "way = at(_BEYOND[-1]) - at(0.0)",
        "way = at(_BEYOND[-1]) + at(0.0)",
    ): "a zero is located to rounding: the indicator is far nearer to it than it changes in 1e-8 s",
    (
        "src/soacraft/sim/integrators/gauss.py",
        "if change <= _SMALL * size or (change >= 0.5 * last and change < _STALLED * max(1.0, size)):",
        "if change <= _SMALL * size or (change >= 0.5 * last and change < _STALLED * min(1.0, size)):",
    ): "rounding ends the rounds a few later, by `_PATIENCE`, with the same stages",
    (
        "src/soacraft/robot/planning/of_ompl.py",
        "planner.setRange(2.0 * asked.reach)",
        "planner.setRange(4.0 * asked.reach)",
    ): "steps of the planner are within the reach of a step of a motion: neither is a limit",
    (
        "src/soacraft/robot/whole_body/levels.py",
        "spare = count + (n if closed else 0)",
        "spare = count + (n if closed else 1)",
    ): "a spare number that is in no row is zero",
    (
        "src/soacraft/robot/grasping/cones.py",
        "off = max(off, gap / max(1.0, abs(cost)))",
        "off = max(off, gap / max(2.0, abs(cost)))",
    ): "where the cost is below two the search may end at a gap of 2e-11 for 1e-11, which is rounding",
    (
        "src/soacraft/loops/embedding/rates.py",
        "if residual > 1000.0 * compound.zero * size:",
        "if residual > 2000.0 * compound.zero * size:",
    ): "what is left is rounding, or as large as the rows: no state is between once and twice of this tolerance",
    (
        "src/soacraft/flexible/bases.py",
        "F[loads, np.arange(len(loads))] = 1.0",
        "F[loads, np.arange(len(loads))] = 2.0",
    ): "residual modes are normalised",
    (
        "src/soacraft/sim/systems/frames.py",
        "size = self.sizes.get(frame.path, 19)",
        "size = self.sizes.get(frame.path, 20)",
    ): "19 numbers are all that a port may need: 20 are enough too",
    (
        "src/soacraft/robot/estimation/observer.py",
        "if X is not None and self._X is not None:",
        "if X is not None or self._X is not None:",
    ): "a model is tied at all states or at none",
    (
        "src/soacraft/robot/control/path.py",
        "return (np.stack([x.A for x in each]), np.stack([x.B for x in each]), places_of(mb, each[0]))",
        "return (np.stack([x.A for x in each]), np.stack([x.B for x in each]), places_of(mb, each[1]))",
    ): "all knots have the same independent dofs, or the path is refused",
}
