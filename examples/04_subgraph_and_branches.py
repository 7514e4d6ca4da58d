"""A part of a model has the same operators; a tree is a tree of serial segments."""

import numpy as np

import soacraft as sc

mb = sc.load("biped")
mb.q = mb.random_state(seed=4)[0]

for branch in mb.branches():
    print("branch", branch.index, [mb.bodies[k].name for k in branch.nodes])

H, phi, M = sc.operators(mb, "H phi M")
massmat = H * phi * M * phi.T * H.T
blocks = massmat.by_branch()
zero = sorted({tuple(sorted(pair)) for pair, block in blocks.items() if not block.any()})
print("pairs of branches that do not meet in the mass matrix:", zero)

leg = mb.subgraph(["left_thigh", "left_shank", "left_foot"])
H, phi, M = sc.operators(leg, "H phi M")
of_leg = H * phi * M * phi.T * H.T
print(leg, "hangs from", leg.anchor.name)

# the leg's mass matrix is a block of the whole one; its inverse is not a block of the whole inverse
dofs = np.concatenate([np.arange(mb.nv)[mb.v_slice(body)] for body in leg.bodies])
print("block of the whole:", np.allclose(massmat.array()[np.ix_(dofs, dofs)], of_leg.array()))
print("inverse is a block:", np.allclose(massmat.inv.array()[np.ix_(dofs, dofs)], of_leg.inv.array()))

try:
    massmat * of_leg
except sc.errors.SpaceError as error:
    print(error)
