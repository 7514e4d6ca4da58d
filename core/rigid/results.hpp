// Results that are instances of a Python class with slots, made without a call of Python.
//
// `wrap` is a tuple: the class; a function without arguments that returns what results belong to, called again when a
// parameter of the model changed; and the names of the slots for that, for the outputs, and for the state if it is kept.
#pragma once

#include "call.hpp"

namespace soacraft {
namespace rigid {

constexpr Py_ssize_t FIRST_SLOT = 2;

inline void check_wrap(nb::handle wrap, int outputs, bool of_state) {
    const Py_ssize_t size = FIRST_SLOT + 1 + outputs + (of_state ? 1 : 0);
    PyObject* w = wrap.ptr();
    if (!PyTuple_CheckExact(w) || PyTuple_GET_SIZE(w) != size || !PyType_Check(PyTuple_GET_ITEM(w, 0)) ||
        !PyCallable_Check(PyTuple_GET_ITEM(w, 1)))
        refuse("what wraps results must be a class, a function and names of %d slots", static_cast<int>(size - FIRST_SLOT));
    for (Py_ssize_t i = FIRST_SLOT; i < size; ++i)
        if (slot_of(PyTuple_GET_ITEM(w, 0), PyTuple_GET_ITEM(w, i)) < 0) refuse("a class that wraps results must have the slots");
}

inline void find_slots(Call& c) {
    for (Py_ssize_t i = FIRST_SLOT; i < PyTuple_GET_SIZE(c.wrap); ++i)
        c.slots[i - FIRST_SLOT] = slot_of(PyTuple_GET_ITEM(c.wrap, 0), PyTuple_GET_ITEM(c.wrap, i));
}

// What results of now belong to: a new reference, or null with an error.
inline PyObject* source_of(const Call& c, unsigned long long stamp) {
    if (!c.source || c.source_stamp != stamp) {
        PyObject* made = PyObject_CallNoArgs(PyTuple_GET_ITEM(c.wrap, 1));
        if (!made) return nullptr;
        Py_XSETREF(c.source, made);
        c.source_stamp = stamp;
    }
    Py_INCREF(c.source);
    return c.source;
}

// A new instance; null with an error.
inline PyObject* filled(const Call& c, PyObject* source, PyObject* const* outputs, int count, PyObject* state) {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(c.wrap, 0));
    PyObject* made = type->tp_alloc(type, 0);
    const auto put = [made, &c](int slot, PyObject* value) {
        Py_INCREF(value);
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made) + c.slots[slot]) = value;
    };
    if (!made) return nullptr;
    put(0, source);
    for (int i = 0; i < count; ++i) put(1 + i, outputs[i]);
    if (state) put(1 + count, state);
    return made;
}

// A tuple of copies of some arrays, of those that are there; null with an error.
inline PyObject* copies_of(PyObject* const* arrays, int count) {
    Py_ssize_t size = 0;
    for (int i = 0; i < count; ++i) size += arrays[i] != nullptr;
    PyObject* all = PyTuple_New(size);
    Py_ssize_t at = 0;
    for (int i = 0; all && i < count; ++i) {
        if (!arrays[i]) continue;
        PyObject* copy = PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(arrays[i]), NPY_CORDER);
        if (!copy) Py_CLEAR(all);
        else PyTuple_SET_ITEM(all, at++, copy);
    }
    return all;
}

}  // namespace rigid
}  // namespace soacraft
