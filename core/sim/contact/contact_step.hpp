// The contacts of a step, as sim/forces/contact.py and contact/dynamics/impulses.py have them: which points count, their
// rows, the problem u = S p + b with restitution, and the way out of what a step ended in.
#pragma once

#include <algorithm>

#include "sim/contact/contact_search.hpp"
#include "soacraft/contact/dynamics/scaling.hpp"
#include "soacraft/rigid/drivers/rollout_task.hpp"

namespace soacraft {
namespace sim {
namespace SOACRAFT_TARGET {

using contact::SOACRAFT_TARGET::Law;
using contact::SOACRAFT_TARGET::ScaledProblem;
static_assert(FRICTIONS == complementarity::WIDEST - 1, "a row of each friction, after the normal one");

class ContactStep final : public Impulses {
public:
    ContactStep(const ContactSetting& set, const rigid::Model& model, const TouchingLoops& loops)
        : set_(set), model_(model), search_(set, model), tree_(model, loops.plan, loops.theta), end_(model, loops.plan, loops.theta),
          before_(at(model.count)), stride_(at(model.nv)), held_(at(model.nv)) {
        v.resize(at(model.nv)), force.resize(at(model.nv)), some_.nodes = tree_.rows.nodes;
    }

    bool act(double t, double h, const double* q0, const double* v0, const double* q, const double* v_free, bool& pressed) override {
        end_.place(q0, v0);  // where the step before has left it, most often
        tree_.place(q, v_free);
        midway_ = false;
        keep_velocities(end_);
        speed_ = search_.fastest(end_);
        return press(t, h, 0.5 * h, q, v0, v_free, [&] { return parted(h, end_, tree_); }, pressed);
    }

    bool compliance(const double* q, const double* v, const std::vector<index>& dofs, std::vector<double>& some) override {
        end_.place(q, v);
        if (!end_.articulate()) return false;
        for (std::size_t i = 0; i < dofs.size(); ++i) some[i] = end_.compliance(dofs[i], some[i]);
        return true;
    }

    bool begin_midway(const double* q, const double* v0) override {
        tree_.place(q, v0);
        midway_ = true, begun_.assign(v0, v0 + model_.nv);
        keep_velocities(tree_);
        speed_ = search_.fastest(tree_);
        return tree_.articulate();
    }
    void accelerate(const double* v_now, const double* forces, const double* ground, double* vdot) override {
        if (!tree_.moves(v_now)) tree_.move(v_now);
        tree_.accelerate(spatial::spatial<double>(ground), forces, vdot);
    }
    bool act_midway(double t, double h, const double* q0, const double* v0, const double* q, const double* v_free, bool& pressed) override {
        tree_.move(v_free);
        half_ = 0.5 * h;
        const auto apart = [&] {
            end_.place(q0, v0);
            return parted(half_, end_, tree_);
        };
        return press(t, h, 0.0, q, begun_.data(), v_free, apart, pressed);
    }

    bool keeps_sides(double h, const double* q0, const double* v0, const double* q1, const double* v1, bool pressed) override {
        if (!search_.may_pass(HUGE_VAL)) return true;
        if (!midway_) {
            if (!pressed) return true;  // the smooth end, which was looked at
            end_.place(q1, v1);
        } else if (pressed) {
            tree_.move(v.data());
        }
        if (!search_.may_pass(h * 2.0 * std::fmax(speed_, search_.fastest(midway_ ? tree_ : end_)))) return true;
        end_.place(q1, v1), tree_.place(q0, v0);
        return parted(h, tree_, end_);
    }

