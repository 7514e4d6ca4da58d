// `_core.Call`: calls that cost little more than their kernel.
//
// A Call takes contiguous float64 arrays without asking Python anything; whatever it is not sure of goes to the Python
// function it was made with, which checks, explains and takes care of the rest.
#pragma once

#include "array.hpp"
#include "numpy_array.hpp"

#include <structmember.h>

namespace soacraft {

struct Call;

// The result, or null: with an error set, or without one when Python should take the call.
typedef PyObject* (*Quick)(const Call&, PyObject* const* args, std::size_t given, PyObject* names);

struct Call {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* owner;     // the Python object of the model
    PyObject* forces;    // a dict of the forces that act besides those of the call
    PyObject* fallback;  // the Python function
    PyObject* frames;    // a dict from the nodes that a caller may name to the bytes of 13 numbers; of a closed chain: a
                         // list with the source of its results; or null
    PyObject* wrap;      // makes the result of the outputs, or null
    mutable PyObject* source;               // of a wrap that fills instances: what they belong to,
    mutable unsigned long long source_stamp;  // at which parameters,
    Py_ssize_t slots[8];                    // and where in an instance things go
    PyObject* arguments; // the names of the arguments, or null
    PyObject* orders;    // a tuple of the orders (soacraft.order) of state arrays that it reads, or null: none
    unsigned char roles[8];  // what each of them is for
    bool tied, ignores;      // whether Python refuses a call for the model's loops; whether it ignores them unless told otherwise
    Quick quick;
    void* model;         // inside `owner`
    const void* kernel;
    unsigned long long answered, passed_on;  // calls that `quick` answered, and those that went to the Python function
};

nb::object new_call(Quick quick, nb::handle owner, void* model, const void* kernel, nb::handle forces,
                    nb::handle fallback, nb::handle frames, nb::handle wrap);

// Where a slot is in the instances of a class; -1: it has no such slot.
inline Py_ssize_t slot_of(PyObject* type, PyObject* name) {
    PyObject* member = PyObject_GetAttr(type, name);
    if (!member) return PyErr_Clear(), -1;
    Py_ssize_t at = -1;
    if (Py_TYPE(member) == &PyMemberDescr_Type) {
        const PyMemberDef* slot = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
        if (slot->type == T_OBJECT_EX) at = slot->offset;
    }
    Py_DECREF(member);
    return at;
}

// What a Call answers by itself; null, with an error set or without one, where its Python function would be asked, and for
// other objects.
PyObject* try_call(PyObject* call, PyObject* const* args, std::size_t given);

}  // namespace soacraft
