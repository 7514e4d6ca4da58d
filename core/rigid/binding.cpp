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

const Algorithm& algorithm(const char* name) {
    const Kernels& k = best_kernels();
    for (int i = 0; i < k.count; ++i)
        if (std::strcmp(k.algorithms[i].name, name) == 0) return k.algorithms[i];
    refuse("there is no kernel %s", name);
}

// The axes of one state's output.
int axes_of(Shape shape, const Model& m, npy_intp* axes) {
    switch (shape) {
        case DOFS: axes[0] = m.nv; return 1;
        case DOFS_DOFS: axes[0] = axes[1] = m.nv; return 2;
        case DOFS_DOFS_DOFS: axes[0] = axes[1] = axes[2] = m.nv; return 3;
        case SIX_DOFS: axes[0] = 6, axes[1] = m.nv; return 2;
        case BODIES_3_3: axes[0] = m.body_count, axes[1] = axes[2] = 3; return 3;
        case BODIES_3: axes[0] = m.body_count, axes[1] = 3; return 2;
        default: return 0;
    }
}

index size_of(Shape shape, const Model& m) {
    npy_intp axes[3];
    index size = 1;
    const int ndim = axes_of(shape, m, axes);
    for (int i = 0; i < ndim; ++i) size *= axes[i];
    return size;
}

int outputs_of(const Algorithm& a) {
    int n = 0;
    while (n < OUTPUTS && a.out[n] != NONE) ++n;
    return n;
}

constexpr index WHOLE = 8, REAL = 35;  // numbers of an element in the arrays that describe a model

