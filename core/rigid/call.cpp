// Calls of the rigid kernels: single states, and batches with one leading axis.
#include "call.hpp"

#include <optional>

#include "algorithms.hpp"
#include "results.hpp"
#include "signals.hpp"
#include "wrenches.hpp"

namespace soacraft {
namespace rigid {
namespace {

constexpr std::size_t MOST_ARGUMENTS = 8;

// What an argument is for; below VECTORS: the numbers of that input.
enum Role : unsigned char { NUMBERS = VECTORS, FORCES, OF_NODES, HELD, AXES };

Role role_of(PyObject* name) {
    const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    return is("f_ext") ? FORCES : is("nodes") ? OF_NODES : is("prescribed") ? HELD : is("expressed_in") ? AXES : NUMBERS;
}

// The arguments of a call in their places, and what was said by name; false for what Python must look at.
struct Said {
    PyObject* at[MOST_ARGUMENTS];
    PyObject* out = nullptr;
    index threads = 0;
    bool passive = true;

    bool read(const Call& c, const Algorithm& a, PyObject* const* args, std::size_t given, PyObject* names) {
        const auto places = static_cast<std::size_t>(PyTuple_GET_SIZE(c.arguments));
        if (given > places) return false;
        for (std::size_t i = 0; i < places; ++i) at[i] = i < given ? args[i] : nullptr;
        bool ignored = c.ignores;
        for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
            PyObject *name = PyTuple_GET_ITEM(names, i), *value = args[given + static_cast<std::size_t>(i)];
            const auto is = [name](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
            static PyObject* const named_out = PyUnicode_InternFromString("out");  // names in source code are interned
            if (name == named_out || is("out")) {
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
    std::optional<Nodes> nodes;  // where there are some
    std::optional<Wrenches> wrenches;
    index count = -1;
    int outputs;
    bool given = false;     // whether the outputs are the caller's
    bool calm = true;       // whether all numbers given are moderate
    bool shares = false;    // whether an output shares memory with an input
    PyObject* source = nullptr;  // what results that are instances belong to
    PyObject* inputs[VECTORS] = {};
    PyObject* held[OUTPUTS] = {};
    PyObject* meant[OUTPUTS] = {};  // the caller's arrays that share memory with inputs

    explicit Fast(const Call& call)
        : c(call), rigid(*static_cast<RigidModel*>(call.model)), kernel(*static_cast<const Algorithm*>(call.kernel)),
          model(rigid.model), job(rigid.job(kernel.has(BASED))), outputs(outputs_of(kernel)) {}
    ~Fast() {
        for (int i = 0; i < outputs; ++i) Py_XDECREF(held[i]), Py_XDECREF(meant[i]);
        Py_XDECREF(source);
    }

    index states() const { return count < 0 ? 1 : count; }
    index width(int which) const { return kernel.in[which] == COORDINATES ? model.nq : model.nv; }

    // All arguments in their places; false where Python must say what is wrong, or knows better.
    bool read(const Said& said) {
        PyObject *forces = nullptr, *named = nullptr;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(c.arguments); ++i) {
            PyObject* value = said.at[i];
            switch (c.roles[i]) {
                case FORCES: forces = value; break;
                case OF_NODES: named = value; break;
                case HELD:
                    if (!value || !read_mask(value)) return false;
                    break;
                case AXES:  // inertial ones
                    if (value && !(PyUnicode_CheckExact(value) && PyUnicode_CompareWithASCIIString(value, "inertial") == 0))
                        return false;
                    break;
                default:
                    if (!value || !read_numbers(c.roles[i], value)) return false;
            }
        }
        for (int i = 0; i < VECTORS && kernel.in[i] != NONE; ++i)
            if (kernel.in[i] == ZEROS) job.in[i] = rigid.zeros.data();
        if (count == 0) return false;
        if (kernel.has(NODES) && (!named || !nodes.emplace().read(rigid, c.frames, named, job))) return false;
        if (!kernel.has(PULLED | PULLED_IN_OWN_AXES)) return true;
        if ((!forces || forces == Py_None) && PyDict_GET_SIZE(c.forces) == 0) return true;
        return wrenches.emplace().read(rigid, c.frames, c.forces, forces, count, job) &&
               (kernel.has(PULLED) || !job.turned);
    }

    bool read_numbers(int which, PyObject* value) {
        if (!is_array(value)) return false;
        const int ndim = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(value));
        if (ndim == 2 && count < 0) count = PyArray_DIM(reinterpret_cast<PyArrayObject*>(value), 0);
        const npy_intp size = width(which), axes[] = {count, size};
        const double* x = ndim == 2 ? data_of(value, 2, axes) : data_of(value, 1, &size);
        const index rows = ndim == 2 ? count : 1;
        if (!x) return false;
        if (!moderate(x, rows * size)) {
            calm = false;
            if (!finite(x, rows * size)) return false;
        }
        for (index r = 0; kernel.in[which] == COORDINATES && r < rows; ++r)
            if (!unit_quaternions(rigid.quaternions, x + r * size) || rigid.bends_far(x + r * size)) return false;
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
        if (out && outputs > 1 && (!PyTuple_CheckExact(out) || PyTuple_GET_SIZE(out) != outputs)) return false;
        const Counts counts(model, job.frame_count);
        const int lead = count < 0 ? 0 : 1;
        npy_intp axes[OUTPUTS][4];
        int ndim[OUTPUTS];
        index numbers = 0;
        for (int i = 0; i < outputs; ++i) {
            axes[i][0] = count;
            ndim[i] = lead + axes_of(kernel.out[i], counts, axes[i] + lead);
            job.out_step[i] = 1;
            for (int k = lead; k < ndim[i]; ++k) job.out_step[i] *= axes[i][k];
            numbers += states() * job.out_step[i];
        }
        if (!given && numbers > LARGE) return false;
        for (int i = 0; i < outputs; ++i) {
            if (!out) {
                if (!make_output(i, ndim[i], axes[i])) return false;
                continue;
            }
            PyObject* to = outputs > 1 ? PyTuple_GET_ITEM(out, i) : out;
            job.out[i] = data_of(to, ndim[i], axes[i]);
            if (!job.out[i] || !PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject*>(to))) return false;
            for (int k = 0; k < i; ++k)
                if (overlap(job.out[i], states() * job.out_step[i], job.out[k], states() * job.out_step[k])) return false;
            if (meets_input(i)) {  // written elsewhere first
                if (!make_output(i, ndim[i], axes[i])) return false;
                Py_INCREF(meant[i] = to), shares = true;
            } else {
                Py_INCREF(held[i] = to);
            }
        }
        return true;
    }

