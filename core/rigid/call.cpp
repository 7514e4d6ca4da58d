// Calls of the rigid kernels: single states, and batches with one leading axis.
#include "call.hpp"

#include "algorithms.hpp"
#include "wrenches.hpp"

namespace soacraft {
namespace rigid {
namespace {

constexpr std::size_t MOST_ARGUMENTS = 8;

// What an argument is for.
enum Role : unsigned char { NUMBERS, FORCES, OF_NODES, HELD, AXES };

Role role_of(PyObject* name) {
    const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    return is("f_ext") ? FORCES : is("nodes") ? OF_NODES : is("prescribed") ? HELD : is("expressed_in") ? AXES : NUMBERS;
}

// The arguments of a call in their places, and what was said by name; false for what Python must look at.
struct Said {
    PyObject* at[MOST_ARGUMENTS] = {};
    PyObject* out = nullptr;
    index threads = 0;
    bool passive = true;

    bool read(const Call& c, const Algorithm& a, PyObject* const* args, std::size_t given, PyObject* names) {
        const auto places = static_cast<std::size_t>(PyTuple_GET_SIZE(c.arguments));
        if (given > places) return false;
        for (std::size_t i = 0; i < given; ++i) at[i] = args[i];
        bool ignored = c.ignores;
        for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
            PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[given + static_cast<std::size_t>(i)];
            const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
            if (is("out")) {
                out = value == Py_None ? nullptr : value;
            } else if (is("threads")) {
                if (!read_threads(value)) return false;
            } else if (is("ignore_loops")) {
                if (value != Py_True && value != Py_False) return false;
                ignored = value == Py_True;
            } else if (a.has(SPRUNG) && a.has(BASED) && is("passive")) {
                if (value != Py_True && value != Py_False) return false;
                passive = value == Py_True;
            } else if (is("allow_singular") && std::strcmp(a.name, "operational_space_inertia") == 0) {
                if (value != Py_True && value != Py_False) return false;  // what is not singular is answered alike
            } else if (!place(c, name, value, places)) {
                return false;
            }
        }
        return ignored || !c.tied;
    }

private:
    bool place(const Call& c, PyObject* name, PyObject* value, std::size_t places) {
        for (std::size_t i = 0; i < places; ++i)
            if (PyUnicode_Compare(PyTuple_GET_ITEM(c.arguments, static_cast<Py_ssize_t>(i)), name) == 0) {
                if (at[i]) return false;
                at[i] = value;
                return true;
            }
        return false;
    }
    bool read_threads(PyObject* value) {
        if (value == Py_None) return true;
        if (!PyLong_CheckExact(value)) return false;
        int large = 0;
        threads = PyLong_AsLongLongAndOverflow(value, &large);
        return !large && threads >= 1;
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
    Nodes nodes;
    Wrenches wrenches;
    index count = -1;
    int outputs;
    bool given = false;  // whether the outputs are the caller's
    PyObject* inputs[VECTORS] = {};
    PyObject* held[OUTPUTS] = {};
    PyObject* meant[OUTPUTS] = {};  // the caller's arrays that share memory with inputs

    explicit Fast(const Call& call)
        : c(call), rigid(*static_cast<RigidModel*>(call.model)), kernel(*static_cast<const Algorithm*>(call.kernel)),
          model(rigid.model), job(rigid.job(kernel.has(BASED))), outputs(outputs_of(kernel)) {}
    ~Fast() {
        for (PyObject* one : held) Py_XDECREF(one);
        for (PyObject* one : meant) Py_XDECREF(one);
    }

    index states() const { return count < 0 ? 1 : count; }
    index width(int which) const { return kernel.in[which] == COORDINATES ? model.nq : model.nv; }

    // All arguments in their places; false where Python must say what is wrong, or knows better.
    bool read(const Said& said) {
        int next = 0;
        PyObject *forces = nullptr, *named = nullptr;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c.arguments); ++i) {
            PyObject* value = said.at[i];
            switch (c.roles[i]) {
                case NUMBERS:
                    while (kernel.in[next] == ZEROS) read_zeros(next++);
                    if (!value || !read_numbers(next++, value)) return false;
                    break;
                case FORCES: forces = value; break;
                case OF_NODES: named = value; break;
                case HELD:
                    if (!value || !read_mask(value)) return false;
                    break;
                default:  // axes: inertial ones
                    if (value && !(PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, "inertial") == 0))
                        return false;
            }
        }
        for (; next < VECTORS && kernel.in[next] != NONE; ++next) {
            if (kernel.in[next] != ZEROS) return false;
            read_zeros(next);
        }
        if (count == 0) return false;
        if (kernel.has(NODES) && (!named || !nodes.read(rigid, c.frames, named, job))) return false;
        if (!kernel.has(PULLED | PULLED_IN_OWN_AXES)) return true;
        return wrenches.read(rigid, c.frames, c.forces, forces, count, job) &&
               (kernel.has(PULLED) || !job.turned);
    }

