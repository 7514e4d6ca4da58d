// Plans of systems: ticks never slip, calls run in order, what fails leaves the slots as they were; twins by hand.
#include <limits>

#include "../sim/components/plan.hpp"
#include "../sim/components/twins.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

using namespace sim;

void add(const double* const* in, const double* p, double* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = in[0][i] + p[0];
}

struct Failing : Foreign {
    bool fails = false;
    int calls = 0;
    bool call() override {
        ++calls;
        return !fails;
    }
};

void test_clocks() {
    const Clock third{1000000000, 3, 0}, half{5, 2, 7}, long_one{(index(1) << 62) - 1, (index(1) << 61) - 1, 0};
    expect(third.at(0) == 0 && third.at(1) == 333333333 && third.at(2) == 666666667 && third.at(3) == 1000000000, "ticks at 3 Hz");
    expect(third.at(3 * 3600) == index(3600) * 1000000000, "after an hour 3 Hz has not slipped");
    expect(half.at(1) == 7 + 2 && half.at(2) == 7 + 5 && half.at(3) == 7 + 8, "of two whole numbers the even one");
    expect(long_one.at(1000000) == 2000000, "products beyond 64 bits");
}

// A counter that ticks every 10 ns, and one every 15 ns; both at 30 ns.
void test_ticks() {
    double slots[8] = {};
    index counts[2] = {};
    Plan plan;
    plan.slots = slots, plan.size = 8, plan.counts = counts, plan.z = {7, 0}, plan.zdot = 7;
    plan.clocks = {{10, 1, 0}, {15, 1, 0}};
    Failing* watched = nullptr;
    const auto due = [&](std::uint64_t which) {
        Due made;
        for (index i = 0; i < 2; ++i)
            if (which >> i & 1) {
                made.updates.add(add, {slots + 1 + i}, {1.0}, slots + 3 + i, 1);
                made.fresh.push_back({3 + i, 1}), made.to.push_back(1 + i), made.outputs.push_back({1 + i, 1});
            }
        auto foreign = std::make_unique<Failing>();
        watched = foreign.get();
        made.before.add(std::move(foreign));
        plan.dues.erase(which), plan.dues.emplace(which, std::move(made));
    };
    due(1), due(2);
    index when = 0;
    std::uint64_t which = 0;
    const auto none = [] { return true; };
    expect(!plan.knows_next() && plan.unknown == 3, "two clocks that tick together for the first time");
    due(3);
    const index times[] = {0, 10, 15, 20, 30};
    for (const index t : times) {
        expect(plan.knows_next() && plan.next(when, which) && when == t, "the next tick");
        expect(which == (t % 30 == 0 ? 3u : t == 15 ? 2u : 1u), "which clocks tick");
        expect(plan.tick(which, none), "a tick");
    }
    expect(slots[1] == 4.0 && slots[2] == 3.0 && counts[0] == 4 && counts[1] == 3, "updates are counted");
    plan.keep(), plan.begin();
    plan.next(when, which);
    due(which), watched->fails = true;
    expect(!plan.tick(which, none) && !plan.spoiled, "a call that fails");
    watched->fails = false, slots[1] = std::numeric_limits<double>::quiet_NaN();
    expect(!plan.tick(which, none) && plan.spoiled && plan.spoilt == which && counts[0] == 4, "a number that is not finite");
    plan.restore();
    expect(slots[1] == 4.0 && plan.wrong.size() == 8 && std::isnan(plan.wrong[1]), "slots as they were, and what was wrong");
    plan.columns = {{1, 2}, {0, 1}};
    double row[3];
    expect(plan.sample(nullptr, 0, row) && row[0] == 4.0 && row[1] == 3.0 && row[2] == slots[0], "a row");
    slots[2] = INFINITY;
    plan.begin();
    expect(!plan.sample(nullptr, 0, row) && plan.spoiled && plan.spoilt == 0, "a row that is not finite");
}

Twin twin(const char* name) {
    for (const Named* x = TWINS; x->name; ++x)
        if (std::string(x->name) == name) return x->twin;
    return nullptr;
}

void test_twins() {
    const double a[] = {1.0, -2.0}, b[] = {0.5, 4.0}, t = 2.0, p[] = {3.0, 0.25, 7.0, 8.0};
    const double* in[] = {a, b, &t};
    double out[3];
    twin("Sum.y")(in, p, out, 2);
    expect(out[0] == 3.125 && out[1] == -5.0, "a sum");
    twin("Saturation.y")(in, p + 1, out, 2);
    expect(out[0] == 1.0 && out[1] == 0.25, "limits");
    const double* at[] = {&t};
    twin("Ramp.y")(at, p, out, 1);
    expect(out[0] == 3.0 * 1.75, "a ramp");
    twin("Thruster.force")(at, p, out, 3);
    expect(out[0] == 2.0 && out[1] == 0.0 && out[2] == 0.0, "a thruster");
}

}  // namespace
}  // namespace soacraft

void test_plans() { soacraft::test_clocks(), soacraft::test_ticks(), soacraft::test_twins(); }
