"""Two linkages with exact answers: Peaucellier's cell draws a straight line, Bennett's moves though it should not."""

import numpy as np

import soacraft as sc

Z = (0, 0, 1)


def bar(mb, name, parent, length, at=(0, 0, 0)):
    """A rod along x on a pin about z; its end is a node."""
    rod = sc.Inertia(length, (length / 2, 0, 0), np.diag([1e-4, 1, 1]) * length**3 / 12)
    body = mb.add_body(name, parent, sc.Pin(Z), rod, sc.Pose(np.eye(3), at))
    body.add_node("end", sc.Pose(np.eye(3), (length, 0, 0)))
    return body


def peaucellier(r=0.4, long=1.0, short=0.4):
    """Two long bars at O, a rhombus of short ones between them, a crank that turns B on a circle through O."""
    mb = sc.Multibody("peaucellier", gravity=(0, 0, 0))
    bar(mb, "crank", None, r, (r, 0, 0))
    for side in ("a", "c"):
        bar(mb, f"b{side}", "crank", short, (r, 0, 0))
        bar(mb, f"long_{side}", None, long)
        mb.close_loop(side, f"long_{side}/end", f"b{side}/end", sc.Pin(Z))
    bar(mb, "pa", "ba", short, (short, 0, 0))
    bar(mb, "pc", "long_c", short, (long, 0, 0))
    mb.close_loop("p", "pc/end", "pa/end", sc.Pin(Z))
    return mb


def bennett(a=1.0, alpha=0.7, beta=1.2):
    """Four pins, no two parallel, opposite bars alike, sin(alpha) / a = sin(beta) / b."""
    b = a * np.sin(beta) / np.sin(alpha)
    mb = sc.Multibody("bennett")

    def across(length, twist):
        c, s = np.cos(twist), np.sin(twist)
        return sc.Pose([[1, 0, 0], [0, c, -s], [0, s, c]], (length, 0, 0))

    inertia = sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3))
    mb.add_body("one", None, sc.Pin(Z), inertia)
    mb.add_body("two", "one", sc.Pin(Z), inertia, across(a, alpha))
    three = mb.add_body("three", "two", sc.Pin(Z), inertia, across(b, beta))
    ground = mb.root.add_node("ground", across(b, beta).inv)
    mb.close_loop("ring", three.add_node("end", across(a, alpha)), ground, sc.Pin(Z))
    return mb


mb = peaucellier()
s = sc.loops.ConstraintEmbedding(mb, independent=["crank"])
q = s.assemble({"crank": 0, "ba": 1.2, "bc": -1.2, "long_a": 0.4, "long_c": -0.4, "pa": -2.5, "pc": 1.6}, ["crank"])
line = []
for _ in range(12):
    q = s.advance(q, [0.1])
    line.append(np.asarray(mb.pose("pa/end", state=mb.state(q=q)).translation))
exact = (1.0**2 - 0.4**2) / (2 * 0.4)
print(f"Peaucellier's point: from y = {line[0][1]:.3f} to {line[-1][1]:.3f}, on x = {line[0][0]:.12f}")
print(f"off the line: {np.abs(np.array(line)[:, 0] - exact).max():.0e} m")
assert np.abs(np.array(line)[:, 0] - exact).max() < 1e-12

mb = bennett()
s = sc.loops.ConstraintEmbedding(mb, independent=["one"])
two = 2 * np.arctan(np.sin(0.95) / np.sin(0.25) / np.tan(0.4))  # tan(one/2) tan(two/2) = sin((b+a)/2) / sin((b-a)/2)
q = s.assemble({"one": 0.8, "two": two, "three": -0.8}, ["one"])
r = s.forward_dynamics(q, np.zeros(3), np.zeros(3))
print(f"Bennett's linkage: {len(r.independent)} freedom where counting finds -2; rows that repeat others:")
print(*r.redundant, sep="\n")
print(f"rank: {r.rank}")
assert (r.rank, len(r.redundant)) == (2, 3)
q = s.advance(q, [0.5])
assert np.isclose(np.tan(q[0] / 2) * np.tan(q[1] / 2), np.sin(0.95) / np.sin(0.25), rtol=1e-12)
assert np.isclose(q[2], -q[0], rtol=1e-12)
