// Springs and dampers of a tree: forces along its dofs besides the generalized force. The law is model/flat/passive.py.
//
//     spring:  -k (q - rest) - d v
//     ball:    -k log(rest^-1 q) - d v, the rotation vector in outboard axes;  of a free hinge also -k R* (p - p_rest) - d v
//     tendon:  -c tension,  L = sum of c q, the tension by law.hpp
//
// Those between nodes are links.hpp.
#pragma once

#include "link_rates.hpp"

namespace soacraft {
namespace rigid {

struct Spring {
    index q, v;
    double k, d, rest;
};
struct Ball {
    index q, v, free;  // free: all six dofs
    double k[6], d[6], rest[7];
};
struct Strand {
    index q, v;
    double c;
};
struct Tendon {
    index first, last;  // of its strands
    Law law;
};

struct Passive {
    index springs_count, balls_count, tendons_count;
    const Spring* springs;
    const Ball* balls;
    const Tendon* tendons;
    const Strand* strands;
    Links links;
    const Curve* curves;
    const CurvePiece* pieces;
    bool any() const { return springs_count || balls_count || tendons_count || links.any(); }
};

}  // namespace rigid
}  // namespace soacraft

SOACRAFT_RIGID_BEGIN

// The rotation vector of the unit quaternion [u, w]: 2 atan2(|u|, w) / |u| u, of length at most pi.
SOACRAFT_FLAT Vec<double> rotation_vector(Vec<double> u, double w) {
    if (w < 0.0) u = -u, w = -w;
    const double s = std::sqrt(dot(u, u));
    return (s == 0.0 ? 2.0 : 2.0 * std::atan2(s, w) / s) * u;
}
#if !defined(__CUDACC__)
template <int W>
SOACRAFT_FLAT Vec<Pack<W>> rotation_vector(const Vec<Pack<W>>& u, const Pack<W>& w) {
    Vec<Pack<W>> found;
    for (int i = 0; i < W; ++i) {
        const Vec<double> one = rotation_vector(Vec<double>{lane(u.x, i), lane(u.y, i), lane(u.z, i)}, lane(w, i));
        found.x.x[i] = one.x, found.y.x[i] = one.y, found.z.x[i] = one.z;
    }
    return found;
}
#endif

// log(rest^-1 q), q within 1e-6 of unit: two Newton steps for 1/|q| are exact to rounding.
template <class T, class In>
SOACRAFT_FLAT Vec<T> turned_by(const double* rest, const In& q, index i) {
    const Vec<T> a = vec<T>(rest), b = three<T>(q, i);
    const T aw(rest[3]), bw = q[i + 3], n = dot(b, b) + bw * bw;
    const T first = T(1.5) - T(0.5) * n, s = first * (T(1.5) - T(0.5) * n * first * first);
    return rotation_vector(s * (aw * b - bw * a - cross(a, b)), s * (aw * bw + dot(a, b)));
}

// Of a free hinge: R* (p - p_rest).
template <class T, class In>
SOACRAFT_FLAT Vec<T> moved_by(const double* rest, const In& q, index i) {
    return turn_back(quaternion_at<T>(q, i), three<T>(q, i + 4) - vec<T>(rest + 4));
}

SOACRAFT_FLAT Curves curves_of(const Passive& p) { return {p.curves, p.pieces}; }

// add(i, x) for every force x on dof i of what acts along dofs.
template <class T, class In, class Add>
SOACRAFT_FLAT void each_along_dofs(const Passive& p, const In& q, const In& v, const Add& add) {
    for (index k = 0; k < p.springs_count; ++k) {
        const Spring& s = p.springs[k];
        add(s.v, T(s.k) * (T(s.rest) - q[s.q]) - T(s.d) * v[s.v]);
    }
    for (index k = 0; k < p.balls_count; ++k) {
        const Ball& s = p.balls[k];
        const Vec<T> w = turned_by<T>(s.rest, q, s.q);
        const T turn[3] = {w.x, w.y, w.z};
        for (int i = 0; i < 3; ++i) add(s.v + i, T(-s.k[i]) * turn[i] - T(s.d[i]) * v[s.v + i]);
        if (!s.free) continue;
        const Vec<T> u = moved_by<T>(s.rest, q, s.q);
        const T travel[3] = {u.x, u.y, u.z};
        for (int i = 0; i < 3; ++i) add(s.v + 3 + i, T(-s.k[3 + i]) * travel[i] - T(s.d[3 + i]) * v[s.v + 3 + i]);
    }
    for (index k = 0; k < p.tendons_count; ++k) {
        const Tendon& t = p.tendons[k];
        T length(0.0), rate(0.0);
        for (index i = t.first; i < t.last; ++i) {
            const Strand& s = p.strands[i];
            length += T(s.c) * q[s.q], rate += T(s.c) * v[s.v];
        }
        const T pull = tension(curves_of(p), t.law, length, rate);
        for (index i = t.first; i < t.last; ++i) add(p.strands[i].v, T(-p.strands[i].c) * pull);
    }
}

