// Turning a fault in the arrays of a call into ValueError.
#pragma once

#include "array.hpp"
#include "soacraft/checks.hpp"

namespace soacraft {

inline void require(const Fault& fault) {
    if (fault)
        refuse("%s[%lld] = %lld: %s", fault.array, static_cast<long long>(fault.at),
               static_cast<long long>(fault.value), fault.wanted);
}

inline void require_length(const char* name, index length, index wanted) {
    if (length != wanted)
        refuse("%s must have length %lld, got %lld", name, static_cast<long long>(wanted),
               static_cast<long long>(length));
}

}  // namespace soacraft
