// The equations of components as a list of calls on slots: one array of numbers for all signals, states and what is computed
// from them. Most calls are of compiled functions; those into another language are `Foreign`.
//
// Sampled components tick: tick k of a clock is at offset + round(k period) nanoseconds, the period a fraction (systems/clocks.py).
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/components/crossing.hpp"
#include "soacraft/rigid/model/model.hpp"
#include "soacraft/workspace.hpp"

namespace soacraft {
namespace sim {

// An equation in compiled form: in[i] is its i-th argument (without the parameters), p its parameters one after the other, `out`
// takes n numbers, which overlap no argument.
typedef void (*Twin)(const double* const* in, const double* p, double* out, std::int64_t n);

// A call that compiled code does not know; false where it failed.
struct Foreign {
    virtual ~Foreign() = default;
    virtual bool call() = 0;
};

struct Range {
    index at, count;
};

// Calls in order.
class Calls {
public:
    void add(Twin twin, const std::vector<const double*>& in, const std::vector<double>& p, double* out, index n) {
        calls_.push_back({twin, nullptr, in_.size(), p_.size(), out, n});
        in_.insert(in_.end(), in.begin(), in.end());
        p_.insert(p_.end(), p.begin(), p.end());
    }
    void add(std::unique_ptr<Foreign> foreign) {
        calls_.push_back({nullptr, foreign.get(), 0, 0, nullptr, 0});
        foreign_.push_back(std::move(foreign));
    }
    bool run() const {
        const double* const* in = in_.data();
        const double* p = p_.data();
        for (const Call& c : calls_) {
            if (c.twin)
                c.twin(in + c.in, p + c.p, c.out, c.n);
            else if (!c.foreign->call())
                return false;
        }
        return true;
    }
    bool empty() const { return calls_.empty(); }
    index compiled() const { return static_cast<index>(calls_.size() - foreign_.size()); }
    index foreign() const { return static_cast<index>(foreign_.size()); }

private:
    struct Call {
        Twin twin;
        Foreign* foreign;
        std::size_t in, p;  // where they begin
        double* out;
        index n;
    };
    std::vector<Call> calls_;
    std::vector<const double*> in_;
    std::vector<double> p_;
    std::vector<std::unique_ptr<Foreign>> foreign_;
};

// Ticks at offset + round(k num / den), of two whole numbers that are as near the even one.
struct Clock {
    index num, den, offset;
    index at(index k) const {
        __extension__ typedef __int128 wide;
        const wide twice = wide(2) * k * num + den, whole = twice / (wide(2) * den), rest = twice - whole * 2 * den;
        return offset + static_cast<index>(whole) - (rest == 0 ? static_cast<index>(whole & 1) : 0);
    }
};

// Work of an instant at which some clocks tick together: outputs in order, then all updates at once.
struct Due {
    Calls before, behind, updates;
    bool reads_vdot = false;
    std::vector<Range> outputs;  // what must be finite,
    std::vector<Range> fresh;    // next values,
    std::vector<index> to;       // and the states they become
};

// A force on the plant: on one dof; on all (dof -1, spot -1); or at a node (spot), as a force, a moment or both, in inertial axes
// or in its own.
enum Wrenched : int { FORCE = 0, MOMENT = 1, BOTH = 2 };
struct Push {
    index at, dof, spot;
    Wrenched kind;
    bool own;
};

// Contacts of a step as components read them: the mean force on some shapes from others, or (pressed) whether there is one.
struct Touch {
    index at;
    bool pressed;
    std::vector<char> on, from;  // (shapes)

    // The side of a contact of two shapes that is meant: 1 for the second, -1 for the first, 0 for none.
    int side(index a, index b) const {
        const auto has = [](const std::vector<char>& some, index i) { return i < static_cast<index>(some.size()) && some[static_cast<std::size_t>(i)]; };
        return has(on, b) && has(from, a) ? 1 : has(on, a) && has(from, b) ? -1 : 0;
    }
};

// Slots of the quantities of a node, -1 for none: its rotation, position, angular and linear velocity, in inertial axes.
struct Node {
    index rotation, position, angular, linear;
};

class Plan {
public:
    double* slots = nullptr;
    index size = 0;
    index q = -1, v = -1, vdot = -1;  // where the plant's are
    Range z{0, 0};                    // continuous states,
    index zdot = 0;                   // and their rates
    std::vector<double> nominal;      // their usual sizes
    Calls before, behind, rates;
    Calls late_before, late_behind;  // for the record alone
    bool reads_vdot = false;
    std::vector<Push> pushes;
    std::vector<Node> nodes;
    std::vector<rigid::Body> frames, spots;  // of nodes, and of where forces act
    std::vector<Range> columns;  // what is recorded
    index width = 0;
    Calls margins;                      // functions whose zeros are located,
    Range margin{0, 0};                 // their values,
    std::vector<Crossing> crossings;    // how they may cross,
    double* signs = nullptr;            // (2, crossings): their signs, and 1 where these follow from values alone

    std::vector<Touch> touches;

    std::vector<Clock> clocks;
    index* counts = nullptr;  // the number of the next tick of each
    index origin = 0;         // nanoseconds from which ticks are counted
    std::map<std::uint64_t, Due> dues;
    std::uint64_t unknown = 0;  // clocks that tick together next, where `dues` does not have them