    bool make_output(int i, int ndim, const npy_intp* axes) {
        held[i] = PyArray_SimpleNew(ndim, axes, NPY_DOUBLE);
        if (held[i]) job.out[i] = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(held[i])));
        return held[i] != nullptr;
    }

    // Outputs that share memory with inputs get their numbers once all are computed.
    void deliver() {
        for (int i = 0; shares && i < outputs; ++i) {
            if (!meant[i]) continue;
            const auto bytes = static_cast<std::size_t>(states() * job.out_step[i]) * sizeof(double);
            std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(meant[i])), job.out[i], bytes);
            Py_DECREF(held[i]);
            held[i] = meant[i], meant[i] = nullptr;
        }
    }

    // Whether an output shares memory with what the kernel reads.
    bool meets_input(int out) const {
        const double* to = job.out[out];
        const index numbers = states() * job.out_step[out];
        for (int k = 0; k < VECTORS; ++k)
            if (inputs[k] && overlap(to, numbers, job.in[k], (job.in_step[k] ? states() : 1) * width(k))) return true;
        for (index k = 0; k < job.wrench_count; ++k)
            if (overlap(to, numbers, job.wrenches[k].f, job.wrenches[k].step * (states() - 1) + 6)) return true;
        const unsigned char* first = reinterpret_cast<const unsigned char*>(to);
        return job.mask && job.mask < first + numbers * index(sizeof(double)) && first < job.mask + model.nv;
    }

    // Whether the kernel answers, or refuses before it writes anything: moderate.hpp. Of a batch, some states may be
    // written when another is refused.
    bool sure() {
        if (!calm || job.passive || job.wrench_count || !kernel.has(count < 0 ? SUMS | SOLVES : unsigned(SUMS))) return false;
        for (index k = 0; k < job.frame_count; ++k)
            if (!moderate(job.frames[k].p, 3)) return false;
        return kernel.has(SUMS) ? rigid.promise().sums : rigid.promise().solves;
    }

    bool run(index threads) {
        const bool keep = given && !sure();
        if (count < 0) return run_one(kernel, rigid, job, keep);
        const index worth = 1 + count * model.count / 20000;
        static const index cores = static_cast<index>(std::thread::hardware_concurrency());  // asking costs microseconds
        if (threads == 0) threads = worth < cores ? worth : cores;
        const auto held_tables = rigid.pin(job);
        bool fine = false;
        without_lock([&] { fine = run_several(kernel, job, count, threads, keep); });
        return fine;
    }

    PyObject* result() {
        if (c.wrap) return wrapped();
        if (outputs == 1) {
            PyObject* one = held[0];
            held[0] = nullptr;
            PyArrayObject* const array = reinterpret_cast<PyArrayObject*>(one);
            return PyArray_NDIM(array) ? one : PyArray_Return(array);  // one number is a scalar
        }
        return tuple_of(&PyTuple_Type);
    }

    // The outputs in a tuple, or in a class derived from it that adds nothing but names.
    PyObject* tuple_of(PyTypeObject* type) {
        PyObject* all = type->tp_alloc(type, outputs);
        for (int i = 0; all && i < outputs; ++i) Py_INCREF(held[i]), PyTuple_SET_ITEM(all, i, held[i]);
        return all;
    }

    // What results belong to, as it is before the kernel runs.
    bool hold_source() {
        if (!c.wrap || PyType_Check(c.wrap)) return true;
        source = source_of(c, rigid.stamp);
        return source != nullptr;
    }

    // A named tuple of the outputs, or an instance with them in its slots; numbers of bodies also keep the state they
    // belong to, as it was.
    PyObject* wrapped() {
        if (PyType_Check(c.wrap)) return tuple_of(reinterpret_cast<PyTypeObject*>(c.wrap));
        PyObject* state = nullptr;
        if (kernel.out[0] == BODIES_6 && !(state = state_given())) return nullptr;
        PyObject* made = filled(c, source, held, outputs, state);
        Py_XDECREF(state);
        return made;
    }

    // The vectors given: of one state the bytes of all of them, of a batch a tuple of copies.
    PyObject* state_given() const {
        if (count >= 0) return copies_of(inputs, VECTORS);
        index numbers = 0;
        for (int i = 0; i < VECTORS; ++i) numbers += inputs[i] ? width(i) : 0;
        PyObject* bytes = PyBytes_FromStringAndSize(nullptr, numbers * index(sizeof(double)));
        if (!bytes) return nullptr;
        char* to = PyBytes_AS_STRING(bytes);
        for (int i = 0; i < VECTORS; ++i) {
            if (!inputs[i]) continue;
            const auto size = static_cast<std::size_t>(width(i)) * sizeof(double);
            std::memcpy(to, job.in[i], size);
            to += size;
        }
        return bytes;
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
    if (!f.read(said) || !f.hold_outputs(said.out) || !f.hold_source()) return nullptr;
    if (f.rigid.stamp != stamp || f.rigid.retired) return nullptr;  // edited by another thread while Python gave a frame
    if (!f.run(said.threads)) return nullptr;
    f.deliver();
    return f.result();
}

