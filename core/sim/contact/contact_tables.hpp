// The log of contacts as arrays of Python.
#pragma once

#include <algorithm>

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

// (points, 11): shapes, place, impulse and moment of each.
inline nb::object as_table(const std::vector<PointImpulse>& x) {
    std::vector<double> rows;
    for (const PointImpulse& y : x) {
        rows.push_back(static_cast<double>(y.a)), rows.push_back(static_cast<double>(y.b));
        for (const double* part : {y.point, y.impulse, y.moment}) rows.insert(rows.end(), part, part + 3);
    }
    return as_table(rows, PointImpulse::SIZE);
}
// The same from a table, by shapes.
inline std::vector<PointImpulse> read_impulses(nb::handle table, const char* name) {
    const Array<double> from(table, name, 2);
    if (from.size(1) != PointImpulse::SIZE) refuse("%s must have 11 columns", name);
    std::vector<PointImpulse> to(static_cast<std::size_t>(from.size(0)));
    const double* x = from.data();
    for (PointImpulse& y : to) {
        y.a = static_cast<index>(x[0]), y.b = static_cast<index>(x[1]), x += 2;
        for (double* part : {y.point, y.impulse, y.moment}) std::copy_n(x, 3, part), x += 3;
    }
    std::stable_sort(to.begin(), to.end());
    return to;
}

// (steps, 8) and (points, 13)
inline nb::tuple as_tables(const ContactLog& log) {
    return nb::make_tuple(as_table(log.steps, ContactLog::STEP), as_table(log.points, ContactLog::POINT));
}

}  // namespace sim
}  // namespace soacraft
