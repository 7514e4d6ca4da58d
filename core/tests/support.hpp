// What the test programs of the core share: checks that count themselves, dense matrices, random forests.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "soacraft/tree.hpp"

namespace soacraft {

inline int checks = 0;

inline void expect(bool good, const char* what) {
    ++checks;
    if (good) return;
    std::fprintf(stderr, "core_test: FAILED: %s\n", what);
    std::exit(1);
}

// Random cases that a test does not go on with, counted by the reason. More than now means that a kernel refuses what it
// took, so that less is tested: the largest numbers allowed are here.
inline std::map<std::string, int> given_up;

inline void expect_few_given_up() {
    const std::map<std::string, int> most = {{"a closure at a singular pose of its own", 2}, {"a velocity is not projected", 42},
                                             {"side by side, a state is in doubt", 4}, {"the rank of closures is in doubt", 8},
                                             {"Coulomb's law has several solutions", 1}};
    for (const auto& one : given_up) {
        const auto known = most.find(one.first);
        expect(known != most.end() && one.second <= known->second, ("too many cases given up: " + one.first).c_str());
    }
}

inline bool gives_up(const char* why) {
    ++given_up[why];
    return true;
}

// A buffer of exactly `size` entries on the heap, so that the sanitizer sees a step outside it.
template <typename T>
using Buffer = std::vector<T>;

template <typename T>
T tolerance();
template <>
inline double tolerance<double>() {
    return 1e-12;
}
template <>
inline float tolerance<float>() {
    return 1e-4f;
}

template <typename T>
bool close(const Buffer<T>& a, const Buffer<T>& b) {
    if (a.size() != b.size()) return false;
    T scale = 1, worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        scale = std::fmax(scale, std::fabs(b[i]));
        worst = std::fmax(worst, std::fabs(a[i] - b[i]));
    }
    return worst <= tolerance<T>() * scale;
}

template <typename T>
struct Dense {
    index rows, cols;
    Buffer<T> a;

    Dense(index rows_, index cols_) : rows(rows_), cols(cols_), a(rows_ * cols_, T(0)) {}
    T& at(index r, index c) { return a[r * cols + c]; }

    Buffer<T> times(const Buffer<T>& x, index m, bool transpose) const {
        const index out = transpose ? cols : rows, in = transpose ? rows : cols;
        Buffer<T> y(out * m, T(0));
        for (index r = 0; r < out; ++r)
            for (index c = 0; c < in; ++c)
                for (index t = 0; t < m; ++t)
                    y[r * m + t] += (transpose ? a[c * cols + r] : a[r * cols + c]) * x[c * m + t];
        return y;
    }
};

struct Random {
    std::mt19937 engine;
    explicit Random(unsigned seed) : engine(seed) {}
    index integer(index low, index high) { return low + index(engine() % std::uint64_t(high - low + 1)); }
    template <typename T>
    Buffer<T> numbers(index size) {
        Buffer<T> x(size);
        for (T& entry : x) entry = T(integer(-1000, 1000)) / T(2000);
        return x;
    }
    Buffer<index> permutation(index n) {
        Buffer<index> p(n);
        for (index i = 0; i < n; ++i) p[i] = i;
        for (index i = n; i-- > 1;) std::swap(p[i], p[integer(0, i)]);
        return p;
    }
    Buffer<index> offsets(index n, bool rigid) {
        Buffer<index> offset(n + 1, 0);
        for (index k = 0; k < n; ++k) offset[k + 1] = offset[k] + (rigid ? 6 : integer(0, 7));
        return offset;
    }
};

}  // namespace soacraft
