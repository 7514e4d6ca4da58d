// Calls of the rigid kernels: single states, and batches with one leading axis.
#include "algorithms.hpp"
#include "call.hpp"

namespace soacraft {
namespace rigid {
namespace {

// What the caller said by name; false for anything but out=, threads= and, where springs take part, passive=.
struct Said {
    PyObject* out = nullptr;
    index threads = 0;
    bool passive = true;
    bool read(PyObject* const* values, PyObject* names, bool sprung) {
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
            } else if (sprung && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "passive") == 0) {
                if (value != Py_True && value != Py_False) return false;
                passive = value == Py_True;
            } else {
                return false;
            }
        }
        return true;
    }
};

// New results with more numbers than this (128 MB) go to Python, which looks at the memory first.
constexpr index LARGE = index(1) << 24;

// Single states, and batches with one leading axis. `count` is the number of states, -1 for a single one.
struct Fast {
    const Call& c;
    RigidModel& rigid;
    const Algorithm& kernel;
    const Model& model;
    Job job;
    Body frame;
    index count = -1;
    int outputs;
    bool given = false;  // whether the outputs are the caller's
    PyObject* held[OUTPUTS] = {};

    explicit Fast(const Call& call)
        : c(call), rigid(*static_cast<RigidModel*>(call.model)), kernel(*static_cast<const Algorithm*>(call.kernel)),
          model(rigid.model), job(rigid.job()), outputs(outputs_of(kernel)) {}
    ~Fast() {
        for (PyObject* one : held) Py_XDECREF(one);
    }

    index states() const { return count < 0 ? 1 : count; }

    // The inputs, checked; false where Python must say what is wrong, or knows better.
    bool read_inputs(PyObject* const* args) {
        for (int i = 0; i < kernel.inputs; ++i) {
            if (!is_array(args[i])) return false;
            PyArrayObject* a = reinterpret_cast<PyArrayObject*>(args[i]);
            const npy_intp width = i == Q ? model.nq : model.nv;
            const int ndim = PyArray_NDIM(a);
            if (ndim == 2 && count < 0) count = PyArray_DIM(a, 0);
            const npy_intp axes[] = {count, width};
            const double* x = ndim == 2 ? data_of(args[i], 2, axes) : data_of(args[i], 1, &width);
            const index rows = ndim == 2 ? count : 1;
            if (!x || !finite(x, rows * width)) return false;
            for (index r = 0; i == Q && r < rows; ++r)
                if (!unit_quaternions(rigid, x + r * width)) return false;
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
        return read_frame(rigid, x, frame);
    }

    // The outputs, given or new; false when what was given does not fit.
    bool hold_outputs(PyObject* out) {
        given = out != nullptr;
        if (!given && numbers_of(kernel, model, states()) > LARGE) return false;
        if (out && outputs > 1 && (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != outputs)) return false;
        for (int i = 0; i < outputs; ++i) {
            npy_intp axes[4] = {count};
            const int lead = count < 0 ? 0 : 1, ndim = lead + axes_of(kernel.out[i], model, axes + lead);
            const index size = size_of(kernel.out[i], model);
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
            for (int k = 0; k < kernel.inputs; ++k) {
                const index width = k == Q ? model.nq : model.nv;
                if (overlap(job.out[i], states() * size, job.in[k], (job.in_step[k] ? states() : 1) * width)) return false;
            }
            for (int k = 0; k < i; ++k)
                if (overlap(job.out[i], states() * size, job.out[k], states() * size_of(kernel.out[k], model)))
                    return false;
            Py_INCREF(held[i] = to);
        }
        return true;
    }

    bool run(index threads) {
        if (count < 0) return run_one(kernel, rigid, job, given);
        const index worth = 1 + count * model.count / 20000;
        const index cores = static_cast<index>(std::thread::hardware_concurrency());
        if (threads == 0) threads = worth < cores ? worth : cores;
        const auto held_tables = rigid.pin(job);
        nb::gil_scoped_release free;
        return run_several(kernel, job, count, threads, given);
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
    Fast f(c);
    const std::size_t inputs = static_cast<std::size_t>(f.kernel.inputs) + (c.frames ? 1 : 0);
    Said said;
    if (given != inputs || f.rigid.retired || f.rigid.outdated || PyDict_GET_SIZE(c.forces) != 0 || !said.read(args + given, names, f.kernel.sprung))
        return nullptr;
    if (f.kernel.sprung && said.passive) {
        if (f.rigid.passive_in_python) return nullptr;
        f.job.passive = f.rigid.acting(true);
    }
    if ((c.frames && !f.find_frame(args[inputs - 1])) || !f.read_inputs(args) || !f.hold_outputs(said.out)) return nullptr;
    return f.run(said.threads) ? f.result() : nullptr;
}

nb::object make_call(nb::handle owner, const char* name, nb::handle forces, nb::handle fallback, nb::handle frames,
                     nb::handle wrap) {
    RigidModel* model = nb::cast<RigidModel*>(owner);
    const Algorithm& kernel = algorithm(name);
    if ((kernel.out[0] == SIX_DOFS) != PyDict_CheckExact(frames.ptr())) refuse("frames must be a dict for a Jacobian alone");
    return new_call(fast, owner, model, &kernel, forces, fallback, frames, wrap);
}

}  // namespace

void bind_calls(nb::module_& m) {
    m.def("call", &make_call, nb::arg("model"), nb::arg("algorithm"), nb::arg("forces"), nb::arg("fallback"),
          nb::arg("frames").none() = nb::none(), nb::arg("wrap").none() = nb::none(),
          "A call of one algorithm on single states that falls back to a Python function.");
}

}  // namespace rigid
}  // namespace soacraft
