// What drives closures and couplings, as Python hands it over: the place of the numbers of each (-1: it is not driven), and
// these.
#pragma once

#include "batch.hpp"
#include "call.hpp"

namespace soacraft {
namespace loops {

// False for a place out of range of `width` numbers.
inline bool fit_drives(const ClosedSolver& m, const index* place, index width) {
    const auto closures = static_cast<index>(m.plan.closures.size());
    for (index i = 0; i < closures + static_cast<index>(m.plan.couplings.size()); ++i)
        if (place[i] != -1 && (place[i] < 0 || place[i] > width - (i < closures ? 12 : 2))) return false;
    return true;
}

// Of a batch, the same closures in all states; nothing is driven where `driven` is None.
struct DrivenBatch {
    std::vector<index> places;
    std::unique_ptr<Batch> rates;

    DrivenBatch(const ClosedSolver& m, nb::handle driven_, nb::handle rates_, index count) {
        if (driven_.is_none()) return;
        const Array<index> driven(driven_, "driven", 1);
        require_length("driven", driven.size(), static_cast<index>(m.plan.closures.size() + m.plan.couplings.size()));
        places.assign(driven.data(), driven.data() + driven.size());  // its owner may change it meanwhile
        const index width = Array<double>(rates_, "rates", 2).size(1);
        rates = std::make_unique<Batch>(rates_, "rates", count, width);
        if (!fit_drives(m, places.data(), width)) refuse("driven has a place out of range");
    }
    // Those of state i, or null.
    const Drives* at(index i, Drives& to) const {
        if (!rates) return nullptr;
        to = {places.data(), rates->row(i)};
        return &to;
    }
};

// Of one state, from contiguous arrays; false for anything else.
inline bool read_drives(const ClosedSolver& m, PyObject* driven, PyObject* rates, Drives& drives) {
    if (!PyArray_CheckExact(driven) || !PyArray_CheckExact(rates)) return false;
    PyArrayObject *places = reinterpret_cast<PyArrayObject*>(driven), *numbers = reinterpret_cast<PyArrayObject*>(rates);
    const auto ties = static_cast<npy_intp>(m.plan.closures.size() + m.plan.couplings.size());
    if (PyArray_TYPE(places) != NPY_INT64 || PyArray_NDIM(places) != 1 || PyArray_DIM(places, 0) != ties ||
        !PyArray_ISCARRAY_RO(places) || PyArray_NDIM(numbers) != 1)
        return false;
    const npy_intp width = PyArray_DIM(numbers, 0);
    drives = {static_cast<const index*>(PyArray_DATA(places)), data_of(rates, 1, &width)};
    return drives.rates && rigid::finite(drives.rates, width) && fit_drives(m, drives.place, width);
}

}  // namespace loops
}  // namespace soacraft
