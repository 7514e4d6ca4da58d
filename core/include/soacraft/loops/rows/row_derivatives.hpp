// How the rows of closures and couplings change along each dof and each velocity (soacraft/kinematics/row_derivatives.py).
//
// From a to b a loop is a chain of dofs: b moves relative to a with the twist xi = sum of J v, and in the axes of b a column
// turns with the dofs after it, dJ_i = -crm(J_k) J_i. What is before dof k, with twist V and rate A, turns as one, what is
// after moves with xi - V:
//
//     d(xi) = -crm(J_k) V,    d(xidot) = crm(xi - V) crm(J_k) V - crm(J_k) A       along dof k
//     d(xidot) = -crm(J_k) V - crm(xi_after) J_k                                  along v_k
//
// Dofs that a and b share move neither seen from the other. The hinge of a closure is such a chain too.
#pragma once

#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

// One dof of a chain, seen from its end, in inertial axes.
struct Link {
    index dof;      // the user's
    Twist J;
    Twist V, A;     // of what turns when it moves
    Twist rest;     // the twist of what does not,
    Twist after;    // and of the dofs that turn it
    SOACRAFT_FLAT Twist speed() const { return motion_cross(V, J); }
    SOACRAFT_FLAT Twist along_q() const {
        return motion_cross(rest, motion_cross(J, V)) - motion_cross(J, A);
    }
    SOACRAFT_FLAT Twist along_v() const { return motion_cross(V, J) - motion_cross(after, J); }
};

// A chain while it grows from a to b.
struct Chain {
    Link* links;
    index count = 0;
    Twist V = none<double>(), A = none<double>();

    // A hinge with n columns, already at links[count]; `own`: whether it turns its own columns, as those of the way up do.
    void append(index n, const double* v, const double* vdot, bool own) {
        Twist turn = none<double>(), rate = none<double>();
        for (index i = 0; i < n; ++i) {
            const Link& link = links[count + i];
            turn += v[link.dof] * link.J;
            if (vdot) rate += vdot[link.dof] * link.J;
        }
        const Twist V_now = V + turn, A_now = A + rate - motion_cross(turn, V);
        for (index i = 0; i < n; ++i) {
            Link& link = links[count + i];
            link.V = own ? V_now : V, link.A = own ? A_now : A;
            link.rest = own ? V_now : V;    // less the whole, once it is known
            link.after = own ? V : V_now;
        }
        V = V_now, A = A_now, count += n;
    }
    void close() const {
        for (index i = 0; i < count; ++i) links[i].rest = V - links[i].rest, links[i].after = V - links[i].after;
    }
};

// The chain of a closure: up from a to the first element that a and b share, down to b.
inline Chain chain_of(const LoopWork& w, const Closure& c, const Tie& t, const double* v, const double* vdot, Link* links,
                      index* way) {
    Chain chain{links};
    index a = c.a.element, b = c.b.element, down = 0;
    const auto set = [&](index k, double sign) {
        const Element& e = w.model.elements[k];
        const Vec3 arm = t.at - w.limbs[k].p;
        const index n = dofs(e.kind);
        for (index i = 0; i < n; ++i) links[chain.count + i].dof = e.v + i, links[chain.count + i].J = sign * carried(arm, w.S[e.d + i]);
        chain.append(n, v, vdot, sign < 0.0);
    };
    while (a != b)  // parents come first
        if (a > b) set(a, -1.0), a = w.model.elements[a].parent;
        else way[down++] = b, b = w.model.elements[b].parent;
    while (down-- > 0) set(way[down], 1.0);
    chain.close();
    return chain;
}

// The hinge of a closure whose rows turn with its coordinates: its columns as a chain, and H_c*^+ by rows.
struct TurningHinge {
    Link links[6];
    index count = 0;
    Twist inverse[6];  // rows of H_c*^+, as forces
    double rate[6];    // H_c*^+ xi
    double behind[6];  // H_c*^+ of what is behind Q

