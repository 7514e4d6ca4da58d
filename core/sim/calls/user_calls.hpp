// Calls of a user's functions f(t, state) from compiled steps, and the states that they get.
#pragma once

#include <pythread.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "fields.hpp"
#include "numpy_array.hpp"

namespace soacraft {
namespace sim {

// Makes states of a model from rows of numbers, as `RowStates` of model/states/row.py does: instances of its `kind`, with all that
// states share, and their row.
class StateMaker {
public:
    StateMaker(nb::object of, index nq, index nv)
        : make_(std::move(of)), kind_(field(make_, "kind")), shared_(field(make_, "shared")), forces_(field(make_, "forces")),
          name_(nb::steal(PyUnicode_InternFromString("_row"))), nq_(nq), nv_(nv) {
        if (!PyType_Check(kind_.ptr()) || !PyDict_Check(shared_.ptr()) || !PyDict_Check(forces_.ptr())) refuse("states are made of a dict");
    }

    // A new state of q, v and vdot; null where Python raised.
    nb::object at(const double* q, const double* v, const double* vdot) const {
        const npy_intp size = nq_ + 2 * nv_;
        const nb::object row = nb::steal(PyArray_SimpleNew(1, &size, NPY_DOUBLE));
        if (!row) return nb::object();
        PyArrayObject* const array = reinterpret_cast<PyArrayObject*>(row.ptr());
        double* const to = static_cast<double*>(PyArray_DATA(array));
        std::copy(q, q + nq_, to), std::copy(v, v + nv_, to + nq_), std::copy(vdot, vdot + nv_, to + nq_ + nv_);
        if (PyDict_GET_SIZE(forces_.ptr())) return nb::steal(PyObject_CallOneArg(make_.ptr(), row.ptr()));
        PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
        PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(kind_.ptr());
        const nb::object state = nb::steal(type->tp_alloc(type, 0)), held = nb::steal(PyDict_Copy(shared_.ptr()));
        if (!state || !held || PyDict_SetItem(held.ptr(), name_.ptr(), row.ptr()) < 0) return nb::object();
        return PyObject_GenericSetDict(state.ptr(), held.ptr(), nullptr) < 0 ? nb::object() : state;
    }

private:
    nb::object make_, kind_, shared_, forces_, name_;
    index nq_, nv_;
};

// Finds out whether a function changed the model, and lets Python know that one is evaluated (`Evaluated` of
// sim/forces/evaluated.py).
class Guard {
public:
    explicit Guard(nb::handle of) : evaluations_(field(of, "evaluations")), mb_(field(of, "mb")), forces_(field(of, "forces")) {
        if (!PyDict_Check(forces_.ptr())) refuse("forces must be a dict");
    }

    // False where Python raised.
    bool begin() {
        before_ = get(evaluations_, thread_), revision_ = get(mb_, version_);
        if (!before_ || !revision_) return false;
        items_ = PyDict_GET_SIZE(forces_.ptr()) ? nb::steal(PyDict_Items(forces_.ptr())) : nb::object();
        return set(nb::steal(PyLong_FromUnsignedLong(PyThread_get_thread_ident())));
    }
    // 1 if the model has changed, else 0; -1 where Python raised. An error that is set stays.
    int changed() {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        const bool restored = set(before_);
        if (type) {
            PyErr_Clear(), PyErr_Restore(type, value, trace);
            return -1;
        }
        const nb::object now = get(mb_, version_);
        if (!restored || !now) return -1;
        const int same = now.is(revision_) ? 1 : PyObject_RichCompareBool(now.ptr(), revision_.ptr(), Py_EQ);
        if (same < 1) return same ? -1 : 1;
        if (!items_ && !PyDict_GET_SIZE(forces_.ptr())) return 0;
        const nb::object items = nb::steal(PyDict_Items(forces_.ptr()));
        if (!items || !items_) return items ? 1 : -1;
        return PyObject_RichCompareBool(items.ptr(), items_.ptr(), Py_NE);
    }

private:
    static nb::object word(const char* text) { return nb::steal(PyUnicode_InternFromString(text)); }
    static nb::object get(const nb::object& of, const nb::object& name) { return nb::steal(PyObject_GetAttr(of.ptr(), name.ptr())); }
    bool set(const nb::object& thread) const { return thread && PyObject_SetAttr(evaluations_.ptr(), thread_.ptr(), thread.ptr()) == 0; }

