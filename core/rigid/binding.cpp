// `_core.RigidModel`: the compiled rigid tree.
#define SOACRAFT_IMPORTS_NUMPY
#include "algorithms.hpp"
#include "parameters.hpp"
#include "rollout.hpp"
#include "set_passive.hpp"
#include "signals.hpp"
#include "soacraft/files/model_file.hpp"

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

// Twelve numbers, or none.
void read_twelve(const char* name, nb::handle given, double* to) {
    if (given.is_none()) return;
    const Array<double> x(given, name, 1);
    if (x.size() != 12) refuse("%s has 12 numbers", name);
    for (int i = 0; i < 12; ++i) to[i] = x.data()[i];
}

// The nodes asked for: 13 numbers each, in one row after the other.
std::vector<Body> read_frames(const RigidModel& m, const Algorithm& kernel, nb::handle given) {
    std::vector<Body> frames;
    if (!given.is_none()) {
        const Array<double> x(given, "frame", 1);
        for (index i = 0; i < x.size() / 13; ++i) {
            frames.emplace_back();
            if (!read_frame(m, x.data() + 13 * i, frames.back())) refuse("a frame has 13 numbers, the first an element");
        }
        if (x.size() % 13) refuse("a frame has 13 numbers, the first an element");
    }
    if (kernel.has(NODES) && frames.empty()) refuse("%s takes a frame", kernel.name);
    return frames;
}

// Run an algorithm on a batch; False when a hinge has no inertia to move or a result is not finite. `outs`: one array
// (count, size) each; with `keep` they are then as they were.
bool run(RigidModel& m, const char* name, nb::handle q, nb::handle v, nb::handle x, nb::handle pull, nb::handle base,
         nb::tuple outs, index threads, nb::handle frame, bool passive, bool keep, nb::handle y, nb::handle mask_,
         nb::handle place) {
    const Algorithm& kernel = algorithm(name, m.flexible());
    if (static_cast<int>(outs.size()) != outputs_of(kernel)) refuse("%s has %d outputs", name, outputs_of(kernel));
    Job job = m.job(true);
    job.passive = m.acting(passive && kernel.has(SPRUNG));
    const std::vector<Body> frames = read_frames(m, kernel, frame);
    job.frames = frames.data(), job.frame_count = static_cast<index>(frames.size());
    index count = -1;
    std::vector<std::unique_ptr<Array<double>>> held;
    for (std::size_t i = 0; i < outs.size(); ++i) {
        held.push_back(std::make_unique<Array<double>>(outs[i], "out", 2, true));
        const Array<double>& out = *held.back();
        if (out.size(1) != size_of(kernel.out[i], job) || (count >= 0 && out.size(0) != count))
            refuse("out %d must have %lld columns, and as many rows as the others", static_cast<int>(i),
                   static_cast<long long>(size_of(kernel.out[i], job)));
        count = out.size(0);
        job.out[i] = out.data(), job.out_step[i] = out.size(1);
    }
    const nb::handle given[] = {q, v, x, y};
    const char* names[] = {"q", "v", "x", "y"};
    for (int i = 0; i < VECTORS; ++i) {
        const Shape shape = kernel.in[i];
        if (shape == NONE) continue;
        read(job, i, names[i], given[i], shape == COORDINATES ? m.model.nq : m.model.nv, count);
        if (!job.in[i] && shape == ZEROS) job.in[i] = m.zeros.data();
        if (!job.in[i]) refuse("%s takes %s", name, names[i]);
    }
    read(job, PULL, "pull", pull, 6 * m.model.body_count + m.model.modes, count);
    read_twelve("base", base, job.base), read_twelve("place", place, job.place);
    if (kernel.has(MASKED)) {
        PyArrayObject* mask = reinterpret_cast<PyArrayObject*>(mask_.ptr());
        if (!PyArray_Check(mask_.ptr()) || PyArray_TYPE(mask) != NPY_BOOL || PyArray_NDIM(mask) != 1 ||
            PyArray_DIM(mask, 0) != m.model.nv || !PyArray_ISCARRAY_RO(mask))
            refuse("%s takes a mask of %lld dofs", name, static_cast<long long>(m.model.nv));
        job.mask = static_cast<const unsigned char*>(PyArray_DATA(mask));
    }
    if (count == 0) return true;
    const auto held_tables = m.pin(job);
    bool fine = false;
    without_lock([&] { fine = run_several(kernel, job, count, threads, keep); });
    return fine;
}

