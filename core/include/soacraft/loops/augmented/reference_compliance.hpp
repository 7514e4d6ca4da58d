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
    Columns* Upsilon;
    std::size_t bytes;
    ComplianceWork(const Plan& plan, char* memory) {
        Cutter cut{memory};
        cut(Upsilon, plan.tree->count);
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

// Upsilon of all elements, after `articulate`.
inline void compliances(LoopWork& w, const ComplianceWork& c) {
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        const index n = dofs(e.kind);
        const Twist *S = w.S + e.d, *W = w.W + e.d;
        const double* L = w.factor(e, k);
        Columns& mine = c.Upsilon[k];
        for (Twist& column : mine.at) column = none<double>();
        if (e.parent >= 0)
            mine = congruent(c.Upsilon[e.parent], [&](const Twist& x) {
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
inline void add_end(const LoopWork& w, const ComplianceWork& c, index body, const Tie& t, double& turn, double& slide) {
    if (body < 0 || w.model.bodies[body].element < 0) return;
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
        add_end(w, c, x.body_b, t, turn, slide);
        if (x.body_a != x.body_b) add_end(w, c, x.body_a, t, turn, slide);
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
            const index n = dofs(e.kind);
            double u[6] = {}, own = 0.0;
            u[term.d - e.d] = 1.0;
            divide(n, w.factor(e, term.element), u);
            Twist g = none<double>();
            for (index m = 0; m < n; ++m) own += u[m] * u[m], g += u[m] * w.W[e.d + m];
            if (e.parent >= 0) {
                const Twist f = pulled(w.limbs[term.element].l, g);
                own += dot(f, times(c.Upsilon[e.parent], f));
            }
            const double rate = w.rates[w.ratios[i].rates + static_cast<index>(j)];
            sum += rate * rate * own;
        }
        to[x.row] = sum;
    }
    return true;
}

SOACRAFT_RIGID_END