    nb::object evaluations_, mb_, forces_, thread_ = word("thread"), version_ = word("revision"), before_, revision_, items_;
};

// A function whose numbers are written to `places` of an array, or to all of it (`UserCall` of sim/forces/user_calls.py). Numbers
// that are no plain array go to Python, which writes them or says what they are.
class UserCall {
public:
    explicit UserCall(nb::handle of)
        : function_(field(of, "function")), read_(field(of, "read")), refuse_(field(of, "refuse")), order_(field(of, "order")),
          to_(field(of, "to"), "to", 1, true) {
        const nb::object guarded = field(of, "guard"), places = field(of, "places");
        if (!guarded.is_none()) guard_ = std::make_unique<Guard>(guarded);
        if (!places.is_none()) {
            const Array<index> at(places, "places", 1);
            places_.assign(at.data(), at.data() + at.size());
            for (const index i : places_)
                if (i < 0 || i >= to_.size()) refuse("a place of a call is out of range");
        }
        all_ = places.is_none();
    }

    // False where Python raised, as the function may.
    bool run(nb::handle t, nb::handle state) {
        if (guard_ && !guard_->begin()) return false;
        PyObject* given[] = {nullptr, t.ptr(), state.ptr()};
        const nb::object value = nb::steal(PyObject_Vectorcall(function_.ptr(), given + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
        const int changed = guard_ ? guard_->changed() : 0;
        if (!value || changed < 0) return false;
        if (changed) return refused();
        if (take(value.ptr())) return true;
        PyObject* parts[] = {nullptr, t.ptr(), state.ptr(), value.ptr()};
        return bool(nb::steal(PyObject_Vectorcall(read_.ptr(), parts + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr)));
    }

    // Raises what Python says of a function that changed the model.
    bool refused() const {
        nb::steal(PyObject_CallNoArgs(refuse_.ptr()));
        return false;
    }

private:
    bool take(PyObject* value) {
        const npy_intp count = all_ ? to_.size() : static_cast<npy_intp>(places_.size());
        double one = 0.0;
        const double* numbers = &one;
        if (count == 1 && !all_ && PyFloat_CheckExact(value))
            one = PyFloat_AS_DOUBLE(value);
        else if (!(numbers = data_of(value, 1, &count)) || !in_order(value))
            return false;
        for (npy_intp i = 0; i < count; ++i)
            if (!std::isfinite(numbers[i])) return false;
        if (all_)
            std::copy(numbers, numbers + count, to_.data());
        else
            for (npy_intp i = 0; i < count; ++i) to_.data()[places_[static_cast<std::size_t>(i)]] = numbers[i];
        return true;
    }
    // True if numbers are in the order of the model, as far as they know.
    bool in_order(PyObject* value) const {
        if (order_.is_none() || PyArray_CheckExact(value)) return true;
        const nb::object order = nb::steal(PyObject_GetAttrString(value, "order"));
        if (!order) PyErr_Clear();
        return order && (order.is(order_) || order.is_none());
    }

    nb::object function_, read_, refuse_, order_;
    Array<double> to_;
    std::unique_ptr<Guard> guard_;
    std::vector<index> places_;
    bool all_ = false;
};

using UserCalls = std::vector<std::unique_ptr<UserCall>>;

inline UserCalls read_calls(nb::handle of, const char* name) {
    const nb::object given = field(of, name);
    if (!PyTuple_CheckExact(given.ptr())) refuse("%s must be a tuple", name);
    UserCalls calls;
    for (nb::handle each : nb::borrow<nb::tuple>(given)) calls.push_back(std::make_unique<UserCall>(each));
    return calls;
}

}  // namespace sim
}  // namespace soacraft