    // Clocks that tick next, and the time; false where there are none.
    bool next(index& when, std::uint64_t& which) const {
        which = 0;
        for (std::size_t i = 0; i < clocks.size(); ++i) {
            const index due = origin + clocks[i].at(counts[i]);
            if (!which || due < when) when = due, which = 0;
            if (due == when) which |= std::uint64_t(1) << i;
        }
        return which != 0;
    }

    // True if the work of the next tick is known.
    bool knows_next() {
        index when = 0;
        std::uint64_t which = 0;
        unknown = next(when, which) && !dues.count(which) ? which : 0;
        return !unknown;
    }

    bool ticking = false;  // the last call of an equation was at a tick
    bool spoiled = false;  // a number at a tick of the clocks `spoilt`, or (none) one that is recorded, was not finite
    std::uint64_t spoilt = 0;
    std::vector<double> wrong;  // the slots where a step failed
    void begin() { ticking = spoiled = false, unknown = 0, wrong.clear(); }

    void place(double t, const double* q_, const double* v_, index nq, index nv, const double* z_) {
        slots[0] = t;
        if (q >= 0) copy(slots + q, q_, nq), copy(slots + v, v_, nv);
        copy(slots + z.at, z_, z.count);
    }
    // Put the quantities of node i: rotations, positions and twists of all nodes, one after the other.
    void put(index i, const double* R, const double* p, const double* twist) {
        const Node& to = nodes[static_cast<std::size_t>(i)];
        if (to.rotation >= 0) copy(slots + to.rotation, R + 9 * i, 9);
        if (to.position >= 0) copy(slots + to.position, p + 3 * i, 3);
        if (to.angular >= 0) copy(slots + to.angular, twist + 6 * i, 3);
        if (to.linear >= 0) copy(slots + to.linear, twist + 6 * i + 3, 3);
    }
    void accelerate(const double* vdot_, index nv) {
        if (vdot >= 0) copy(slots + vdot, vdot_, nv);
    }

    // Take the contacts of a step of length h: rows of ContactLog, one for each point.
    void feel(const double* points, index count, index row, double h) {
        constexpr int IMPULSE = 5;
        for (const Touch& touch : touches) {
            double sum[3] = {};
            bool pressed = false;
            for (index k = 0; k < count; ++k) {
                const double *point = points + row * k, *p = point + IMPULSE;
                const int side = touch.side(static_cast<index>(point[0]), static_cast<index>(point[1]));
                if (!side) continue;
                for (int i = 0; i < 3; ++i) sum[i] += side * p[i];
                pressed = pressed || p[0] != 0.0 || p[1] != 0.0 || p[2] != 0.0;
            }
            if (touch.pressed) slots[touch.at] = pressed;
            else for (int i = 0; i < 3; ++i) slots[touch.at + i] = sum[i] / h;
        }
    }

    // y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once. `accelerations` puts them into their slots.
    template <class Accelerations>
    bool tick(std::uint64_t which, const Accelerations& accelerations) {
        const auto found = dues.find(which);
        if (found == dues.end()) return false;
        const Due& due = found->second;
        ticking = true;
        if (!due.before.run()) return false;
        if (due.reads_vdot && !(accelerations() && due.behind.run())) return false;
        if (!due.updates.run()) return false;
        for (const Range& x : due.outputs)
            if (!rigid::finite(slots + x.at, x.count)) return spoil(which);
        for (const Range& x : due.fresh)
            if (!rigid::finite(slots + x.at, x.count)) return spoil(which);
        for (std::size_t i = 0; i < due.fresh.size(); ++i) {
            if (due.fresh[i].count == 1)
                slots[due.to[i]] = slots[due.fresh[i].at];
            else
                copy(slots + due.to[i], slots + due.fresh[i].at, due.fresh[i].count);
        }
        for (std::size_t i = 0; i < clocks.size(); ++i) counts[i] += static_cast<index>(which >> i & 1);
        ticking = false;
        return true;
    }

    // The row of the signals that are recorded; those that no rate needs are computed here. `vdot_` are the accelerations.
    bool sample(const double* vdot_, index nv, double* to) {
        if (!late_before.run()) return false;
        if (!late_behind.empty()) {
            accelerate(vdot_, nv);
            if (!late_behind.run()) return false;
        }
        double* end = to;
        for (const Range& x : columns) {
            if (x.count == 1)
                *end++ = slots[x.at];
            else
                copy(end, slots + x.at, x.count), end += x.count;
        }
        return rigid::finite(to, end - to) || spoil(0);
    }

    void keep() {
        kept_.assign(slots, slots + size);
        kept_counts_.assign(counts, counts + clocks.size());
        kept_signs_.assign(signs, signs + 2 * margin.count);
    }
    // Have what there was; `wrong` has what there is.
    void restore() {
        wrong.assign(slots, slots + size);
        copy(slots, kept_.data(), size);
        for (std::size_t i = 0; i < kept_counts_.size(); ++i) counts[i] = kept_counts_[i];
        copy(signs, kept_signs_.data(), 2 * margin.count);
    }

    static void copy(double* to, const double* from, index n) {
        if (n > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(double));
    }

private:
    bool spoil(std::uint64_t which) {
        spoiled = true, spoilt = which;
        return false;
    }
    std::vector<double> kept_, kept_signs_;
    std::vector<index> kept_counts_;
};

}  // namespace sim
}  // namespace soacraft