// Memory for what is between nodes; none where there is nothing.
template <class T>
struct LinkWork {
    LinkedElement<T>* at = nullptr;
    LinkWork() = default;
    template <class Taker>
    LinkWork(const Passive* p, const Model& m, Taker& arena) {
        if (p && p->links.any()) at = arena.template take<LinkedElement<T>>(m.count + 2);
    }
};

// add(i, x) for every force x on dof i.
template <class T, class In, class Add>
SOACRAFT_FLAT void each_passive(const Passive& p, const Model& model, const Ground<T>& ground, const In& q, const In& v,
                                const LinkWork<T>& work, const Add& add) {
    each_along_dofs<T>(p, q, v, add);
    if (p.links.any()) each_link_force<T>(model, p.links, curves_of(p), ground, q, v, work.at, add);
}

// k |q - rest|^2 / 2 of springs and tendons, and what is between nodes.
template <class T, class In>
SOACRAFT_INLINE T passive_energy(const Passive& p, const Model& model, const Ground<T>& ground, const In& q,
                                 const LinkWork<T>& work) {
    T twice(0.0), sum(0.0);
    for (index k = 0; k < p.springs_count; ++k) {
        const Spring& s = p.springs[k];
        const T x = q[s.q] - T(s.rest);
        twice += T(s.k) * x * x;
    }
    for (index k = 0; k < p.balls_count; ++k) {
        const Ball& s = p.balls[k];
        const Vec<T> w = turned_by<T>(s.rest, q, s.q);
        twice += T(s.k[0]) * w.x * w.x + T(s.k[1]) * w.y * w.y + T(s.k[2]) * w.z * w.z;
        if (!s.free) continue;
        const Vec<T> u = moved_by<T>(s.rest, q, s.q);
        twice += T(s.k[3]) * u.x * u.x + T(s.k[4]) * u.y * u.y + T(s.k[5]) * u.z * u.z;
    }
    for (index k = 0; k < p.tendons_count; ++k) {
        const Tendon& t = p.tendons[k];
        T length(0.0);
        for (index i = t.first; i < t.last; ++i) length += T(p.strands[i].c) * q[p.strands[i].q];
        sum += energy(curves_of(p), t.law, length);
    }
    if (p.links.any()) sum += link_energy<T>(model, p.links, curves_of(p), ground, q, work.at);
    return T(0.5) * twice + sum;
}

// How the rotation vector w varies when the turn does in its own axes: I + w~/2 + ((1 - (t/2) cot(t/2)) / t^2) w~ w~.
SOACRAFT_FLAT void log_rate(const Vec<double>& w, double* J) {
    const double s = dot(w, w), t = std::sqrt(s);
    const double series = 1.0 / 12 + s * (1.0 / 720 + s * (1.0 / 30240 + s * (1.0 / 1209600 + s / 47900160)));
    const double c = t < 0.25 ? series : (1.0 - 0.5 * t / std::tan(0.5 * t)) / s;
    const double x[3] = {w.x, w.y, w.z};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) J[3 * i + j] = c * x[i] * x[j] + (i == j ? 1.0 - c * s : 0.0);
    J[1] -= 0.5 * w.z, J[3] += 0.5 * w.z, J[2] += 0.5 * w.y, J[6] -= 0.5 * w.y, J[5] -= 0.5 * w.x, J[7] += 0.5 * w.x;
}

