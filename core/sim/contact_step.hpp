// The contacts of a step, as sim/forces/contact.py and contact/dynamics/impulses.py have them: which points count, their
// rows, the problem u = S p + b with restitution, and the way out of what a step ended in.
#pragma once

#include <algorithm>

#include "contact_setting.hpp"
#include "soacraft/contact/dynamics/scaling.hpp"
#include "soacraft/contact/dynamics/tree_rows.hpp"

namespace soacraft {
namespace sim {
namespace SOACRAFT_TARGET {

namespace spatial = rigid::SOACRAFT_TARGET;  // articulated sweeps, as built here
using contact::SOACRAFT_TARGET::Law;
using contact::SOACRAFT_TARGET::ScaledProblem;
static_assert(FRICTIONS == complementarity::WIDEST - 1, "a row of each friction, after the normal one");

class ContactStep final : public Impulses {
public:
    ContactStep(const ContactSetting& set, const rigid::Model& model)
        : set_(set), model_(model), tree_(model), end_(model), stride_(at(model.nv)),
          poses_(at(set.scene->shapes() * contact::POSE)), held_(at(model.nv)) {
        v.resize(at(model.nv)), force.resize(at(model.nv)), some_.nodes = tree_.rows.nodes;
        for (index i = 0; i < set.scene->shapes(); ++i) place_shape(i);
    }

    bool act(double t, double h, const double* q0, const double* v0, const double* q, const double* v_free, bool& pressed) override {
        pressed = false;
        std::memcpy(v.data(), v_free, v.size() * sizeof(double));
        for (std::size_t i = 0; i < stride_.size(); ++i) stride_[i] = AHEAD * h * std::fabs(v_free[i]);
        std::memset(force.data(), 0, force.size() * sizeof(double));
        end_.place(q0, v0);  // where the step before has left it, most often
        tree_.place(q, v_free);
        reach_ = h * 2.0 * std::fmax(fastest(end_), fastest(tree_));
        look(tree_, AHEAD * reach_, points_);
        choose(h);
        b_.clear(), laws_.clear(), bounce_.clear(), allowed_.clear(), leaves_.clear();
        if (!rows(q, v_free, h)) return false;
        if (laws_.empty()) return true;
        return solve(t, h, pressed);
    }

    bool way_out(const double* q, const double* v_end, double* dq, bool& needed) override {
        needed = false;
        end_.place(q, v_end);
        look(end_, reach_, ends_);
        for (const Point& x : ends_) needed = needed || x.gap < -RESTING * reach_;
        for (const Stop& s : set_.stops)
            for (const double gap : {q[s.place] - s.lower, s.upper - q[s.place]}) needed = needed || gap < -BEYOND * stride(s);
        if (!needed) return true;
        spatial::TreeRows& tree = among_rows(q) ? tree_ : end_;
        if (&tree == &end_ && !rows_at_end(q)) return false;
        const complementarity::SparseRows& rows = &tree == &tree_ ? some_ : end_.rows;
        laws_.assign(b_.size(), {complementarity::CONE, 1, nullptr, 0.0});
        p_.resize(b_.size());
        for (std::size_t i = 0; i < b_.size(); ++i) p_[i] = b_[i] < 0.0 ? 1.0 : 0.0;
        if (!problem_.scale(laws_, rows, b_.data())) return false;
        problem_.solve(b_.data(), OUT, p_.data(), rows.rows, true);
        tree.release(rows, p_.data(), dq);
        return rigid::finite(dq, model_.nv);
    }

private:
    static constexpr double AHEAD = 2.0, RESTING = 1e-3, BEYOND = 1e-9, OUT = 1e-8;  // of sim/forces/contact.py, impulses.py
    static constexpr double GAINED = 1e-9;
    static constexpr double LEAVES = 1e-4;  // of what forces do in a step: slower than this a contact rests
    static constexpr int HALVINGS = 30;

