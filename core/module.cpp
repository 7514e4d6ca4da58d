// The nanobind module `soacraft._core`: checks the arrays it is given, then runs a kernel.
//
// The index arrays belong to the caller, who could change them from another thread between check and sweep.
// So the functions keep the interpreter lock, and call nothing of Python once the check has begun: the result
// is allocated first. An array without columns owns no memory, so its length bounds nothing: no kernel runs
// on it.
#include <nanobind/nanobind.h>

#include <memory>

#include "array.hpp"
#include "require.hpp"
#include "soacraft/blocks.hpp"
#include "soacraft/checks.hpp"
#include "soacraft/doubt.hpp"
#include "soacraft/sweeps.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace soacraft {

namespace {

// The offsets that cut something of length `end` into `count` slices.
Slices slices(const char* name, const Array<index>& offset, index count, index end) {
    require_length(name, offset.size(), count + 1);
    require(check_slices(name, offset.data(), count, end));
    return {offset.data()};
}

// The length of the stacked vector that `offset` cuts: its last entry, not yet checked further.
index stacked_length(const char* name, const Array<index>& offset) {
    const index count = offset.size() - 1;
    if (count < 0) refuse("%s must have at least one entry, 0", name);
    const index length = offset.data()[count];
    if (length < 0) require({name, count, length, "offsets must not be negative"});
    return length;
}

using Sweep = void (*)(const Tree&, const Edges<double>&, index, const double*, double*);

nb::object sweep(Sweep kernel, nb::handle order_, nb::handle parent_, nb::handle offset_, nb::handle edge_,
                 nb::handle edge_offset_, nb::handle x_) {
    const Array<index> order(order_, "order", 1), parent(parent_, "parent", 1);
    const Array<index> offset(offset_, "offset", 1), edge_offset(edge_offset_, "edge_offset", 1);
    const Array<double> edge(edge_, "edge", 1), x(x_, "x", 2);

    nb::object result = new_array("empty", x.size(0), x.size(1));
    const Array<double> y(result, "result", 2, true);

    const index n = order.size();
    require_length("parent", parent.size(), n);
    const std::unique_ptr<unsigned char[]> seen(new unsigned char[n]);
    require(check_tree(order.data(), parent.data(), n, seen.get()));
    const Tree tree{n, order.data(), parent.data(), slices("offset", offset, n, x.size(0))};
    const Edges<double> A{edge.data(), slices("edge_offset", edge_offset, n, edge.size())};
    require(check_edges(tree, A.block));

    if (x.size(1) > 0) kernel(tree, A, x.size(1), x.data(), y.data());
    return result;
}

nb::object gather_array(nb::handle order, nb::handle parent, nb::handle offset, nb::handle edge,
                        nb::handle edge_offset, nb::handle x, bool tilde) {
    return sweep(tilde ? gather_tilde<double> : gather<double>, order, parent, offset, edge, edge_offset, x);
}

nb::object scatter_array(nb::handle order, nb::handle parent, nb::handle offset, nb::handle edge,
                         nb::handle edge_offset, nb::handle x, bool tilde) {
    return sweep(tilde ? scatter_tilde<double> : scatter<double>, order, parent, offset, edge, edge_offset,
                 x);
}

nb::object block_apply(nb::handle row_, nb::handle col_, nb::handle row_offset_, nb::handle col_offset_,
                       nb::handle data_, nb::handle data_offset_, nb::handle x_, bool transpose) {
    const Array<index> row(row_, "row", 1), col(col_, "col", 1);
    const Array<index> row_offset(row_offset_, "row_offset", 1), col_offset(col_offset_, "col_offset", 1);
    const Array<index> data_offset(data_offset_, "data_offset", 1);
    const Array<double> data(data_, "data", 1), x(x_, "x", 2);

    const index height = stacked_length("row_offset", row_offset);
    const index width = stacked_length("col_offset", col_offset);
    require_length("x", x.size(0), transpose ? height : width);
    nb::object result = new_array("zeros", transpose ? width : height, x.size(1));
    const Array<double> y(result, "result", 2, true);

    const index count = row.size(), row_count = row_offset.size() - 1, col_count = col_offset.size() - 1;
    require_length("col", col.size(), count);
    const Slices rows = slices("row_offset", row_offset, row_count, height);
    const Slices cols = slices("col_offset", col_offset, col_count, width);
    require(check_places("row", row.data(), count, row_count));
    require(check_places("col", col.data(), count, col_count));
    const Slices block = slices("data_offset", data_offset, count, data.size());
    require(check_blocks(row.data(), col.data(), count, rows, cols, block));

    const BlockList<double> X{count, row.data(), col.data(), rows, cols, data.data(), block};
    const auto kernel = transpose ? add_blocks_transposed<double> : add_blocks<double>;
    if (x.size(1) > 0) kernel(X, x.size(1), x.data(), y.data());
    return result;
}

}  // namespace

