// Memory that kernels work on, and a look at the numbers they read and give.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "config.hpp"

namespace soacraft {
namespace rigid {

// Memory on a cache line that grows when asked for more.
class Workspace {
public:
    void* hold(std::size_t bytes) {
        if (bytes > size_) {
            size_ = (bytes + 63) / 64 * 64;
            memory_.reset(std::aligned_alloc(64, size_));
            if (!memory_) size_ = 0, throw std::bad_alloc();
        }
        return memory_.get();
    }

private:
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<void, Free> memory_;
    std::size_t size_ = 0;
};

// Whether all numbers are finite: one more than an exponent of all ones runs over into the sign.
inline bool finite(const double* x, index n) {
    constexpr std::uint64_t exponent = 0x7ff0000000000000u, one = 0x0010000000000000u;
    std::uint64_t seen = 0;
    for (index i = 0; i < n; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        seen |= (bits & exponent) + one;
    }
    return (seen >> 63) == 0;
}

// Whether quaternions of a row of coordinates are within 1e-6 of unit.
template <class Places>
bool unit_quaternions(const Places& quaternions, const double* q) {
    for (index at : quaternions) {
        const double n = q[at] * q[at] + q[at + 1] * q[at + 1] + q[at + 2] * q[at + 2] + q[at + 3] * q[at + 3];
        if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;
    }
    return true;
}

}  // namespace rigid
}  // namespace soacraft