    struct Point {
        index a, b;  // shapes
        spatial::Touch touch;
        double gap, restitution;
        const double* friction;
        spatial::Vec3 slip, middle;
        std::size_t block;  // of rows
        index row;          // its first
    };
    struct Carried {  // a shape: the element that carries it, -1 for the ground, and its pose there
        index element;
        spatial::Place<double> at;
    };
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    static spatial::Vec3 vec(const double* x) { return {x[0], x[1], x[2]}; }
    void place_shape(index i) {
        const double* local = set_.local + i * contact::POSE;
        spatial::Place<double> X = spatial::place_at<double>(local, local + 9);
        const index body = set_.body[at(i)];
        if (body >= 0) X = spatial::place_at<double>(model_.bodies[body].R, model_.bodies[body].p) * X;
        shapes_.push_back({body < 0 ? -1 : model_.bodies[body].element, X});
    }

    // How far a dof with limits may go in this step.
    double stride(const Stop& s) const { return stride_[at(s.dof)]; }

    // A bound on the speed of any point of any shape.
    double fastest(const spatial::TreeRows& tree) const {
        double most = 0.0;
        for (index i = 0; i < model_.body_count; ++i) {
            const rigid::Body& body = model_.bodies[i];
            if (body.element < 0) continue;
            const spatial::Limb& limb = tree.limb(body.element);
            const spatial::Vec3 slide = carried(limb.R * vec(body.p), limb.V).v;
            const double turning = std::sqrt(dot(limb.V.w, limb.V.w)), far = turning > 0.0 ? turning * set_.far[i] : 0.0;
            most = std::fmax(most, std::sqrt(dot(slide, slide)) + far);
        }
        return set_.scene->shapes() ? most : 0.0;
    }

    // The points of contact with gaps of at most `within`, where a tree is.
    void look(const spatial::TreeRows& tree, double within, std::vector<Point>& points) {
        for (index i = 0; i < set_.scene->shapes(); ++i) {
            const Carried& shape = shapes_[at(i)];
            spatial::Place<double> X = shape.at;
            if (shape.element >= 0) X = spatial::Place<double>{tree.limb(shape.element).R, tree.limb(shape.element).p} * X;
            double* to = poses_.data() + i * contact::POSE;
            const spatial::Vec3* columns[] = {&X.R.a, &X.R.b, &X.R.c};
            for (int j = 0; j < 3; ++j) to[j] = columns[j]->x, to[3 + j] = columns[j]->y, to[6 + j] = columns[j]->z;
            to[9] = X.p.x, to[10] = X.p.y, to[11] = X.p.z;
        }
        set_.scene->spots(poses_.data(), within, spots_);
        points.clear();
        for (std::size_t i = 0; i < spots_.numbers.size() / at(contact::SPOT); ++i) {
            const double* x = spots_.numbers.data() + i * at(contact::SPOT);
            const index a = spots_.places[3 * i + 1], b = spots_.places[3 * i + 2];
            const index pair = set_.group[at(a)] * set_.groups + set_.group[at(b)];
            Point point{a, b, {shapes_[at(a)].element, shapes_[at(b)].element, vec(x + 1), vec(x + 4), {}, set_.rows[at(pair)]}, x[0],
                        set_.restitution[pair], set_.friction.data() + pair * FRICTIONS, {}, {}, 0, 0};
            frame(vec(x + 7), point.touch.axes);
            point.middle = 0.5 * (point.touch.at_a + point.touch.at_b);
            if (point.touch.a >= 0 && point.touch.b >= 0)  // what moves both has no velocity there
                point.touch.at_a = point.touch.at_b = point.middle;
            const spatial::Vec3 moving = surface(b) - surface(a);
            point.slip = {dot(point.touch.axes[0], moving), dot(point.touch.axes[1], moving), dot(point.touch.axes[2], moving)};
            points.push_back(point);
        }
    }
    spatial::Vec3 surface(index shape) const {
        const double *R = poses_.data() + shape * contact::POSE, *u = set_.surface + 3 * shape;
        spatial::Vec3 to{0.0, 0.0, 0.0};
        if (u[0] == 0.0 && u[1] == 0.0 && u[2] == 0.0) return to;
        to = {R[0] * u[0] + R[1] * u[1] + R[2] * u[2], R[3] * u[0] + R[4] * u[1] + R[5] * u[2], R[6] * u[0] + R[7] * u[1] + R[8] * u[2]};
        return to;
    }
    // The normal and two tangents, as `frame_of` of contact/dynamics/rows.py.
    static void frame(const spatial::Vec3& n, spatial::Vec3* axes) {
        const double x = std::fabs(n.x), y = std::fabs(n.y), z = std::fabs(n.z);
        const int least = x <= y && x <= z ? 0 : y <= z ? 1 : 2;
        spatial::Vec3 away{least == 0 ? 1.0 : 0.0, least == 1 ? 1.0 : 0.0, least == 2 ? 1.0 : 0.0};
        spatial::Vec3 first = away - dot(away, n) * n;
        first = (1.0 / std::sqrt(dot(first, first))) * first;
        axes[0] = n, axes[1] = first, axes[2] = cross(n, first);
    }

