// `_core.ClosedMethod`: the method of a solver that asks its compiled call before the Python function it was made from.
//
// It lies in the class, as functions do: nothing is set on a solver. `s.forward_dynamics(q, v, force)` reads the `_chosen`
// call and the `_turns` of s, and makes the result without a step of Python; a call with more arguments, or one that the
// compiled code is not sure of, is that of the function.
#include "call.hpp"

#include <structmember.h>

#include <cstddef>

namespace soacraft {
namespace loops {
namespace {

struct Method {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* function;
};

PyObject* interned(const char* name) { return PyUnicode_InternFromString(name); }

// A reference that ends with its scope.
struct Held {
    PyObject* o;
    explicit Held(PyObject* own) : o(own) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { Py_XDECREF(o); }
};

constexpr Py_ssize_t STATE = 4, MOST = 7;  // self, q, v and force; then f_ext, U and threads, which may be None

// Whether the arguments are those of one plain state; `passive` as given.
bool is_plain(PyObject* const* args, Py_ssize_t given, PyObject* names, PyObject*& passive) {
    static PyObject* const none[] = {interned("f_ext"), interned("U"), interned("threads")};
    static PyObject* const named = interned("passive");
    if (given < STATE || given > MOST) return false;
    for (Py_ssize_t i = STATE; i < given; ++i)
        if (args[i] != Py_None) return false;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[given + i];
        if (name == named && PyBool_Check(value)) passive = value;
        else if (value != Py_None || (name != none[0] && name != none[1] && name != none[2])) return false;
        for (Py_ssize_t k = STATE; k < given; ++k)
            if (name == none[k - STATE]) return false;  // given twice
    }
    return true;
}

// The result, or null: with an error set, or without one when the function should take the call.
PyObject* quick(PyObject* const* args, Py_ssize_t given, PyObject* names) {
    static PyObject *const chosen_name = interned("_chosen"), *const turns_name = interned("_turns"),
                           *const theta_name = interned("_theta");
    PyObject* passive = Py_True;
    if (!is_plain(args, given, names, passive)) return nullptr;
    const Held chosen(PyObject_GetAttr(args[0], chosen_name)), turns(chosen.o ? PyObject_GetAttr(args[0], turns_name) : nullptr);
    if (!turns.o) return PyErr_Clear(), nullptr;  // no solver: the function says so
    if (!PyTuple_Check(chosen.o) || PyTuple_GET_SIZE(chosen.o) != 3) return nullptr;
    PyObject* const state[] = {args[1], args[2], args[3], turns.o, passive};
    PyObject* found = try_call(PyTuple_GET_ITEM(chosen.o, 2), state, 5);
    if (!found) return nullptr;
    Held result(found);
    const Held theta(PyObject_GetAttr(found, theta_name));
    if (!theta.o || (theta.o != Py_None && PyObject_SetAttr(args[0], turns_name, theta.o) != 0)) return nullptr;
    result.o = nullptr;
    return found;
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
    PyObject* found = quick(args, PyVectorcall_NARGS(nargsf), names);
    if (found || PyErr_Occurred()) return found;
    return PyObject_Vectorcall(reinterpret_cast<Method*>(self)->function, args, nargsf, names);
}

PyObject* bound(PyObject* self, PyObject* solver, PyObject*) {
    return solver && solver != Py_None ? PyMethod_New(self, solver) : Py_NewRef(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(reinterpret_cast<Method*>(self)->function);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<Method*>(self)->function);
    type->tp_free(self);
    Py_DECREF(type);
}

// Names and documentation are those of the function.
PyObject* of_function(PyObject* self, void* name) {
    return PyObject_GetAttrString(reinterpret_cast<Method*>(self)->function, static_cast<const char*>(name));
}

PyTypeObject* make_type() {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, vectorcall), READONLY, nullptr},
        {"__wrapped__", T_OBJECT_EX, offsetof(Method, function), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static char names[][16] = {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"};
    static PyGetSetDef like_function[] = {{names[0], of_function, nullptr, nullptr, names[0]},
                                          {names[1], of_function, nullptr, nullptr, names[1]},
                                          {names[2], of_function, nullptr, nullptr, names[2]},
                                          {names[3], of_function, nullptr, nullptr, names[3]},
                                          {names[4], of_function, nullptr, nullptr, names[4]},
                                          {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_getset, like_function},
                                  {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                  {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                  {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                  {Py_tp_descr_get, reinterpret_cast<void*>(bound)},
                                  {Py_tp_members, members},
                                  {0, nullptr}};
    static PyType_Spec spec = {"soacraft._core.ClosedMethod", sizeof(Method), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                   Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

nb::object make_method(nb::handle function) {
    static PyTypeObject* const type = make_type();
    if (!type) throw nb::python_error();
    if (!PyCallable_Check(function.ptr())) refuse("function must be callable");
    Method* made = PyObject_GC_New(Method, type);
    if (!made) throw nb::python_error();
    made->vectorcall = call, made->function = function.inc_ref().ptr();
    PyObject_GC_Track(reinterpret_cast<PyObject*>(made));
    return nb::steal(reinterpret_cast<PyObject*>(made));
}

}  // namespace

void bind_method(nb::module_& m) {
    m.def("closed_method", &make_method, nb::arg("function"),
          "A method (q, v, force) of solvers that asks their compiled call first, and then a Python function.");
}

}  // namespace loops
}  // namespace soacraft
