// Rows of tasks at a configuration: J v is to be gain (what is left) + rate. One sweep places all elements; a frame's rows have
// the dofs between it and the base. The same as `wanted` of soacraft/robot/whole_body/tasks.py, in radians and lengths:
//
//     J(r,i) / (size_r unit_i),    (gain left_r + rate_r) / size_r
//
// A row bends as the robot moves: to second order it changes by no more than |left| sqrt(c_i c_j) for dofs i and j, c being the
// lengths of its columns: gain dt weight^2 |left| sqrt(c_i) sum_j sqrt(c_j) for dof i is a bound of all of it (levels.hpp).
// O(rows nv).
#pragma once

#include "soacraft/rigid/coordinates.hpp"
#include "soacraft/rigid/kinematics.hpp"
#include "velocity_job.hpp"
#include "wide.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::GivenRows;
using kinematics::Task;
using kinematics::VelocityCall;
using kinematics::VelocityPlan;

// Of one level: its rows are from `begin` to `end`; of all dofs the square of the weights of postures, what these want, a bound of
// how its rows bend, the square of the weights of postures times their calm, and what postures pull.
struct Level {
    index begin, end;
    double *posture, *wish, *damping, *calm, *pull;
    bool upright;  // whether it has a posture
    bool given = false;  // whether it has rows that the caller gave, of which nothing tells how they change
};

struct RowWork {
    Place<double>* at;
    Spatial<double>* S;   // columns of H* by dof, about the origins of their elements
    Rigid<double>* I;     // of an element and all outboard of it, about its origin
    double *J, *wish, *pull, *size, *weight, *calm;  // (rows, wide(nv)), (rows); pull: the wish without the rate; calm: 1 - gain dt, not less than a little
    index* first;         // by task: its first row
    Level* levels;
    double *left, *root;  // (nv)

    template <class Cut>
    RowWork(const Model& model, const VelocityPlan& plan, index rows, Cut& cut) {
        const index n = model.nv, w = wide(n);
        cut(at, model.count), cut(S, n), cut(I, model.count), cut(J, rows * w), cut(wish, rows), cut(pull, rows), cut(size, rows), cut(weight, rows), cut(calm, rows);
        cut(first, plan.count + 1), cut(levels, plan.levels), cut(left, w), cut(root, w);
        double* of_levels;
        cut(of_levels, 5 * plan.levels * w);
        for (index k = 0; of_levels && k < plan.levels; ++k, of_levels += 5 * w)
            levels[k] = {0, 0, of_levels, of_levels + w, of_levels + 2 * w, of_levels + 3 * w, of_levels + 4 * w, false};
    }
};

SOACRAFT_FLAT index rows_of(const Task& t) {
    switch (t.kind) {
        case kinematics::PLACEMENT: case kinematics::MOMENTUM: return 6;
        case kinematics::AT_POINT: return 3;
        case kinematics::ALONG: case kinematics::LOOK: return 2;
        case kinematics::CENTER: return (t.picked & 1) + (t.picked >> 1 & 1) + (t.picked >> 2 & 1);
        case kinematics::STAND: return t.rows;
        default: return 0;
    }
}
// Rows of all tasks; those that are GIVEN too.
inline index all_rows(const VelocityPlan& plan, const VelocityCall& call) {
    index count = call.given.count;
    for (index i = 0; i < plan.count; ++i) count += rows_of(plan.tasks[i]);
    return count;
}

class TaskRows {
public:
    TaskRows(const Model& model, const VelocityPlan& plan, const VelocityCall& call, const RowWork& work)
        : model_(model), plan_(plan), call_(call), work_(work), w_(wide(model.nv)) {}

    // All rows; false where a posture has no difference (of a ball that rolls). `rows_alone`: no more than these.
    bool take(bool rows_alone = false) {
        rows_alone_ = rows_alone;
        place_all();
        for (index k = 0; k < plan_.levels; ++k) {
            Level& x = work_.levels[k];
            x.begin = x.end = 0, x.upright = x.given = false;
            clear(w_, x.posture), clear(w_, x.wish), clear(w_, x.damping), clear(w_, x.calm), clear(w_, x.pull);
        }
        index row = 0, given = 0, number = 0;
        for (index i = 0; i < plan_.count; ++i) {
            const Task& t = plan_.tasks[i];
            Level& level = work_.levels[t.level];
            if (i == 0 || plan_.tasks[i - 1].level != t.level) level.begin = row;
            work_.first[i] = row;
            if (t.kind == kinematics::POSTURE) {
                if (!rows_alone && !posture(t, level)) return false;
            } else if (t.kind == kinematics::GIVEN) {
                const index count = call_.given_count[number++];
                for (index r = 0; r < count; ++r) copy_given(given + r, row + r, t);
                const GivenRows& g = call_.given;
                bend(t, row, count, part(t) * norm(g.left + given, g.size + given, count), level);
                row += count, given += count, level.given = true;
            } else {
                const index count = rows_of(t);
                for (index r = 0; r < count; ++r) clear(w_, work_.J + (row + r) * w_), work_.weight[row + r] = t.weight;
                double left[6] = {};
                fill(t, row, left);
                finish(t, row, count, left, level);
                row += count;
            }
            level.end = row;
        }
        work_.first[plan_.count] = row;
        return true;
    }