    spatial::Twist relative(const Point& x) const {
        return tree_.velocity(x.touch.b, x.touch.at_b) - tree_.velocity(x.touch.a, x.touch.at_a);
    }

    // Of the points those that count in this step, with the gap in its middle.
    void choose(double h) {
        std::size_t kept = 0;
        middle_.clear();
        for (const Point& x : points_) {
            const double gap = x.gap - 0.5 * h * dot(x.touch.axes[0], relative(x).v);
            if (!(gap <= RESTING * reach_ || x.restitution == 0.0)) continue;
            points_[kept++] = x, middle_.push_back(gap);
        }
        points_.resize(kept);
    }

    // Rows, laws and velocities b without impulses.
    bool rows(const double* q, const double* v_free, double h) {
        bool any = !points_.empty() || !set_.rubs.empty();
        for (const Stop& s : set_.stops) {
            const double middle = q[s.place] - 0.5 * h * v_free[s.dof];
            any = any || middle - s.lower <= stride(s) || s.upper - middle <= stride(s);
        }
        if (!any) return true;
        if (!tree_.articulate()) return false;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& x = points_[i];
            x.row = tree_.rows.rows, x.block = tree_.rows.blocks.size();
            tree_.add(x.touch), laws_.push_back({complementarity::CONE, x.touch.rows, x.friction, 0.0});
            const spatial::Twist u = relative(x);
            const double slip[] = {x.slip.x, x.slip.y, x.slip.z, 0.0, 0.0, 0.0};
            for (index r = 0; r < x.touch.rows; ++r) b_.push_back(dot(x.touch.along(r), u) + slip[r]);
            const double approach =
                dot(x.touch.axes[0], end_.velocity(x.touch.b, x.touch.at_b).v - end_.velocity(x.touch.a, x.touch.at_a).v);
            // what approaches no faster than forces make it in one step rests: its hops are shorter than a step
            const bool rests = std::fabs(approach) <= std::fabs(dot(x.touch.along(0), u) - approach);
            leaves_.push_back(approach > LEAVES * std::fabs(dot(x.touch.along(0), u) - approach));
            bounce_.push_back(x.restitution * (approach < 0.0 && !rests ? approach : 0.0));
            // what rests keeps its gap; what leaves may come back as fast as it left, or its hop would end above where it began
            const double closes = 2.0 * std::fmax(middle_[i], 0.0) / h;
            allowed_.push_back(middle_[i] > RESTING * reach_ ? closes : std::fmin(closes, std::fmax(approach, 0.0)));
        }
        contact_rows_ = tree_.rows.rows, held_rows_.clear();
        for (const Stop& s : set_.stops) {
            const double middle = q[s.place] - 0.5 * h * v_free[s.dof];
            for (const double sign : {1.0, -1.0}) {
                const double gap = sign > 0.0 ? middle - s.lower : s.upper - middle;
                if (!(gap <= stride(s))) continue;
                held_rows_.push_back({s.dof, sign, tree_.rows.blocks.size()});
                tree_.add(spatial::DofRow{s.dof, sign}), laws_.push_back({complementarity::CONE, 1, nullptr, 0.0});
                b_.push_back(sign * v_free[s.dof] + 2.0 * (gap > 0.0 ? gap : 0.0) / h);
            }
        }
        for (const Rub& x : set_.rubs) {
            tree_.add(spatial::DofRow{x.dof, 1.0}), laws_.push_back({complementarity::BOX, 1, nullptr, x.limit * h});
            b_.push_back(v_free[x.dof]);
        }
        return true;
    }

