// `Functions` of a user in Python (`Evaluation` of sim/forces/evaluation.py), and prescribed motions that are functions of time.
#pragma once

#include "sim/calls/functions.hpp"
#include "sim/load.hpp"
#include "sim/calls/user_calls.hpp"

namespace soacraft {
namespace sim {

// The calls `stage` and `step` write numbers of controls into `values` of the setting and generalized forces into `forces` (rows,
// nv), of which load i has row `rows[i]`, -1 for none. States that functions get have the accelerations `still`.
class PythonFunctions final : public Functions {
public:
    PythonFunctions(nb::handle given, index nq, index nv, std::vector<Load>& loads)
        : forces_(field(given, "forces"), "forces", 2), still_(field(given, "still"), "still", 1), failed_(field(given, "failed"), "failed", 1, true),
          stage_(read_calls(given, "stage")), step_(read_calls(given, "step")), states_(field(given, "states"), nq, nv) {
        of_stage = !stage_.empty(), of_step = !step_.empty();
        const nb::object rows_given = field(given, "rows");
        const Array<index> rows(rows_given, "rows", 1);
        if (still_.size() != nv || forces_.size(1) != nv || rows.size() != static_cast<index>(loads.size()) || failed_.size() != 1)
            refuse("functions are of another model");
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const index row = rows.data()[i];
            if (row < -1 || row >= forces_.size(0)) refuse("a row of forces is out of range");
            if (row >= 0) loads[i].force_of_function = forces_.data() + row * nv;
        }
        *failed_.data() = 0;
    }

    bool stage(double t, const double* q, const double* v) override { return run(stage_, t, q, v); }
    bool step(double t, const double* q, const double* v) override { return run(step_, without_rounding(t), q, v); }

private:
    // The time of a whole nanosecond where t is that but for rounding (sim/clock.py).
    static double without_rounding(double t) {
        const double near = std::nearbyint(t * 1e9) / 1e9;
        return std::fabs(t - near) <= 1e-15 * std::fabs(t) + 1e-16 ? near : t;
    }
    bool run(UserCalls& calls, double t, const double* q, const double* v) {
        if (PyErr_Occurred()) return false;
        const nb::object time = nb::steal(PyFloat_FromDouble(t)), state = states_.at(q, v, still_.data());
        bool fine = time && state;
        for (std::size_t i = 0; fine && i < calls.size(); ++i) fine = calls[i]->run(time, state);
        if (!fine) *failed_.data() = 1;
        return fine;
    }

    Array<double> forces_, still_;
    Array<index> failed_;
    UserCalls stage_, step_;
    StateMaker states_;
};

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
