// How the core refuses what does not fit: std::invalid_argument with a text that names it. Python sees ValueError.
#pragma once

#include <cstdio>
#include <stdexcept>

#include "checks.hpp"

namespace soacraft {

[[noreturn]] inline void reject(const char* text) { throw std::invalid_argument(text); }

template <typename... Args>
[[noreturn]] void reject(const char* format, Args... args) {
    char text[256];
    std::snprintf(text, sizeof text, format, args...);
    throw std::invalid_argument(text);
}

inline void reject_fault(const Fault& fault) {
    if (fault)
        reject("%s[%lld] = %lld: %s", fault.array, static_cast<long long>(fault.at), static_cast<long long>(fault.value),
               fault.wanted);
}

}  // namespace soacraft
