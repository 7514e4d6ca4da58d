"""The kinds of expression: what a product with a vector needs, and the rules that other layers teach.

In: operators and numbers that meet in products, sums, transposes, inverses. Out: an expression and its products with
vectors. `operator` is the interface of every expression, `nodes` are the kinds, `rules` the rules of the layers above,
`dispatch` how functions of expressions are registered, `once` and `instant` what is kept for good and for one
evaluation, `compiled` and `held` what other layers make of expressions. Other functions of expressions are in `values`
and `descriptions`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
