// `_core.RigidModel`: the compiled rigid tree.
#define SOACRAFT_IMPORTS_NUMPY
#include "algorithms.hpp"
#include "parameters.hpp"
#include "set_passive.hpp"

#include <chrono>

namespace soacraft {
namespace rigid {
namespace {

void use_kernels(const char* name) {
    if (a_model_was_made) refuse("a model was compiled already");
    if (!choose_kernels(name)) refuse("this machine has no kernels %s", name);
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

// Run an algorithm on a batch; False when a hinge has no inertia to move or a result is not finite. `outs`: one array
// (count, size) each; with `keep` they are then as they were.
bool run(RigidModel& m, const char* name, nb::handle q, nb::handle v, nb::handle x, nb::handle pull, nb::handle base_,
         nb::tuple outs, index threads, nb::handle frame_, bool passive, bool keep) {
    const Algorithm& kernel = algorithm(name);
    const index nv = m.model.nv;
    if (static_cast<int>(outs.size()) != outputs_of(kernel)) refuse("%s has %d outputs", name, outputs_of(kernel));
    Job job = m.job();
    job.passive = m.acting(passive && kernel.sprung);
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
    const auto held_tables = m.pin(job);
    nb::gil_scoped_release free;
    return run_several(kernel, job, count, threads, keep);
}

// Seconds that one call of a kernel takes, looped in C++; for benchmarks.
double time_kernel(RigidModel& m, const char* name, nb::handle q_, nb::handle v_, nb::handle x_, index repeats) {
    const Algorithm& kernel = algorithm(name);
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), x(x_, "x", 1);
    if (q.size() != m.model.nq || v.size() != m.model.nv || x.size() != m.model.nv) refuse("q, v or x has a wrong length");
    if (kernel.out[0] == SIX_DOFS) refuse("a Jacobian takes a frame");
    Job job = m.job();
    job.passive = m.acting(kernel.sprung);
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

void bind_calls(nb::module_& m);  // call.cpp

void bind(nb::module_& m) {
    numpy();
    if (PyErr_Occurred()) throw nb::python_error();
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<RigidModel>(m, "RigidModel", "A compiled rigid tree.")
        .def_prop_ro("retired", [](const RigidModel& r) { return r.retired; })
        .def("retire", [](RigidModel& r) { r.retired = true; }, "Send every call to Python from now on.")
        .def_prop_ro("stamp", [](const RigidModel& r) { return r.stamp; }, "How often a parameter changed.")
        .def_prop_ro("count", [](const RigidModel& r) { return r.model.count; }, "The number of elements.")
        .def_prop_ro("outdated", [](const RigidModel& r) { return r.outdated; })
        .def("outdate", [](RigidModel& r) { r.outdated = true, ++r.stamp; },
             "Send every call to Python until it brings new parameters.")
        .def("touch", [](RigidModel& r) { ++r.stamp; }, "A parameter changed that the tree itself does not have.")
        .def("set_parameters", &set_parameters, array("inboard_R"), array("inboard_p"), array("outboard_R"),
             array("outboard_p"), array("mass"), array("com"), array("moment"), array("armature"),
             "The parameters of all bodies.")
        .def("set_inertia", &set_inertia, nb::arg("body"), nb::arg("mass"), nb::arg("com"), nb::arg("moment"))
        .def("set_pose", &set_pose, nb::arg("body"), nb::arg("inboard"), nb::arg("rotation"), nb::arg("translation"))
        .def("set_armature", &set_armature, nb::arg("body"), nb::arg("armature"))
        .def("set_gravity", &set_gravity, nb::arg("gravity"), "Gravity, for calls of single states.")
        .def("elements_of_bodies", &elements_of_bodies, "By body: its element, and those of its hinge from first to last.")
        .def("elements", &elements, "By element: its kind, and where its coordinates and velocities begin.")
        .def("place", &place_of, nb::arg("body"), "Where a body is on its element: rotation and translation.")
        .def("run", &run, nb::arg("algorithm"), array("q"), array("v"), array("x"), array("pull"), array("base"),
             nb::arg("outs"), nb::arg("threads") = 1, array("frame") = nb::none(), nb::arg("passive") = false,
             nb::arg("keep") = false, "Run an algorithm on a batch of states.")
        .def("set_passive", &set_passive, array("spring_whole"), array("spring_real"), array("ball_whole"),
             array("ball_real"), array("tendon_real"), array("strand_whole"), array("strand_real"), nb::arg("in_python"),
             "Springs and dampers of hinges and tendons.")
        .def("time", &time_kernel, nb::arg("algorithm"), array("q"), array("v"), array("x"), nb::arg("repeats"),
             "Seconds of one kernel call, looped here.");
    m.def("rigid_model", &make, array("parent"), array("hinge"), array("q"), array("v"), array("hinge_kind"),
          array("hinge_end"), array("hinge_ball"), array("screw_kind"), array("screw"), nb::arg("nq"), nb::arg("nv"),
          nb::rv_policy::take_ownership, "Compile a tree of bodies; its parameters are set next.");
    m.def("algorithms", [] {
        nb::list names;
        for (int i = 0; i < best_kernels().count; ++i) names.append(best_kernels().algorithms[i].name);
        return names;
    }, "The algorithms that have a kernel.");
    m.def("instruction_set", [] { return best_kernels().name; }, "The build of the rigid kernels in use.");
    m.def("instruction_sets", [] {
        nb::list names;
        for (int i = 0; i < known_kernels().count; ++i)
            if (known_kernels().runs[i]) names.append(known_kernels().kernels[i]->name);
        return names;
    }, "The builds of the rigid kernels that this machine can run, best last.");
    m.def("use_instruction_set", &use_kernels, nb::arg("name"), "Choose a build; before the first model is compiled.");
    m.def("lanes", [] { return best_kernels().lanes; }, "How many states a register of that build holds.");
    bind_calls(m);
}

}  // namespace rigid
}  // namespace soacraft