RigidModel* make(nb::handle whole_, nb::handle real_, nb::handle body_element_, nb::handle body_place_,
                 nb::handle armature_, index nq, index nv) {
    const Array<index> whole(whole_, "whole", 2), body_element(body_element_, "body_element", 1);
    const Array<double> real(real_, "real", 2), body_place(body_place_, "body_place", 2);
    const Array<double> armature(armature_, "armature", 1);
    const index n = whole.size(0), bodies = body_element.size();
    if (whole.size(1) != WHOLE || real.size(0) != n || real.size(1) != REAL)
        refuse("an element has %lld whole and %lld real numbers", static_cast<long long>(WHOLE),
               static_cast<long long>(REAL));
    if (body_place.size(0) != bodies || body_place.size(1) != 12) refuse("a body has a place of 12 numbers");
    auto made = std::make_unique<RigidModel>();
    index wides = 0, branches = 0, d = 0;
    bool in_order = true;
    for (index k = 0; k < n; ++k) {
        const index* w = whole.data() + WHOLE * k;
        const double* r = real.data() + REAL * k;
        Element e = {};
        e.parent = w[0], e.kind = w[1], e.q = w[2], e.v = w[3], e.wide = w[4], e.branch = w[5], e.last = w[6];
        e.massless = w[7] != 0, e.d = d;
        const index coordinates = e.kind <= HELICAL ? 1 : e.kind == SPHERICAL ? 4 : e.kind == FREE ? 7 : 6;
        if (e.kind < REVOLUTE || e.kind > ROLLING || e.parent < -1 || e.parent >= k || e.q < 0 || e.v < 0 ||
            e.q + coordinates > nq || e.v + dofs(e.kind) > nv || e.last <= k || e.last > n ||
            (e.kind > HELICAL) != (e.wide >= 0) || (e.wide >= 0 && e.wide != wides) || e.branch < -1 ||
            e.branch >= n || (e.branch < 0 && e.last > k + 1 && whole.data()[WHOLE * (k + 1)] != k))
            refuse("element %lld is not that of a tree", static_cast<long long>(k));
        d += dofs(e.kind), in_order = in_order && e.v == e.d;
        if (e.wide >= 0) ++wides;
        if (e.branch >= branches) branches = e.branch + 1;
        double* const fields[] = {e.R, e.p, e.J, e.h, &e.m, &e.scale, &e.unscale, &e.pitch, &e.radius, e.normal, e.t1, e.t2};
        const int lengths[] = {9, 3, 6, 3, 1, 1, 1, 1, 1, 3, 3, 3};
        for (int f = 0; f < 12; ++f)
            for (int i = 0; i < lengths[f]; ++i) fields[f][i] = *r++;
        made->elements.push_back(e);
        if (e.kind > HELICAL) made->quaternions.push_back(e.q);
    }
    if (d != nv) refuse("the elements have %lld dofs, not %lld", static_cast<long long>(d), static_cast<long long>(nv));
    if (armature.size() != nv) refuse("a dof has one armature");
    made->armature.assign(armature.data(), armature.data() + nv);
    bool armed = false;
    for (Element& e : made->elements)
        for (index i = e.v; i < e.v + dofs(e.kind); ++i)
            if (made->armature[static_cast<std::size_t>(i)] != 0.0) e.armed = armed = true;
    for (index b = 0; b < bodies; ++b) {
        Body body;
        body.element = body_element.data()[b];
        if (body.element < -1 || body.element >= n) refuse("body %lld is on no element", static_cast<long long>(b));
        for (int i = 0; i < 9; ++i) body.R[i] = body_place.data()[12 * b + i];
        for (int i = 0; i < 3; ++i) body.p[i] = body_place.data()[12 * b + 9 + i];
        made->bodies.push_back(body);
    }
    made->model = {n, nq, nv, wides, branches, bodies, made->elements.data(), made->bodies.data(),
                   in_order, made->armature.data(), armed};
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

// A frame on an element as Python keeps it: the number of the element, then rotation and translation, 13 numbers.
bool read_frame(const RigidModel& m, const double* x, Body& frame) {
    if (!(x[0] >= -1.0 && x[0] < static_cast<double>(m.model.count))) return false;
    frame.element = static_cast<index>(x[0]);
    for (int i = 0; i < 9; ++i) frame.R[i] = x[1 + i];
    for (int i = 0; i < 3; ++i) frame.p[i] = x[10 + i];
    return true;
}

// Run an algorithm on a batch; False when a hinge has no inertia to move. `outs`: one array (count, size) each.
bool run(RigidModel& m, const char* name, nb::handle q, nb::handle v, nb::handle x, nb::handle pull, nb::handle base_,
         nb::tuple outs, index threads, nb::handle frame_) {
    const Algorithm& kernel = algorithm(name);
    const index nv = m.model.nv;
    if (static_cast<int>(outs.size()) != outputs_of(kernel)) refuse("%s has %d outputs", name, outputs_of(kernel));
    Job job = m.job();
    index count = -1;
    std::vector<std::unique_ptr<Array<double>>> held;
    for (std::size_t i = 0; i < outs.size(); ++i) {
        held.push_back(std::make_unique<Array<double>>(outs[i], "out", 2, true));
        const Array<double>& out = *held.back();
        if (out.size(1) != size_of(kernel.out[i], m.model) || (count >= 0 && out.size(0) != count))
            refuse("out %d must have %lld columns, and as many rows as the others", static_cast<int>(i),
                   static_cast<long long>(size_of(kernel.out[i], m.model)));
        count = out.size(0);
        job.out[i] = out.data(), job.out_step[i] = out.size(1);
    }
    read(job, Q, "q", q, m.model.nq, count);
    read(job, V, "v", v, nv, count);
    read(job, X, "x", x, nv, count);
    read(job, PULL, "pull", pull, 6 * m.model.body_count, count);
    for (int i = 0; i < kernel.inputs; ++i)
        if (!job.in[i]) refuse("%s takes %d inputs", name, kernel.inputs);
    if (!base_.is_none()) {
        const Array<double> base(base_, "base", 1);
        if (base.size() != 12) refuse("base has 12 numbers");
        for (int i = 0; i < 12; ++i) job.base[i] = base.data()[i];
    }
    Body frame;
    if (!frame_.is_none()) {
        const Array<double> given(frame_, "frame", 1);
        if (given.size() != 13 || !read_frame(m, given.data(), frame)) refuse("frame has 13 numbers, the first an element");
        job.frame = &frame;
    }
    if (kernel.out[0] == SIX_DOFS && !job.frame) refuse("%s takes a frame", name);
    if (count == 0) return true;
    nb::gil_scoped_release free;
    return run_batch(kernel, job, count, best_kernels().lanes, threads);
}

// -- calls ------------------------------------------------------------------------------------------------------------

struct Call {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* owner;     // the Python object of the model
    PyObject* forces;    // a dict: while it is not empty, Python takes the calls
    PyObject* fallback;  // the Python function
    PyObject* frames;    // of a Jacobian: a dict from what the caller names to the bytes of 13 numbers, or null
    PyObject* wrap;      // makes the result of the outputs, or null
    RigidModel* model;
    const Algorithm* kernel;
};

// The data of a contiguous float64 array of the right shape, or null.
inline double* data_of(PyObject* o, int ndim, const npy_intp* axes) {
    if (!PyArray_CheckExact(o)) return nullptr;
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_TYPE(a) != NPY_DOUBLE || PyArray_NDIM(a) != ndim || !PyArray_ISCARRAY_RO(a)) return nullptr;
    for (int i = 0; i < ndim; ++i)
        if (PyArray_DIM(a, i) != axes[i]) return nullptr;
    return static_cast<double*>(PyArray_DATA(a));
}

