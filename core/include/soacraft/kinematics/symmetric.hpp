// Eigenvalues and eigenvectors of a small symmetric matrix: reflections make it tridiagonal, rotations of the QL method diagonal.
// O(n^3), of which rows are the innermost loops.
#pragma once

#include <cmath>

#include "wide.hpp"

SOACRAFT_RIGID_BEGIN

// S (n, wide(n)), of which both triangles are read, <- its eigenvalues on the diagonal, in no order; rows of V (n, wide(n)) <- their
// vectors: S = V* diag V. `memory`: three rows.
class Diagonalization {
public:
    Diagonalization(index n, double* S, double* V, double* memory) : n_(n), w_(wide(n)), S_(S), V_(V), d_(memory), e_(memory + w_), p_(memory + 2 * w_) {}

    void run() {
        for (index i = 0; i < n_; ++i) clear(w_, V_ + i * w_), V_[i * w_ + i] = 1.0;
        for (index k = 0; k + 1 < n_; ++k) reflect(k);
        clear(w_, d_);
        for (index i = 0; i < n_; ++i) d_[i] = S_[i * w_ + i];
        if (n_ > 0) e_[n_ - 1] = 0.0;
        for (index l = 0; l < n_; ++l) settle(l);
        for (index i = 0; i < n_; ++i) clear(w_, S_ + i * w_), S_[i * w_ + i] = d_[i];
    }

private:
    static constexpr int ROUNDS = 60;  // of one eigenvalue: two or three are enough
    const index n_, w_;
    double *S_, *V_, *d_, *e_, *p_;

    // Row k has nothing behind its second entry, e, in the axes of V: S <- P S P, V <- P V, P = 1 - b v v*.
    void reflect(index k) {
        double* v = S_ + k * w_;  // what is left of the row, in its place
        double square = 0.0;
        for (index i = k + 2; i < n_; ++i) square += v[i] * v[i];
        const double head = v[k + 1];
        e_[k] = head;
        if (!(square > 0.0)) return;
        const double size = std::sqrt(head * head + square), to = head > 0.0 ? -size : size, b = 1.0 / (to * (to - head));
        const double own = v[k];
        for (index i = 0; i <= k; ++i) v[i] = 0.0;
        v[k + 1] = head - to, e_[k] = to;
        clear(w_, p_);
        for (index i = k + 1; i < n_; ++i) p_[i] = b * dot(w_, S_ + i * w_, v);
        add(w_, -0.5 * b * dot(w_, p_, v), v, p_);
        double* seen = d_;
        clear(w_, seen);
        for (index i = k + 1; i < n_; ++i) {
            add(w_, -v[i], p_, S_ + i * w_), add(w_, -p_[i], v, S_ + i * w_);
            add(w_, v[i], V_ + i * w_, seen);
        }
        for (index i = k + 1; i < n_; ++i) add(w_, -b * v[i], seen, V_ + i * w_);
        v[k] = own;
    }
    // d_l is an eigenvalue: rotations with a shift, until what is next to it is rounding.
    void settle(index l) {
        constexpr double ROUNDING = 2.3e-16;
        for (int round = 0; round < ROUNDS; ++round) {
            index m = l;
            for (; m + 1 < n_; ++m)
                if (std::fabs(e_[m]) <= ROUNDING * (std::fabs(d_[m]) + std::fabs(d_[m + 1]))) break;
            if (m == l) return;
            const double half = (d_[l + 1] - d_[l]) / (2.0 * e_[l]), root = std::sqrt(half * half + 1.0);
            double g = d_[m] - d_[l] + e_[l] / (half + (half >= 0.0 ? root : -root)), s = 1.0, c = 1.0, p = 0.0;
            index i = m;
            while (i-- > l) {
                const double f = s * e_[i], b = c * e_[i], r = std::sqrt(f * f + g * g);
                e_[i + 1] = r;
                if (!(r > 0.0)) {  // it falls into two parts here
                    d_[i + 1] -= p, e_[m] = 0.0;
                    break;
                }
                s = f / r, c = g / r, g = d_[i + 1] - p;
                const double t = (d_[i] - g) * s + 2.0 * c * b;
                p = s * t, d_[i + 1] = g + p, g = c * t - b;
                rotate(c, s, V_ + i * w_, V_ + (i + 1) * w_);
            }
            if (i + 1 > l) continue;  // fell into two parts
            d_[l] -= p, e_[l] = g, e_[m] = 0.0;
        }
    }
    void rotate(double c, double s, double* x, double* y) const {
        for (index j = 0; j < w_; j += FEW) {
            const Few a = few(x + j), b = few(y + j);
            put(Few(c) * a - Few(s) * b, x + j), put(Few(s) * a + Few(c) * b, y + j);
        }
    }
};

inline void diagonalize(index n, double* S, double* V, double* memory) { Diagonalization(n, S, V, memory).run(); }

SOACRAFT_RIGID_END
