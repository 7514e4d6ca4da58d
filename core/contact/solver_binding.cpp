// `_core.solve_contact` and `_core.lemke`: contact problems as cones and as linear complementarity problems.
#include <nanobind/nanobind.h>

#include "array.hpp"
#include "signals.hpp"
#include "soacraft/contact/solvers/lemke.hpp"
#include "soacraft/contact/solvers/islands.hpp"

namespace nb = nanobind;

namespace soacraft {
namespace complementarity {
namespace {

std::vector<Block> read_blocks(const Array<index>& kinds, const Array<index>& rows, const Array<double>& bounds, index n) {
    if (rows.size() != kinds.size() || bounds.size() != kinds.size()) refuse("kinds, rows and bounds must be of one length");
    std::vector<Block> blocks;
    index first = 0;
    for (index i = 0; i < kinds.size(); ++i) {
        const index kind = kinds.data()[i], d = rows.data()[i];
        if (kind < CONE || kind > FREE) refuse("there is no block of kind %lld", static_cast<long long>(kind));
        if (d < 1 || d > (kind == CONE ? WIDEST : 1)) refuse("a block of kind %lld has %lld rows", static_cast<long long>(kind), static_cast<long long>(d));
        if (kind == BOX && !(bounds.data()[i] > 0)) refuse("a box needs a positive bound");
        if (d > n - first) refuse("the blocks have more than %lld rows", static_cast<long long>(n));
        blocks.push_back({kind, first, d, bounds.data()[i]});
        first += d;
    }
    if (first != n) refuse("the blocks have %lld rows, b has %lld", static_cast<long long>(first), static_cast<long long>(n));
    return blocks;
}

// p (n) <- the impulses of the problem u = S p + b, from those it holds.
nb::tuple solve(nb::handle kinds_, nb::handle rows_, nb::handle bounds_, nb::handle S_, nb::handle b_, double tolerance, nb::handle p_) {
    const Array<index> kinds(kinds_, "kinds", 1), rows(rows_, "rows", 1);
    const Array<double> bounds(bounds_, "bounds", 1), S(S_, "S", 2), b(b_, "b", 1), p(p_, "p", 1, true);
    const index n = b.size();
    if (S.size(0) != n || S.size(1) != n || p.size() != n) refuse("S, b and p do not fit each other");
    const std::vector<Block> blocks = read_blocks(kinds, rows, bounds, n);
    std::vector<double> found(p.data(), p.data() + n);
    Options options;
    options.tolerance = tolerance;
    Islands solver;
    Outcome out = {};
    without_lock([&] { out = solver.solve({n, blocks.data(), kinds.size(), S.data(), b.data()}, options, found.data()); });
    std::copy(found.begin(), found.end(), p.data());
    return nb::make_tuple(out.residual, out.sweeps, out.newton, out.interior, out.outer, out.unique);
}

// z (n) <- the solution of a linear complementarity problem; 0 solved, 1 a ray, 2 too many pivots.
nb::tuple pivot(nb::handle M_, nb::handle q_, index most, nb::handle z_) {
    const Array<double> M(M_, "M", 2), q(q_, "q", 1), z(z_, "z", 1, true);
    const index n = q.size();
    if (M.size(0) != n || M.size(1) != n || z.size() != n) refuse("M, q and z do not fit each other");
    index pivots = 0;
    Lemke how = Lemke::solved;
    without_lock([&] { how = lemke(M.data(), q.data(), n, most, z.data(), pivots); });
    return nb::make_tuple(static_cast<int>(how), pivots);
}

}  // namespace

void bind(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("solve_contact", &solve, array("kinds"), array("rows"), array("bounds"), array("S"), array("b"), nb::arg("tolerance"),
          array("p"), "Impulses of a contact problem: (residual, sweeps, newton, interior, proximal, unique).");
    m.def("lemke", &pivot, array("M"), array("q"), nb::arg("most"), array("z"), "A linear complementarity problem: (how, pivots).");
}

}  // namespace complementarity
}  // namespace soacraft