    void read_zeros(int which) { job.in[which] = rigid.zeros.data(), job.in_step[which] = 0; }

    bool read_numbers(int which, PyObject* value) {
        if (!is_array(value)) return false;
        const int ndim = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(value));
        if (ndim == 2 && count < 0) count = PyArray_DIM(reinterpret_cast<PyArrayObject*>(value), 0);
        const npy_intp size = width(which), axes[] = {count, size};
        const double* x = ndim == 2 ? data_of(value, 2, axes) : data_of(value, 1, &size);
        const index rows = ndim == 2 ? count : 1;
        if (!x || !finite(x, rows * size)) return false;
        for (index r = 0; kernel.in[which] == COORDINATES && r < rows; ++r)
            if (!unit_quaternions(rigid.quaternions, x + r * size)) return false;
        job.in[which] = x, job.in_step[which] = ndim == 2 ? size : 0;
        inputs[which] = value;
        return true;
    }

    bool read_mask(PyObject* value) {
        if (!PyArray_CheckExact(value)) return false;
        PyArrayObject* a = reinterpret_cast<PyArrayObject*>(value);
        if (PyArray_TYPE(a) != NPY_BOOL || PyArray_NDIM(a) != 1 || PyArray_DIM(a, 0) != model.nv || !PyArray_ISCARRAY_RO(a))
            return false;
        job.mask = static_cast<const unsigned char*>(PyArray_DATA(a));
        return true;
    }

    // The outputs, given or new; false when what was given does not fit.
    bool hold_outputs(PyObject* out) {
        given = out != nullptr;
        if (!given && numbers_of(kernel, job, states()) > LARGE) return false;
        if (out && outputs > 1 && (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != outputs)) return false;
        for (int i = 0; i < outputs; ++i) {
            npy_intp axes[4] = {count};
            const int lead = count < 0 ? 0 : 1, ndim = lead + axes_of(kernel.out[i], model, job.frame_count, axes + lead);
            const index size = size_of(kernel.out[i], job);
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
            for (int k = 0; k < i; ++k)
                if (overlap(job.out[i], states() * size, job.out[k], states() * size_of(kernel.out[k], job))) return false;
            if (meets_input(i, size)) {  // written elsewhere first
                held[i] = PyArray_SimpleNew(ndim, axes, NPY_DOUBLE);
                if (!held[i]) return false;
                job.out[i] = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(held[i])));
                Py_INCREF(meant[i] = to);
            } else {
                Py_INCREF(held[i] = to);
            }
        }
        return true;
    }

    // Outputs that share memory with inputs get their numbers once all are computed.
    void deliver() {
        for (int i = 0; i < outputs; ++i) {
            if (!meant[i]) continue;
            const auto bytes = static_cast<std::size_t>(states() * size_of(kernel.out[i], job)) * sizeof(double);
            std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(meant[i])), job.out[i], bytes);
            Py_DECREF(held[i]);
            held[i] = meant[i], meant[i] = nullptr;
        }
    }

    // Whether an output shares memory with what the kernel reads.
    bool meets_input(int out, index size) const {
        const double* to = job.out[out];
        const index numbers = states() * size;
        for (int k = 0; k < VECTORS; ++k)
            if (inputs[k] && overlap(to, numbers, job.in[k], (job.in_step[k] ? states() : 1) * width(k))) return true;
        for (index k = 0; k < job.wrench_count; ++k)
            if (overlap(to, numbers, job.wrenches[k].f, job.wrenches[k].step * (states() - 1) + 6)) return true;
        const unsigned char* first = reinterpret_cast<const unsigned char*>(to);
        return job.mask && job.mask < first + numbers * index(sizeof(double)) && first < job.mask + model.nv;
    }

    bool run(index threads) {
        if (count < 0) return run_one(kernel, rigid, job, given);
        const index worth = 1 + count * model.count / 20000;
        static const index cores = static_cast<index>(std::thread::hardware_concurrency());  // asking costs microseconds
        if (threads == 0) threads = worth < cores ? worth : cores;
        const auto held_tables = rigid.pin(job);
        nb::gil_scoped_release free;
        return run_several(kernel, job, count, threads, given);
    }

    PyObject* result() {
        if (c.wrap) return wrapped();
        if (outputs == 1) {
            PyObject* one = held[0];
            held[0] = nullptr;
            return PyArray_Return(reinterpret_cast<PyArrayObject*>(one));  // one number is a scalar
        }
        return tuple_of(&PyTuple_Type);
    }

    // The outputs in a tuple, or in a class derived from it that adds nothing but names.
    PyObject* tuple_of(PyTypeObject* type) {
        PyObject* all = type->tp_alloc(type, outputs);
        for (int i = 0; all && i < outputs; ++i) Py_INCREF(held[i]), PyTuple_SET_ITEM(all, i, held[i]);
        return all;
    }

    // What `wrap` makes of the outputs; numbers of bodies also keep the state they belong to, as it was.
    PyObject* wrapped() {
        if (PyType_Check(c.wrap)) return tuple_of(reinterpret_cast<PyTypeObject*>(c.wrap));
        PyObject* all[OUTPUTS + VECTORS];
        std::size_t size = 0, copies = 0;
        for (; size < static_cast<std::size_t>(outputs); ++size) all[size] = held[size];
        for (int i = 0; kernel.out[0] == BODIES_6 && i < VECTORS; ++i) {
            if (!inputs[i]) continue;
            all[size + copies] = PyArray_NewCopy(reinterpret_cast<PyArrayObject*>(inputs[i]), NPY_CORDER);
            if (!all[size + copies]) {
                while (copies) Py_DECREF(all[size + --copies]);
                return nullptr;
            }
            ++copies;
        }
        PyObject* made = PyObject_Vectorcall(c.wrap, all, size + copies, nullptr);
        while (copies) Py_DECREF(all[size + --copies]);
        return made;
    }
};

