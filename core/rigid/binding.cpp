// `_core.RigidModel`: the compiled rigid tree.
#define SOACRAFT_IMPORTS_NUMPY
#include "algorithms.hpp"
#include "set_passive.hpp"

#include <chrono>

namespace soacraft {
namespace rigid {
namespace {

bool a_model_was_made = false;  // from then on the kernels are chosen

void use_kernels(const char* name) {
    if (a_model_was_made) refuse("a model was compiled already");
    if (!choose_kernels(name)) refuse("this machine has no kernels %s", name);
}

constexpr index WHOLE = 8, REAL = 35;  // numbers of an element in the arrays that describe a model

RigidModel* make(nb::handle whole_, nb::handle real_, nb::handle body_element_, nb::handle body_place_,
                 nb::handle armature_, index nq, index nv) {
    const Array<index> whole(whole_, "whole", 2), body_element(body_element_, "body_element", 1);
    const Array<double> real(real_, "real", 2), body_place(body_place_, "body_place", 2);
    const Array<double> armature(armature_, "armature", 1);
    a_model_was_made = true;
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
        .def("set_base", [](RigidModel& r, nb::handle base_) {
            const Array<double> base(base_, "base", 1);
            if (base.size() != 12) refuse("base has 12 numbers");
            for (int i = 0; i < 12; ++i) r.base[i] = base.data()[i];
        }, array("base"), "Velocity and acceleration of what the base hangs from; gravity as an acceleration upwards.")
        .def("run", &run, nb::arg("algorithm"), array("q"), array("v"), array("x"), array("pull"), array("base"),
             nb::arg("outs"), nb::arg("threads") = 1, array("frame") = nb::none(), nb::arg("passive") = false,
             nb::arg("keep") = false, "Run an algorithm on a batch of states.")
        .def("set_passive", &set_passive, array("spring_whole"), array("spring_real"), array("ball_whole"),
             array("ball_real"), array("tendon_real"), array("strand_whole"), array("strand_real"), nb::arg("in_python"),
             "Springs and dampers of hinges and tendons; once, before the model is used.")
        .def("time", &time_kernel, nb::arg("algorithm"), array("q"), array("v"), array("x"), nb::arg("repeats"),
             "Seconds of one kernel call, looped here.");
    m.def("rigid_model", &make, array("whole"), array("real"), array("body_element"), array("body_place"),
          array("armature"), nb::arg("nq"), nb::arg("nv"), nb::rv_policy::take_ownership,
          "Compile a rigid tree from its elements.");
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
