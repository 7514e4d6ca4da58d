"""The kinds of expression: what a product with a vector needs, and the rules that other layers teach.

In: operators and numbers that meet in products, sums, transposes, inverses. Out: an expression and its products with
vectors. `operator` is what every expression can do, `nodes` are the kinds, `rules` where layers above say what they
know, `dispatch` how functions of expressions are registered, `once` and `instant` what is kept for good and for one
evaluation, `compiled` and `held` what other layers make of expressions. All else that is asked of one is in `values`
and `descriptions`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