// The result, or null: with an error set, or without one when Python should take the call.
PyObject* fast(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    Fast f(c);
    Said said;
    const unsigned long long stamp = f.rigid.stamp;
    if (f.rigid.retired || f.rigid.outdated || !said.read(c, f.kernel, args, given, names)) return nullptr;
    if (f.kernel.has(SPRUNG) && said.passive) {
        if (f.rigid.passive_in_python) return nullptr;
        f.job.passive = f.rigid.acting(true);
    }
    if (!f.read(said) || !f.hold_outputs(said.out)) return nullptr;
    if (f.rigid.stamp != stamp || f.rigid.retired) return nullptr;  // edited by another thread while Python gave a frame
    if (!f.run(said.threads)) return nullptr;
    f.deliver();
    return f.result();
}

nb::object make_call(nb::handle owner, const char* name, nb::tuple arguments, nb::handle forces, nb::handle fallback,
                     nb::handle frames, nb::handle wrap, bool tied, bool ignores) {
    RigidModel* model = nb::cast<RigidModel*>(owner);
    const Algorithm& kernel = algorithm(name);
    if (!PyDict_Check(frames.ptr())) refuse("frames must be a dict");
    if (PyType_Check(wrap.ptr()) && (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(wrap.ptr()), &PyTuple_Type) ||
                                     reinterpret_cast<PyTypeObject*>(wrap.ptr())->tp_basicsize != PyTuple_Type.tp_basicsize))
        refuse("a class that wraps results must be a named tuple");
    if (arguments.size() > MOST_ARGUMENTS) refuse("a call has at most %d arguments", static_cast<int>(MOST_ARGUMENTS));
    unsigned char roles[MOST_ARGUMENTS] = {};
    int numbers = 0, wanted = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!PyUnicode_CheckExact(nb::handle(arguments[i]).ptr())) refuse("arguments have names");
        roles[i] = role_of(nb::handle(arguments[i]).ptr());
        numbers += roles[i] == NUMBERS;
    }
    for (Shape shape : kernel.in) wanted += shape == COORDINATES || shape == DOFS;
    if (numbers != wanted) refuse("%s is given %d arrays of numbers", name, wanted);
    nb::object made = new_call(fast, owner, model, &kernel, forces, fallback, frames, wrap);
    Call& c = *reinterpret_cast<Call*>(made.ptr());
    c.arguments = arguments.inc_ref().ptr(), c.tied = tied, c.ignores = ignores;
    std::memcpy(c.roles, roles, sizeof roles);
    return made;
}

}  // namespace

void bind_calls(nb::module_& m) {
    m.def("call", &make_call, nb::arg("model"), nb::arg("algorithm"), nb::arg("arguments"), nb::arg("forces"),
          nb::arg("fallback"), nb::arg("frames"), nb::arg("wrap").none() = nb::none(), nb::arg("tied") = false, nb::arg("ignores") = false,
          "A call of one algorithm on single states and batches that falls back to a Python function.");
    m.def("set_wrench_type", [](nb::type_object type) {
        Py_XDECREF(reinterpret_cast<PyObject*>(wrench_type));
        wrench_type = reinterpret_cast<PyTypeObject*>(type.release().ptr());
    });
}

}  // namespace rigid
}  // namespace soacraft