inline bool overlap(const double* a, index n, const double* b, index m) { return a < b + m && b < a + n; }

// What the caller said by name; false for anything but out= and threads=.
struct Said {
    PyObject* out = nullptr;
    index threads = 0;
    bool read(PyObject* const* values, PyObject* names) {
        for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
            PyObject* value = values[i];
            if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "out") == 0) {
                out = value == Py_None ? nullptr : value;
            } else if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "threads") == 0) {
                if (value == Py_None) continue;
                if (!PyLong_CheckExact(value)) return false;
                int large = 0;
                threads = PyLong_AsLongLongAndOverflow(value, &large);
                if (large || threads < 1) return false;
            } else {
                return false;
            }
        }
        return true;
    }
};

// Single states, and batches with one leading axis. `count` is the number of states, -1 for a single one.
struct Fast {
    const Call& c;
    const Model& model;
    Job job;
    Body frame;
    index count = -1;
    int outputs;
    PyObject* held[OUTPUTS] = {};

    explicit Fast(const Call& call)
        : c(call), model(call.model->model), job(call.model->job()), outputs(outputs_of(*call.kernel)) {}
    ~Fast() {
        for (PyObject* one : held) Py_XDECREF(one);
    }

    index states() const { return count < 0 ? 1 : count; }

    // The inputs, checked; false where Python must say what is wrong, or knows better.
    bool read_inputs(PyObject* const* args) {
        for (int i = 0; i < c.kernel->inputs; ++i) {
            if (!PyArray_CheckExact(args[i])) return false;
            PyArrayObject* a = reinterpret_cast<PyArrayObject*>(args[i]);
            const npy_intp width = i == Q ? model.nq : model.nv;
            const int ndim = PyArray_NDIM(a);
            if (ndim == 2 && count < 0) count = PyArray_DIM(a, 0);
            const npy_intp axes[] = {count, width};
            const double* x = ndim == 2 ? data_of(args[i], 2, axes) : data_of(args[i], 1, &width);
            const index rows = ndim == 2 ? count : 1;
            if (!x || !finite(x, rows * width)) return false;
            for (index r = 0; i == Q && r < rows; ++r)
                if (!unit_quaternions(*c.model, x + r * width)) return false;
            job.in[i] = x, job.in_step[i] = ndim == 2 ? width : 0;
        }
        return count != 0;
    }

    bool find_frame(PyObject* named) {
        PyObject* known = PyDict_GetItemWithError(c.frames, named);
        if (!known) PyErr_Clear();
        double x[13];
        if (!known || !PyBytes_CheckExact(known) || PyBytes_GET_SIZE(known) != sizeof x) return false;
        std::memcpy(x, PyBytes_AS_STRING(known), sizeof x);
        job.frame = &frame;
        return read_frame(*c.model, x, frame);
    }

