"""A motion step by step under numbers that a program gives to its controls: `Stepper`, one state or a batch.

`stepper` is what users see; `motion` takes the `states` on, by compiled `lanes` and by steps of runs, under their
`problems`; `names` reads the controls and the period, `watch` looks at stability, `pushes` and `parameters` are what
differs from state to state, `record` makes a `Run` of what was stepped.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
