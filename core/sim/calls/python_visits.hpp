// `Visits` of callbacks in Python (sim/visits.py).
#pragma once

#include <cstring>

#include "sim/calls/functions.hpp"
#include "soacraft/program/numbers.hpp"
#include "sim/calls/user_calls.hpp"

namespace soacraft {
namespace sim {

// The calls of `calls`, each at its time in `due` and after every period of `periods`: a `UserCall`, which writes numbers that are
// held into `values`, or another object, which may change the model and says whether it did. Before them the model is moved to the
// point of the visit, in its `store`, its nanosecond is written to `now`, and `announce` is called if it is there. Numbers at
// `places` of `values` that differ from those before are rows of `history`, which begin at the nanoseconds of `since`; `written`
// counts them.
class PythonVisits final : public Visits {
public:
    bool energies;  // whether rows need them before a visit changes the model

    PythonVisits(nb::handle given, index nq, index nv)
        : due_(field(given, "due"), "due", 1, true), periods_(field(given, "periods"), "periods", 1), places_(field(given, "places"), "places", 1),
          since_(field(given, "since"), "since", 1, true), outcome_(field(given, "outcome"), "outcome", 1, true),
          values_(field(given, "values"), "values", 1), history_(field(given, "history"), "history", 2, true), store_given_(field(given, "store")),
          announce_(field(given, "announce")), now_(field(given, "now"), "now", 1, true), states_(field(given, "states"), nq, nv) {
        energies = integer(given, "energies") != 0;
        if (!nb::isinstance<program::Store>(store_given_)) refuse("visits need the store of a model");
        store_ = nb::cast<program::Store*>(store_given_);
        const nb::object calls = field(given, "calls");
        if (!PyTuple_CheckExact(calls.ptr())) refuse("calls must be a tuple");
        for (nb::handle each : nb::borrow<nb::tuple>(calls)) {
            calls_.push_back({nb::borrow(each), nullptr});
            if (nb::hasattr(each, "places")) calls_.back().held = std::make_unique<UserCall>(each);
        }
        const auto count = static_cast<index>(calls_.size());
        const bool fits = due_.size() == count && periods_.size() == count && history_.size(1) == places_.size() && history_.size(0) > 0 &&
                          since_.size() == history_.size(0) && outcome_.size() == 2 && now_.size() == 1;
        if (!fits || static_cast<index>(store_->q.size()) != nq || static_cast<index>(store_->v.size()) != nv) refuse("visits are of another model");
        for (index i = 0; i < places_.size(); ++i)
            if (places_.data()[i] < 0 || places_.data()[i] >= values_.size()) refuse("a place of visits is out of range");
        next = nearest();
        note(since_.data()[0]);
    }

    bool call(index now, const double* q, const double* v, const double* vdot) override {
        if (PyErr_Occurred()) return false;
        const bool fine = made(now, q, v, vdot);
        if (PyErr_Occurred()) outcome_.data()[1] = 1;
        return fine;
    }

private:
    struct Call {
        nb::object function;
        std::unique_ptr<UserCall> held;
    };

    bool made(index now, const double* q, const double* v, const double* vdot) {
        if (!move(q, v, vdot)) return false;
        *now_.data() = now;
        const nb::object t = nb::steal(PyFloat_FromDouble(static_cast<double>(now) / 1e9));
        if (!t || (!announce_.is_none() && !nb::steal(PyObject_CallNoArgs(announce_.ptr())))) return false;
        const nb::object state = states_.at(q, v, vdot);
        if (!state) return false;
        bool others = false;
        for (std::size_t i = 0; i < calls_.size(); ++i) {
            if (due_.data()[i] > now) continue;
            due_.data()[i] += periods_.data()[i];
            if (!calls_[i].held) {
                others = true;
                PyObject* given[] = {nullptr, t.ptr(), state.ptr()};
                const nb::object changed = nb::steal(PyObject_Vectorcall(calls_[i].function.ptr(), given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
                if (!changed || PyObject_IsTrue(changed.ptr())) return false;
                if (!is_here() && !move(q, v, vdot)) return false;  // it may have set the same numbers again
            } else if (!calls_[i].held->run(t, state)) {
                return false;
            } else if (!is_here()) {
                return calls_[i].held->refused();
            }
        }
        next = nearest();
        if (others || differ()) note(now);  // a callback may change what functions read
        return next > now;
    }

    // Let the model have these numbers.
    bool move(const double* q, const double* v, const double* vdot) {
        if (!store_->take(q, v, vdot)) return false;
        stamp_ = store_->stamp, parameters_ = store_->parameters;
        return true;
    }
    // True if the model is unchanged since it was moved.
    bool is_here() const { return store_->ready && store_->stamp == stamp_ && store_->parameters == parameters_; }

    index nearest() const {
        index when = index(1) << 62;
        for (index i = 0; i < due_.size(); ++i) when = std::min(when, due_.data()[i]);
        return when;
    }
    bool differ() const {
        const double* last = history_.data() + (outcome_.data()[0] - 1) * places_.size();
        for (index i = 0; i < places_.size(); ++i)
            if (std::memcmp(values_.data() + places_.data()[i], last + i, sizeof(double)) != 0) return true;
        return false;
    }
    void note(index now) {
        index& row = outcome_.data()[0];
        if (row >= since_.size()) refuse("visits have no room for more numbers");
        since_.data()[row] = now;
        for (index i = 0; i < places_.size(); ++i) history_.data()[row * places_.size() + i] = values_.data()[places_.data()[i]];
        ++row;
    }

    Array<index> due_, periods_, places_, since_, outcome_;
    Array<double> values_, history_;
    nb::object store_given_, announce_;
    Array<index> now_;
    StateMaker states_;
    program::Store* store_ = nullptr;
    std::vector<Call> calls_;
    unsigned long long stamp_ = 0, parameters_ = 0;
};

}  // namespace sim
}  // namespace soacraft