    bool way_out(const double* q, const double* v_end, double* dq, bool& needed) override {
        needed = false;
        for (const Stop& s : set_.stops)
            for (const double gap : {q[s.place] - s.lower, s.upper - q[s.place]}) needed = needed || gap < -BEYOND * stride(s);
        if (midway_ && !needed && !ends_inside()) return true;
        end_.place(q, v_end);
        search_.look(end_, reach_, ends_);
        for (const ContactPoint& x : ends_) needed = needed || x.gap < -RESTING * reach_;
        if (!needed) return true;
        spatial::TreeRows& tree = among_rows(q) ? tree_ : end_;
        if (&tree == &end_ && !rows_at_end(q)) return false;
        const complementarity::SparseRows& rows = &tree == &tree_ ? some_ : end_.rows;
        laws_.assign(b_.size(), {complementarity::CONE, 1, nullptr, 0.0});
        p_.resize(b_.size());
        for (std::size_t i = 0; i < b_.size(); ++i) p_[i] = b_[i] < 0.0 ? 1.0 : 0.0;
        if (!problem_.scale(laws_, rows, b_.data())) return false;
        problem_.solve(b_.data(), OUT, p_.data(), rows.rows, true);
        share(q);
        tree.release(rows, p_.data(), dq);
        return rigid::finite(dq, model_.nv);
    }

private:
    static constexpr double AHEAD = 2.0, RESTING = 1e-3, BEYOND = 1e-9, OUT = 1e-8;  // of sim/forces/contact.py, impulses.py
    static constexpr double GAINED = 1e-9;
    static constexpr double LEAVES = 1e-4;  // of what forces do in a step: slower than this a contact rests
    static constexpr double FAST = 10.0, SHORTER = 0.9;  // those of sim/forces/contact.py
    static constexpr int HALVINGS = 30;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    // Store the velocities of the bodies at the start of a step.
    void keep_velocities(const spatial::TreeRows& tree) {
        for (index k = 0; k < model_.count; ++k) before_[at(k)] = tree.limb(k).V;
    }
    // The velocity then of a point that an element carries; where it was is not where it is now, but for a point in the middle.
    spatial::Vec3 began(index element, const spatial::Vec3& x) const {
        if (element < 0) return {0.0, 0.0, 0.0};
        return carried(x - (midway_ ? tree_ : end_).limb(element).p, before_[at(element)]).v;
    }

    // True if no shapes pass each other within h, from one tree to another; else sets the `part` in which they do not.
    bool parted(double h, const spatial::TreeRows& from, const spatial::TreeRows& to) {
        part = search_.passed(from, to, h).part;
        return part >= 1.0;
    }

    // Impulses for (q, v_free), `past` seconds after the middle of the step, which began with v0. `apart`: whether shapes are there
    // on the sides from which they came, so that normals tell the way out.
    template <class Apart>
    bool press(double t, double h, double past, const double* q, const double* v0, const double* v_free, const Apart& apart,
               bool& pressed) {
        pressed = false, after.clear();
        std::memcpy(v.data(), v_free, v.size() * sizeof(double));
        for (std::size_t i = 0; i < stride_.size(); ++i) stride_[i] = AHEAD * h * std::fabs(v_free[i]);
        std::memset(force.data(), 0, force.size() * sizeof(double));
        for (LoadRow& x : of_loads) x.force = x.part = 0.0;
        const double turn = h * search_.turning(tree_);
        if (!(turn <= rigid::LARGEST_TURN)) {  // a shorter step, or Python says so
            if (turn <= FAST * rigid::LARGEST_TURN) part = SHORTER * rigid::LARGEST_TURN / turn;
            return false;
        }
        reach_ = h * 2.0 * std::fmax(speed_, search_.fastest(tree_));
        search_.look(tree_, AHEAD * reach_, points_);
        if (search_.may_pass(reach_) && !apart()) return false;
        choose(past);
        b_.clear(), laws_.clear(), bounce_.clear(), allowed_.clear(), leaves_.clear(), struck_.clear();
        if (!rows(q, v0, v_free, h, past)) return false;
        if (laws_.empty()) return true;
        return solve(t, h, pressed);
    }

    // True if a point of contact is in another shape when the step ends, by its gap in the middle and its velocity.
    bool ends_inside() {
        const auto inside = [&](const ContactPoint& x, double speed) { return x.gap + half_ * speed < -RESTING * reach_; };
        for (const ContactPoint& x : points_)
            if (inside(x, b_[at(x.row)] - x.slip.x + change_[at(x.row)])) return true;
        if (aside_.empty()) return false;
        tree_.move(v.data());
        return std::any_of(aside_.begin(), aside_.end(),
                           [&](const ContactPoint& x) { return inside(x, dot(x.touch.axes[0], relative(x).v)); });
    }

    // Largest travel of a dof with limits in this step.
    double stride(const Stop& s) const { return stride_[at(s.dof)]; }
    // True if a stop counts in this step, by its gap in the middle: one that bounces where it is closed there.
    bool counts(const Stop& s, double gap) const { return gap <= (s.restitution > 0.0 ? RESTING : 1.0) * stride(s); }

    spatial::Twist relative(const ContactPoint& x) const {
        return tree_.velocity(x.touch.b, x.touch.at_b) - tree_.velocity(x.touch.a, x.touch.at_a);
    }

