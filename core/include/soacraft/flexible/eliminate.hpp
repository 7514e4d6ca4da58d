// The modes of a flexible body taken out of its articulated inertia, before its hinge.
//
//     P_ee = L L*,   Y = L^-1 P_er,   y = L^-1 (T_e - z_e),   P = P_rr - Y* Y,   z = z_r + Y* y
//     etadd = L^-* y - (L^-* Y) alpha
//
// P_er and T_e - z_e of one mode are a row of seven, and rows of seven are all that is kept till accelerations are known.
// Cost n^3 / 6, the one cubic term; n^2 where L is constant, of a body that carries nothing on its modes.
#pragma once

#include "../rigid/steps/hinge_step.hpp"
#include "inertia.hpp"

SOACRAFT_RIGID_BEGIN

// A Cholesky factor of n modes by columns, `step` apart, and the inverses of its diagonal; numbers of the states at work,
// or constants.
template <class N>
struct Factor {
    const N *L, *inverse;
    index step;
};

// Columns of a symmetric matrix become those of its factor. The margin stays above zero as long as it is positive.
template <class T>
SOACRAFT_APART void factor(index n, T* SOACRAFT_RESTRICT L, index step, T* inverse, T& margin) {
    typedef typename Across<T>::Wide Wide;
    constexpr index w = Across<T>::step;
    const index end = Across<T>::end(n);
    for (index j = 0; j < n; ++j) {
        T* const column = L + j * step;
        const T whole = column[j];
        const auto reduce = [&](index r, auto count) {
            constexpr int rows = decltype(count)::value;
            Wide x[rows];
            for (int i = 0; i < rows; ++i) x[i] = wide(column + r + i * w);
            const T* other = L;
            for (index k = 0; k < j; ++k, other += step) {
                const Wide s(other[j]);
                for (int i = 0; i < rows; ++i) x[i] -= s * wide(other + r + i * w);
            }
            for (int i = 0; i < rows; ++i) store(column + r + i * w, x[i]);
        };
        index r = j / w * w;
        for (; r + 4 * w <= end; r += 4 * w) reduce(r, std::integral_constant<int, 4>());
        for (; r + 2 * w <= end; r += 2 * w) reduce(r, std::integral_constant<int, 2>());
        for (; r < end; r += w) reduce(r, std::integral_constant<int, 1>());
        margin = minimum(margin, column[j] - T(doubt<T>) * whole);
        inverse[j] = T(1.0) / root_of(column[j]);
        const Wide s(inverse[j]);
        for (r = j / w * w; r < end; r += w) store(column + r, s * wide(column + r));
    }
}

// The rows of seven from seven rows across modes, `step` apart; the last with its sign changed.
template <class T>
SOACRAFT_FLAT void to_sevens(index n, const T* across, index step, T* SOACRAFT_RESTRICT rows) {
    if constexpr (Across<T>::step == 1) {
        for (index j = 0; j < n; ++j)
            for (int a = 0; a < 7; ++a) rows[7 * j + a] = a < 6 ? across[a * step + j] : -across[a * step + j];
    } else {
        constexpr int w = SOACRAFT_LANES;
        for (index j = 0; j < Across<T>::end(n); j += w)
            for (int first = 0; first < 8; first += w) {
                Pack<w> square[w];
                for (int i = 0; i < w; ++i) square[i] = first + i < 7 ? wide(across + (first + i) * step + j) : Pack<w>(0.0);
                if (first + w == 8) square[w - 2] = -square[w - 2];
                transpose(square);
                for (int i = 0; i < w; ++i) store(rows + 8 * (j + i) + first, square[i]);
            }
    }
}

// L^-1 on rows of seven.
template <class T, class N>
SOACRAFT_FLAT void solve_rows(index n, const Factor<N>& f, T* SOACRAFT_RESTRICT rows) {
    typedef typename Across<T>::Wide Wide;
    constexpr index w = Across<T>::step, width = Across<T>::seven, chunks = width / w;
    for (index j = 0; j < n; ++j) {
        Wide even[chunks], odd[chunks];
        for (index c = 0; c < chunks; ++c) even[c] = wide(rows + width * j + w * c), odd[c] = Wide(0.0);
        index k = 0;
        for (; k + 1 < j; k += 2) {
            const Wide a(T(f.L[k * f.step + j])), b(T(f.L[(k + 1) * f.step + j]));
            for (index c = 0; c < chunks; ++c)
                even[c] -= a * wide(rows + width * k + w * c), odd[c] -= b * wide(rows + width * (k + 1) + w * c);
        }
        if (k < j) {
            const Wide a(T(f.L[k * f.step + j]));
            for (index c = 0; c < chunks; ++c) even[c] -= a * wide(rows + width * k + w * c);
        }
        const Wide s = Wide(T(f.inverse[j]));
        for (index c = 0; c < chunks; ++c) store(rows + width * j + w * c, s * (even[c] + odd[c]));
    }
}

