// Flexible bodies among the limbs of a closed chain, in inertially oriented axes.
//
// The limb of such an element is its body frame B; those of its nodes that deform, the spots, are numbered behind the elements.
// With Pi_h of the node that the hinge holds, nothing where it holds B itself,
//
//     A(B) = phi* A(p) + H* vdot - Pi_h etadd + c,     A(s) = phi*(s,B) (A(B) + Pi_s etadd) + c_s
//
// Modes are thus dofs of the element, as those of its hinge, with the columns -Pi_h of H*, which stand behind the columns of
// all hinges; a force f on a spot, at B, acts on them by Pi_s* f. Of the body itself
//
//     f_B = M_rr A(B) + M_re etadd + b,     f_e = M_re* A(B) + M_ee etadd + b_e
#pragma once

#include "soacraft/flexible/aba.hpp"
#include "limb.hpp"

SOACRAFT_RIGID_BEGIN

// One flexible body at a state: `at.rows` has M_re and b_e, by mode with a stride of `at.step`.
template <class T>
struct FlexibleLimb {
    FlexBody<T> body;
    T* along;       // forces on the modes
    T* L;           // the factor of D of its modes, then its hinge: rows of `width`
    index width;    // its dofs
};

template <class T>
struct FlexibleLimbs {
    FlexibleLimb<T>* bodies = nullptr;
    Spotted<T>* spots = nullptr;  // Pi in inertial axes, at the origin of B
    const unsigned char* used = nullptr;  // by spot: a hinge, or the frame of a closure or of a contact is on it

    // Cut from memory; pointers are set only where there is memory.
    template <class Cut>
    void take(const Model& m, const unsigned char* which, Cut& cut) {
        used = which;
        cut(bodies, m.flexible_count), cut(spots, m.spot_count);
        for (index i = 0; i < m.flexible_count; ++i) {
            const Flexible& f = m.flexible[i];
            const index size = Across<T>::end(f.n), width = f.n + dofs(m.elements[f.element].kind);
            T *rows, *L;
            cut(rows, 11 * size), cut(L, width * width);
            if (cut.at)
                bodies[i] = {{{{}, {}, rows, size}, rows + 7 * size, rows + 8 * size, rows + 9 * size, {}}, rows + 10 * size, L, width};
            for (index s = f.first_spot; s < f.last_spot; ++s) {
                T* Pi;
                cut(Pi, used[s] ? NODE * size : 0);
                if (cut.at) spots[s].Pi = Pi, spots[s].step = size;
            }
        }
    }

    // A(B) <- A(B) - Pi_h x for rates x of the modes, and those of its spots; `biased`: with what velocity adds to them.
    template <bool biased>
    void move_spots(const Model& m, const Element& e, const Spatial<T>* S, const T* x, const LimbOf<T>* limbs, Spatial<T>* A) const {
        const Flexible& f = m.flexible[e.flexible];
        Spatial<T>& own = A[f.element];
        if (f.held >= 0)
            for (index j = 0; j < f.n; ++j) own += x[f.v + j] * S[first_mode(m, f) + j];
        for (index s = f.first_spot; s < f.last_spot; ++s) {
            if (!used[s]) continue;
            Spatial<T> at = own;
            for (index j = 0; j < f.n; ++j) at += x[f.v + j] * column(spots[s].Pi, spots[s].step, j);
            const LimbOf<T>& limb = limbs[m.count + s];
            A[m.count + s] = carried(limb.l, at);
            if (biased) A[m.count + s] += limb.c;
        }
    }

