// What rounding of the Schur complement is measured by: the compliance of each row before anything cancels
// (soacraft/loops/schur.py, `Compliance.reference`).
//
//     Upsilon(k) = psi*(p,k) Upsilon(p) psi(p,k) + H* D^-1 H,    psi* = (I - H* G*) phi*                base to tips
//     closure:   largest turn and slide of |X| |Upsilon| |X|*, X from a body that carries an end to frame b, each end alone
//     coupling:  sum over its terms of rate^2 (D^-1 + G* phi* Upsilon(p) phi G)
#pragma once

#include "tree_augmented.hpp"

SOACRAFT_RIGID_BEGIN

// A symmetric 6 x 6 matrix by columns.
struct Columns {
    Twist at[6];
};

struct ComplianceWork {
    Columns* Upsilon;   // by limb
    double** nodes;     // of flexible bodies with their modes: 6 + modes rows each
    double *column, *half;
    std::size_t bytes;
    ComplianceWork(const Plan& plan, char* memory) {
        Cutter cut{memory};
        const rigid::Model& tree = *plan.tree;
        index most = 0;
        cut(Upsilon, tree.count + tree.spot_count), cut(nodes, tree.flexible_count);
        for (index i = 0; i < tree.flexible_count; ++i) {
            const index size = 6 + tree.flexible[i].n;
            most = most < size ? size : most;
            double* node;
            cut(node, size * size);
            if (memory) nodes[i] = node;
        }
        cut(column, most), cut(half, 6 * most);
        bytes = cut.taken;
    }
};

inline double entry(const Twist& x, int i) {
    const double entries[] = {x.w.x, x.w.y, x.w.z, x.v.x, x.v.y, x.v.z};
    return entries[i];
}
inline Twist unit_twist(int i) {
    double x[6] = {};
    x[i] = 1.0;
    return spatial<double>(x);
}
inline Twist row_of(const Columns& A, int i) {
    double x[6];
    for (int j = 0; j < 6; ++j) x[j] = entry(A.at[j], i);
    return spatial<double>(x);
}
inline Twist times(const Columns& A, const Twist& x) {
    Twist sum = none<double>();
    for (int j = 0; j < 6; ++j) sum += entry(x, j) * A.at[j];
    return sum;
}

// M A M* of a map of twists and a symmetric A.
template <class Map>
inline Columns congruent(const Columns& A, const Map& map) {
    Columns half, found;
    for (int j = 0; j < 6; ++j) half.at[j] = map(A.at[j]);
    for (int i = 0; i < 6; ++i) found.at[i] = map(row_of(half, i));  // A M* by its columns, the rows of M A
    return found;
}