    // |J v - wanted| of a task in SI units, at y, the velocities in radians and lengths.
    double missed(index i, const double* y) const {
        const Task& t = plan_.tasks[i];
        double sum = 0.0;
        if (t.kind == kinematics::POSTURE) {
            if (!difference(model_, call_.q, t.q, work_.left)) return 0.0;
            for (index k = 0; k < model_.nv; ++k) {
                const double off = y[k] / plan_.unit[k] - gain(t) * work_.left[k] - t.rates[k];
                sum += off * off;
            }
        }
        for (index r = work_.first[i]; r < work_.first[i + 1]; ++r) {
            const double off = work_.size[r] * (dot(w_, work_.J + r * w_, y) - work_.wish[r]);
            sum += off * off;
        }
        return std::sqrt(sum);
    }

private:
    typedef Vec<double> Vec3;
    typedef Mat<double> Mat3;
    const Model& model_;
    const VelocityPlan& plan_;
    const VelocityCall& call_;
    const RowWork& work_;
    const index w_;
    Vec3 center_ = {0.0, 0.0, 0.0};
    bool rows_alone_ = false;

    // No more goes away in a step than there is.
    double gain(const Task& t) const { return t.gain * call_.dt > 1.0 ? 1.0 / call_.dt : t.gain; }
    double part(const Task& t) const { return gain(t) * call_.dt; }
    double calm(const Task& t) const { return larger(1.0 - part(t), plan_.tolerances.calm); }
    static Vec3 vector(const double* x) { return {x[0], x[1], x[2]}; }
    static double length(const Vec3& x) { return std::sqrt(rigid::SOACRAFT_TARGET::dot(x, x)); }
    static double norm(const double* x, const double* size, index n) {
        double sum = 0.0;
        for (index i = 0; i < n; ++i) sum += x[i] / size[i] * (x[i] / size[i]);
        return std::sqrt(sum);
    }

