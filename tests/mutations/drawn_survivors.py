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
}