// Upsilon of a flexible body and its modes together, 6 + modes rows, then of its limb and of those of its spots, [I, Pi] of it.
inline void flexible_compliances(LoopWork& w, const ComplianceWork& c, const Element& e) {
    const Flexible& f = w.model.flexible[e.flexible];
    const FlexibleLimb<double>& limb = w.flexible.bodies[e.flexible];
    const index n = limb.width, size = 6 + f.n;
    const double* L = limb.L;
    double *U = c.nodes[e.flexible], *x = c.column, *y = w.push;
    const auto add_square = [&] {
        for (index i = 0; i < size; ++i)
            for (index j = 0; j < size; ++j) U[size * i + j] += x[i] * x[j];
    };
    // x <- H* L^-* y + [a; 0]
    const auto move = [&](const Twist& a) {
        for (index i = n; i-- > 0;) {
            y[i] *= L[n * i + i];
            for (index t = 0; t < i; ++t) y[t] -= L[n * i + t] * y[i];
        }
        Twist at = a;
        for (index i = 0; i < n; ++i) at += y[i] * w.S[w.place(e, i)];
        for (int i = 0; i < 6; ++i) x[i] = entry(at, i);
        for (index i = 0; i < f.n; ++i) x[6 + i] = y[i];
    };
    for (index i = 0; i < size * size; ++i) U[i] = 0.0;
    for (index i = 0; i < n; ++i) {  // H* D^-1 H, one column of D^-1/2 after the other
        for (index t = 0; t < n; ++t) y[t] = t == i ? 1.0 : 0.0;
        move(none<double>());
        add_square();
    }
    if (e.parent >= 0) {  // psi* Upsilon(p) psi: twice by columns, through the memory `half`
        const Columns& out = c.Upsilon[inboard(w.model, e)];
        double* half = c.half;  // size x 6
        const auto pass = [&](const Twist& from) {
            const Twist a = carried(w.limbs[f.element].l, from);
            for (index i = 0; i < n; ++i) y[i] = -dot(w.W[w.place(e, i)], a);
            move(a);
        };
        for (int j = 0; j < 6; ++j) {
            pass(out.at[j]);
            for (index i = 0; i < size; ++i) half[6 * i + j] = x[i];
        }
        for (index i = 0; i < size; ++i) {
            pass(spatial<double>(half + 6 * i));
            for (index j = 0; j < size; ++j) U[size * i + j] += x[j];
        }
    }
    const auto set = [&](index at, index spot) {
        const Vec3 l = spot < 0 ? none<double>().w : w.limbs[at].l;
        const auto limb_of = [&](const double* z) {  // of six numbers and the modes
            Twist sum = spatial<double>(z);
            for (index j = 0; spot >= 0 && j < f.n; ++j)
                sum += z[6 + j] * FlexibleLimbs<double>::column(w.flexible.spots[spot].Pi, w.flexible.spots[spot].step, j);
            return carried(l, sum);
        };
        for (index i = 0; i < size; ++i) {
            const Twist row = limb_of(U + size * i);
            for (int j = 0; j < 6; ++j) c.half[size * j + i] = entry(row, j);
        }
        for (int j = 0; j < 6; ++j) c.Upsilon[at].at[j] = limb_of(c.half + size * j);
    };
    set(f.element, -1);
    for (index s = f.first_spot; s < f.last_spot; ++s)
        if (w.flexible.used[s]) set(w.model.count + s, s);
}

// What the end of a closure on a node that deforms gives way by, before anything cancels, added to turns and slides.
inline void add_spot(const LoopWork& w, const ComplianceWork& c, index spot, const Tie& t, double& turn, double& slide) {
    const index number = w.model.spots[spot].flexible;
    const Flexible& f = w.model.flexible[number];
    const Vec3 to = t.at - w.limbs[f.element].p;
    const index size = 6 + f.n;
    const double* U = c.nodes[number];
    double most[2] = {0.0, 0.0};
    for (int i = 0; i < 6; ++i) {
        for (index j = 0; j < size; ++j) {
            const Twist own = j < 6 ? unit_twist(static_cast<int>(j))
                                    : FlexibleLimbs<double>::column(w.flexible.spots[spot].Pi, w.flexible.spots[spot].step, j - 6);
            const Twist y = carried(to, own);
            c.column[j] = std::fabs(entry(Twist{turn_back(t.R_b, y.w), turn_back(t.R_b, y.v)}, i));
        }
        double sum = 0.0;
        for (index j = 0; j < size; ++j)
            for (index k = 0; k < size; ++k) sum += c.column[j] * std::fabs(U[size * j + k]) * c.column[k];
        most[i / 3] = larger(most[i / 3], sum);
    }
    turn += most[0], slide += most[1];
}

// Upsilon of all elements, after `articulate`.
inline void compliances(LoopWork& w, const ComplianceWork& c) {
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        if (e.flexible >= 0) {
            flexible_compliances(w, c, e);
            continue;
        }
        const index n = dofs(e.kind);
        const Twist *S = w.S + e.d, *W = w.W + e.d;
        const double* L = w.factor(e, k);
        Columns& mine = c.Upsilon[k];
        for (Twist& column : mine.at) column = none<double>();
        if (e.parent >= 0)
            mine = congruent(c.Upsilon[inboard(w.model, e)], [&](const Twist& x) {
                Twist y = carried(w.limbs[k].l, x);
                double u[6];
                for (index i = 0; i < n; ++i) u[i] = dot(W[i], y);
                divide_transposed(n, L, u);
                for (index i = 0; i < n; ++i) y -= u[i] * S[i];
                return y;
            });
        Twist t[6];  // H* L^-*, row by row of L
        for (index i = 0; i < n; ++i) {
            t[i] = S[i];
            for (index j = 0; j < i; ++j) t[i] -= L[6 * i + j] * t[j];
            t[i] = (n == 1 ? L[0] : L[6 * i + i]) * t[i];
            for (int j = 0; j < 6; ++j) mine.at[j] += entry(t[i], j) * t[i];
        }
    }
}