    // The outputs, given or new; false when what was given does not fit.
    bool hold_outputs(PyObject* out) {
        if (out && outputs > 1 && (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != outputs)) return false;
        for (int i = 0; i < outputs; ++i) {
            npy_intp axes[4] = {count};
            const int lead = count < 0 ? 0 : 1, ndim = lead + axes_of(c.kernel->out[i], model, axes + lead);
            const index size = size_of(c.kernel->out[i], model);
            job.out_step[i] = size;
            if (!out) {
                held[i] = PyArray_SimpleNew(ndim, axes, NPY_DOUBLE);
                if (!held[i]) return false;
                job.out[i] = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(held[i])));
                continue;
            }
            PyObject* to = outputs > 1 ? PyTuple_GET_ITEM(out, i) : out;
            job.out[i] = data_of(to, ndim, axes);
            if (!job.out[i] || !PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(to))) return false;
            for (int k = 0; k < c.kernel->inputs; ++k) {
                const index width = k == Q ? model.nq : model.nv;
                if (overlap(job.out[i], states() * size, job.in[k], (job.in_step[k] ? states() : 1) * width)) return false;
            }
            for (int k = 0; k < i; ++k)
                if (overlap(job.out[i], states() * size, job.out[k], states() * size_of(c.kernel->out[k], model)))
                    return false;
            Py_INCREF(held[i] = to);
        }
        return true;
    }

    bool run(index threads) {
        RigidModel& m = *c.model;
        bool fine;
        if (count < 0) {
            fine = c.kernel->one(job, 0, 1, m.workspace.hold(c.kernel->one_bytes(job)));
        } else {
            const index worth = 1 + count * model.count / 20000;
            const index cores = static_cast<index>(std::thread::hardware_concurrency());
            if (threads == 0) threads = worth < cores ? worth : cores;
            nb::gil_scoped_release free;
            fine = run_batch(*c.kernel, job, count, best_kernels().lanes, threads);
        }
        for (int i = 0; i < outputs && fine; ++i)  // kernels look at matrices over the dofs as they write them
            fine = c.kernel->out[i] == DOFS_DOFS || c.kernel->out[i] == DOFS_DOFS_DOFS ||
                   finite(job.out[i], states() * size_of(c.kernel->out[i], model));
        return fine;
    }

    PyObject* result() {
        if (c.wrap) return PyObject_Vectorcall(c.wrap, held, static_cast<std::size_t>(outputs), nullptr);
        if (outputs == 1) {
            PyObject* one = held[0];
            held[0] = nullptr;
            return one;
        }
        PyObject* all = PyTuple_New(outputs);
        for (int i = 0; all && i < outputs; ++i) Py_INCREF(held[i]), PyTuple_SET_ITEM(all, i, held[i]);
        return all;
    }
};