    // Choose the points that count in this step, with the gap in its middle.
    void choose(double past) {
        std::size_t kept = 0;
        middle_.clear(), aside_.clear();
        for (const ContactPoint& x : points_) {
            const double gap = x.gap - past * dot(x.touch.axes[0], relative(x).v);
            if (!(gap <= RESTING * reach_ || x.restitution == 0.0)) {
                aside_.push_back(x);
                continue;
            }
            points_[kept++] = x, middle_.push_back(gap);
        }
        points_.resize(kept);
    }

    // Rows, laws and velocities b without impulses.
    bool rows(const double* q, const double* v0, const double* v_free, double h, double past) {
        bool any = !points_.empty() || !set_.rubs.empty();
        for (const Stop& s : set_.stops) {
            const double middle = q[s.place] - past * v_free[s.dof];
            any = any || counts(s, middle - s.lower) || counts(s, s.upper - middle);
        }
        if (!any) return true;
        if (midway_)
            tree_.forget();
        else if (!tree_.articulate())
            return false;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            ContactPoint& x = points_[i];
            x.row = tree_.rows.rows, x.block = tree_.rows.blocks.size();
            tree_.add(x.touch), laws_.push_back({complementarity::CONE, x.touch.rows, x.friction, 0.0});
            const spatial::Twist u = relative(x);
            const double slip[] = {x.slip.x, x.slip.y, x.slip.z, 0.0, 0.0, 0.0};
            for (index r = 0; r < x.touch.rows; ++r) b_.push_back(dot(x.touch.along(r), u) + slip[r]);
            const double approach = dot(x.touch.axes[0], began(x.touch.b, x.touch.at_b) - began(x.touch.a, x.touch.at_a));
            // what approaches no faster than forces make it in one step rests: its hops are shorter than a step
            const bool rests = std::fabs(approach) <= std::fabs(dot(x.touch.along(0), u) - approach);
            leaves_.push_back(approach > LEAVES * std::fabs(dot(x.touch.along(0), u) - approach));
            bounce_.push_back(x.restitution * (approach < 0.0 && !rests ? approach : 0.0));
            // what rests keeps its gap; what leaves may come back as fast as it left, or its hop would end above where it began
            const double closes = 2.0 * std::fmax(middle_[i], 0.0) / h;
            allowed_.push_back(middle_[i] > RESTING * reach_ ? closes : std::fmin(closes, std::fmax(approach, 0.0)));
        }
        contact_rows_ = tree_.rows.rows, held_rows_.clear();
        pressing_.clear();
        std::size_t of_load = 0;
        for (const Stop& s : set_.stops) {
            const double middle = q[s.place] - past * v_free[s.dof];
            for (const double sign : {1.0, -1.0}) {
                const double gap = sign > 0.0 ? middle - s.lower : s.upper - middle;
                if (!counts(s, gap)) continue;
                held_rows_.push_back({s.dof, sign, tree_.rows.blocks.size()});
                if (s.load >= 0) pressing_.push_back({tree_.rows.rows, of_load, sign});
                const double approach = sign * v0[s.dof], change = sign * v_free[s.dof] - approach;
                double closes = 2.0 * (gap > 0.0 ? gap : 0.0) / h;
                if (s.restitution > 0.0) {  // what approaches no faster than forces make it in one step rests, as at a point of contact
                    const bool strikes = approach < 0.0 && -approach > std::fabs(change);
                    if (strikes) struck_.push_back({tree_.rows.rows, s.restitution * approach});
                    closes = strikes ? 0.0 : std::fmin(closes, std::fmax(approach, 0.0));
                }
                tree_.add(spatial::DofRow{s.dof, sign}), laws_.push_back({complementarity::CONE, 1, nullptr, 0.0});
                b_.push_back(sign * v_free[s.dof] + closes);
            }
            of_load += s.load >= 0 ? 1 : 0;
        }
        for (const Rub& x : set_.rubs) {
            if (x.load >= 0) pressing_.push_back({tree_.rows.rows, of_load++, 1.0});
            tree_.add(spatial::DofRow{x.dof, 1.0}), laws_.push_back({complementarity::BOX, 1, nullptr, x.limit * h});
            b_.push_back(v_free[x.dof]);
        }
        return true;
    }

