// M(eta) of a flexible body and the forces b that come of it, from the moments of its modes. O(n^2) with n modes.
//
// Order [V; etad]. With dJ_j = dJ/d eta_j, a_j = M_we,j, u_j = M_ve,j, x_ij the axial vector of Q_ij and a_ij that of
// Q_ij + T_ij,
//
//     dJ_j = dJ_j(0) + sum_i eta_i d2J_ij,     a_j = a_j(0) + sum_i eta_i a_ij,     u_j = p_j + sum_i eta_i S_ij
//     J = J(0) + 1/2 sum_j eta_j (dJ_j(0) + dJ_j),      c = c(0) + 1/2 sum_j eta_j (p_j + u_j)
//
// What velocity makes of it at a body frame that does not move but turns with w, Jdot = sum_j etad_j dJ_j and cdot likewise:
//
//     b_w = Jdot w + w x (J w + a etad) + a(etad, etad)
//     b_v = 2 w x cdot + w x (w x c) + S(etad, etad)
//     b_j = 2 w . sum_i etad_i x_ij - 1/2 w* dJ_j w + (K eta + D etad)_j
//
// A linear velocity v adds M [0; w x v; 0] alone, as for a rigid body.
#pragma once

#include "across.hpp"

SOACRAFT_RIGID_BEGIN

// A flexible body at a state. `rows`, by mode with a stride of `step`: a_j, u_j, b_j.
template <class T>
struct Flexed {
    Rigid<T> I;
    Spatial<T> b;
    T* rows;
    index step;
};

template <class T>
SOACRAFT_FLAT Sym<T> sym(const double* x) { return {T(x[0]), T(x[1]), T(x[2]), T(x[3]), T(x[4]), T(x[5])}; }

// `elastic`: whether K and D act. eta and etad: as many as the loops across modes run over.
template <bool elastic, bool geometric, class T>
SOACRAFT_INLINE void flex(const Flexible& f, const Eight* tables, const T* eta, const T* etad, const Vec<T>& w, Flexed<T>& to) {
    typedef typename Across<T>::Wide Wide;
    constexpr index numbers = geometric ? SECOND_GEOMETRIC : SECOND;
    const Wide o(0.0);
    Wide sum[27];  // J 6, c 3, Jdot 6, cdot 3, a etad 3, a(etad, etad) 3, S(etad, etad) 3
    for (Wide& x : sum) x = o;
    const T half(0.5), two(2.0);
    const Wide xx(-half * w.x * w.x), xy(-w.x * w.y), xz(-w.x * w.z), yy(-half * w.y * w.y), yz(-w.y * w.z), zz(-half * w.z * w.z);
    const Wide wx(two * w.x), wy(two * w.y), wz(two * w.z);
    for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step) {
        const double* first = table_at(tables + f.first, j, 1, FIRST);
        const double* second = table_at(tables + f.second, j, f.n, numbers);
        Wide at[FIRST], force = o, turn[3] = {o, o, o}, quadratic[6] = {o, o, o, o, o, o};
        for (Wide& x : at) x = o;
        for (index i = 0; i < f.n; ++i, second += 8 * numbers) {
            const Wide e(eta[i]), d(etad[i]);
            const auto number = [second](index a) { return constants<T>(second + 8 * a); };
            for (int a = 0; a < 6; ++a) at[a] += e * number(a);
            for (int a = 0; a < 3; ++a) {
                const Wide x = number(6 + a);
                at[6 + a] += e * x;
                (geometric ? quadratic : turn)[a] += d * x;
            }
            if constexpr (elastic) force += e * number(9) + d * number(10);
            if constexpr (geometric)
                for (int a = 0; a < 3; ++a) {
                    const Wide S = number(14 + a);
                    turn[a] += d * number(11 + a);
                    at[9 + a] += e * S;
                    quadratic[3 + a] += d * S;
                }
        }
        const Wide e = half * wide(eta + j), d = wide(etad + j);
        for (int a = 0; a < FIRST; ++a) {
            const Wide start = constants<T>(first + 8 * a), here = start + at[a];
            at[a] = here;
            if (a < 6) sum[a] += e * (start + here), sum[9 + a] += d * here;
            if (a >= 6 && a < 9) sum[12 + a] += d * here;
            if (a >= 9) sum[a - 3] += e * (start + here), sum[a + 6] += d * here;
        }
        if constexpr (geometric)
            for (int a = 0; a < 6; ++a) sum[21 + a] += d * quadratic[a];
        for (int a = 0; a < 6; ++a) store(to.rows + a * to.step + j, at[6 + a]);
        force += wx * turn[0] + wy * turn[1] + wz * turn[2];
        force += xx * at[0] + xy * at[1] + xz * at[2] + yy * at[3] + yz * at[4] + zz * at[5];
        store(to.rows + 6 * to.step + j, force);
    }
    T s[27];
    sums<T>(sum, s);
    const Sym<T> J0 = sym<T>(f.J), Jdot{s[9], s[10], s[11], s[12], s[13], s[14]};
    const Vec<T> cdot{s[15], s[16], s[17]}, swing{s[18], s[19], s[20]};
    to.I = {{J0.xx + s[0], J0.xy + s[1], J0.xz + s[2], J0.yy + s[3], J0.yz + s[4], J0.zz + s[5]},
            {T(f.c[0]) + s[6], T(f.c[1]) + s[7], T(f.c[2]) + s[8]}, T(f.m)};
    to.b = {Jdot * w + cross(w, to.I.J * w + swing) + Vec<T>{s[21], s[22], s[23]},
            cross(w, T(2.0) * cdot + cross(w, to.I.h)) + Vec<T>{s[24], s[25], s[26]}};
}

template <bool elastic, class T>
SOACRAFT_APART void flex(const Model& model, const Flexible& f, const T* eta, const T* etad, const Vec<T>& w, Flexed<T>& to) {
    if (f.geometric)
        flex<elastic, true>(f, model.modal, eta, etad, w, to);
    else
        flex<elastic, false>(f, model.modal, eta, etad, w, to);
}

SOACRAFT_RIGID_END
