"""`sc.prove` and `sc.simplify`: expressions rewritten by the relations of the papers.

In: expressions of one model. Out: a chain of named steps from one to the other (`prove`, `proof`), a cheaper expression
(`simplify`), an inverse that the papers know, however the operator is written (`inverses`). `translate` turns
expressions into polynomials, `letters` and `forms` turn them back; `definitions`, `relations`,
`side_rules` and `stated` hold the relations; `chain` and `search` apply them; `places` checks steps with numbers.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