    // The rows of all that is near at the end of the step, as they were at its smooth end, in some_; b_ <- the gaps. False where
    // one of them was none of that problem.
    bool among_rows(const double* q) {
        some_.clear(), b_.clear(), taken_.assign(points_.size(), 0);
        for (const Point& x : ends_) {
            std::size_t same = points_.size();
            double nearest = 2.0 * reach_;  // a point of contact moves by less
            for (std::size_t i = 0; i < points_.size(); ++i) {
                const Point& y = points_[i];
                if (y.a != x.a || y.b != x.b || taken_[i]) continue;
                const double away = spatial::length_of(x.middle - y.middle);
                if (away <= nearest) nearest = away, same = i;
            }
            if (same == points_.size()) return false;
            taken_[same] = 1, take(points_[same].block, x.gap);
        }
        for (const Stop& s : set_.stops)
            for (const double sign : {1.0, -1.0}) {
                const double gap = sign > 0.0 ? q[s.place] - s.lower : s.upper - q[s.place];
                if (!(gap <= stride(s))) continue;
                const auto same = std::find_if(held_rows_.begin(), held_rows_.end(),
                                               [&](const HeldRow& x) { return x.dof == s.dof && x.sign == sign; });
                if (same == held_rows_.end()) return false;
                take(same->block, gap);
            }
        return true;
    }
    // The first row of a block of the problem.
    void take(std::size_t block, double gap) {
        const complementarity::RowBlock& from = tree_.rows.blocks[block];
        some_.begin(1);
        for (std::size_t i = from.first; i < from.last; ++i) some_.add_piece(tree_.rows.pieces[i].node);
        some_.end();
        std::copy_n(tree_.rows.row(from, 0), from.width, some_.row(some_.blocks.back(), 0));
        b_.push_back(gap);
    }
    // The same at the end itself.
    bool rows_at_end(const double* q) {
        if (!end_.articulate()) return false;
        b_.clear();
        for (Point& x : ends_) x.touch.rows = 1, end_.add(x.touch), b_.push_back(x.gap);
        for (const Stop& s : set_.stops)
            for (const double sign : {1.0, -1.0}) {
                const double gap = sign > 0.0 ? q[s.place] - s.lower : s.upper - q[s.place];
                if (gap <= stride(s)) end_.add(spatial::DofRow{s.dof, sign}), b_.push_back(gap);
            }
        return true;
    }

    // The problem of all rows, scaled.
    bool begin() { return problem_.scale(laws_, tree_.rows, b_.data()); }

    // Impulses with restitution scaled by `factor`, and their work relative to surfaces that move; false where they are not
    // good to the tolerance.
    bool solved(double factor, double& work) {
        const index n = tree_.rows.rows;
        shifted_ = b_;
        for (std::size_t i = 0; i < points_.size(); ++i)
            shifted_[at(points_[i].row)] += bounce_[i] < 0.0 ? factor * bounce_[i] : allowed_[i];
        // What was leaving its contact when the step began, or opens by itself, is open in the step, most often. This is told by
        // the state alone: a run that goes on from a saved one has the same start.
        p_.assign(at(n), 1.0);
        bool pattern = false;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            double& normal = p_[at(points_[i].row)];
            if (leaves_[i] || shifted_[at(points_[i].row)] >= 0.0) normal = 0.0, pattern = true;
        }
        if (!pattern) p_.assign(at(n), 0.0);
        if (!problem_.solve(shifted_.data(), set_.tolerance, p_.data(), n, pattern)) return false;
        work = 0.0;
        change_.resize(at(n));
        tree_.rows.multiply(p_.data(), held_.data(), change_.data());
        for (index i = 0; i < contact_rows_; ++i) work += p_[at(i)] * (b_[at(i)] + 0.5 * change_[at(i)]);
        return true;
    }