    void fit(const Twist& x, double* to) const {
        for (index i = 0; i < count; ++i) to[i] = dot(inverse[i], x);
    }
    // dH_c* x along coordinates that move by `turn`.
    Twist turned(const double* turn, const double* x) const {
        Twist sum = none<double>(), before = none<double>();
        for (index j = 0; j < count; ++j) {
            sum -= turn[j] * motion_cross(links[j].J, before);
            before += x[j] * links[j].J;
        }
        return sum;
    }
};

// False where its columns depend on each other.
inline bool turning_hinge(const LoopWork& w, const Closure& c, const Tie& t, const Twist& xi, const Twist& xidot, TurningHinge& to) {
    HingeAt hinge = hinge_at(w.plan, c, w.theta);
    to.count = hinge.count;
    for (index i = 0; i < hinge.count; ++i) {
        hinge.H[i] = {t.R_b * hinge.H[i].w, t.R_b * hinge.H[i].v};
        to.links[i].dof = i, to.links[i].J = hinge.H[i];
    }
    double columns[6][6];
    for (int k = 0; k < 6; ++k) {
        double x[6] = {};
        x[k] = 1.0;
        if (!nearest(w.plan.tolerances, hinge, {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}}, c.length, columns[k])) return false;
    }
    for (index i = 0; i < hinge.count; ++i)
        to.inverse[i] = {{columns[0][i], columns[1][i], columns[2][i]}, {columns[3][i], columns[4][i], columns[5][i]}};
    to.fit(xi, to.rate);
    Chain chain{to.links};
    for (index i = 0; i < hinge.count; ++i) chain.append(1, to.rate, nullptr, false);
    chain.close();
    to.fit(xidot - chain.A, to.behind);
    return true;
}

// The rows of the derivatives, each (rows, nv), and `push` (nv, nv): see RowDerivatives of Python.
struct RowRates {
    double *G, *dq, *dv, *push;
    Link* links;  // of one chain
    index* way;
    double *turned, *sum;  // the wrenches on a by columns, 6 rows of nv; one row
};

// How w = Q* lambda turns along a dof that moves the hinge by `turn`: -(H_c*^+)* dH_c w.
inline Twist turned_push(const TurningHinge& h, const double* turn, const Twist& w) {
    Twist sum = none<double>(), after = none<double>();
    for (index m = h.count; m-- > 0;) {
        sum += dot(motion_cross(after, h.links[m].J), w) * h.inverse[m];
        after += turn[m] * h.links[m].J;
    }
    return sum;
}

// Gc* lambda of one closure as a wrench at b.
inline Twist push_of(const LoopWork& w, const Closure& c, const Tie& t) {
    Twist push = none<double>();
    for (index r = 0; r < c.rows; ++r) push += w.lambda[c.row + r] * t.Q[r];
    return push;
}

