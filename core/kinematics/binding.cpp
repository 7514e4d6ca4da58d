// `_core.reach`: inverse kinematics of a rigid tree from one start.
#include "call.hpp"
#include "fields.hpp"
#include "loops/job.hpp"
#include "rigid/rigid_model.hpp"

namespace soacraft {
namespace kinematics {
namespace {

constexpr index WHOLE = 3, REAL = 43;  // numbers of an aim in the arrays that describe it

void read_frame(rigid::Body& to, index element, const double* x, index count) {
    if (element < -1 || element >= count) refuse("an aim is on element %lld", static_cast<long long>(element));
    to.element = element;
    for (int i = 0; i < 9; ++i) to.R[i] = x[i];
    for (int i = 0; i < 3; ++i) to.p[i] = x[9 + i];
}

std::vector<Aim> read_aims(nb::handle whole_, nb::handle real_, index count, index& rows) {
    const Array<index> whole(whole_, "aims_whole", 2);
    const Array<double> real(real_, "aims_real", 2);
    if (whole.size(1) != WHOLE || real.size(1) != REAL || real.size(0) != whole.size(0))
        refuse("an aim has %lld and %lld numbers", static_cast<long long>(WHOLE), static_cast<long long>(REAL));
    std::vector<Aim> found;
    rows = 0;
    for (index i = 0; i < whole.size(0); ++i) {
        const index* w = whole.data() + WHOLE * i;
        const double* r = real.data() + REAL * i;
        Aim a = {};
        a.kind = w[0];
        if (a.kind < 0 || a.kind >= KINDS) refuse("there is no aim of kind %lld", static_cast<long long>(a.kind));
        read_frame(a.frame, w[1], r, count), read_frame(a.to, w[2], r + 12, count);
        for (int k = 0; k < 9; ++k) a.goal_R[k] = r[24 + k];
        for (int k = 0; k < 3; ++k) a.goal[k] = r[33 + k], a.axis[k] = r[36 + k];
        a.weight = r[39], a.length = r[40], a.distance = r[41], a.angle = r[42];
        a.row = rows, a.rows = a.kind == POSE ? 6 : 3;
        rows += a.rows;
        found.push_back(a);
    }
    return found;
}

Tolerances read_tolerances(nb::handle given) {
    Tolerances t = {};
    t.damping = number(given, "damping"), t.least = number(given, "least"), t.most = number(given, "most");
    t.damped = number(given, "damped"), t.unimproved = number(given, "unimproved");
    t.same_direction = number(given, "same_direction"), t.turned_over = number(given, "turned_over");
    t.turn = number(given, "turn"), t.enough = number(given, "enough");
    t.patience = integer(given, "patience"), t.steps = integer(given, "steps"), t.hasty = integer(given, "hasty") != 0;
    if (t.patience < 1) refuse("patience of a plan must be positive");
    return t;
}

void require(const char* name, index got, index wanted) {
    if (got != wanted) refuse("%s must have %lld entries", name, static_cast<long long>(wanted));
}

// q (nq) <- where the aims are met, `left` (rows) <- what is left of them. The steps it took, or -1 where Python should look.
index run_reach(const rigid::RigidModel& m, nb::handle whole, nb::handle real, nb::handle free_, nb::handle lower_,
                nb::handle upper_, nb::handle place_, nb::handle unit_, nb::handle turning_, nb::handle tolerances,
                nb::handle q_, nb::handle left_) {
    const rigid::Model& model = m.model;
    const Array<index> free(free_, "free", 1), place(place_, "place", 1), turning(turning_, "turning", 1);
    const Array<double> lower(lower_, "lower", 1), upper(upper_, "upper", 1), unit(unit_, "unit", 1);
    const Array<double> q(q_, "q", 1, true), left(left_, "left", 1, true);
    require("lower", lower.size(), model.nv), require("upper", upper.size(), model.nv), require("unit", unit.size(), model.nv);
    require("place", place.size(), model.nv), require("turning", turning.size(), model.nv), require("q", q.size(), model.nq);
    if (free.size() > model.nv) refuse("free has more than %lld entries", static_cast<long long>(model.nv));
    for (index i = 0; i < free.size(); ++i)
        if (free.data()[i] < 0 || free.data()[i] >= model.nv)
            refuse("free has an entry %lld out of range", static_cast<long long>(free.data()[i]));
    for (index i = 0; i < model.nv; ++i)
        if (place.data()[i] < -1 || place.data()[i] >= model.nq)
            refuse("place has an entry %lld out of range", static_cast<long long>(place.data()[i]));
    Reach x = {};
    const std::vector<Aim> aims = read_aims(whole, real, model.count, x.rows);
    require("left", left.size(), x.rows);
    x.aims = aims.data(), x.count = static_cast<index>(aims.size());
    x.allowed = {free.data(), free.size(), lower.data(), upper.data(), place.data(), false};
    x.unit = unit.data(), x.turning = turning.data(), x.tolerances = read_tolerances(tolerances);
    if (x.count == 0 || free.size() == 0 || !rigid::finite(q.data(), model.nq)) return -1;
    const loops::Kernels& kernels = loops::best_kernels();
    rigid::Workspace space;
    const index steps = kernels.reach(model, space.hold(kernels.reach_room(model, x)), x, q.data(), left.data());
    return steps >= 0 && rigid::finite(q.data(), model.nq) && rigid::finite(left.data(), x.rows) ? steps : -1;
}

}  // namespace

void bind(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("reach", &run_reach, nb::arg("model"), array("aims_whole"), array("aims_real"), array("free"), array("lower"),
          array("upper"), array("place"), array("unit"), array("turning"), array("tolerances"), array("q"), array("left"),
          "Inverse kinematics from one start.");
}

}  // namespace kinematics
}  // namespace soacraft
