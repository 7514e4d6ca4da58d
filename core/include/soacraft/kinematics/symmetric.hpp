// Eigenvalues and eigenvectors of a small symmetric matrix, by the rotations of Jacobi. O(n^3) a sweep, a few sweeps.
#pragma once

#include <cmath>

#include "wide.hpp"

SOACRAFT_RIGID_BEGIN

// S (n, wide(n)) <- its eigenvalues on the diagonal; rows of V (n, wide(n)) <- their vectors: S = V* diag V. Both are symmetric in
// all that is read: S has both triangles.
inline void diagonalize(index n, double* S, double* V) {
    constexpr int SWEEPS = 30;        // six to eight are enough
    constexpr double DONE = 1e-30;    // of squares off the diagonal, relative to those on it
    const index w = wide(n);
    for (index i = 0; i < n; ++i) clear(w, V + i * w), V[i * w + i] = 1.0;
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        double off = 0.0, on = 0.0;
        for (index i = 0; i < n; ++i)
            for (index k = 0; k < n; ++k) (i == k ? on : off) += S[i * w + k] * S[i * w + k];
        if (!(off > DONE * on)) return;
        for (index i = 0; i < n; ++i)
            for (index k = i + 1; k < n; ++k) {
                const double b = S[i * w + k];
                if (b == 0.0) continue;
                const double by = (S[k * w + k] - S[i * w + i]) / (2.0 * b);
                const double t = (by >= 0.0 ? 1.0 : -1.0) / (std::fabs(by) + std::sqrt(by * by + 1.0)), c = 1.0 / std::sqrt(t * t + 1.0), s = t * c;
                const auto rotate = [&](double* x, double* y) {
                    for (index j = 0; j < w; j += FEW) {
                        const Few a = few(x + j), d = few(y + j);
                        put(Few(c) * a - Few(s) * d, x + j), put(Few(s) * a + Few(c) * d, y + j);
                    }
                };
                rotate(S + i * w, S + k * w), rotate(V + i * w, V + k * w);
                for (index j = 0; j < n; ++j) {
                    const double x = S[j * w + i], y = S[j * w + k];
                    S[j * w + i] = c * x - s * y, S[j * w + k] = s * x + c * y;
                }
            }
    }
}

SOACRAFT_RIGID_END