    // Forces f on spots go to B, and along modes with those that act there, into `to` in the order of v.
    void gather_spots(const Model& m, const Element& e, const Spatial<T>* S, const LimbOf<T>* limbs, Spatial<T>* f, T* to) const {
        const Flexible& flexible = m.flexible[e.flexible];
        const T* along = bodies[e.flexible].along;
        for (index j = 0; j < flexible.n; ++j) to[flexible.v + j] = along[j];
        Spatial<T>& own = f[flexible.element];
        for (index s = flexible.first_spot; s < flexible.last_spot; ++s) {
            if (!used[s]) continue;
            const Spatial<T> at = pulled(limbs[m.count + s].l, f[m.count + s]);
            for (index j = 0; j < flexible.n; ++j) to[flexible.v + j] += dot(column(spots[s].Pi, spots[s].step, j), at);
            own += at;
        }
        if (flexible.held >= 0)
            for (index j = 0; j < flexible.n; ++j) to[flexible.v + j] += dot(S[first_mode(m, flexible) + j], own);
    }

    // No forces along modes, and none on spots.
    void clear(const Model& m, Spatial<T>* f) const {
        for (index s = 0; s < m.spot_count; ++s) f[m.count + s] = none<T>();
        for (index i = 0; i < m.flexible_count; ++i)
            for (index j = 0; j < m.flexible[i].n; ++j) bodies[i].along[j] = T(0.0);
    }

    // Inertial forces of accelerations A and xdd of the modes, without M_rr A: added to f, and along modes.
    // `moving`: with the forces of their motion.
    void add_inertia(const Model& m, const Spatial<T>* A, const T* xdd, bool moving, Spatial<T>* f) const {
        for (index i = 0; i < m.flexible_count; ++i) {
            const Flexible& flexible = m.flexible[i];
            const FlexibleLimb<T>& limb = bodies[i];
            const T* rows = limb.body.at.rows;
            const index step = limb.body.at.step;
            for (index j = 0; j < flexible.n; ++j) {
                const Spatial<T> M_re = column(rows, step, j);
                f[flexible.element] += xdd[flexible.v + j] * M_re;
                T sum = dot(M_re, A[flexible.element]);
                for (index k = 0; k < flexible.n; ++k) sum += T(mass(m, flexible, j, k)) * xdd[flexible.v + k];
                limb.along[j] += moving ? sum + rows[6 * step + j] : sum;
            }
        }
    }

    // Where the modes of a body stand when dofs are counted in the order of S.
    static SOACRAFT_FLAT index first_mode(const Model& m, const Flexible& f) { return m.nv - m.modes + f.mode; }
    static SOACRAFT_FLAT Spatial<T> column(const T* rows, index step, index j) {
        return {{rows[j], rows[step + j], rows[2 * step + j]}, {rows[3 * step + j], rows[4 * step + j], rows[5 * step + j]}};
    }
    static SOACRAFT_FLAT double mass(const Model& m, const Flexible& f, index i, index j) {
        return m.modal[f.mass + i * f.blocks() + j / 8].x[j % 8];
    }
};

// Six rows over n modes, turned.
template <class T>
inline void turn_rows(const Mat<T>& R, T* rows, index step, index n) {
    for (index j = 0; j < n; ++j) {
        const Spatial<T> x = FlexibleLimbs<T>::column(rows, step, j);
        const Vec<T> w = R * x.w, v = R * x.v;
        rows[j] = w.x, rows[step + j] = w.y, rows[2 * step + j] = w.z;
        rows[3 * step + j] = v.x, rows[4 * step + j] = v.y, rows[5 * step + j] = v.z;
    }
}