// Many steps of a method (`Rolled`) from each state of a batch. `force`: (count or 1, steps or 1, nv). `Q` and `V` are
// (count, steps + 1, nq or nv). None when all went well; else the state and the step at fault, and whether it turned too far.
nb::object rollout(RigidModel& m, nb::handle q_, nb::handle v_, nb::handle force_, double h, nb::handle Q_, nb::handle V_,
                   index threads, int method) {
    const Array<double> q(q_, "q", 2), v(v_, "v", 2), force(force_, "force", 3), Q(Q_, "Q", 3, true), V(V_, "V", 3, true);
    if (method < RK4 || method >= ROLLED) refuse("there is no method %d of rollouts", method);
    RolloutTask task = {};
    task.method = static_cast<Rolled>(method);
    task.count = q.size(0), task.steps = Q.size(1) - 1, task.h = h;
    const index nq = m.model.nq, nv = m.model.nv;
    const bool fits = q.size(1) == nq && v.size(0) == task.count && v.size(1) == nv && Q.size(0) == task.count &&
                      Q.size(2) == nq && V.size(0) == task.count && V.size(1) == task.steps + 1 && V.size(2) == nv &&
                      (force.size(0) == 1 || force.size(0) == task.count) &&
                      (force.size(1) == 1 || force.size(1) == task.steps) && force.size(2) == nv && task.steps >= 0;
    if (!fits) refuse("the arrays of a rollout do not fit each other");
    for (index k = 0; k < m.model.count; ++k)
        if (m.model.elements[k].kind == ROLLING) refuse("a rollout takes no hinge that rolls");
    if (m.passive_in_python || m.outdated) refuse("a rollout takes no passive forces that only Python knows");
    task.q = q.data(), task.v = v.data(), task.force = force.data(), task.Q = Q.data(), task.V = V.data();
    task.force_of_step = force.size(1) == 1 ? 0 : nv, task.force_of_state = force.size(0) == 1 ? 0 : force.size(1) * nv;
    if (!task.count) return nb::none();
    Job job = m.job(true);
    job.passive = m.acting(true);
    const auto held_tables = m.pin(job);
    RolloutEnd end;
    without_lock([&] { end = roll_out(task, job, threads); });
    if (end.state < 0) return nb::none();
    return nb::make_tuple(end.state, end.step, end.turned);
}

// Seconds that one call of a kernel takes, looped in C++; for benchmarks. A node is on the last element, a mask is empty.
double time_kernel(RigidModel& m, const char* name, nb::handle q_, nb::handle v_, nb::handle x_, index repeats) {
    const Algorithm& kernel = algorithm(name, m.flexible());
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), x(x_, "x", 1);
    if (q.size() != m.model.nq || v.size() != m.model.nv || x.size() != m.model.nv) refuse("q, v or x has a wrong length");
    Job job = m.job(kernel.has(BASED));
    job.passive = m.acting(kernel.has(SPRUNG));
    const double* const given[] = {q.data(), v.data(), x.data(), x.data()};
    for (int i = 0; i < VECTORS; ++i)
        job.in[i] = kernel.in[i] == COORDINATES ? q.data() : kernel.in[i] == ZEROS ? m.zeros.data() : given[i];
    const Body node = {m.model.count - 1, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}, {0.1, 0.2, 0.3}};
    const std::vector<unsigned char> mask(static_cast<std::size_t>(m.model.nv), 0);
    job.frames = &node, job.frame_count = 1, job.mask = mask.data();
    std::vector<std::vector<double>> y;
    for (int i = 0; i < outputs_of(kernel); ++i) {
        y.emplace_back(static_cast<std::size_t>(size_of(kernel.out[i], job)));
        job.out[i] = y.back().data();
    }
    void* space = m.workspace.hold(kernel.one_bytes(job));
    const auto start = std::chrono::steady_clock::now();
    for (index i = 0; i < repeats; ++i) kernel.one(job, 0, 1, space);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return passed.count() / static_cast<double>(repeats);
}

