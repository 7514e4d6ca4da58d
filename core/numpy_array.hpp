// The C interface of NumPy, for calls that must cost little more than their kernel; where time allows, array.hpp is kinder.
//
// One source file defines SOACRAFT_IMPORTS_NUMPY before it includes this, and imports NumPy for all of them.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL soacraft_numpy
#if !defined(SOACRAFT_IMPORTS_NUMPY)
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include "soacraft/config.hpp"

namespace soacraft {

// The class of the read-only arrays of states, once Python has told it; other classes (masked arrays) have meanings of
// their own, which only Python knows.
inline PyTypeObject* state_array = nullptr;

inline bool is_array(PyObject* o) { return PyArray_CheckExact(o) || (state_array && Py_TYPE(o) == state_array); }

// The data of a contiguous float64 array of the right shape, or null.
inline double* data_of(PyObject* o, int ndim, const npy_intp* axes) {
    if (!is_array(o)) return nullptr;
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_TYPE(a) != NPY_DOUBLE || PyArray_NDIM(a) != ndim || !PyArray_ISCARRAY_RO(a)) return nullptr;
    for (int i = 0; i < ndim; ++i)
        if (PyArray_DIM(a, i) != axes[i]) return nullptr;
    return static_cast<double*>(PyArray_DATA(a));
}

// Whether n numbers from a and m numbers from b have one in common.
inline bool overlap(const double* a, index n, const double* b, index m) { return a < b + m && b < a + n; }

}  // namespace soacraft