// along_q(i, j, x) and along_v(i, j, x) for every -d(force i)/d(dof j), -d(force i)/d(v j) of balls and tendons; those of
// springs are k and d on the diagonal, those between nodes the matrices of link_rates.hpp.
template <class In, class Q, class V>
SOACRAFT_INLINE void each_passive_rate(const Passive& p, const In& q, const In& v, const Q& along_q, const V& along_v) {
    for (index k = 0; k < p.balls_count; ++k) {
        const Ball& s = p.balls[k];
        double J[9];
        log_rate(turned_by<double>(s.rest, q, s.q), J);
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) along_q(s.v + i, s.v + j, s.k[i] * J[3 * i + j]);
        for (int i = 0; i < (s.free ? 6 : 3); ++i) along_v(s.v + i, s.v + i, s.d[i]);
        if (!s.free) continue;
        const Vec<double> u = moved_by<double>(s.rest, q, s.q);  // its rate is u~ on turns, 1 on travels
        const double cross[9] = {0.0, -u.z, u.y, u.z, 0.0, -u.x, -u.y, u.x, 0.0};
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) along_q(s.v + 3 + i, s.v + j, s.k[3 + i] * cross[3 * i + j]);
            along_q(s.v + 3 + i, s.v + 3 + i, s.k[3 + i]);
        }
    }
    for (index k = 0; k < p.tendons_count; ++k) {
        const Tendon& t = p.tendons[k];
        double length = 0.0, rate = 0.0;
        for (index i = t.first; i < t.last; ++i) {
            const Strand& s = p.strands[i];
            length += s.c * q[s.q], rate += s.c * v[s.v];
        }
        const double k_at = stiffness(curves_of(p), t.law, length), d_at = damping(curves_of(p), t.law, rate);
        for (index i = t.first; i < t.last; ++i)
            for (index j = t.first; j < t.last; ++j) {
                const double cc = p.strands[i].c * p.strands[j].c;
                along_q(p.strands[i].v, p.strands[j].v, k_at * cc);
                along_v(p.strands[i].v, p.strands[j].v, d_at * cc);
            }
    }
}

// Memory for it; none where nothing is between nodes.
template <class Taker>
SOACRAFT_INLINE LinkRateWork link_rate_work(const Passive* p, const Model& m, Taker& arena) {
    return p && p->links.any() ? LinkRateWork(m, arena) : LinkRateWork();
}

// dT/dq and dT/dv of inverse dynamics with what springs and dampers take of T; n x n each, in the order of v. False when a
// number is not finite.
template <class In>
SOACRAFT_INLINE bool add_passive_rates(const Passive& p, const Model& model, const Ground<double>& ground, const In& q,
                                       const In& v, const LinkRateWork& work, double* dq, double* dv) {
    const index n = model.nv;
    double bad = 0.0;
    const auto on = [n, &bad](double* to) {
        return [n, to, &bad](index i, index j, double x) { bad += 0.0 * (to[i * n + j] += x); };
    };
    for (index k = 0; k < p.springs_count; ++k) {
        const Spring& s = p.springs[k];
        on(dq)(s.v, s.v, s.k), on(dv)(s.v, s.v, s.d);
    }
    each_passive_rate(p, q, v, on(dq), on(dv));
    if (p.links.any()) {
        link_rates(model, p.links, curves_of(p), ground, q, v, work);
        for (index i = 0; i < n * n; ++i) bad += 0.0 * (dq[i] += work.K[i]) + 0.0 * (dv[i] += work.D[i]);
    }
    return bad == 0.0;
}

// to -= inv x, n x n each.
SOACRAFT_INLINE void subtract_response(index n, const double* inv, const double* x, double* SOACRAFT_RESTRICT to, double& bad) {
    for (index r = 0; r < n; ++r, to += n) {
        for (index i = 0; i < n; ++i) {
            const double a = inv[r * n + i];
            for (index j = 0; j < n; ++j) to[j] -= a * x[i * n + j];
        }
        for (index j = 0; j < n; ++j) bad += 0.0 * to[j];
    }
}

// d vdot/dq and d vdot/dv of forward dynamics with the same, by the inverse mass matrix `inv`.
template <class In>
SOACRAFT_INLINE bool add_passive_response(const Passive& p, const Model& model, const Ground<double>& ground, const In& q,
                                          const In& v, const LinkRateWork& work, const double* inv, double* dq, double* dv) {
    const index n = model.nv;
    double bad = 0.0;
    for (index r = 0; r < n; ++r)
        for (index k = 0; k < p.springs_count; ++k) {
            const Spring& s = p.springs[k];
            const index at = r * n + s.v;
            bad += 0.0 * (dq[at] -= inv[at] * s.k);
            bad += 0.0 * (dv[at] -= inv[at] * s.d);
        }
    const auto on = [n, inv, &bad](double* to) {
        return [n, inv, to, &bad](index i, index j, double x) {
            for (index r = 0; r < n; ++r) bad += 0.0 * (to[r * n + j] -= inv[r * n + i] * x);
        };
    };
    each_passive_rate(p, q, v, on(dq), on(dv));
    if (p.links.any()) {
        link_rates(model, p.links, curves_of(p), ground, q, v, work);
        subtract_response(n, inv, work.K, dq, bad), subtract_response(n, inv, work.D, dv, bad);
    }
    return bad == 0.0;
}

SOACRAFT_RIGID_END
