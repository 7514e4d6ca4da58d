#include "call.hpp"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <new>

namespace soacraft {
namespace {

// Whether a state array among the arguments knows an order that the call does not read: Python converts or refuses it.
bool in_another_order(const Call& c, PyObject* const* args, std::size_t count) {
    static PyObject* const name = PyUnicode_InternFromString("order");
    for (std::size_t i = 0; i < count; ++i) {
        if (!state_array || Py_TYPE(args[i]) != state_array) continue;
        PyObject* order = PyObject_GetAttr(args[i], name);
        if (!order) {
            PyErr_Clear();
            return true;
        }
        bool read = order == Py_None;  // a part of one: plain numbers
        for (Py_ssize_t k = 0; !read && c.orders && k < PyTuple_GET_SIZE(c.orders); ++k)
            read = PyTuple_GET_ITEM(c.orders, k) == order;
        Py_DECREF(order);
        if (!read) return true;
    }
    return false;
}

// What `quick` answers, counted; null with an error set, or without one when Python should take the call.
PyObject* answer(Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    try {
        const std::size_t named = names ? static_cast<std::size_t>(PyTuple_GET_SIZE(names)) : 0;
        PyObject* found = in_another_order(c, args, given + named) ? nullptr : c.quick(c, args, given, names);
        if (found) ++c.answered;
        else if (!PyErr_Occurred()) ++c.passed_on;
        return found;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (nanobind::python_error& error) {  // of the handler of a signal
        error.restore();
        return nullptr;
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
    Call& c = *reinterpret_cast<Call*>(self);
    PyObject* found = answer(c, args, static_cast<std::size_t>(PyVectorcall_NARGS(nargsf)), names);
    if (found || PyErr_Occurred()) return found;
    if (c.fallback) return PyObject_Vectorcall(c.fallback, args, nargsf, names);
    PyErr_SetString(PyExc_ReferenceError, "this call is being taken apart by the garbage collector");
    return nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_VISIT(c->owner);
    Py_VISIT(c->forces);
    Py_VISIT(c->fallback);
    Py_VISIT(c->frames);
    Py_VISIT(c->wrap);
    Py_VISIT(c->source);
    Py_VISIT(c->arguments);
    Py_VISIT(c->orders);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int clear(PyObject* self) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_CLEAR(c->fallback);  // cycles pass through these three; the dictionaries stay, a call looks at them
    Py_CLEAR(c->wrap);
    Py_CLEAR(c->source);
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    Call* c = reinterpret_cast<Call*>(self);
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(c->forces);
    Py_CLEAR(c->fallback);
    Py_CLEAR(c->frames);
    Py_CLEAR(c->wrap);
    Py_CLEAR(c->source);
    Py_CLEAR(c->arguments);
    Py_CLEAR(c->orders);
    Py_CLEAR(c->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

// Names and documentation are those of the Python function.
PyObject* of_fallback(PyObject* self, void* name) {
    PyObject* fallback = reinterpret_cast<Call*>(self)->fallback;
    if (fallback) return PyObject_GetAttrString(fallback, static_cast<const char*>(name));
    PyErr_SetString(PyExc_AttributeError, static_cast<const char*>(name));
    return nullptr;
}

PyTypeObject* call_type = nullptr;

void make_call_type(nb::module_& m) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, vectorcall), READONLY, nullptr},
        {"__wrapped__", T_OBJECT_EX, offsetof(Call, fallback), READONLY, nullptr},
        {"answered", T_ULONGLONG, offsetof(Call, answered), READONLY, nullptr},
        {"passed_on", T_ULONGLONG, offsetof(Call, passed_on), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static char names[][16] = {"__name__", "__qualname__", "__doc__", "__module__"};
    static PyGetSetDef like_fallback[] = {{names[0], of_fallback, nullptr, nullptr, names[0]},
                                          {names[1], of_fallback, nullptr, nullptr, names[1]},
                                          {names[2], of_fallback, nullptr, nullptr, names[2]},
                                          {names[3], of_fallback, nullptr, nullptr, names[3]},
                                          {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_getset, like_fallback},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                  {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"soacraft._core.Call", sizeof(Call), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    call_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!call_type) throw nb::python_error();
    m.attr("Call") = nb::borrow(reinterpret_cast<PyObject*>(call_type));
}

}  // namespace

PyObject* try_call(PyObject* call, PyObject* const* args, std::size_t given) {
    return Py_TYPE(call) == call_type ? answer(*reinterpret_cast<Call*>(call), args, given, nullptr) : nullptr;
}

nb::object new_call(Quick quick, nb::handle owner, void* model, const void* kernel, nb::handle forces,
                    nb::handle fallback, nb::handle frames, nb::handle wrap) {
    if (!PyDict_CheckExact(forces.ptr())) refuse("forces must be a dict");
    if (!PyCallable_Check(fallback.ptr())) refuse("fallback must be callable");
    Call* c = PyObject_GC_New(Call, call_type);
    if (!c) throw nb::python_error();
    c->vectorcall = call;
    c->owner = owner.inc_ref().ptr(), c->forces = forces.inc_ref().ptr(), c->fallback = fallback.inc_ref().ptr();
    c->frames = frames.is_none() ? nullptr : frames.inc_ref().ptr();
    c->wrap = wrap.is_none() ? nullptr : wrap.inc_ref().ptr();
    c->source = nullptr, c->source_stamp = 0;
    std::memset(c->slots, 0, sizeof c->slots);
    c->quick = quick, c->model = model, c->kernel = kernel;
    c->arguments = c->orders = nullptr, c->tied = c->ignores = false;
    std::memset(c->roles, 0, sizeof c->roles);
    c->answered = c->passed_on = 0;
    PyObject_GC_Track(reinterpret_cast<PyObject*>(c));
    return nb::steal(reinterpret_cast<PyObject*>(c));
}

void bind_call_type(nb::module_& m) {
    make_call_type(m);
    m.def("set_orders", [](nb::handle call, nb::tuple orders) {
        if (Py_TYPE(call.ptr()) != call_type) refuse("orders are those of a Call");
        Call* c = reinterpret_cast<Call*>(call.ptr());
        PyObject* const before = c->orders;
        c->orders = orders.release().ptr();
        Py_XDECREF(before);
    });
    m.def("set_state_array", [](nb::type_object type) {
        PyTypeObject* one = reinterpret_cast<PyTypeObject*>(type.ptr());
        if (!PyType_IsSubtype(one, &PyArray_Type)) refuse("the class of state arrays must derive from numpy.ndarray");
        Py_XDECREF(reinterpret_cast<PyObject*>(state_array));
        state_array = reinterpret_cast<PyTypeObject*>(type.release().ptr());
    });
}

}  // namespace soacraft
