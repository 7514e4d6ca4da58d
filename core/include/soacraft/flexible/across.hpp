// Loops across the modes of a flexible body. For one state a register holds several modes, for a pack of states one mode of
// each: the same loops serve both.
#pragma once

#include "../rigid/steps/grid.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct Across {
    typedef Pack<SOACRAFT_LANES> Wide;
    static constexpr index step = SOACRAFT_LANES;
    static constexpr index seven = 8;  // the room for seven numbers in a row
    static SOACRAFT_FLAT index end(index n) { return (n + 7) / 8 * 8; }
};
template <int L>
struct Across<Pack<L>> {
    typedef Pack<L> Wide;
    static constexpr index step = 1;
    static constexpr index seven = 7;
    static SOACRAFT_FLAT index end(index n) { return n; }
};

// Numbers of the states at work, and constants of the model, from mode j on.
template <class T>
SOACRAFT_FLAT typename Across<T>::Wide wide(const T* x) { return load<typename Across<T>::Wide>(x); }
template <class T>
SOACRAFT_FLAT typename Across<T>::Wide constants(const double* x) {
    if constexpr (Across<T>::step == 1)
        return typename Across<T>::Wide(*x);
    else
        return load<typename Across<T>::Wide>(x);
}
// The place of mode j in a table with `numbers` numbers for each of `rows` rows.
SOACRAFT_FLAT const double* table_at(const Eight* table, index j, index rows, index numbers) {
    return table[j / 8 * rows * numbers].x + j % 8;
}

// The sums across modes of `count` registers, which are used up.
template <class T, int count>
SOACRAFT_FLAT void sums(typename Across<T>::Wide (&x)[count], T (&y)[count]) {
    if constexpr (Across<T>::step == 1) {
        for (int i = 0; i < count; ++i) y[i] = x[i];
    } else {
        constexpr int w = SOACRAFT_LANES;
        typename Across<T>::Wide square[w];
        for (int first = 0; first < count; first += w) {
            for (int i = 0; i < w; ++i) square[i] = first + i < count ? x[first + i] : Pack<w>(0.0);
            transpose(square);
            for (int i = 1; i < w; ++i) square[0] += square[i];
            for (int i = 0; i < w && first + i < count; ++i) y[first + i] = lane(square[0], i);
        }
    }
}

// The sum across modes of one register.
template <class T>
SOACRAFT_FLAT T sum_of(const typename Across<T>::Wide& x) {
    if constexpr (Across<T>::step == 1) {
        return x;
    } else {
        T sum = lane(x, 0);
        for (int i = 1; i < SOACRAFT_LANES; ++i) sum += lane(x, i);
        return sum;
    }
}

SOACRAFT_FLAT double root_of(double x) { return std::sqrt(x); }
template <int W>
SOACRAFT_FLAT Pack<W> root_of(const Pack<W>& x) { return square_root(x); }

// x where s is below a limit, y elsewhere.
SOACRAFT_FLAT double below(double s, double limit, double x, double y) { return s < limit ? x : y; }
template <int W>
SOACRAFT_FLAT Pack<W> below(const Pack<W>& s, double limit, const Pack<W>& x, const Pack<W>& y) {
    return Pack<W>(s.x < limit - typename Pack<W>::Real{} ? x.x : y.x);
}

SOACRAFT_RIGID_END
