// Signals of Python, as Ctrl-C, heard by calls that compute without its lock.
#pragma once

#include <nanobind/nanobind.h>

#include "soacraft/interrupt.hpp"

namespace soacraft {

namespace nb = nanobind;

// What the handler of a signal raised is the present error of the interpreter, and ends the call.
class Signals final : public interrupt::Watch {
private:
    bool ask() override {
        const nb::gil_scoped_acquire held;
        return PyErr_CheckSignals() != 0;
    }
};

// work() while signals are heard; false where one ended it, and what its handler raised is the present error.
template <class Work>
bool until_a_signal(const Work& work) {
    Signals signals;
    const interrupt::Watched here(&signals);
    try {
        work();
        return true;
    } catch (const interrupt::Ended&) {
        return false;
    }
}

// work() without Python's lock; raises what a signal raised, also where work() ended its own loop at the signal and returned.
template <class Work>
void without_lock(const Work& work) {
    const bool whole = until_a_signal([&] {
        const nb::gil_scoped_release free;
        work();
    });
    if (!whole || PyErr_Occurred()) throw nb::python_error();
}

}  // namespace soacraft
