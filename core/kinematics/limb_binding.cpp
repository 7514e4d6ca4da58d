// `_core.Limb`: a limb with its table of configurations; inverse kinematics of one goal or many.
#include "array.hpp"
#include "fields.hpp"
#include "signals.hpp"
#include "soacraft/kinematics/limb.hpp"

#include <vector>

namespace soacraft {
namespace kinematics {
namespace {

void require(const char* name, const Array<double>& x, index rows, index columns) {
    if (x.size(0) != rows || x.size(1) != columns)
        refuse("%s must have the shape (%lld, %lld)", name, static_cast<long long>(rows), static_cast<long long>(columns));
}

// What a search is told, read once from a plan of Python's.
class OwnedPlan {
public:
    explicit OwnedPlan(nb::handle plan) {
        const Array<double> tolerance(field(plan, "tolerance"), "tolerance", 1);
        if (tolerance.size() != 6) refuse("a limb's tolerance has six numbers");
        for (int r = 0; r < 6; ++r) set.tolerance[r] = tolerance.data()[r];
        set.seeds = integer(plan, "seeds"), set.steps = integer(plan, "steps"), set.patience = integer(plan, "patience");
        set.enough = number(plan, "enough"), set.damping = number(plan, "damping"), set.damped = number(plan, "damped");
        set.largest = number(plan, "largest"), set.seconds = number(plan, "seconds"), set.settled = number(plan, "settled");
        set.all = integer(plan, "all") != 0, set.near_first = integer(plan, "near_first") != 0, set.settling = integer(plan, "settling");
        if (set.seeds < 1 || set.steps < 1 || set.patience < 1 || !(set.largest > 0.0) || !(set.damped > 0.0)) refuse("a plan of a limb has a number out of range");
    }
    LimbOptions set = {};
};

class OwnedLimb {
public:
    // hinges (count, PLACE + 4): pose, turn, slide, ratio, offset; their dofs; tip (PLACE); lower, upper, unit (dofs)
    OwnedLimb(nb::handle hinges_, nb::handle dofs_, nb::handle tip_, nb::handle lower_, nb::handle upper_, nb::handle unit_, double length) {
        const Array<double> hinges(hinges_, "hinges", 2), tip(tip_, "tip", 1), lower(lower_, "lower", 1), upper(upper_, "upper", 1), unit(unit_, "unit", 1);
        const Array<index> dofs(dofs_, "dofs", 1);
        const index n = lower.size(), count = hinges.size(0);
        if (n < 1 || n > MOST_DOFS || count > 2 * MOST_DOFS) refuse("a limb has 1 to %lld dofs", static_cast<long long>(MOST_DOFS));
        if (hinges.size(1) != PLACE + 4 || dofs.size() != count || tip.size() != PLACE || upper.size() != n || unit.size() != n)
            refuse("the arrays of a limb do not fit each other");
        if (!(length > 0.0)) refuse("the length of a limb must be positive");
        for (index i = 0; i < count; ++i) {
            LimbHinge h;
            const double* x = hinges.data() + i * (PLACE + 4);
            for (index k = 0; k < PLACE; ++k) h.at[k] = x[k];
            h.turn = x[PLACE], h.slide = x[PLACE + 1], h.ratio = x[PLACE + 2], h.offset = x[PLACE + 3], h.dof = dofs.data()[i];
            if (h.dof < 0 || h.dof >= n) refuse("hinge %lld of a limb has a dof out of range", static_cast<long long>(i));
            hinges_own_.push_back(h);
        }
        for (const Array<double>* x : {&lower, &upper, &unit}) numbers_.insert(numbers_.end(), x->data(), x->data() + n);
        for (index i = 0; i < n; ++i)
            if (!(numbers_[static_cast<std::size_t>(2 * n + i)] > 0.0)) refuse("units of dofs must be positive");
        for (index k = 0; k < PLACE; ++k) limb_.tip[k] = tip.data()[k];
        limb_.hinges = hinges_own_.data(), limb_.count = count, limb_.dofs = n, limb_.length = length;
        limb_.lower = numbers_.data(), limb_.upper = numbers_.data() + n, limb_.unit = numbers_.data() + 2 * n;
    }
    OwnedLimb(const OwnedLimb&) = delete;

