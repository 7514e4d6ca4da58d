// Python's side of `Functions` and `Visits`: what compiled code writes before a call, and reads after it.
#pragma once

#include <algorithm>

#include "fields.hpp"
#include "functions.hpp"
#include "load.hpp"

namespace soacraft {
namespace sim {

// Calls a function without arguments; false where it raised, or where one before did.
inline bool called(nb::handle function) {
    if (PyErr_Occurred()) return false;
    PyObject* const done = PyObject_CallNoArgs(function.ptr());
    Py_XDECREF(done);
    return done != nullptr;
}

// `Evaluation` of sim/forces/evaluation.py: `point` (1 + nq + nv) takes t, q and v; `forces` (rows, nv) has what functions give,
// of which load i has row `rows[i]`, -1 for none. The numbers of controls are written into `values` of the setting.
class PythonFunctions final : public Functions {
public:
    PythonFunctions(nb::handle given, index nq, index nv, std::vector<Load>& loads)
        : point_(field(given, "point"), "point", 1, true), forces_(field(given, "forces"), "forces", 2), stage_(field(given, "stage")),
          step_(field(given, "step")), nq_(nq), nv_(nv) {
        of_stage = !stage_.is_none(), of_step = !step_.is_none();
        const nb::object rows_given = field(given, "rows");
        const Array<index> rows(rows_given, "rows", 1);
        if (point_.size() != 1 + nq + nv || forces_.size(1) != nv || rows.size() != static_cast<index>(loads.size()))
            refuse("functions are of another model");
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const index row = rows.data()[i];
            if (row < -1 || row >= forces_.size(0)) refuse("a row of forces is out of range");
            if (row >= 0) loads[i].force_of_function = forces_.data() + row * nv;
        }
    }

    bool stage(double t, const double* q, const double* v) override { return put(t, q, v) && called(stage_); }
    bool step(double t, const double* q, const double* v) override { return put(t, q, v) && called(step_); }

private:
    bool put(double t, const double* q, const double* v) {
        double* const to = point_.data();
        *to = t;
        std::copy(q, q + nq_, to + 1), std::copy(v, v + nv_, to + 1 + nq_);
        return true;
    }

    Array<double> point_, forces_;
    nb::object stage_, step_;
    index nq_, nv_;
};

// The functions of `CompiledPrescribed` (sim/forces/compiled_prescribed.py): `t` (1) takes the time.
class PythonMotions final : public Motions {
public:
    PythonMotions(nb::handle t, nb::handle call) : t_(t, "t", 1, true), call_(nb::borrow(call)) {
        if (t_.size() != 1) refuse("t has one number");
    }
    bool at(double t) override {
        *t_.data() = t;
        return called(call_);
    }

private:
    Array<double> t_;
    nb::object call_;
};

// `Visits` of sim/visits.py: `x` and `w` take the point and its rates; `call(ns)` gives the nanosecond of the next visit, or ns
// where the steps should end.
class PythonVisits final : public Visits {
public:
    bool energies;  // whether rows need them before a visit changes the model

    PythonVisits(nb::handle given, index points, index size)
        : x_(field(given, "x"), "x", 1, true), w_(field(given, "w"), "w", 1, true), call_(field(given, "call")) {
        next = integer(given, "next"), energies = integer(given, "energies") != 0;
        if (x_.size() != points || w_.size() != size) refuse("visits are of another model");
    }

    bool call(index now, const double* x, const double* w) override {
        if (PyErr_Occurred()) return false;
        std::copy(x, x + x_.size(), x_.data()), std::copy(w, w + w_.size(), w_.data());
        PyObject* const given = PyObject_CallFunction(call_.ptr(), "L", static_cast<long long>(now));
        if (!given) return false;
        const long long when = PyLong_AsLongLong(given);
        Py_DECREF(given);
        if (PyErr_Occurred() || when <= now) return false;
        next = when;
        return true;
    }

private:
    Array<double> x_, w_;
    nb::object call_;
};

}  // namespace sim
}  // namespace soacraft
