// Python's side of `Motions`: prescribed motions that are functions of time.
#pragma once

#include "fields.hpp"
#include "functions.hpp"

namespace soacraft {
namespace sim {

// The functions of `CompiledPrescribed` (sim/forces/compiled_prescribed.py): `t` (1) takes the time.
class PythonMotions final : public Motions {
public:
    PythonMotions(nb::handle t, nb::handle call) : t_(t, "t", 1, true), call_(nb::borrow(call)) {
        if (t_.size() != 1) refuse("t has one number");
    }
    bool at(double t) override {
        if (PyErr_Occurred()) return false;
        *t_.data() = t;
        PyObject* const done = PyObject_CallNoArgs(call_.ptr());
        Py_XDECREF(done);
        return done != nullptr;
    }

private:
    Array<double> t_;
    nb::object call_;
};

}  // namespace sim
}  // namespace soacraft