    bool solve(double t, double h, bool& pressed) {
        if (!begin()) return false;
        const index n = tree_.rows.rows;
        double work = 0.0, factor = 1.0;
        if (!solved(1.0, work)) return false;
        double size = 0.0;
        bool bounces = false;
        for (index i = 0; i < contact_rows_; ++i) size += std::fabs(p_[at(i)]) * std::fabs(b_[at(i)]);
        for (const double x : bounce_) bounces = bounces || x < 0.0;
        if (set_.energy && bounces && work > GAINED * size) {
            double low = 0.0, high = 1.0;
            for (int i = 0; i < HALVINGS; ++i) {
                const double middle = 0.5 * (low + high);
                if (!solved(middle, work)) return false;
                (work <= 0.0 ? low : high) = middle;
            }
            factor = low;
            if (!solved(factor, work)) return false;
        }
        for (index i = 0; i < n; ++i) pressed = pressed || p_[at(i)] != 0.0;
        if (pressed) {
            tree_.release(tree_.rows, p_.data(), held_.data());
            for (std::size_t i = 0; i < v.size(); ++i) v[i] += held_[i];
            tree_.push(p_.data(), force.data(), held_.data());
            for (std::size_t i = 0; i < v.size(); ++i) force[i] = (force[i] + held_[i]) / h;
            if (!rigid::finite(v.data(), model_.nv) || !rigid::finite(force.data(), model_.nv)) return false;
        }
        keep(t, work, factor);
        return true;
    }

    void keep(double t, double work, double factor) {
        const complementarity::Outcome& how = problem_.outcome;
        const auto effort = static_cast<double>(how.sweeps + how.newton + how.interior + how.outer);
        problem_.states(states_, laws_.size());
        double depth = 0.0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const Point& x = points_[i];
            spatial::Twist p = spatial::none<double>();
            for (index r = 0; r < x.touch.rows; ++r) p += p_[at(x.row + r)] * x.touch.along(r);
            depth = x.gap < -depth ? -x.gap : depth;
            const double row[] = {static_cast<double>(x.a), static_cast<double>(x.b), x.middle.x, x.middle.y, x.middle.z,
                                  p.v.x, p.v.y, p.v.z, p.w.x, p.w.y, p.w.z, x.gap, static_cast<double>(states_[i])};
            log.points.insert(log.points.end(), row, row + ContactLog::POINT);
        }
        const double row[] = {t, static_cast<double>(points_.size()), how.residual, effort, how.unique ? 1.0 : 0.0, work, factor, depth};
        log.steps.insert(log.steps.end(), row, row + ContactLog::STEP);
    }

    const ContactSetting& set_;
    const rigid::Model& model_;
    spatial::TreeRows tree_, end_;  // at the smooth end of the step, and at its start or its end
    std::vector<Carried> shapes_;
    std::vector<double> stride_, poses_, held_, middle_, bounce_, allowed_, b_, shifted_, change_, p_;
    contact::Spots spots_;
    std::vector<Point> points_, ends_;  // those of the step, and those at its end
    struct HeldRow {
        index dof;
        double sign;
        std::size_t block;
    };
    std::vector<HeldRow> held_rows_;   // of limits
    std::vector<char> taken_, leaves_;  // whether a point was leaving its contact when the step began
    complementarity::SparseRows some_;
    std::vector<Law> laws_;
    std::vector<int> states_;
    ScaledProblem problem_;
    double reach_ = 0.0;
    index contact_rows_ = 0;
};

}  // namespace SOACRAFT_TARGET
}  // namespace sim
}  // namespace soacraft