    // Configurations (count, dofs), positions (3, count) and quaternions (4, count) of the tip.
    void set_table(nb::handle q_, nb::handle position_, nb::handle turn_) {
        const Array<double> q(q_, "q", 2), position(position_, "position", 2), turn(turn_, "turn", 2);
        const index m = q.size(0);
        if (m > MOST_STORED) refuse("a table has at most %lld configurations", static_cast<long long>(MOST_STORED));
        require("q", q, m, limb_.dofs), require("position", position, 3, m), require("turn", turn, 4, m);
        table_q_.assign(q.data(), q.data() + m * limb_.dofs);
        position_own_.assign(position.data(), position.data() + 3 * m), turn_own_.assign(turn.data(), turn.data() + 4 * m);
        table_ = {table_q_.data(), position_own_.data(), turn_own_.data(), m};
    }

    // q, left <- the answer for one goal; from how many starts, negative where it was not found.
    index find(nb::handle rotation_, nb::handle translation_, nb::handle near_, const OwnedPlan& plan, nb::handle q_, nb::handle left_) const {
        const Array<double> rotation(rotation_, "rotation", 2), translation(translation_, "translation", 1), near(near_, "near", 1), q(q_, "q", 1, true), left(left_, "left", 1, true);
        const index n = limb_.dofs;
        if (plan.set.all) refuse("find gives one answer, and the plan asks for all");
        require("rotation", rotation, 3, 3);
        if (translation.size() != 3 || near.size() != n || q.size() != n || left.size() != 6) refuse("the arrays of find do not fit the limb");
        double goal[PLACE];
        for (int i = 0; i < 9; ++i) goal[i] = rotation.data()[i];
        for (int i = 0; i < 3; ++i) goal[9 + i] = translation.data()[i];
        index told[3] = {0, 0, 0};
        const LimbJob job = {&limb_, &table_, &plan.set, goal, near.data(), 0, 1, q.data(), left.data(), told};
        without_lock([&] { limb_kernels().search(job, 0, 1); });
        return told[0] ? told[1] : -told[1];
    }

    // q, left, told <- answers for goals (count, PLACE), starting at near (count or 1, dofs).
    void search(nb::handle goals_, nb::handle near_, const OwnedPlan& plan, nb::handle q_, nb::handle left_, nb::handle told_, index threads) const {
        const Array<double> goals(goals_, "goals", 2), near(near_, "near", 2), q(q_, "q", 2, true), left(left_, "left", 2, true);
        const Array<index> told(told_, "told", 2, true);
        const index count = goals.size(0), n = limb_.dofs;
        const LimbOptions& set = plan.set;
        const index rows = count * (set.all ? set.seeds : 1);
        require("goals", goals, count, PLACE), require("near", near, near.size(0) == 1 ? 1 : count, n);
        require("q", q, rows, n), require("left", left, rows, 6);
        if (told.size(0) != count || told.size(1) != 3) refuse("told must have the shape (count, 3)");
        const LimbJob job = {&limb_, &table_, &set, goals.data(), near.data(), near.size(0) == 1 ? 0 : 1, count, q.data(), left.data(), told.data()};
        const LimbKernels& kernels = limb_kernels();
        threads = threads <= 1 || count < 2 * threads ? 1 : threads;
        without_lock([&] {
            interrupt::share(threads, [&](index k) {
                interrupt::in_parts(k * count / threads, (k + 1) * count / threads, 1, [&](index first, index last) {
                    kernels.search(job, first, last);
                    return true;
                });
            });
        });
    }

private:
    Limb limb_ = {};
    LimbTable table_ = {};
    std::vector<LimbHinge> hinges_own_;
    std::vector<double> numbers_, table_q_, position_own_, turn_own_;
};

}  // namespace

void bind_limbs(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<OwnedPlan>(m, "LimbPlan", "What a search of a limb is told.").def(nb::init<nb::handle>(), array("plan"));
    nb::class_<OwnedLimb>(m, "Limb", "Hinges one after the other, and inverse kinematics of their tip.")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, double>(), array("hinges"), array("dofs"), array("tip"),
             array("lower"), array("upper"), array("unit"), nb::arg("length"))
        .def("set_table", &OwnedLimb::set_table, array("q"), array("position"), array("turn"), "Configurations that searches may start from.")
        .def("find", &OwnedLimb::find, array("rotation"), array("translation"), array("near"), nb::arg("plan"), array("q"), array("left"),
             "Coordinates at which the tip is at a goal; from how many starts, negative where there are none.")
        .def("search", &OwnedLimb::search, array("goals"), array("near"), nb::arg("plan"), array("q"), array("left"), array("told"),
             nb::arg("threads"), "Coordinates at which the tip is at each goal.");
}

}  // namespace kinematics
}  // namespace soacraft
