// `_core.Store`: the current state of a model, set without asking Python anything.
#include "binding.hpp"

namespace soacraft {
namespace program {
namespace {

// One part of a state: false for what Python should read.
bool read_part(PyObject* o, const std::vector<double>& old, const double*& x) {
    x = nullptr;
    if (o == Py_None) return true;
    const npy_intp size = static_cast<npy_intp>(old.size());
    x = data_of(o, 1, &size);
    return x && rigid::finite(x, size);
}

// Set what is given; False, and nothing changed, for anything but contiguous finite numbers with unit quaternions.
bool set(Store& s, nb::handle q_, nb::handle v_, nb::handle vdot_) {
    const double *q, *v, *vdot;
    return read_part(q_.ptr(), s.q, q) && read_part(v_.ptr(), s.v, v) && read_part(vdot_.ptr(), s.vdot, vdot) && s.take(q, v, vdot);
}

// The state as Python read it.
void put(Store& s, nb::handle q_, nb::handle v_, nb::handle vdot_) {
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), vdot(vdot_, "vdot", 1);
    require_length("q", q.size(), static_cast<index>(s.q.size()));
    require_length("v", v.size(), static_cast<index>(s.v.size()));
    require_length("vdot", vdot.size(), static_cast<index>(s.vdot.size()));
    std::copy(q.data(), q.data() + q.size(), s.q.begin());
    std::copy(v.data(), v.data() + v.size(), s.v.begin());
    std::copy(vdot.data(), vdot.data() + vdot.size(), s.vdot.begin());
    ++s.q_stamp, ++s.stamp;
    s.ready = true;
}

Store* make(index nq, index nv, nb::handle quaternions_, unsigned long long parameters) {
    const Array<index> quaternions(quaternions_, "quaternions", 1);
    if (nq < 0 || nv < 0) refuse("sizes are not negative");
    auto s = std::make_unique<Store>();
    s->q.resize(static_cast<std::size_t>(nq));
    s->v.resize(static_cast<std::size_t>(nv)), s->vdot.resize(static_cast<std::size_t>(nv));
    s->quaternions.assign(quaternions.data(), quaternions.data() + quaternions.size());
    for (index at : s->quaternions)
        if (at < 0 || at + 4 > nq) refuse("a quaternion is not within q");
    s->parameters = parameters;
    return s.release();
}

// The stamp, q, v and vdot. Arrays are made before any is filled, since making one may let another thread in.
nb::tuple state(const Store& s) {
    const std::vector<double>* parts[] = {&s.q, &s.v, &s.vdot};
    nb::object made[3];
    for (int i = 0; i < 3; ++i) made[i] = new_vector(static_cast<index>(parts[i]->size()));
    for (int i = 0; i < 3; ++i) {
        const Array<double> to(made[i], "state", 1, true);
        std::copy(parts[i]->begin(), parts[i]->end(), to.data());
    }
    return nb::make_tuple(s.stamp, made[0], made[1], made[2]);
}

}  // namespace

void bind_store(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<Store>(m, "Store", "The current state of a model.")
        .def("set", &set, array("q"), array("v"), array("vdot"))
        .def("put", &put, array("q"), array("v"), array("vdot"))
        .def("end", [](Store& s) { s.ready = false; }, "The model's structure changed: this is no longer its state.")
        .def_prop_ro("ready", [](const Store& s) { return s.ready; })
        .def_prop_ro("stamp", [](const Store& s) { return s.stamp; })
        .def_prop_ro("q_stamp", [](const Store& s) { return s.q_stamp; })
        .def_rw("parameters", &Store::parameters, "The version of the model's parameters.")
        .def("state", &state, "The stamp, q, v and vdot, all of one instant.");
    m.def("store", &make, nb::arg("nq"), nb::arg("nv"), array("quaternions"), nb::arg("parameters"), nb::rv_policy::take_ownership);
}

}  // namespace program
}  // namespace soacraft
