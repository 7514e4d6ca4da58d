// Nodes and wrenches at them as a caller names them, for quick calls: false for whatever only Python can read.
#pragma once

#include <vector>

#include "numpy_array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

// The class of wrenches, once Python has told it.
inline PyTypeObject* wrench_type = nullptr;

// The first few without asking for memory.
template <class T, std::size_t FEW>
class Several {
public:
    T& add() {
        if (count_ < FEW) return few_[count_++];
        if (count_ == FEW) more_.assign(few_, few_ + FEW);
        ++count_;
        more_.emplace_back();
        return more_.back();
    }
    T* data() { return count_ <= FEW ? few_ : more_.data(); }
    std::size_t size() const { return count_; }

private:
    T few_[FEW];
    std::vector<T> more_;
    std::size_t count_ = 0;
};

// `frames` maps what a caller may name to the bytes of 13 numbers; it makes those it does not have, or refuses. A frame
// on the inertial frame, INERTIAL in place of an element, gives axes alone.
constexpr index INERTIAL = -2;

inline bool find_frame(const RigidModel& m, PyObject* frames, PyObject* named, bool axes, Body& frame) {
    PyObject* known = PyDict_GetItemWithError(frames, named);
    if (known) {
        Py_INCREF(known);
    } else {
        PyErr_Clear();
        known = PyObject_GetItem(frames, named);
        if (!known && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();  // Python says it better; but an interrupt stays
    }
    double x[13];
    const bool fits = known && PyBytes_CheckExact(known) && PyBytes_GET_SIZE(known) == sizeof x;
    if (fits) std::memcpy(x, PyBytes_AS_STRING(known), sizeof x);
    Py_XDECREF(known);
    if (!fits || (x[0] == INERTIAL && !axes)) return false;
    if (x[0] == INERTIAL) x[0] = -1.0;
    return read_frame(m, x, frame);
}

// One node, or a list or tuple of them.
class Nodes {
public:
    bool read(const RigidModel& m, PyObject* frames, PyObject* named, Job& job) {
        const bool list = PyList_CheckExact(named), many = list || PyTuple_CheckExact(named);
        const Py_ssize_t count = !many ? 1 : PySequence_Fast_GET_SIZE(named);
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (many && i >= PySequence_Fast_GET_SIZE(named)) return false;
            PyObject* one = many ? PySequence_Fast_GET_ITEM(named, i) : named;
            Py_INCREF(one);
            const bool found = find_frame(m, frames, one, false, nodes_.add());
            Py_DECREF(one);
            if (!found) return false;
        }
        job.frames = nodes_.data(), job.frame_count = static_cast<index>(nodes_.size());
        return job.frame_count > 0;
    }

private:
    Several<Body, 4> nodes_;
};

// Stored forces and those of a call, {node: wrench}: six numbers in node axes, or a Wrench.
class Wrenches {
public:
    ~Wrenches() {
        for (std::size_t i = 0; i < kept_.size(); ++i) Py_DECREF(kept_.data()[i]);
    }

    bool read(const RigidModel& m, PyObject* frames, PyObject* stored, PyObject* given, index count, Job& job) {
        if (given == Py_None) given = nullptr;
        if (given && !PyDict_CheckExact(given)) return false;
        keep_items(stored);
        if (given) keep_items(given);
        const std::size_t pairs = kept_.size() / 2;
        for (std::size_t i = 0; i < pairs; ++i) {
            Own& own = own_.add();
            own.wrench.turned = false;
            if (!find_frame(m, frames, kept_.data()[2 * i], false, own.wrench.at) ||
                !read_value(m, frames, kept_.data()[2 * i + 1], count, own))
                return false;
        }
        for (std::size_t i = 0; i < pairs; ++i) {  // once they have their places
            Own& own = own_.data()[i];
            if (!own.wrench.f) own.wrench.f = own.numbers;
            list_.add() = own.wrench;
            job.turned = job.turned || own.wrench.turned;
        }
        job.wrenches = list_.data(), job.wrench_count = static_cast<index>(pairs);
        return true;
    }

private:
    struct Own {
        Wrench wrench;
        double numbers[6];
    };

    // Keys and values, held: looking up a frame may run Python, which may change the dictionaries.
    void keep_items(PyObject* dict) {
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
            Py_INCREF(kept_.add() = key);
            Py_INCREF(kept_.add() = value);
        }
    }

    bool read_value(const RigidModel& m, PyObject* frames, PyObject* value, index count, Own& own) {
        if (Py_TYPE(value) != wrench_type) return read_numbers(value, count, own);
        static PyObject *const vector = PyUnicode_InternFromString("_vector"), *const axes = PyUnicode_InternFromString("_expressed_in");
        PyObject* in = PyObject_GetAttr(value, axes);
        if (!in) return PyErr_Clear(), false;
        Py_INCREF(kept_.add() = in), Py_DECREF(in);
        PyObject* numbers = PyObject_GetAttr(value, vector);
        if (!numbers) return PyErr_Clear(), false;
        Py_INCREF(kept_.add() = numbers), Py_DECREF(numbers);
        own.wrench.turned = in != Py_None;
        if (own.wrench.turned && !find_frame(m, frames, in, true, own.wrench.axes)) return false;
        return read_numbers(numbers, count, own);
    }

    // One wrench is copied, one for each state is used where it is.
    bool read_numbers(PyObject* value, index count, Own& own) {
        own.wrench.f = nullptr, own.wrench.step = 0;
        if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
            if (PySequence_Fast_GET_SIZE(value) != 6) return false;
            for (Py_ssize_t i = 0; i < 6; ++i) {
                PyObject* x = PySequence_Fast_GET_ITEM(value, i);
                if (!PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return false;
                own.numbers[i] = PyFloat_AsDouble(x);
                if (PyErr_Occurred()) return PyErr_Clear(), false;
            }
            return finite(own.numbers, 6);
        }
        const npy_intp one = 6, all[] = {count, 6};
        if (const double* x = data_of(value, 1, &one)) {
            std::memcpy(own.numbers, x, sizeof own.numbers);
            return finite(own.numbers, 6);
        }
        own.wrench.f = count > 0 ? data_of(value, 2, all) : nullptr;
        own.wrench.step = 6;
        return own.wrench.f && finite(own.wrench.f, 6 * count);
    }

    Several<PyObject*, 16> kept_;
    Several<Own, 4> own_;
    Several<Wrench, 4> list_;
};

}  // namespace rigid
}  // namespace soacraft
