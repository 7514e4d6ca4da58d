// Reading the fields of plans that Python makes: objects with named attributes.
#pragma once

#include "array.hpp"

namespace soacraft {

inline nb::object field(nb::handle of, const char* name) {
    if (!nb::hasattr(of, name)) refuse("a plan needs %s", name);
    return nb::getattr(of, name);
}

inline double number(nb::handle of, const char* name) {
    const nb::object given = field(of, name);
    double found = 0.0;
    if (!nb::try_cast<double>(given, found)) refuse("%s of a plan must be a number", name);
    return found;
}

inline index integer(nb::handle of, const char* name) {
    const nb::object given = field(of, name);
    index found = 0;
    if (!nb::try_cast<index>(given, found, false)) refuse("%s of a plan must be an integer", name);
    return found;
}

}  // namespace soacraft