nb::object make_call(nb::handle owner, const char* name, nb::tuple arguments, nb::handle forces, nb::handle fallback,
                     nb::handle frames, nb::handle wrap, bool tied, bool ignores) {
    RigidModel* model = nb::cast<RigidModel*>(owner);
    const Algorithm& kernel = algorithm(name, model->flexible());
    if (!PyDict_Check(frames.ptr())) refuse("frames must be a dict");
    if (PyType_Check(wrap.ptr()) && (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(wrap.ptr()), &PyTuple_Type) ||
                                     reinterpret_cast<PyTypeObject*>(wrap.ptr())->tp_basicsize != PyTuple_Type.tp_basicsize))
        refuse("a class that wraps results must be a named tuple");
    if (!wrap.is_none() && !PyType_Check(wrap.ptr())) check_wrap(wrap, outputs_of(kernel), kernel.out[0] == BODIES_6);
    if (arguments.size() > MOST_ARGUMENTS) refuse("a call has at most %d arguments", static_cast<int>(MOST_ARGUMENTS));
    unsigned char roles[MOST_ARGUMENTS] = {};
    int numbers = 0, wanted = 0;
    unsigned char next = 0;  // the next input that is given
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (!PyUnicode_CheckExact(nb::handle(arguments[i]).ptr())) refuse("arguments have names");
        roles[i] = role_of(nb::handle(arguments[i]).ptr());
        if (roles[i] != NUMBERS) continue;
        ++numbers;
        while (next < VECTORS && kernel.in[next] == ZEROS) ++next;
        roles[i] = next < VECTORS ? next++ : next;
    }
    for (Shape shape : kernel.in) wanted += shape == COORDINATES || shape == DOFS;
    if (numbers != wanted) refuse("%s is given %d arrays of numbers", name, wanted);
    nb::object made = new_call(fast, owner, model, &kernel, forces, fallback, frames, wrap);
    Call& c = *reinterpret_cast<Call*>(made.ptr());
    c.arguments = arguments.inc_ref().ptr(), c.tied = tied, c.ignores = ignores;
    std::memcpy(c.roles, roles, sizeof roles);
    if (!wrap.is_none() && !PyType_Check(wrap.ptr())) find_slots(c);
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
