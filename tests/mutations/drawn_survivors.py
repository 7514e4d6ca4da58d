"""Mutants of the Python code that no test can notice, as (file, statement, changed): the reason."""

_LINEAR = "src/soacraft/sim/systems/linear.py"
_RECORDER = "src/soacraft/sim/runs/recorder.py"
_RATE = "unit, rate = (1.0 / measure.dofs, max(float(np.abs(self._v * measure.dofs).max()), falls) or %s)"
_GOOD = "good = next((i for i in range(len(t)) if not self._is_good(x[i:i + 1])), %s)"

SURVIVORS: dict[tuple[str, str, str], str] = {
    (_LINEAR, _RATE % "1.0", _RATE % "2.0"): "a model at rest without gravity has no pace: any step will do",
    (_RECORDER, _GOOD % "len(t) - 1", _GOOD % "len(t) + 1"): "energies of rows do not depend on each other: one is bad",
}
