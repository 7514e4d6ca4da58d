// Dynamics without Python: a pendulum built here, then an arm and an expression that `save.py` saved.
//
//     arm FOLDER      reads FOLDER/arm.soacraft and FOLDER/massmat_inv.soacraft
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "soacraft/expression.hpp"
#include "soacraft/multibody.hpp"
#include "soacraft/rigid/model/bodies.hpp"

using Numbers = std::vector<double>;

void print(const char* name, const Numbers& numbers) {
    std::printf("%s:", name);
    for (double x : numbers) std::printf(" %.12e", x);
    std::printf("\n");
}

// From `first` to `last` in even steps.
Numbers from_to(double first, double last, std::size_t count) {
    Numbers x(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = first + (last - first) * static_cast<double>(i) / static_cast<double>(count - 1);
    return x;
}

// A point mass of 2 kg on a rod of 0.5 m, about y: vdot = -g/l sin(q).
double pendulum(double angle) {
    using namespace soacraft::rigid;
    Bodies bodies;
    bodies.add("rod", -1, pin(0, 1, 0), at(0, 0, 1), {2.0, {0, 0, -0.5}, {}});
    bodies.tree.gravity[2] = -9.81;
    soacraft::Multibody mb(bodies.tree);
    const double rest = 0.0;
    double vdot = 0.0;
    if (!mb.forward_dynamics(&angle, &rest, &rest, &vdot)) return std::nan("");
    return vdot;
}

int run(const std::string& folder) {
    std::printf("pendulum: %.12e\n", pendulum(0.3));

    soacraft::Multibody arm = soacraft::Multibody::load(folder + "/arm.soacraft");
    soacraft::Expression massmat_inv = soacraft::Expression::load(folder + "/massmat_inv.soacraft");
    const auto nv = static_cast<std::size_t>(arm.nv());
    const Numbers q = from_to(-0.6, 0.6, nv), v = from_to(0.5, -0.5, nv), force(nv, 1.0);
    Numbers vdot(nv), J(6 * nv), twist(6, 0.0), x(nv);
    if (!arm.forward_dynamics(q.data(), v.data(), force.data(), vdot.data())) return 1;
    if (!arm.jacobian(q.data(), arm.frame("link7/tool"), J.data())) return 1;
    if (!massmat_inv(q.data(), force.data(), x.data())) return 1;
    for (std::size_t r = 0; r < 6; ++r)
        for (std::size_t i = 0; i < nv; ++i) twist[r] += J[r * nv + i] * v[i];
    print("vdot", vdot);
    print("J v", twist);
    print("massmat.inv * force", x);
    return 0;
}

int main(int count, char** words) {
    try {
        return run(count > 1 ? words[1] : ".");
    } catch (const std::exception& fault) {
        std::fprintf(stderr, "arm: %s\n", fault.what());
        return 1;
    }
}
