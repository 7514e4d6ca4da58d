// Starts of inverse kinematics of a limb: which go first, and when a lane takes the next. A goal has `near` as its first start,
// then configurations of the table, those whose tips are nearest to the goal first. One goal has all lanes; of many goals each has
// a lane, so that an answer does not depend on the others. A start that comes to a minimum is given up while many others wait, and
// configurations near that go last. Where no start gets there, the best of them goes on to the nearest approach. Nothing is
// allocated.
#pragma once

#include <chrono>

#include "limb_lanes.hpp"
#include "limb_table.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::LimbJob;
using kinematics::LimbTable;

template <int W>
class LimbSearch {
public:
    LimbSearch(const LimbJob& job) : job_(job), table_(*job.table), set_(*job.options), n_(job.limb->dofs), lanes_(*job.limb, *job.options) {}

    // All lanes for each goal.
    void singly(index begin, index end) {
        for (index g = begin; g < end; ++g) one(g);
    }

    // A lane for each goal.
    void together(index begin, index end) {
        index next = begin;
        for (int i = 0; i < W; ++i) lane_[i].goal = -1;
        for (int i = 0; i < W; ++i) next = take(i, next, end);
        fill_idle();
        while (some()) {
            look();
            const auto met = lanes_.met();
            for (int i = 0; i < W; ++i) {
                Lane& x = lane_[i];
                if (x.goal < 0) continue;
                const double square = lanes_.square.x[i];
                if (square < x.best) keep(i, x.goal, square);
                if (met[i] || (given_up(i, i, x.tried) && !next_start(i))) {
                    index* told = job_.told + 3 * x.goal;
                    told[0] = met[i] ? 1 : 0, told[1] = x.tried, told[2] = x.total;
                    if (met[i]) keep(i, x.goal, square);
                    next = take(i, next, end);
                }
            }
            lanes_.step(lanes_.damping());
        }
        for (index g = begin; g < end; ++g)
            if (!job_.told[3 * g]) settle(g);
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Lane {
        index goal, seed, tried, steps, total;
        index due;  // the step at which what was gained is looked at
        double hoped, best;
        Clock::time_point began;
    };
    // Minima at which starts for a goal ended, the last of them.
    struct Minima {
        static constexpr index MOST = 8;
        double q[MOST][kinematics::MOST_DOFS];
        index count;

        void add(const LimbLanes<W>& lanes, int lane) {
            for (index k = 0; k < lanes.limb.dofs; ++k) q[count % MOST][k] = lanes.at(k, lane);
            ++count;
        }
        bool near(const double* at, const Limb& limb, double within) const {
            for (index m = 0; m < count && m < MOST; ++m) {
                bool all = true;
                for (index k = 0; k < limb.dofs; ++k) all = all && std::fabs(at[k] - q[m][k]) * limb.unit[k] < within;
                if (all) return true;
            }
            return false;
        }
    };
    const LimbJob& job_;
    const LimbTable& table_;
    const LimbOptions& set_;
    const index n_;
    LimbLanes<W> lanes_;
    Lane lane_[W];
    LimbScores scores_[W];
    Minima minima_[W];

    const double* near(index goal) const { return job_.near + job_.near_step * goal * n_; }
    bool some() const {
        for (int i = 0; i < W; ++i)
            if (lane_[i].goal >= 0) return true;
        return false;
    }
    // Time counts after as many steps as one start may take.
    bool late(const Clock::time_point& began, index steps) const {
        return set_.seconds > 0.0 && steps > set_.steps && std::chrono::duration<double>(Clock::now() - began).count() > set_.seconds;
    }

    void look() {
        for (int i = 0; i < W; ++i) ++lane_[i].steps, ++lane_[i].total;
        lanes_.look();
    }

    // Let lane i begin start `number` of its goal, whose scores and minima are those of lane `of`; false where there is none.
    bool begin_start(int i, index number, int of) {
        Lane& x = lane_[i];
        const double* from = near(x.goal);
        if (number > 0) {
            const index k = scores_[of].take([&](index m) { return minima_[of].near(table_.q + m * n_, *job_.limb, set_.largest); });
            if (k < 0) return false;
            from = table_.q + k * n_;
        }
        lanes_.start(i, from);
        x.seed = number, x.steps = -1, x.due = 0, x.hoped = HUGE_VAL;
        return true;
    }
    bool next_start(int i) {
        Lane& x = lane_[i];
        if (x.tried >= set_.seeds || late(x.began, x.total) || !begin_start(i, x.tried, i)) return false;
        ++x.tried;
        return true;
    }

    // Whether the start of lane i is given up, after so many were tried.
    bool given_up(int i, int of, index tried) {
        Lane& x = lane_[i];
        const bool minimum = lanes_.flat[i] && x.steps > 0 && !set_.all;
        if ((!minimum || waited_for(x, tried)) && !spent(x, lanes_.square.x[i])) return false;
        if (minimum) minima_[of].add(lanes_, i);
        return true;
    }
    // Where `near` is asked for, and after half of the starts: steps may still lead out of what looks like a minimum.
    bool waited_for(const Lane& x, index tried) const {
        const index starts = set_.seeds <= table_.count ? set_.seeds : table_.count + 1;
        return (set_.near_first && x.seed == 0) || 2 * tried > starts;
    }
    // Too many steps, or too little gained by them.
    bool spent(Lane& x, double square) const {
        if (!(square < HUGE_VAL) || x.steps >= set_.steps) return true;
        if (x.steps < x.due) return false;
        if (square > x.hoped) return true;
        x.hoped = set_.enough * square, x.due += set_.patience;
        return false;
    }

    index take(int i, index next, index end) {
        Lane& x = lane_[i];
        if (next >= end) {
            x.goal = -1;
            return next;
        }
        x = {next, 0, 1, -1, 0, 0, HUGE_VAL, HUGE_VAL, Clock::now()};
        const double* goal = job_.goals + kinematics::PLACE * next;
        scores_[i].set(*job_.limb, table_, set_, goal), minima_[i].count = 0;
        lanes_.aim(i, goal);
        begin_start(i, 0, i);
        return next + 1;
    }
    // Lanes without a goal follow the first, so that their numbers are numbers.
    void fill_idle() {
        const double* goal = job_.goals;
        for (int i = 0; i < W; ++i)
            if (lane_[i].goal < 0) lanes_.aim(i, goal), lanes_.start(i, job_.near);
    }

    void write(int i, double* q, double* left) const {
        for (index k = 0; k < n_; ++k) q[k] = lanes_.at(k, i);
        for (int r = 0; r < 6; ++r) left[r] = lanes_.e[r].x[i];
    }
    void keep(int i, index goal, double square) {
        lane_[i].best = square;
        write(i, job_.q + goal * n_, job_.left + 6 * goal);
    }
    double far(int i, const double* from) const {
        double sum = 0.0;
        for (index k = 0; k < n_; ++k) {
            const double d = (lanes_.at(k, i) - from[k]) * job_.limb->unit[k];
            sum += d * d;
        }
        return sum;
    }

    void one(index g) {
        const double* goal = job_.goals + kinematics::PLACE * g;
        const Clock::time_point began = Clock::now();
        double *q = set_.all ? job_.q + g * set_.seeds * n_ : job_.q + g * n_, *left = set_.all ? job_.left + 6 * g * set_.seeds : job_.left + 6 * g;
        scores_[0].set(*job_.limb, table_, set_, goal), minima_[0].count = 0;
        index tried = 0, found = 0, total = 0;
        double best = HUGE_VAL, nearest = HUGE_VAL;
        bool more = true, waits = set_.near_first;
        const auto begin = [&](int i) {
            if (!more || tried >= set_.seeds || !begin_start(i, tried, 0)) return void(lane_[i].goal = -1);
            ++tried;
        };
        for (int i = 0; i < W; ++i) lane_[i] = {g, 0, 0, -1, 0, 0, HUGE_VAL, HUGE_VAL, began}, lanes_.aim(i, goal), lanes_.start(i, near(g)), begin(i);
        while (some()) {
            look();
            const auto met = lanes_.met();
            for (int i = 0; i < W; ++i) {
                Lane& x = lane_[i];
                if (x.goal < 0) continue;
                const double square = lanes_.square.x[i];
                if (met[i]) {
                    if (set_.all) {
                        write(i, q + found * n_, left + 6 * found), ++found;
                        begin(i);
                        continue;
                    }
                    const double d = x.seed == 0 && set_.near_first ? -1.0 : set_.near_first ? far(i, near(g)) : 0.0;
                    if (d < nearest) nearest = d, write(i, q, left);
                    found = 1, more = false, x.goal = -1;
                    if (x.seed == 0) waits = false;
                } else {
                    if (!set_.all && !found && square < best) best = square, write(i, q, left);
                    if (given_up(i, 0, tried)) {
                        if (x.seed == 0) waits = false;
                        begin(i);
                    }
                }
            }
            if (found && !set_.all && !waits) break;
            if (late(began, total)) break;
            if (!some()) break;
            lanes_.step(lanes_.damping()), ++total;
        }
        index* told = job_.told + 3 * g;
        told[0] = found, told[1] = tried, told[2] = total;
        if (!found && !set_.all) settle(g);
    }

    // The nearest approach to a goal from where starts came nearest: steps of which each lane takes one with another damping, and
    // the best is kept, until none makes what is left smaller. Should that lead to the goal, it is found.
    void settle(index g) {
        double *q = job_.q + g * n_, *left = job_.left + 6 * g;
        for (int i = 0; i < W; ++i) lanes_.aim(i, job_.goals + kinematics::PLACE * g);
        double factor = 1.0;
        index raised = 0;
        gather(q);
        for (index steps = 0; steps < set_.settling && raised < 4; ++steps) {
            const double here = lanes_.square.x[0];
            write(0, q, left);
            auto mu = lanes_.damping();
            double part = factor;
            for (int i = 0; i < W; ++i, part *= FINER) mu.x[i] *= part;
            lanes_.step(mu), lanes_.look();
            int best = 0;
            for (int i = 1; i < W; ++i)
                if (lanes_.square.x[i] < lanes_.square.x[best]) best = i;
            if (!(lanes_.square.x[best] < here)) {  // smaller steps
                factor *= 64.0, ++raised;
                gather(q);
                continue;
            }
            raised = 0;
            for (int i = 0; i + 1 < best; ++i) factor *= FINER;  // the best near the middle of the next
            if (best == 0) factor /= FINER;
            lanes_.spread(best);
            if (lanes_.met()[0]) job_.told[3 * g] = 1;
            if (job_.told[3 * g] || lanes_.square.x[0] > (1.0 - set_.settled) * here) break;
        }
        write(0, q, left);
    }
    void gather(const double* q) {
        for (int i = 0; i < W; ++i) lanes_.start(i, q);
        lanes_.look();
    }
    static constexpr double FINER = 0.25;  // from the damping of one lane to that of the next
};

template <int W>
void search_limb(const LimbJob& job, index begin, index end) {
    LimbSearch<W> search(job);
    if (job.options->all || job.count < 2 * W)
        search.singly(begin, end);
    else
        search.together(begin, end);
}

SOACRAFT_RIGID_END
