// Starts of inverse kinematics of a limb: which go first, and when a lane takes the next. A goal has `near` as its first start,
// then configurations of the table, those whose tips are nearest to the goal first. One goal has all lanes; of many goals each has
// a lane, so that an answer does not depend on the others.
#pragma once

#include <chrono>
#include <vector>

#include "limb_lanes.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::LimbJob;
using kinematics::LimbTable;

template <int W>
class LimbSearch {
public:
    LimbSearch(const LimbJob& job) : job_(job), table_(*job.table), set_(*job.options), n_(job.limb->dofs), lanes_(*job.limb, *job.options) {
        scores_.resize(static_cast<std::size_t>(W * table_.count));
    }

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
                if (met[i] || (spent(x, square) && !next_start(i))) {
                    index* told = job_.told + 3 * x.goal;
                    told[0] = met[i] ? 1 : 0, told[1] = x.tried, told[2] = x.total;
                    if (met[i]) keep(i, x.goal, square);
                    next = take(i, next, end);
                }
            }
            lanes_.step();
        }
    }

private:
    using Clock = std::chrono::steady_clock;
    struct Lane {
        index goal, seed, tried, steps, total;
        double hoped, best;
        Clock::time_point began;
    };
    const LimbJob& job_;
    const LimbTable& table_;
    const LimbOptions& set_;
    const index n_;
    LimbLanes<W> lanes_;
    Lane lane_[W];
    std::vector<double> scores_;

    double* scores(int i) { return scores_.data() + i * table_.count; }
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

    // How far the tips of the table are from a goal: squares of the way and, about, of the turn.
    void score(double* to, const double* goal) const {
        const double scale = 1.0 / (job_.limb->length * job_.limb->length);
        double q[4], weight[2] = {0.0, 0.0};
        for (int r = 0; r < 6; ++r)
            if (set_.tolerance[r] < HUGE_VAL) weight[r / 3] += 1.0 / 3.0;
        quaternion(goal, q);
        const index m = table_.count;
        const double *x = table_.position, *t = table_.turn;
        for (index i = 0; i < m; ++i) {
            const double dx = x[i] - goal[9], dy = x[m + i] - goal[10], dz = x[2 * m + i] - goal[11];
            const double c = q[0] * t[i] + q[1] * t[m + i] + q[2] * t[2 * m + i] + q[3] * t[3 * m + i];
            to[i] = weight[1] * scale * (dx * dx + dy * dy + dz * dz) + weight[0] * 8.0 * (1.0 - std::fabs(c));
        }
    }
    static void quaternion(const double* R, double* q) {  // x, y, z, w
        const double d[4] = {R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4], R[0] + R[4] + R[8]};
        int k = 0;
        for (int i = 1; i < 4; ++i)
            if (d[i] > d[k]) k = i;
        const double w = 0.5 * std::sqrt(1.0 + d[k] > 0.0 ? 1.0 + d[k] : 0.0), s = 0.25 / w;
        const double a[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]}, b[3] = {R[5] + R[7], R[2] + R[6], R[1] + R[3]};
        for (int i = 0; i < 3; ++i) q[i] = k == 3 ? s * a[i] : i == k ? w : s * b[3 - i - k];
        q[3] = k == 3 ? w : s * a[k];
    }
    index least(double* score) const {
        index k = -1;
        double low = HUGE_VAL;
        for (index i = 0; i < table_.count; ++i)
            if (score[i] < low) low = score[i], k = i;
        if (k >= 0) score[k] = HUGE_VAL;
        return k;
    }

    void look() {
        for (int i = 0; i < W; ++i) ++lane_[i].steps, ++lane_[i].total;
        lanes_.look();
    }

    // Let lane i begin start `number` of its goal, whose scores are those of lane `of`; false where there is none.
    bool begin_start(int i, index number, int of) {
        Lane& x = lane_[i];
        const double* from = nullptr;
        if (number == 0) {
            from = near(x.goal);
        } else {
            const index k = least(scores(of));
            if (k < 0) return false;
            from = table_.q + k * n_;
        }
        lanes_.start(i, from);
        x.seed = number, x.steps = -1, x.hoped = HUGE_VAL;
        return true;
    }
    bool next_start(int i) {
        Lane& x = lane_[i];
        if (x.tried >= set_.seeds || late(x.began, x.total) || !begin_start(i, x.tried, i)) return false;
        ++x.tried;
        return true;
    }

    // Whether a start is given up: too many steps, or too little gained by them.
    bool spent(Lane& x, double square) const {
        if (!(square < HUGE_VAL) || x.steps >= set_.steps) return true;
        if (x.steps % set_.patience == 0) {
            if (square > x.hoped) return true;
            x.hoped = set_.enough * square;
        }
        return false;
    }

    index take(int i, index next, index end) {
        Lane& x = lane_[i];
        if (next >= end) {
            x.goal = -1;
            return next;
        }
        x = {next, 0, 1, -1, 0, HUGE_VAL, HUGE_VAL, Clock::now()};
        const double* goal = job_.goals + kinematics::PLACE * next;
        score(scores(i), goal);
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
        score(scores(0), goal);
        index tried = 0, found = 0, total = 0;
        double best = HUGE_VAL, nearest = HUGE_VAL;
        bool more = true, waits = set_.near_first;
        const auto begin = [&](int i) {
            if (!more || tried >= set_.seeds || !begin_start(i, tried, 0)) return void(lane_[i].goal = -1);
            ++tried;
        };
        for (int i = 0; i < W; ++i) lane_[i] = {g, 0, 0, -1, 0, HUGE_VAL, HUGE_VAL, began}, lanes_.aim(i, goal), lanes_.start(i, near(g)), begin(i);
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
                    if (spent(x, square)) {
                        if (x.seed == 0) waits = false;
                        begin(i);
                    }
                }
            }
            if (found && !set_.all && !waits) break;
            if (late(began, total)) break;
            if (!some()) break;
            lanes_.step(), ++total;
        }
        index* told = job_.told + 3 * g;
        told[0] = found, told[1] = tried, told[2] = total;
    }
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
