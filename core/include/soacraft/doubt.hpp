// When the inertia D that a hinge has to move is in doubt. The recursions in Python read it from here too.
#pragma once

namespace soacraft {

// D smaller than this relative to what it was computed from: 1e-16 is rounding, the rest is what G may lose.
constexpr double DOUBT = 1e-12;
// The same number of roundings in the digits of a scalar; those of `float` are 2^29 times as large.
template <class T>
inline constexpr double doubt = DOUBT;
template <>
inline constexpr double doubt<float> = DOUBT * 536870912.0;
// D near the end of the numbers with all their digits (2e-308).
constexpr double FAINT = 1e-290;
// What was larger outboard by less than this factor is forgotten: its rounding is below the doubt.
constexpr double FORGOTTEN = 1e3;

}  // namespace soacraft
