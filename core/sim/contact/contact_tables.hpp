// The log of contacts as arrays of Python.
#pragma once

#include "array.hpp"
#include "sim/contact/contact_setting.hpp"

namespace soacraft {
namespace sim {

inline nb::object as_table(const std::vector<double>& x, index columns) {
    nb::object made = new_array("empty", static_cast<index>(x.size()) / columns, columns);
    const Array<double> to(made, "log", 2, true);
    std::copy(x.begin(), x.end(), to.data());
    return made;
}

// (steps, 8) and (points, 13)
inline nb::tuple as_tables(const ContactLog& log) {
    return nb::make_tuple(as_table(log.steps, ContactLog::STEP), as_table(log.points, ContactLog::POINT));
}

}  // namespace sim
}  // namespace soacraft
