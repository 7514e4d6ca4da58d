// What calls on single states read alike: plain arrays, and whether the tree is still the one of the plan.
#pragma once

#include "call.hpp"
#include "closed_solver.hpp"

namespace soacraft {
namespace loops {

// False where the tree has changed, or `flag`, whether springs and dampers act, is no bool, or forces act that Python knows.
inline bool read_forces(const ClosedSolver& m, const Call& c, PyObject* flag, State& s) {
    const bool passive = flag == Py_True;
    if (!passive && flag != Py_False) return false;
    if (PyDict_GET_SIZE(c.forces) != 0 || (passive && m.tree->passive_in_python)) return false;
    s.passive = m.tree->acting(passive);
    return true;
}

// A finite array of one axis, or null.
inline const double* read_vector(PyObject* given, npy_intp size) {
    const double* x = data_of(given, 1, &size);
    return x && rigid::finite(x, size) ? x : nullptr;
}

inline bool read_q(const ClosedSolver& m, PyObject* given, State& s) {
    s.q = read_vector(given, m.tree->model.nq);
    return s.q && rigid::unit_quaternions(m.tree->quaternions, s.q) && !m.tree->bends_far(s.q);
}

inline double* data_of_new(PyObject* x) { return static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(x))); }

}  // namespace loops
}  // namespace soacraft