// What the end of a closure on one body gives way by, before anything cancels, added to turns and slides.
inline void add_end(const LoopWork& w, const ComplianceWork& c, index body, const Body& end, const Tie& t, double& turn, double& slide) {
    if (body < 0 || w.model.bodies[body].element < 0) return;
    if (end.element >= w.model.count) return add_spot(w, c, end.element - w.model.count, t, turn, slide);
    const index k = w.model.bodies[body].element;
    const Place<double> X = spot(w.model.bodies[body], w.limbs).X;
    const Vec3 from = X.p - w.limbs[k].p, to = t.at - X.p;
    const Columns own = congruent(c.Upsilon[k], [&](const Twist& x) {  // in the axes of the body, at its frame
        const Twist y = carried(from, x);
        return Twist{turn_back(X.R, y.w), turn_back(X.R, y.v)};
    });
    double map[6][6], most[2] = {0.0, 0.0};  // from there to b, in the axes of b
    for (int j = 0; j < 6; ++j) {
        const Twist x = unit_twist(j), y = carried(to, Twist{X.R * x.w, X.R * x.v});
        const Twist z{turn_back(t.R_b, y.w), turn_back(t.R_b, y.v)};
        for (int i = 0; i < 6; ++i) map[i][j] = std::fabs(entry(z, i));
    }
    for (int i = 0; i < 6; ++i) {
        double sum = 0.0;
        for (int j = 0; j < 6; ++j)
            for (int l = 0; l < 6; ++l) sum += map[i][j] * std::fabs(entry(own.at[j], l)) * map[i][l];
        most[i / 3] = larger(most[i / 3], sum);
    }
    turn += most[0], slide += most[1];
}

// The reference of every row at a configuration whose rows were taken; false where a hinge has nothing to move.
inline bool reference_compliance(LoopWork& w, const ComplianceWork& c, double* to) {
    const Plan& plan = w.plan;
    for (index i = 0; i < w.model.nv; ++i) w.step[i] = 0.0;
    if (!articulate(w, w.step)) return false;
    compliances(w, c);
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& x = plan.closures[i];
        const Tie& t = w.ties[i];
        double turn = 0.0, slide = 0.0;
        add_end(w, c, x.body_b, x.b, t, turn, slide);
        if (x.body_a != x.body_b || x.a.element != x.b.element) add_end(w, c, x.body_a, x.a, t, turn, slide);
        const double square = x.length * x.length, turned = turn;
        if (!(square > 0.0)) return false;
        turn = larger(turn, plan.tolerances.lever * slide / square);
        slide = larger(slide, plan.tolerances.lever * turned * square);
        for (index r = 0; r < x.rows; ++r) {
            const double a = length_of(t.local + 6 * r), b = length_of(t.local + 6 * r + 3);
            to[x.row + r] = turn * a * a + slide * b * b;
        }
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        const Coupling& x = plan.couplings[i];
        double sum = 0.0;
        for (std::size_t j = 0; j < x.terms.size(); ++j) {
            const Term& term = x.terms[j];
            const Element& e = w.model.elements[term.element];
            double own = 0.0;
            Twist g = none<double>();
            if (e.flexible >= 0) {
                const index n = w.flexible.bodies[e.flexible].width;
                for (index m = 0; m < n; ++m) w.push[m] = w.place(e, m) == term.d ? 1.0 : 0.0;
                divide_wide(n, w.flexible.bodies[e.flexible].L, w.push);
                for (index m = 0; m < n; ++m) own += w.push[m] * w.push[m], g += w.push[m] * w.W[w.place(e, m)];
            } else {
                const index n = dofs(e.kind);
                double u[6] = {};
                u[term.d - e.d] = 1.0;
                divide(n, w.factor(e, term.element), u);
                for (index m = 0; m < n; ++m) own += u[m] * u[m], g += u[m] * w.W[e.d + m];
            }
            if (e.parent >= 0) {
                const Twist f = pulled(w.limbs[term.element].l, g);
                own += dot(f, times(c.Upsilon[inboard(w.model, e)], f));
            }
            const double rate = w.rates[w.ratios[i].rates + static_cast<index>(j)];
            sum += rate * rate * own;
        }
        to[x.row] = sum;
    }
    return true;
}

SOACRAFT_RIGID_END