// The bytes of a file that C++ loads (`soacraft/multibody.hpp`). `frames`: tuples of a name, a body and twelve numbers.
nb::bytes saved(const RigidModel& m, nb::list frames) {
    if (m.outdated || m.passive_in_python) refuse("the model has parameters that only Python knows");
    TreeFile file;
    const Tables& t = *m.tables;
    file.nq = t.model.nq, file.nv = t.model.nv;
    for (int i = 0; i < 3; ++i) file.gravity[i] = -m.base[9 + i];
    file.screws = m.assembly.screws, file.hinges = m.assembly.hinges, file.links = m.assembly.links;
    file.armature = t.armature, file.springs = t.springs, file.balls = t.balls;
    file.tendons = t.tendons, file.strands = t.strands;
    file.lines = t.lines, file.bushings = t.bushings, file.nodes = t.nodes, file.curves = t.curves, file.pieces = t.pieces;
    for (nb::handle one : frames) {
        const auto parts = nb::cast<nb::tuple>(one);
        if (parts.size() != 3) refuse("a frame has a name, a body and a place");
        NamedFrame frame;
        Py_ssize_t length = 0;
        const char* name = PyUnicode_AsUTF8AndSize(nb::handle(parts[0]).ptr(), &length);
        if (!name) throw nb::python_error();
        frame.name.assign(name, static_cast<std::size_t>(length));
        if (length > files::MOST_LETTERS) refuse("the name of a frame has more than %lld bytes", static_cast<long long>(files::MOST_LETTERS));
        frame.body = nb::cast<index>(parts[1]);
        double place[12];
        copy_numbers(parts[2], 12, "place", place);
        for (int i = 0; i < 9; ++i) frame.at.R[i] = place[i];
        for (int i = 0; i < 3; ++i) frame.at.p[i] = place[9 + i];
        file.frames.push_back(std::move(frame));
    }
    const std::string bytes = bytes_of(file);
    read_tree(bytes);  // what would be refused there is refused here
    return nb::bytes(bytes.data(), bytes.size());
}

// The table of this build: the axes of inputs and outputs in words, and what else takes part.
nb::dict table(bool flexible) {
    nb::dict rows;
    for (const Algorithm* a : algorithms_of(best_kernels(), flexible)) {
        nb::list in, out, parts;
        for (Shape shape : a->in)
            if (shape != NONE) in.append(shape == ZEROS ? "0" : axes_text(shape));
        for (Shape shape : a->out)
            if (shape != NONE) out.append(axes_text(shape));
        const char* names[] = {"passive", "gravity", "forces", "forces in own axes", "nodes", "prescribed"};
        for (unsigned i = 0; i < 6; ++i)
            if (a->has(1u << i)) parts.append(names[i]);
        nb::dict row;
        row["inputs"] = nb::tuple(in), row["outputs"] = nb::tuple(out), row["parts"] = nb::tuple(parts);
        rows[a->name] = row;
    }
    return rows;
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
        .def_prop_ro("promise", [](RigidModel& r) { return nb::make_tuple(r.promise().sums, r.promise().solves); },
                     "Whether sums, and what is divided by inertias, cannot overflow for moderate inputs.")
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
             nb::arg("keep") = false, array("y") = nb::none(), array("mask") = nb::none(), array("place") = nb::none(),
             "Run an algorithm on a batch of states.")
        .def("rollout", &rollout, array("q"), array("v"), array("force"), nb::arg("h"), array("Q"), array("V"),
             nb::arg("threads") = 1, nb::arg("method") = 0, "Many steps of a method from each state of a batch.")
        .def("set_passive", &set_passive, array("spring_whole"), array("spring_real"), array("ball_whole"),
             array("ball_real"), array("tendon_whole"), array("tendon_real"), array("strand_whole"), array("strand_real"),
             array("line_whole"), array("line_real"), array("bushing_real"), array("node_body"), array("node_pose"),
             array("curve_pieces"), array("piece_real"), nb::arg("in_python"),
             "Springs and dampers of hinges and tendons, and between nodes.")
        .def("saved", &saved, nb::arg("frames"), "The bytes of a file that C++ loads.")
        .def("time", &time_kernel, nb::arg("algorithm"), array("q"), array("v"), array("x"), nb::arg("repeats"),
             "Seconds of one kernel call, looped here.");
    m.def("rigid_model", &make, array("parent"), array("hinge"), array("q"), array("v"), array("hinge_kind"),
          array("hinge_end"), array("hinge_ball"), array("screw_kind"), array("screw"), nb::arg("nq"), nb::arg("nv"),
          nb::arg("modal") = nb::list(), array("modal_of") = nb::none(), array("held") = nb::none(),
          array("rides") = nb::none(), nb::arg("large_turn") = std::numeric_limits<double>::infinity(), nb::rv_policy::take_ownership, "Compile a tree of bodies; its parameters are set next.");
    m.def("algorithms", &table, nb::arg("flexible") = false,
          "The algorithms that have a kernel, by name, with the shapes of their inputs and outputs; for trees with flexible bodies.");
    m.def("instruction_set", [] { return best_kernels().name; }, "The build of the rigid kernels in use.");
    m.def("instruction_sets", [] {
        nb::list names;
        for (const Kernels* kernels : runnable_kernels()) names.append(kernels->name);
        return names;
    }, "The builds of the rigid kernels that this machine can run, best last.");
    m.def("use_instruction_set", &use_kernels, nb::arg("name"), "Choose a build; before the first model is compiled.");
    m.def("lanes", [] { return best_kernels().lanes; }, "How many states a register of that build holds.");
    bind_calls(m);
}

}  // namespace rigid
}  // namespace soacraft