    // The rows of all that is near at the end of the step, as they were at its smooth end, in some_; b_ <- the gaps. False where
    // one of them was none of that problem.
    bool among_rows(const double* q) {
        some_.clear(), b_.clear(), taken_.assign(points_.size(), 0);
        for (const ContactPoint& x : ends_) {
            std::size_t same = points_.size();
            double nearest = 2.0 * reach_;  // a point of contact moves by less
            for (std::size_t i = 0; i < points_.size(); ++i) {
                const ContactPoint& y = points_[i];
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
    // The parts of stops that are loads in the way out of what a step that ends at q is in, by the work of rows along it.
    void share(const double* q) {
        const auto work = [&](std::size_t i) { return std::fmax(-b_[i] * p_[i], 0.0); };
        double total = 0.0;
        for (std::size_t i = 0; i < b_.size(); ++i) total += work(i);
        std::size_t row = ends_.size(), of_load = 0;
        for (const Stop& s : set_.stops) {
            for (const double gap : {q[s.place] - s.lower, s.upper - q[s.place]}) {
                if (!(gap <= stride(s))) continue;
                if (s.load >= 0 && total > 0.0) of_loads[of_load].part += work(row) / total;
                ++row;
            }
            of_load += s.load >= 0 ? 1 : 0;
        }
    }
    // Rows at the end of the step.
    bool rows_at_end(const double* q) {
        if (!end_.articulate()) return false;
        b_.clear();
        for (ContactPoint& x : ends_) x.touch.rows = 1, end_.add(x.touch), b_.push_back(x.gap);
        for (const Stop& s : set_.stops)
            for (const double sign : {1.0, -1.0}) {
                const double gap = sign > 0.0 ? q[s.place] - s.lower : s.upper - q[s.place];
                if (gap <= stride(s)) end_.add(spatial::DofRow{s.dof, sign}), b_.push_back(gap);
            }
        return true;
    }

    // The problem of all rows, scaled.
    bool begin() { return problem_.scale(laws_, tree_.rows, b_.data()); }

    // Impulses with restitution scaled by `factor`, their work relative to surfaces that move, and with that of stops that bounce
    // what they give; false where they are not good to the tolerance.
    bool solved(double factor, double& work, double& gain) {
        const index n = tree_.rows.rows;
        shifted_ = b_;
        for (std::size_t i = 0; i < points_.size(); ++i)
            shifted_[at(points_[i].row)] += bounce_[i] < 0.0 ? factor * bounce_[i] : allowed_[i];
        for (const Struck& x : struck_) shifted_[at(x.row)] += factor * x.speed;
        // A contact that was opening when the step began, or opens by itself, is open in the step, most often. This follows from
        // the state alone: a run that goes on from a saved one has the same start.
        p_.assign(at(n), 1.0);
        bool pattern = false;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            double& normal = p_[at(points_[i].row)];
            if (leaves_[i] || shifted_[at(points_[i].row)] >= 0.0) normal = 0.0, pattern = true;
        }
        if (!pattern) p_.assign(at(n), 0.0);
        const bool guessed = guess_impulses();
        if (!problem_.solve(shifted_.data(), set_.tolerance, p_.data(), n, pattern, guessed ? guess_.data() : nullptr)) return false;
        work = 0.0;
        change_.resize(at(n));
        tree_.rows.multiply(p_.data(), held_.data(), change_.data());
        for (index i = 0; i < contact_rows_; ++i) work += p_[at(i)] * (b_[at(i)] + 0.5 * change_[at(i)]);
        gain = work;
        for (const Struck& x : struck_) gain += p_[at(x.row)] * (b_[at(x.row)] + 0.5 * change_[at(x.row)]);
        return true;
    }

    // guess_ <- the impulses of the last step in the rows of this one, of the nearest points of the same shapes; false where there
    // are none.
    bool guess_impulses() {
        guess_.assign(at(tree_.rows.rows), 0.0);
        bool any = false;
        for (const ContactPoint& x : points_) {
            const PointImpulse* nearest = nullptr;
            double least = HUGE_VAL;
            const PointImpulse of_pair{x.a, x.b, {}, {}, {}};
            for (auto y = std::lower_bound(before.begin(), before.end(), of_pair); y != before.end() && !(of_pair < *y); ++y) {
                const double away = spatial::length_of(x.middle - vec(y->point));
                if (away < least) least = away, nearest = &*y;
            }
            if (!nearest) continue;
            const spatial::Twist p{vec(nearest->moment), vec(nearest->impulse)};
            for (index r = 0; r < x.touch.rows; ++r) guess_[at(x.row + r)] = dot(x.touch.along(r), p);
            any = true;
        }
        return any;
    }
    static spatial::Vec3 vec(const double* x) { return {x[0], x[1], x[2]}; }
    spatial::Twist impulse_at(const ContactPoint& x) const {
        spatial::Twist p = spatial::none<double>();
        for (index r = 0; r < x.touch.rows; ++r) p += p_[at(x.row + r)] * x.touch.along(r);
        return p;
    }
    void keep_impulses() {
        for (const ContactPoint& x : points_) {
            const spatial::Twist p = impulse_at(x);
            after.push_back({x.a, x.b, {x.middle.x, x.middle.y, x.middle.z}, {p.v.x, p.v.y, p.v.z}, {p.w.x, p.w.y, p.w.z}});
        }
        if (!std::is_sorted(after.begin(), after.end())) std::stable_sort(after.begin(), after.end());
    }

    bool solve(double t, double h, bool& pressed) {
        if (!begin()) return false;
        const index n = tree_.rows.rows;
        double work = 0.0, gain = 0.0, factor = 1.0;
        if (!solved(1.0, work, gain)) return false;
        double size = 0.0;
        bool bounces = !struck_.empty();
        for (index i = 0; i < contact_rows_; ++i) size += std::fabs(p_[at(i)]) * std::fabs(b_[at(i)]);
        for (const Struck& x : struck_) size += std::fabs(p_[at(x.row)]) * std::fabs(b_[at(x.row)]);
        for (const double x : bounce_) bounces = bounces || x < 0.0;
        if (set_.energy && bounces && gain > GAINED * size) {
            double low = 0.0, high = 1.0;
            for (int i = 0; i < HALVINGS; ++i) {
                const double middle = 0.5 * (low + high);
                if (!solved(middle, work, gain)) return false;
                (gain <= 0.0 ? low : high) = middle;
            }
            factor = low;
            if (!solved(factor, work, gain)) return false;
        }
        for (index i = 0; i < n; ++i) pressed = pressed || p_[at(i)] != 0.0;
        keep_impulses();
        if (pressed) {
            tree_.release(tree_.rows, p_.data(), held_.data());
            for (std::size_t i = 0; i < v.size(); ++i) v[i] += held_[i];
            if (!rigid::finite(v.data(), model_.nv)) return false;
            for (const Pressing& x : pressing_) of_loads[x.of_load].force += x.sign * p_[at(x.row)] / h;
        }
        if (!recorded) return true;
        if (pressed) {
            if (tree_.is_closed()) {
                tree_.momentum(held_.data(), force.data());
                std::fill(held_.begin(), held_.end(), 0.0);
            } else {
                tree_.push(p_.data(), force.data(), held_.data());
            }
            for (std::size_t i = 0; i < v.size(); ++i) force[i] = (force[i] + held_[i]) / h;
            for (const LoadRow& x : of_loads) force[at(x.dof)] -= x.force;
            if (!rigid::finite(force.data(), model_.nv)) return false;
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
            const ContactPoint& x = points_[i];
            const spatial::Twist p = impulse_at(x);
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
    ContactSearch search_;
    spatial::TreeRows tree_, end_;  // at the smooth end of the step or in its middle, and at its start or its end
    bool midway_ = false;
    std::vector<spatial::Twist> before_;  // velocities of the elements when the step begins
    std::vector<double> stride_, held_, middle_, bounce_, allowed_, b_, shifted_, change_, p_, guess_;
    std::vector<ContactPoint> points_, ends_, aside_;  // those of the step, those at its end, those that do not count in it
    struct HeldRow {
        index dof;
        double sign;
        std::size_t block;
    };
    std::vector<HeldRow> held_rows_;   // of limits
    struct Struck {
        index row;
        double speed;  // of approach times the restitution, negative
    };
    std::vector<Struck> struck_;  // stops that bounce
    struct Pressing {
        index row;
        std::size_t of_load;
        double sign;
    };
    std::vector<Pressing> pressing_;  // rows of loads
    std::vector<double> begun_;       // velocities that a step begins with, in the axes of its middle
    std::vector<char> taken_, leaves_;  // whether a point was leaving its contact when the step began
    complementarity::SparseRows some_;
    std::vector<Law> laws_;
    std::vector<int> states_;
    ScaledProblem problem_;
    double reach_ = 0.0, speed_ = 0.0, half_ = 0.0;  // half_: half the step
    index contact_rows_ = 0;
};

}  // namespace SOACRAFT_TARGET
}  // namespace sim
}  // namespace soacraft
