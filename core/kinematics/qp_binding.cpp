// `_core.solve_qp`: a small dense quadratic program.
#include "array.hpp"
#include "soacraft/kinematics/velocity_job.hpp"
#include "soacraft/workspace.hpp"

namespace soacraft {
namespace kinematics {
namespace {

// x and the multipliers <- the solution; 0 where there is one, or why there is none.
index run_qp(nb::handle H_, nb::handle g_, nb::handle C_, nb::handle lower_, nb::handle upper_, double tolerance, double scale, nb::handle x_, nb::handle y_) {
    const Array<double> H(H_, "H", 2), g(g_, "g", 1), C(C_, "C", 2), lower(lower_, "lower", 1), upper(upper_, "upper", 1);
    const Array<double> x(x_, "x", 1, true), y(y_, "multipliers", 1, true);
    const index n = g.size(), rows = C.size(0);
    if (n < 1 || H.size(0) != n || H.size(1) != n || C.size(1) != n || lower.size() != rows || upper.size() != rows || x.size() != n || y.size() != rows)
        refuse("the arrays of a quadratic program do not fit each other");
    if (!(tolerance > 0.0)) refuse("the tolerance of a quadratic program must be positive");
    if (!(scale >= 0.0)) refuse("the scale of a quadratic program must not be negative");
    const PlainProgram p = {n, rows, H.data(), g.data(), C.data(), lower.data(), upper.data(), tolerance, scale};
    const VelocityKernels& kernels = velocity_kernels();
    rigid::Workspace space;
    return kernels.solve_qp(p, space.hold(kernels.qp_room(p)), x.data(), y.data());
}

}  // namespace

void bind_qp(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("solve_qp", &run_qp, array("H"), array("g"), array("C"), array("lower"), array("upper"), nb::arg("tolerance"), nb::arg("scale"), array("x"), array("multipliers"),
          "A quadratic program with rows between bounds.");
}

}  // namespace kinematics
}  // namespace soacraft
