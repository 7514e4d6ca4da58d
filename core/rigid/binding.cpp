// `_core.RigidModel` and `_core.Call`: the compiled rigid tree, and calls that cost little more than their kernel.
//
// A Call takes single states as contiguous float64 arrays without asking Python anything; whatever else it is given goes
// to the Python function it was made with, which checks, explains and takes care of batches.
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>
#include <structmember.h>

#include <chrono>
#include <cstddef>
#include <cstring>

#include "array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {
namespace {

const Algorithm* algorithm(const char* name) {
    const Kernels& k = best_kernels();
    const struct {
        const char* name;
        const Algorithm* found;
    } table[] = {{"inverse_dynamics", &k.inverse_dynamics}, {"forward_dynamics", &k.forward_dynamics}};
    for (const auto& row : table)
        if (std::strcmp(row.name, name) == 0) return row.found;
    refuse("there is no kernel %s", name);
}

constexpr index WHOLE = 8, REAL = 35;  // numbers of an element in the arrays that describe a model

RigidModel* make(nb::handle whole_, nb::handle real_, nb::handle body_element_, nb::handle body_place_, index nq,
                 index nv) {
    const Array<index> whole(whole_, "whole", 2), body_element(body_element_, "body_element", 1);
    const Array<double> real(real_, "real", 2), body_place(body_place_, "body_place", 2);
    const index n = whole.size(0), bodies = body_element.size();
    if (whole.size(1) != WHOLE || real.size(0) != n || real.size(1) != REAL)
        refuse("an element has %lld whole and %lld real numbers", static_cast<long long>(WHOLE),
               static_cast<long long>(REAL));
    if (body_place.size(0) != bodies || body_place.size(1) != 12) refuse("a body has a place of 12 numbers");
    auto made = std::make_unique<RigidModel>();
    index wides = 0, branches = 0;
    for (index k = 0; k < n; ++k) {
        const index* w = whole.data() + WHOLE * k;
        const double* r = real.data() + REAL * k;
        Element e = {};
        e.parent = w[0], e.kind = w[1], e.q = w[2], e.v = w[3], e.wide = w[4], e.branch = w[5], e.last = w[6];
        e.massless = w[7];
        const index coordinates = e.kind <= HELICAL ? 1 : e.kind == SPHERICAL ? 4 : e.kind == FREE ? 7 : 6;
        if (e.kind < REVOLUTE || e.kind > ROLLING || e.parent < -1 || e.parent >= k || e.q < 0 || e.v < 0 ||
            e.q + coordinates > nq || e.v + dofs(e.kind) > nv || e.last <= k || e.last > n ||
            (e.kind > HELICAL) != (e.wide >= 0) || (e.wide >= 0 && e.wide != wides) || e.branch < -1 ||
            e.branch >= n || (e.branch < 0 && e.last > k + 1 && whole.data()[WHOLE * (k + 1)] != k))
            refuse("element %lld is not that of a tree", static_cast<long long>(k));
        if (e.wide >= 0) ++wides;
        if (e.branch >= branches) branches = e.branch + 1;
        double* const fields[] = {e.R, e.p, e.J, e.h, &e.m, &e.scale, &e.unscale, &e.pitch, &e.radius, e.normal, e.t1, e.t2};
        const int lengths[] = {9, 3, 6, 3, 1, 1, 1, 1, 1, 3, 3, 3};
        for (int f = 0; f < 12; ++f)
            for (int i = 0; i < lengths[f]; ++i) fields[f][i] = *r++;
        made->elements.push_back(e);
        if (e.kind > HELICAL) made->quaternions.push_back(e.q);
    }
    for (index b = 0; b < bodies; ++b) {
        Body body;
        body.element = body_element.data()[b];
        if (body.element < -1 || body.element >= n) refuse("body %lld is on no element", static_cast<long long>(b));
        for (int i = 0; i < 9; ++i) body.R[i] = body_place.data()[12 * b + i];
        for (int i = 0; i < 3; ++i) body.p[i] = body_place.data()[12 * b + 9 + i];
        made->bodies.push_back(body);
    }
    made->model = {n, nq, nv, wides, branches, bodies, made->elements.data(), made->bodies.data()};
    return made.release();
}

// An input of a batch: (count, width), or (width,) for all states alike, or None.
void read(Job& job, int which, const char* name, nb::handle given, index width, index count) {
    if (given.is_none()) return;
    PyObject* o = given.ptr();
    if (!PyArray_Check(o)) refuse("%s is no array", name);
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    const int ndim = PyArray_NDIM(a);
    if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(a) || ndim < 1 || ndim > 2 ||
        PyArray_DIM(a, ndim - 1) != width || (ndim == 2 && PyArray_DIM(a, 0) != count))
        refuse("%s must be a contiguous float64 array of shape (%lld, %lld) or (%lld,)", name,
               static_cast<long long>(count), static_cast<long long>(width), static_cast<long long>(width));
    job.in[which] = static_cast<const double*>(PyArray_DATA(a));
    job.in_step[which] = ndim == 2 ? width : 0;
}

