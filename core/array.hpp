// Reading NumPy arrays for the bindings: strict about type, shape and layout, so nothing is copied in
// silence.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstdio>

#include "soacraft/config.hpp"

namespace soacraft {

namespace nb = nanobind;

[[noreturn]] inline void refuse(const char* text) { throw nb::value_error(text); }

template <typename... Args>
[[noreturn]] void refuse(const char* format, Args... args) {
    char text[256];
    std::snprintf(text, sizeof text, format, args...);
    throw nb::value_error(text);
}

template <typename T>
struct Kind;

template <>
struct Kind<double> {
    static constexpr const char* name = "float64";
    static bool holds(char code) { return code == 'd'; }
};

template <>
struct Kind<index> {
    static constexpr const char* name = "int64";
    static bool holds(char code) { return code == 'l' || code == 'q'; }  // whichever has 64 bits
};

// A C-contiguous array of T with `ndim` axes, held for the length of a call; ValueError for anything else.
template <typename T>
class Array {
public:
    Array(nb::handle source, const char* name, int ndim, bool writable = false) {
        const int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
        if (!PyObject_CheckBuffer(source.ptr())) refuse_array(name, ndim, "it is no array");
        if (PyObject_GetBuffer(source.ptr(), &view_, flags) != 0) {
            PyErr_Clear();
            refuse_array(name, ndim, "it is not contiguous, or holds no numbers");
        }
        if (const char* trouble = fault(ndim)) {
            PyBuffer_Release(&view_);
            refuse_array(name, ndim, trouble);
        }
    }
    ~Array() { PyBuffer_Release(&view_); }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;

    T* data() const { return static_cast<T*>(view_.buf); }
    index size(int axis = 0) const { return view_.shape[axis]; }

private:
    [[noreturn]] static void refuse_array(const char* name, int ndim, const char* trouble) {
        refuse("%s must be a C-contiguous %s array with %d ax%s: %s", name, Kind<T>::name, ndim,
               ndim == 1 ? "is" : "es", trouble);
    }
    const char* fault(int ndim) const {
        const char* code = view_.format ? view_.format : "B";
        if (*code == '@' || *code == '=') ++code;
        if (view_.itemsize != sizeof(T) || !Kind<T>::holds(code[0]) || code[1] != '\0')
            return "its dtype differs";
        if (view_.ndim != ndim) return "its number of axes differs";
        if (reinterpret_cast<std::uintptr_t>(view_.buf) % alignof(T) != 0) return "its memory is not aligned";
        return nullptr;
    }

    Py_buffer view_;
};

// A fresh float64 array from NumPy, so that NumPy owns its memory: `make` is "empty" or "zeros".
inline nb::object new_array(const char* make, index rows, index columns) {
    return nb::module_::import_("numpy").attr(make)(nb::make_tuple(rows, columns));
}

inline nb::object new_vector(index size) { return nb::module_::import_("numpy").attr("empty")(size); }

}  // namespace soacraft