void bind_blocks(nb::module_& m);     // block_module.cpp
void bind_call_type(nb::module_& m);  // call.cpp

namespace rigid {
void bind(nb::module_& m);  // rigid/binding.cpp
}
namespace kinematics {
void bind(nb::module_& m);        // kinematics/binding.cpp
void bind_limbs(nb::module_& m);  // kinematics/limb_binding.cpp
void bind_qp(nb::module_& m);     // kinematics/qp_binding.cpp
void bind_velocity(nb::module_& m);  // kinematics/velocity_binding.cpp
}
namespace contact {
void bind(nb::module_& m);            // contact/binding.cpp
void bind_distances(nb::module_& m);  // contact/distance_call.cpp
void bind_moving(nb::module_& m);  // contact/moving_binding.cpp
}
namespace loops {
void bind(nb::module_& m);  // loops/binding.cpp
}
namespace program {
void bind(nb::module_& m);  // program/binding.cpp
}
namespace complementarity {
void bind(nb::module_& m);  // contact/solver_binding.cpp
}
namespace sim {
void bind(nb::module_& m);  // sim/binding.cpp
}

}  // namespace soacraft

NB_MODULE(_core, m) {
    nb::set_leak_warnings(false);  // caches of users may live until the interpreter ends; tests look for leaks
    soacraft::bind_call_type(m);
    soacraft::rigid::bind(m);
    soacraft::loops::bind(m);
    soacraft::kinematics::bind(m);
    soacraft::kinematics::bind_limbs(m);
    soacraft::kinematics::bind_qp(m);
    soacraft::kinematics::bind_velocity(m);
    soacraft::contact::bind(m);
    soacraft::contact::bind_distances(m);
    soacraft::contact::bind_moving(m);
    soacraft::program::bind(m);
    soacraft::complementarity::bind(m);
    soacraft::sim::bind(m);
    soacraft::bind_blocks(m);
    const auto array = [](const char* name) { return nb::arg(name).none(); };  // None gets our own refusal
    m.doc() = "Compiled kernels of soacraft: the sweeps of an SKO model on flat arrays.";
    m.attr("DOUBT") = soacraft::DOUBT;
    m.def("version", [] { return SOACRAFT_VERSION; }, "The version of soacraft this module was built from.");
    m.def("gather", &soacraft::gather_array, array("order"), array("parent"), array("offset"), array("edge"),
          array("edge_offset"), array("x"), "tilde"_a = false,
          "y(k) = x(k) + sum over children j of A(k,j) y(j), tips to base; tilde: y - x.");
    m.def("scatter", &soacraft::scatter_array, array("order"), array("parent"), array("offset"),
          array("edge"), array("edge_offset"), array("x"), "tilde"_a = false,
          "y(k) = x(k) + A*(p,k) y(p), base to tips; tilde: y - x.");
    m.def("block_apply", &soacraft::block_apply, array("row"), array("col"), array("row_offset"),
          array("col_offset"), array("data"), array("data_offset"), array("x"), "transpose"_a = false,
          "y(row[i]) += X_i x(col[i]) over a list of blocks; transpose: y(col[i]) += X_i* x(row[i]).");
}