    void place_all() {
        auto turns = turns_of<double>(model_, call_.q, model_.count);
        bool masses = false;
        for (index i = 0; i < plan_.count; ++i) masses = masses || plan_.tasks[i].kind == kinematics::CENTER || plan_.tasks[i].kind == kinematics::MOMENTUM;
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            const Place<double> X = place<double>(e, turns(k), call_.q);
            work_.at[k] = e.parent < 0 ? X : work_.at[e.parent] * X;
            hinge_columns<double>(e, call_.q, work_.at[k].R, work_.S + e.v);
            if (masses) work_.I[k] = turned(work_.at[k].R, inertia<double>(e));
        }
        if (masses) gather_masses();
    }
    void gather_masses() {
        const double* f = model_.fixed;
        Vec3 moment = vector(f + 6);
        double mass = f[9];
        for (index k = model_.count; k-- > 0;) {
            const Rigid<double>& I = work_.I[k];
            const index p = model_.elements[k].parent;
            if (p >= 0)
                work_.I[p] += shifted(work_.at[k].p - work_.at[p].p, I);
            else
                moment += I.h + I.m * work_.at[k].p, mass += I.m;
        }
        center_ = mass > 0.0 ? (1.0 / mass) * moment : moment;
    }
    Place<double> frame(const Body& b) const {
        const Place<double> X = place_at<double>(b.R, b.p);
        return b.element < 0 ? X : work_.at[b.element] * X;
    }

    // to(column, twist of the point p) for all dofs between an element and the base.
    template <class To>
    void along(index element, const Vec3& p, const To& to) const {
        for (index k = element; k >= 0; k = model_.elements[k].parent) {
            const Element& e = model_.elements[k];
            const Vec3 arm = p - work_.at[k].p;
            for (index j = 0, count = dofs(e.kind); j < count; ++j) {
                const Spatial<double>& s = work_.S[e.v + j];
                to(e.v + j, s.w, s.v + cross(s.w, arm));
            }
        }
    }
    double* row(index r) const { return work_.J + r * w_; }
    void put(index r, index column, const Vec3& x) const { row(r)[column] += x.x, row(r + 1)[column] += x.y, row(r + 2)[column] += x.z; }

    // Rows in SI units, and what is left.
    void fill(const Task& t, index r, double* left) {
        switch (t.kind) {
            case kinematics::CENTER: center(t, r, left); return;
            case kinematics::MOMENTUM: momentum(r); return;
            case kinematics::LOOK: look(t, r, left); return;
            default: break;
        }
        const Place<double> F = frame(t.frame), T = frame(t.to);
        const bool turns = t.kind == kinematics::PLACEMENT || (t.kind == kinematics::STAND && t.rows == 6);
        if (t.kind == kinematics::ALONG) {
            const Mat3 R = transpose(T.R);
            point(r, left, turn_back(T.R, F.R * vector(t.axis)), vector(t.goal), [&](const auto& to) {
                along(t.frame.element, F.p, [&](index i, const Vec3& w, const Vec3&) { to(i, R * w); });
                along(t.to.element, F.p, [&](index i, const Vec3& w, const Vec3&) { to(i, -(R * w)); });
            });
            return;
        }
        const index slides = turns ? r + 3 : r;
        along(t.frame.element, F.p, [&](index i, const Vec3& w, const Vec3& v) {
            if (turns) put(r, i, turn_back(T.R, w));
            put(slides, i, turn_back(T.R, v));
        });
        along(t.to.element, F.p, [&](index i, const Vec3& w, const Vec3& v) {
            if (turns) put(r, i, -turn_back(T.R, w));
            put(slides, i, -turn_back(T.R, v));
        });
        if (t.kind == kinematics::STAND) return;
        const Vec3 off = vector(t.goal) - turn_back(T.R, F.p - T.p);
        double* to = left + (turns ? 3 : 0);
        to[0] = off.x, to[1] = off.y, to[2] = off.z;
        if (turns) {
            const Mat3 here = transpose(T.R) * F.R;
            double q[4];
            quaternion_of(mat<double>(t.goal_R) * transpose(here), q);
            const Quaternion a = chosen_at_half_turn({{q[0], q[1], q[2]}, q[3]});
            const Vec3 turn = rotation_vector(a.u, a.w);
            left[0] = turn.x, left[1] = turn.y, left[2] = turn.z;
        }
    }

    void center(const Task& t, index r, double* left) const {
        const double mass = plan_.mass;
        index rows[3], count = 0;
        for (int a = 0; a < 3; ++a) rows[a] = t.picked >> a & 1 ? r + count++ : -1;
        const Vec3 off = vector(t.goal) - center_;
        const double offs[3] = {off.x, off.y, off.z};
        for (int a = 0; a < 3; ++a)
            if (rows[a] >= 0) left[rows[a] - r] = offs[a];
        for (index k = 0; mass > 0.0 && k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            const Rigid<double>& I = work_.I[k];
            for (index j = 0, n = dofs(e.kind); j < n; ++j) {
                const Spatial<double>& s = work_.S[e.v + j];
                const Vec3 rate = (1.0 / mass) * (I.m * s.v + cross(s.w, I.h));
                const double x[3] = {rate.x, rate.y, rate.z};
                for (int a = 0; a < 3; ++a)
                    if (rows[a] >= 0) row(rows[a])[e.v + j] = x[a];
            }
        }
    }
    // About the centre of mass.
    void momentum(index r) const {
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            const Vec3 arm = work_.at[k].p - center_;
            for (index j = 0, n = dofs(e.kind); j < n; ++j) {
                const Spatial<double> h = work_.I[k] * work_.S[e.v + j];
                put(r, e.v + j, h.w + cross(arm, h.v)), put(r + 3, e.v + j, h.v);
            }
        }
    }
    // The direction to the point turns as the frame moves.
    void look(const Task& t, index r, double* left) const {
        const Place<double> F = frame(t.frame);
        const Vec3 way = vector(t.goal) - F.p;
        const double far = length(way);
        if (!(far > 0.0)) return;  // at the point: nothing to look at
        const Vec3 u = (1.0 / far) * way;
        point(r, left, F.R * vector(t.axis), u, [&](const auto& to) {
            along(t.frame.element, F.p, [&](index i, const Vec3& w, const Vec3& v) { to(i, w + (1.0 / far) * cross(u, v)); });
        });
    }
    // Two rows across u that turn it to a goal; `each(to)` calls to(column, how it turns).
    template <class Each>
    void point(index r, double* left, const Vec3& u, const Vec3& goal, const Each& each) const {
        const double x = std::fabs(u.x), y = std::fabs(u.y), z = std::fabs(u.z);
        const Vec3 other = x <= y && x <= z ? Vec3{1.0, 0.0, 0.0} : y <= z ? Vec3{0.0, 1.0, 0.0} : Vec3{0.0, 0.0, 1.0};
        Vec3 a = cross(u, other);
        a = (1.0 / length(a)) * a;
        const Vec3 b = cross(u, a), across = cross(u, goal);
        const double sine = length(across), cosine = rigid::SOACRAFT_TARGET::dot(u, goal);
        const Vec3 turn = sine > 0.0 ? std::atan2(sine, cosine) / sine * across : cosine > 0.0 ? across : 3.14159265358979323846 * a;
        left[0] = rigid::SOACRAFT_TARGET::dot(a, turn), left[1] = rigid::SOACRAFT_TARGET::dot(b, turn);
        each([&](index i, const Vec3& w) { row(r)[i] += rigid::SOACRAFT_TARGET::dot(a, w), row(r + 1)[i] += rigid::SOACRAFT_TARGET::dot(b, w); });
    }

    // From SI units to radians and lengths, wishes, and the damping.
    void finish(const Task& t, index r, index count, const double* left, Level& level) {
        double square = 0.0;
        for (index k = 0; k < count; ++k) {
            const double size = size_of(t, k, count);
            double* x = row(r + k);
            for (index i = 0; i < model_.nv; ++i) x[i] *= 1.0 / (size * plan_.unit[i]);
            work_.size[r + k] = size, work_.calm[r + k] = calm(t);
            work_.pull[r + k] = gain(t) * left[k] / size;
            work_.wish[r + k] = work_.pull[r + k] + t.rate[k] / size;
            square += left[k] / size * (left[k] / size);
        }
        bend(t, r, count, part(t) * std::sqrt(square), level);
    }
    double size_of(const Task& t, index k, index count) const {
        switch (t.kind) {
            case kinematics::ALONG: case kinematics::LOOK: return 1.0;
            case kinematics::MOMENTUM: return plan_.mass > 0.0 ? plan_.mass * plan_.length * (k < 3 ? plan_.length : 1.0) : 1.0;
            default: return count == 6 && k < 3 ? 1.0 : plan_.length;
        }
    }
    void bend(const Task& t, index r, index count, double much, Level& level) {
        if (!(much > 0.0) || rows_alone_) return;
        double sum = 0.0;
        clear(w_, work_.root);
        for (index k = 0; k < count; ++k)
            for (index i = 0; i < w_; ++i) work_.root[i] += row(r + k)[i] * row(r + k)[i];
        for (index i = 0; i < w_; ++i) work_.root[i] = std::sqrt(std::sqrt(work_.root[i]));
        for (index i = 0; i < w_; ++i) sum += work_.root[i];
        add(w_, plan_.tolerances.bends * call_.damping * much * t.weight * t.weight * sum, work_.root, level.damping);
    }

    void copy_given(index from, index r, const Task& t) {
        const GivenRows& g = call_.given;
        double* to = row(r);
        clear(w_, to);
        for (index i = 0; i < model_.nv; ++i) to[i] = g.J[from * model_.nv + i] / (g.size[from] * plan_.unit[i]);
        work_.size[r] = g.size[from], work_.weight[r] = t.weight, work_.calm[r] = calm(t);
        work_.pull[r] = gain(t) * g.left[from] / g.size[from];
        work_.wish[r] = work_.pull[r] + g.rate[from] / g.size[from];
    }

    bool posture(const Task& t, Level& level) {
        if (!difference(model_, call_.q, t.q, work_.left)) return false;
        const double square = t.weight * t.weight;
        for (index i = 0; i < model_.nv; ++i) {
            const double pull = square * plan_.unit[i] * gain(t) * work_.left[i];
            level.posture[i] += square, level.calm[i] += calm(t) * square, level.pull[i] += pull;
            level.wish[i] += pull + square * plan_.unit[i] * t.rates[i];
        }
        level.upright = true;
        return true;
    }
};

SOACRAFT_RIGID_END