// P -= Y* Y, z += Y* y
template <class T>
SOACRAFT_FLAT void take_modes(index n, const T* rows, Articulated<T>& P, Spatial<T>& z) {
    T s[7][8];  // the upper triangle of the sum of squares of rows
    if constexpr (Across<T>::step == 1) {
        for (int a = 0; a < 7; ++a)
            for (int b = a; b < 7; ++b) s[a][b] = T(0.0);
        for (index j = 0; j < n; ++j, rows += 7)
            for (int a = 0; a < 6; ++a)
                for (int b = a; b < 7; ++b) s[a][b] += rows[a] * rows[b];
    } else {
        constexpr int w = SOACRAFT_LANES, chunks = 8 / w;
        Pack<w> sum[6][chunks];
        for (auto& row : sum)
            for (Pack<w>& x : row) x = Pack<w>(0.0);
        for (index j = 0; j < n; ++j, rows += 8) {
            Pack<w> row[chunks];
            for (int c = 0; c < chunks; ++c) row[c] = wide(rows + w * c);
            for (int a = 0; a < 6; ++a)
                for (int c = a / w; c < chunks; ++c) sum[a][c] += Pack<w>(rows[a]) * row[c];
        }
        for (int a = 0; a < 6; ++a)
            for (int c = a / w; c < chunks; ++c) store(&s[a][w * c], sum[a][c]);
    }
    P.A.xx -= s[0][0], P.A.xy -= s[0][1], P.A.xz -= s[0][2], P.A.yy -= s[1][1], P.A.yz -= s[1][2], P.A.zz -= s[2][2];
    P.B.a -= Vec<T>{s[0][3], s[1][3], s[2][3]}, P.B.b -= Vec<T>{s[0][4], s[1][4], s[2][4]}, P.B.c -= Vec<T>{s[0][5], s[1][5], s[2][5]};
    P.C.xx -= s[3][3], P.C.xy -= s[3][4], P.C.xz -= s[3][5], P.C.yy -= s[4][4], P.C.yz -= s[4][5], P.C.zz -= s[5][5];
    z.w += Vec<T>{s[0][6], s[1][6], s[2][6]}, z.v += Vec<T>{s[3][6], s[4][6], s[5][6]};
}

// L^-* on rows of seven.
template <class T, class N>
SOACRAFT_FLAT void solve_rows_back(index n, const Factor<N>& f, T* SOACRAFT_RESTRICT rows) {
    typedef typename Across<T>::Wide Wide;
    constexpr index w = Across<T>::step, width = Across<T>::seven, chunks = width / w;
    for (index j = n; j-- > 0;) {
        const N* const column = f.L + j * f.step;
        Wide even[chunks], odd[chunks];
        for (index c = 0; c < chunks; ++c) even[c] = wide(rows + width * j + w * c), odd[c] = Wide(0.0);
        index k = j + 1;
        for (; k + 1 < n; k += 2) {
            const Wide a = Wide(T(column[k])), b = Wide(T(column[k + 1]));
            for (index c = 0; c < chunks; ++c)
                even[c] -= a * wide(rows + width * k + w * c), odd[c] -= b * wide(rows + width * (k + 1) + w * c);
        }
        if (k < n) {
            const Wide a = Wide(T(column[k]));
            for (index c = 0; c < chunks; ++c) even[c] -= a * wide(rows + width * k + w * c);
        }
        const Wide s = Wide(T(f.inverse[j]));
        for (index c = 0; c < chunks; ++c) store(rows + width * j + w * c, s * (even[c] + odd[c]));
    }
}

// etadd for the acceleration of the body, from rows of seven.
template <class T>
SOACRAFT_FLAT void accelerate_modes(index n, const T* rows, const Spatial<T>& a, T* SOACRAFT_RESTRICT etadd) {
    for (index j = 0; j < n; ++j, rows += Across<T>::seven)
        etadd[j] = rows[6] - (rows[0] * a.w.x + rows[1] * a.w.y + rows[2] * a.w.z + rows[3] * a.v.x + rows[4] * a.v.y + rows[5] * a.v.z);
    for (index j = n; j < Across<T>::end(n); ++j) etadd[j] = T(0.0);
}

SOACRAFT_RIGID_END
