// Rows of numbers in whole registers: as long as a multiple of EIGHT, zero behind their end, so that loops have no rest.
#pragma once

#include "soacraft/scalars/pack.hpp"

SOACRAFT_RIGID_BEGIN

// How long a row of n numbers is.
SOACRAFT_FLAT index wide(index n) { return (n + 7) / 8 * 8; }

#if SOACRAFT_LANES == 8 || SOACRAFT_LANES == 4
typedef Pack<SOACRAFT_LANES> Few;
#else
typedef Pack<2> Few;
#endif
constexpr index FEW = Lanes<Few>::count;

SOACRAFT_FLAT Few few(const double* x) {
    Few found;
    std::memcpy(&found, x, sizeof found);
    return found;
}
SOACRAFT_FLAT void put(const Few& x, double* to) { std::memcpy(to, &x, sizeof x); }

// y += a x, of wide rows.
SOACRAFT_FLAT void add(index n, double a, const double* x, double* y) {
    const Few by(a);
    for (index i = 0; i < n; i += FEW) put(few(y + i) + by * few(x + i), y + i);
}
SOACRAFT_FLAT double dot(index n, const double* x, const double* y) {
    Few sum(0.0);
    for (index i = 0; i < n; i += FEW) sum += few(x + i) * few(y + i);
    double found = 0.0;
    for (int i = 0; i < FEW; ++i) found += lane(sum, i);
    return found;
}
SOACRAFT_FLAT void clear(index n, double* x) {
    for (index i = 0; i < n; ++i) x[i] = 0.0;
}
SOACRAFT_FLAT void copy(index n, const double* x, double* to) {
    for (index i = 0; i < n; ++i) to[i] = x[i];
}

SOACRAFT_RIGID_END