// Run an algorithm on `count` states; False when a hinge has no inertia to move.
bool run(RigidModel& m, const char* name, nb::handle q, nb::handle v, nb::handle x, nb::handle pull, nb::handle base_,
         nb::handle out_, index threads) {
    const Algorithm& kernel = *algorithm(name);
    const Array<double> out(out_, "out", 2, true);
    const index count = out.size(0), nv = m.model.nv;
    if (out.size(1) != nv) refuse("out must have %lld columns", static_cast<long long>(nv));
    Job job = m.job();
    read(job, Q, "q", q, m.model.nq, count);
    read(job, V, "v", v, nv, count);
    read(job, X, "x", x, nv, count);
    read(job, PULL, "pull", pull, 6 * m.model.body_count, count);
    if (!job.in[Q] || !job.in[V] || !job.in[X]) refuse("q, v and x are wanted");
    if (!base_.is_none()) {
        const Array<double> base(base_, "base", 1);
        if (base.size() != 12) refuse("base has 12 numbers");
        for (int i = 0; i < 12; ++i) job.base[i] = base.data()[i];
    }
    job.out[0] = out.data(), job.out_step[0] = nv;
    if (count == 0 || nv == 0) return true;
    nb::gil_scoped_release free;
    return run_batch(kernel, job, count, best_kernels().lanes, threads);
}

// -- calls ------------------------------------------------------------------------------------------------------------

struct Call {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* owner;     // the Python object of the model
    PyObject* forces;    // a dict: while it is not empty, Python takes the calls
    PyObject* fallback;
    RigidModel* model;
    const Algorithm* kernel;
};

// The data of a contiguous float64 vector of the right length, or null.
inline double* vector(PyObject* o, index length) {
    if (!PyArray_CheckExact(o)) return nullptr;
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_TYPE(a) != NPY_DOUBLE || PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) != length || !PyArray_ISCARRAY_RO(a))
        return nullptr;
    return static_cast<double*>(PyArray_DATA(a));
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
    Call* c = reinterpret_cast<Call*>(self);
    RigidModel& m = *c->model;
    const index nv = m.model.nv;
    PyObject* out = nullptr;
    if (PyVectorcall_NARGS(nargsf) != 3 || m.retired || PyDict_GET_SIZE(c->forces) != 0 || nv == 0) goto slow;
    if (kwnames) {
        if (PyTuple_GET_SIZE(kwnames) != 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out"))
            goto slow;
        out = args[3];
    }
    {
        double* q = vector(args[0], m.model.nq);
        double* v = vector(args[1], nv);
        double* x = vector(args[2], nv);
        if (!q || !v || !x || !finite(q, m.model.nq) || !finite(v, nv) || !finite(x, nv) || !unit_quaternions(m, q))
            goto slow;
        double* y;
        if (out) {
            y = vector(out, nv);
            if (!y || !PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(out)) || y == q || y == v || y == x) goto slow;
            Py_INCREF(out);
        } else {
            npy_intp length = nv;
            out = PyArray_SimpleNew(1, &length, NPY_DOUBLE);
            if (!out) return nullptr;
            y = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out)));
        }
        Job job = m.job();
        job.in[Q] = q, job.in[V] = v, job.in[X] = x, job.out[0] = y;
        const bool fine = c->kernel->one(job, 0, 1, m.workspace.hold(c->kernel->one_bytes(job)));
        if (fine && finite(y, nv)) return out;
        Py_DECREF(out);
    }
slow:
    return PyObject_Vectorcall(c->fallback, args, nargsf, kwnames);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_VISIT(c->owner);
    Py_VISIT(c->forces);
    Py_VISIT(c->fallback);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int clear(PyObject* self) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_CLEAR(c->forces);
    Py_CLEAR(c->fallback);
    return 0;
}

void dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    Call* c = reinterpret_cast<Call*>(self);
    PyTypeObject* type = Py_TYPE(self);
    Py_CLEAR(c->forces);
    Py_CLEAR(c->fallback);
    Py_CLEAR(c->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject* call_type = nullptr;

void make_call_type(nb::module_& m) {
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, vectorcall), READONLY, nullptr},
        {"__wrapped__", T_OBJECT_EX, offsetof(Call, fallback), READONLY, nullptr},
        {nullptr, 0, 0, 0, nullptr}};
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
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

nb::object make_call(nb::handle owner, const char* name, nb::handle forces, nb::handle fallback) {
    RigidModel* model = nb::cast<RigidModel*>(owner);
    if (!PyDict_CheckExact(forces.ptr())) refuse("forces must be a dict");
    if (!PyCallable_Check(fallback.ptr())) refuse("fallback must be callable");
    const Algorithm* kernel = algorithm(name);
    Call* c = PyObject_GC_New(Call, call_type);
    if (!c) throw nb::python_error();
    c->vectorcall = call;
    c->owner = owner.inc_ref().ptr(), c->forces = forces.inc_ref().ptr(), c->fallback = fallback.inc_ref().ptr();
    c->model = model, c->kernel = kernel;
    PyObject_GC_Track(reinterpret_cast<PyObject*>(c));
    return nb::steal(reinterpret_cast<PyObject*>(c));
}

// Seconds that one call of a kernel takes, looped in C++; for benchmarks.
double time_kernel(RigidModel& m, const char* name, nb::handle q_, nb::handle v_, nb::handle x_, index repeats) {
    const Algorithm& kernel = *algorithm(name);
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), x(x_, "x", 1);
    if (q.size() != m.model.nq || v.size() != m.model.nv || x.size() != m.model.nv) refuse("q, v or x has a wrong length");
    std::vector<double> y(static_cast<std::size_t>(m.model.nv));
    Job job = m.job();
    job.in[Q] = q.data(), job.in[V] = v.data(), job.in[X] = x.data(), job.out[0] = y.data();
    void* space = m.workspace.hold(kernel.one_bytes(job));
    const auto start = std::chrono::steady_clock::now();
    for (index i = 0; i < repeats; ++i) kernel.one(job, 0, 1, space);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return passed.count() / static_cast<double>(repeats);
}

void* numpy() {
    import_array();
    return nullptr;
}

}  // namespace

void bind(nb::module_& m) {
    numpy();
    if (PyErr_Occurred()) throw nb::python_error();
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<RigidModel>(m, "RigidModel", "A compiled rigid tree.")
        .def_prop_ro("retired", [](const RigidModel& r) { return r.retired; })
        .def("retire", [](RigidModel& r) { r.retired = true; }, "Send every call to Python from now on.")
        .def("set_base", [](RigidModel& r, nb::handle base_) {
            const Array<double> base(base_, "base", 1);
            if (base.size() != 12) refuse("base has 12 numbers");
            for (int i = 0; i < 12; ++i) r.base[i] = base.data()[i];
        }, array("base"), "Velocity and acceleration of what the base hangs from; gravity as an acceleration upwards.")
        .def("run", &run, nb::arg("algorithm"), array("q"), array("v"), array("x"), array("pull"), array("base"),
             array("out"), nb::arg("threads") = 1, "Run an algorithm on a batch of states.")
        .def("time", &time_kernel, nb::arg("algorithm"), array("q"), array("v"), array("x"), nb::arg("repeats"),
             "Seconds of one kernel call, looped here.");
    m.def("rigid_model", &make, array("whole"), array("real"), array("body_element"), array("body_place"), nb::arg("nq"),
          nb::arg("nv"), nb::rv_policy::take_ownership, "Compile a rigid tree from its elements.");
    m.def("call", &make_call, nb::arg("model"), nb::arg("algorithm"), nb::arg("forces"), nb::arg("fallback"),
          "A call of one algorithm on single states that falls back to a Python function.");
    m.def("instruction_set", [] { return best_kernels().name; }, "The build of the rigid kernels in use.");
    m.def("lanes", [] { return best_kernels().lanes; }, "How many states a register of that build holds.");
    make_call_type(m);
}

}  // namespace rigid
}  // namespace soacraft