// From the frame behind the hinge of a flexible body to its body frame; its spots in body axes.
template <class T>
inline void hold_limb(const Model& model, const Element& e, const T* q, const T* v, const FlexibleLimbs<T>& x, LimbOf<T>& me,
                      Spatial<T>* S) {
    const Flexible& f = model.flexible[e.flexible];
    FlexBody<T>& body = x.bodies[e.flexible].body;
    read_modes(q, f.q, f.n, body.eta), read_modes(v, f.v, f.n, body.etad);
    for (index s = f.first_spot; s < f.last_spot; ++s)
        if (x.used[s]) spot_at<true, T>(model, model.spots[s], body.eta, body.etad, x.spots[s]);
    Spatial<T>* modes = S + FlexibleLimbs<T>::first_mode(model, f);
    for (index j = 0; j < f.n; ++j) modes[j] = none<T>();
    if (f.held < 0) return;
    const Spotted<T>& spot = x.spots[f.held];
    const Place<T> held = held_at(f, spot);
    const Vec<T> l = me.R * held.p;
    me.R = me.R * held.R, me.p += l, me.l += l;
    for (index i = 0, n = dofs(e.kind); i < n; ++i) S[e.d + i] = carried(l, S[e.d + i]);
    const Spatial<T> s{me.R * spot.s.w, me.R * spot.s.v}, rate{me.R * spot.rate.w, me.R * spot.rate.v};
    me.V = carried(l, me.V) - s;
    const Spatial<T> bias = motion_cross(s, me.V) - rate;
    me.c = carried(l, me.c) + bias, me.A0 = carried(l, me.A0) + bias;
    for (index j = 0; j < f.n; ++j) {
        const Spatial<T> Pi = FlexibleLimbs<T>::column(spot.Pi, spot.step, j);
        modes[j] = Spatial<T>{-(me.R * Pi.w), -(me.R * Pi.v)};
    }
}

// M(eta) and b of a flexible body, added to its limb, and the limbs of its spots. `pull` as `take_stance` has it.
template <class T>
inline void bend_limb(const Model& model, const Element& e, const T* q, const T* v, Given<T> pull, const FlexibleLimbs<T>& x,
                      LimbOf<T>& me, LimbOf<T>* limbs) {
    const Flexible& f = model.flexible[e.flexible];
    FlexibleLimb<T>& limb = x.bodies[e.flexible];
    FlexBody<T>& body = limb.body;
    const index step = body.at.step;
    bend<true>(model, f, q, v, Spatial<T>{turn_back(me.R, me.V.w), turn_back(me.R, me.V.v)}, body);
    me.I += turned(me.R, body.at.I);
    me.b += Spatial<T>{me.R * body.at.b.w, me.R * body.at.b.v};
    turn_rows(me.R, body.at.rows, step, f.n);
    for (index j = 0; pull && j < f.n; ++j) body.at.rows[6 * step + j] -= pull[6 * model.body_count + f.mode + j];
    for (index s = f.first_spot; s < f.last_spot; ++s) {
        if (!x.used[s]) continue;
        Spotted<T>& spot = x.spots[s];
        const Spatial<T> moved{me.R * spot.s.w, me.R * spot.s.v}, rate{me.R * spot.rate.w, me.R * spot.rate.v};
        const Spatial<T> bias = rate - motion_cross(moved, me.V);
        turn_rows(me.R, spot.Pi, step, f.n);
        LimbOf<T>& at = limbs[model.count + s];
        at.R = me.R * spot.X.R, at.l = me.R * spot.X.p, at.p = me.p + at.l;
        at.V = carried(at.l, me.V + moved), at.c = carried(at.l, bias), at.A0 = carried(at.l, me.A0 + bias);
        at.b = none<T>();
    }
}

// The largest of K eta + D etad, in units of the dofs: what flexible bodies push back with.
template <class T>
inline T largest_strain(const Model& model, const double* unit, const FlexibleLimbs<T>& x) {
    T most(0.0);
    for (index k = 0; k < model.flexible_count; ++k) {
        const Flexible& f = model.flexible[k];
        const FlexBody<T>& body = x.bodies[k].body;
        const index numbers = f.geometric ? SECOND_GEOMETRIC : SECOND;
        for (index j = 0; j < f.n; ++j) {
            const double* second = table_at(model.modal + f.second, j, f.n, numbers);
            T sum(0.0);
            for (index i = 0; i < f.n; ++i, second += 8 * numbers) sum += T(second[8 * 9]) * body.eta[i] + T(second[8 * 10]) * body.etad[i];
            most = larger(most, absolute(sum) / T(unit[f.v + j]));
        }
    }
    return most;
}

SOACRAFT_RIGID_END