// The result, or null: with an error set, or without one when Python should take the call.
PyObject* fast(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const std::size_t inputs = static_cast<std::size_t>(c.kernel->inputs) + (c.frames ? 1 : 0);
    Said said;
    if (given != inputs || c.model->retired || PyDict_GET_SIZE(c.forces) != 0 || !said.read(args + given, names))
        return nullptr;
    Fast f(c);
    if ((c.frames && !f.find_frame(args[inputs - 1])) || !f.read_inputs(args) || !f.hold_outputs(said.out)) return nullptr;
    return f.run(said.threads) ? f.result() : nullptr;
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t nargsf, PyObject* names) {
    const Call& c = *reinterpret_cast<Call*>(self);
    try {
        PyObject* found = fast(c, args, static_cast<std::size_t>(PyVectorcall_NARGS(nargsf)), names);
        if (found || PyErr_Occurred()) return found;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
        return nullptr;
    }
    if (!c.fallback) {
        PyErr_SetString(PyExc_ReferenceError, "this call is being taken apart by the garbage collector");
        return nullptr;
    }
    return PyObject_Vectorcall(c.fallback, args, nargsf, names);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_VISIT(c->owner);
    Py_VISIT(c->forces);
    Py_VISIT(c->fallback);
    Py_VISIT(c->frames);
    Py_VISIT(c->wrap);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

int clear(PyObject* self) {
    Call* c = reinterpret_cast<Call*>(self);
    Py_CLEAR(c->fallback);  // cycles pass through these two; the dictionaries stay, a call looks at them
    Py_CLEAR(c->wrap);
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

nb::object make_call(nb::handle owner, const char* name, nb::handle forces, nb::handle fallback, nb::handle frames,
                     nb::handle wrap) {
    RigidModel* model = nb::cast<RigidModel*>(owner);
    const Algorithm& kernel = algorithm(name);
    if (!PyDict_CheckExact(forces.ptr())) refuse("forces must be a dict");
    if (!PyCallable_Check(fallback.ptr())) refuse("fallback must be callable");
    if ((kernel.out[0] == SIX_DOFS) != PyDict_CheckExact(frames.ptr())) refuse("frames must be a dict for a Jacobian alone");
    Call* c = PyObject_GC_New(Call, call_type);
    if (!c) throw nb::python_error();
    c->vectorcall = call;
    c->owner = owner.inc_ref().ptr(), c->forces = forces.inc_ref().ptr(), c->fallback = fallback.inc_ref().ptr();
    c->frames = frames.is_none() ? nullptr : frames.inc_ref().ptr();
    c->wrap = wrap.is_none() ? nullptr : wrap.inc_ref().ptr();
    c->model = model, c->kernel = &kernel;
    PyObject_GC_Track(reinterpret_cast<PyObject*>(c));
    return nb::steal(reinterpret_cast<PyObject*>(c));
}

// Seconds that one call of a kernel takes, looped in C++; for benchmarks.
double time_kernel(RigidModel& m, const char* name, nb::handle q_, nb::handle v_, nb::handle x_, index repeats) {
    const Algorithm& kernel = algorithm(name);
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), x(x_, "x", 1);
    if (q.size() != m.model.nq || v.size() != m.model.nv || x.size() != m.model.nv) refuse("q, v or x has a wrong length");
    if (kernel.out[0] == SIX_DOFS) refuse("a Jacobian takes a frame");
    Job job = m.job();
    job.in[Q] = q.data(), job.in[V] = v.data(), job.in[X] = x.data();
    std::vector<std::vector<double>> y;
    for (int i = 0; i < outputs_of(kernel); ++i) {
        y.emplace_back(static_cast<std::size_t>(size_of(kernel.out[i], m.model)));
        job.out[i] = y.back().data();
    }
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
             nb::arg("outs"), nb::arg("threads") = 1, array("frame") = nb::none(), "Run an algorithm on a batch of states.")
        .def("time", &time_kernel, nb::arg("algorithm"), array("q"), array("v"), array("x"), nb::arg("repeats"),
             "Seconds of one kernel call, looped here.");
    m.def("rigid_model", &make, array("whole"), array("real"), array("body_element"), array("body_place"),
          array("armature"), nb::arg("nq"), nb::arg("nv"), nb::rv_policy::take_ownership,
          "Compile a rigid tree from its elements.");
    m.def("call", &make_call, nb::arg("model"), nb::arg("algorithm"), nb::arg("forces"), nb::arg("fallback"),
          nb::arg("frames").none() = nb::none(), nb::arg("wrap").none() = nb::none(),
          "A call of one algorithm on single states that falls back to a Python function.");
    m.def("algorithms", [] {
        nb::list names;
        for (int i = 0; i < best_kernels().count; ++i) names.append(best_kernels().algorithms[i].name);
        return names;
    }, "The algorithms that have a kernel.");
    m.def("instruction_set", [] { return best_kernels().name; }, "The build of the rigid kernels in use.");
    m.def("lanes", [] { return best_kernels().lanes; }, "How many states a register of that build holds.");
    make_call_type(m);
}

}  // namespace rigid
}  // namespace soacraft