// The columns of one closure; `each(link, dw)` sees them. False where Python should look at it.
template <class Each>
inline bool loop_rates(const LoopWork& w, std::size_t number, const double* v, const RowRates& to, const Each& each) {
    const Closure& c = w.plan.closures[number];
    const Tie& t = w.ties[number];
    const index nv = w.model.nv;
    const Chain chain = chain_of(w, c, t, v, w.vdot, to.links, to.way);
    TurningHinge hinge;
    if (!c.fixed && !turning_hinge(w, c, t, chain.V, chain.A, hinge)) return false;
    const Twist push = push_of(w, c, t);
    for (index k = 0; k < chain.count; ++k) {
        const Link& link = chain.links[k];
        Twist along_q = link.along_q(), along_v = link.along_v(), dw = none<double>();
        if (!c.fixed) {
            double turn[6], rate[6];
            hinge.fit(link.J, turn);
            hinge.fit(link.speed() - hinge.turned(turn, hinge.rate), rate);
            along_q -= hinge.turned(turn, hinge.behind);
            for (index j = 0; j < hinge.count; ++j) {
                along_q -= turn[j] * hinge.links[j].along_q() + rate[j] * hinge.links[j].along_v();
                along_v -= turn[j] * hinge.links[j].along_v();
            }
            dw = turned_push(hinge, turn, push);
            for (index l = 0; l < chain.count; ++l) to.push[chain.links[l].dof * nv + link.dof] += dot(chain.links[l].J, dw);
        }
        for (index r = 0; r < c.rows; ++r) {
            const index at = (c.row + r) * nv + link.dof;
            to.G[at] = dot(t.Q[r], link.J), to.dq[at] = dot(t.Q[r], along_q), to.dv[at] = dot(t.Q[r], along_v);
        }
        each(link, dw);
        const Twist f = force_cross(link.J, push);  // on a, in whose axes it turns
        double* x = to.turned + k;
        x[0] = f.w.x, x[nv] = f.w.y, x[2 * nv] = f.w.z, x[3 * nv] = f.v.x, x[4 * nv] = f.v.y, x[5 * nv] = f.v.z;
    }
    for (index a = c.a.element; a >= 0; a = w.model.elements[a].parent) {
        const Element& e = w.model.elements[a];
        for (index i = 0, n = dofs(e.kind); i < n; ++i) {
            const Twist J = carried(t.at - w.limbs[a].p, w.S[e.d + i]);
            const double *x = to.turned, *y = x + nv, *z = y + nv, *u = z + nv, *s = u + nv, *r = s + nv;
            for (index k = 0; k < chain.count; ++k)
                to.sum[k] = J.w.x * x[k] + J.w.y * y[k] + J.w.z * z[k] + J.v.x * u[k] + J.v.y * s[k] + J.v.z * r[k];
            for (index k = 0; k < chain.count; ++k) to.push[(e.v + i) * nv + chain.links[k].dof] -= to.sum[k];
        }
    }
    return true;
}

// p''(q) and p'''(q) of a term, by Horner's rule.
inline void curvature(const Term& term, double x, double& second, double& third) {
    second = third = 0.0;
    for (std::size_t i = term.c.size(); i-- > 1;) {
        const double n = static_cast<double>(i + 1);
        second = second * x + n * (n - 1.0) * term.c[i];
    }
    for (std::size_t i = term.c.size(); i-- > 2;) {
        const double n = static_cast<double>(i + 1);
        third = third * x + n * (n - 1.0) * (n - 2.0) * term.c[i];
    }
}

inline void coupling_rates(const LoopWork& w, std::size_t number, const double* q, const double* v, const RowRates& to) {
    const Coupling& c = w.plan.couplings[number];
    const index nv = w.model.nv;
    for (std::size_t k = 0; k < c.terms.size(); ++k) {
        const Term& term = c.terms[k];
        double second, third;
        curvature(term, q[term.q], second, third);
        const index at = c.row * nv + term.v;
        to.G[at] += w.rates[w.ratios[number].rates + static_cast<index>(k)];
        to.dq[at] += second * w.vdot[term.v] + third * v[term.v] * v[term.v];
        to.dv[at] += 2.0 * second * v[term.v];
        to.push[term.v * nv + term.v] += second * w.lambda[c.row];
    }
}

// d(Gc x) along the dofs for velocities x, (rows, nv).
inline bool row_speeds(const LoopWork& w, const double* q, const double* x, const RowRates& scratch, double* out) {
    const index nv = w.model.nv;
    for (index i = 0; i < w.plan.size * nv; ++i) out[i] = 0.0;
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        const Tie& t = w.ties[i];
        const Chain chain = chain_of(w, c, t, x, nullptr, scratch.links, scratch.way);
        TurningHinge hinge;
        if (!c.fixed && !turning_hinge(w, c, t, chain.V, chain.A, hinge)) return false;
        for (index k = 0; k < chain.count; ++k) {
            const Link& link = chain.links[k];
            Twist speed = link.speed();
            if (!c.fixed) {
                double turn[6];
                hinge.fit(link.J, turn);
                speed -= hinge.turned(turn, hinge.rate);
            }
            for (index r = 0; r < c.rows; ++r) out[(c.row + r) * nv + link.dof] = dot(t.Q[r], speed);
        }
    }
    for (const Coupling& c : w.plan.couplings)
        for (const Term& term : c.terms) {
            double second, third;
            curvature(term, q[term.q], second, third);
            out[c.row * nv + term.v] += second * x[term.v];
        }
    return true;
}

SOACRAFT_RIGID_END
