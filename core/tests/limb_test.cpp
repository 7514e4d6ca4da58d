// Inverse kinematics of limbs: a planar arm against its forward kinematics, in buffers of exactly their size.
#include "soacraft/kinematics/limb_search.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

void search(unsigned seed) {
    using namespace kinematics;
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> angle(-1.5, 1.5), size(0.3, 1.0);
    const index n = 2 + seed % 5, count = 1 + seed % 7, table_size = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 32 : 75;
    Buffer<LimbHinge> hinges(static_cast<std::size_t>(n));
    Buffer<double> lower(static_cast<std::size_t>(n), -2.0), upper(static_cast<std::size_t>(n), 2.0), unit(static_cast<std::size_t>(n), 1.0);
    double reach = 0.0, last = 0.0;
    for (index i = 0; i < n; ++i) {
        LimbHinge& h = hinges[static_cast<std::size_t>(i)];
        const double place[PLACE] = {1, 0, 0, 0, 1, 0, 0, 0, 1, last, 0, 0};
        for (index k = 0; k < PLACE; ++k) h.at[k] = place[k];
        h.turn = 1.0, h.slide = 0.0, h.ratio = 1.0, h.offset = 0.0, h.dof = i;
        last = size(rng), reach += last;
    }
    const Limb limb = {hinges.data(), n, n, {1, 0, 0, 0, 1, 0, 0, 0, 1, last, 0, 0}, lower.data(), upper.data(), unit.data(), reach};
    const auto tip = [&](const double* q, double* place) {
        double x = 0.0, y = 0.0, turn = 0.0;
        for (index i = 0; i < n; ++i) {
            const double along = hinges[static_cast<std::size_t>(i)].at[9];
            x += along * std::cos(turn), y += along * std::sin(turn), turn += q[i];
        }
        x += last * std::cos(turn), y += last * std::sin(turn);
        const double made[PLACE] = {std::cos(turn), -std::sin(turn), 0, std::sin(turn), std::cos(turn), 0, 0, 0, 1, x, y, 0};
        for (index k = 0; k < PLACE; ++k) place[k] = made[k];
        return turn;
    };
    const auto drawn = [&](index rows) {
        Buffer<double> q(static_cast<std::size_t>(rows * n));
        for (double& x : q) x = angle(rng);
        return q;
    };
    const Buffer<double> stored = drawn(table_size), near = drawn(count), truth = drawn(count);
    Buffer<double> position(static_cast<std::size_t>(3 * table_size)), turn(static_cast<std::size_t>(4 * table_size), 0.0);
    double place[PLACE];
    for (index i = 0; i < table_size; ++i) {
        const double whole = tip(stored.data() + i * n, place);
        for (index k = 0; k < 3; ++k) position[static_cast<std::size_t>(k * table_size + i)] = place[9 + k];
        turn[static_cast<std::size_t>(2 * table_size + i)] = std::sin(0.5 * whole);
        turn[static_cast<std::size_t>(3 * table_size + i)] = std::cos(0.5 * whole);
    }
    const LimbTable table = {stored.data(), position.data(), turn.data(), table_size};
    Buffer<double> goals(static_cast<std::size_t>(PLACE * count));
    for (index g = 0; g < count; ++g) tip(truth.data() + g * n, goals.data() + PLACE * g);
    const double free = seed % 2 ? HUGE_VAL : 1e-9;  // two dofs are enough where the turn is free
    for (const bool all : {false, true}) {
        const LimbOptions set = {{free, free, free, 1e-9, 1e-9, 1e-9}, 12, 60, 5, 0.5, 0.3, 1e-12, 1.2, all, seed % 5 == 0, 0.0, 50, 1e-13};
        const index rows = all ? count * set.seeds : count;
        Buffer<double> q(static_cast<std::size_t>(rows * n), 0.0), left(static_cast<std::size_t>(6 * rows), 0.0);
        Buffer<index> told(static_cast<std::size_t>(3 * count), -1);
        const LimbJob job = {&limb, &table, &set, goals.data(), near.data(), 1, count, q.data(), left.data(), told.data()};
        rigid::SOACRAFT_TARGET::search_limb<2>(job, 0, count);
        for (index g = 0; g < count; ++g) {
            const index* said = told.data() + 3 * g;
            expect(said[0] >= 0 && said[1] >= 1 && said[1] <= set.seeds && said[2] >= 0, "limb: what is told of a goal");
            const index answers = all ? said[0] : 1;
            for (index a = 0; a < answers; ++a) {
                const double* found = q.data() + (all ? g * set.seeds + a : g) * n;
                for (index i = 0; i < n; ++i) expect(found[i] >= lower[static_cast<std::size_t>(i)] && found[i] <= upper[static_cast<std::size_t>(i)], "limb: limits");
                if (!said[0]) continue;
                tip(found, place);
                const double* goal = goals.data() + PLACE * g;
                expect(std::hypot(place[9] - goal[9], place[10] - goal[10]) < 2e-9, "limb: the tip is at its goal");
                if (!(free < HUGE_VAL)) continue;
                expect(std::fabs(place[0] - goal[0]) + std::fabs(place[1] - goal[1]) < 4e-9, "limb: the tip is turned as its goal");
            }
        }
    }
}

// Each configuration once, the nearest first, and those that are put off behind all others.
void order(unsigned seed) {
    using namespace kinematics;
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> place(-1.0, 1.0);
    const index count = 1 + seed % 100;
    Buffer<double> position(static_cast<std::size_t>(3 * count)), turn(static_cast<std::size_t>(4 * count), 0.5);
    for (double& x : position) x = place(rng);
    const LimbTable table = {nullptr, position.data(), turn.data(), count};
    Limb limb = {};
    limb.length = 1.0;
    LimbOptions set = {};
    for (int r = 0; r < 3; ++r) set.tolerance[r] = HUGE_VAL;  // positions alone count
    const double goal[PLACE] = {1, 0, 0, 0, 1, 0, 0, 0, 1, place(rng), place(rng), place(rng)};
    const auto far = [&](index k) {
        double sum = 0.0;
        for (index i = 0; i < 3; ++i) sum += std::pow(position[static_cast<std::size_t>(i * count + k)] - goal[9 + i], 2.0);
        return sum;
    };
    const auto later = [](index k) { return k % 3 == 0; };
    rigid::SOACRAFT_TARGET::LimbScores scores;
    scores.set(limb, table, set, goal);
    Buffer<index> taken(static_cast<std::size_t>(count), 0);
    index last = -1;
    for (index i = 0; i < count; ++i) {
        const index k = scores.take(later);
        expect(k >= 0 && k < count && taken[static_cast<std::size_t>(k)]++ == 0, "limb: each configuration is taken once");
        if (last >= 0) expect(later(last) == later(k) ? far(last) <= far(k) * (1.0 + 1e-12) : later(k), "limb: the order of configurations");
        last = k;
    }
    expect(scores.take(later) == -1, "limb: none is left");
}

}  // namespace
}  // namespace soacraft

void test_limbs(unsigned seed) { soacraft::search(seed), soacraft::order(seed); }
