// Whether a tree is free along a motion, or where it first touches: no gap between the configurations that are looked at.
//
// Along q(s) = integrate(q0, s dv), s from 0 to 1, each element i moves relative to its parent by a constant twist, of angular
// rate a_i = |w_i| and linear rate l_i = |v_i| at its origin: its velocity field G_i(x) = w_i x (x - o_i) + v_i is fixed in its
// parent. Let x be a point of a shape, and i run over the elements between the shape and an element inboard of it, in which
// the motion is seen. Then x' = sum_i G_i(x), and as what is inboard of i (j < i) turns G_i with it,
//
//     x'' = sum_i ( w_i x G_i(x) + 2 sum_{j<i} w_j x G_i(x) ),     |x''| <= A = sum_i g_i (a_i + 2 sum_{j<i} a_j),
//     |G_i(x)| <= g_i = a_i L_i + l_i,
//
// with L_i the length of the chain from o_i to the farthest point of the shape, links straight and slides at their longest.
//
// Let two convex shapes be apart by d along the unit vector n at s0, both seen from the outermost element that carries both.
// As long as n stays in that element, they are apart by at least
//
//     d - h c - h^2 (A_a + A_b) / 2    at s0 + h,      c = max over their points of n . (x_a' - x_b')
//
// by Taylor's theorem, point by point. For shapes that are not convex, |x_a' - x_b'| is taken for c, and distances of points
// shrink by no more. The same with -c holds for h < 0. So a configuration clears a part of the motion around it for each pair.
// The middle is looked at first, then what is left on its two sides (Schwarzer, Saha, Latombe 2005), earlier parts first; a pair
// that is clear of a part never returns there. Where a touch is seen, steps from the start of its part lead to the first one
// (conservative advancement, Mirtich 1996). Roundings only move cores by n, so that the motion of cores is enough. Half the
// distance that counts as a touch is left as a margin, far above rounding.
#pragma once

#include "states.hpp"

SOACRAFT_CONTACT_BEGIN

template <int W>
class EdgeWalk {
public:
    EdgeWalk(const MovingQuery& query, const EdgeTask& task, const double* q0, MovingWork& work, EdgeEnd& end)
        : query_(query), plan_(*query.plan), task_(task), q0_(q0), work_(work), end_(end), dv_(work.dv.data()) {
        end_.least = HUGE_VAL;
    }

    // False where a hinge has no difference.
    bool run(const double* q1) {
        if (!tree::difference(*plan_.model, q0_, q1, work_.dv.data())) return false;
        bound_accelerations(q1);
        work_.spans.clear(), work_.kept.clear();
        bool root = true;
        Span span{0.0, 1.0, 0, 0};
        for (;;) {
            const double middle = 0.5 * (span.low + span.high), half = 0.5 * (span.high - span.low);
            if (!stand(middle, span.low)) return true;
            if (root) look_around(half);
            else work_.near.assign(work_.kept.begin() + span.first, work_.kept.begin() + span.first + span.count);
            root = false;
            const Cleared cleared = look_at_pairs(half, span.first + span.count);
            if (cleared.touching >= 0) {
                const Near pair = work_.near[static_cast<std::size_t>(cleared.touching)];
                work_.kept.erase(work_.kept.begin(), work_.kept.begin() + span.first + span.count);
                if (task_.first) first_touch(span.low, middle, pair);
                else touch(middle, pair);
                return true;
            }
            const index first = span.first + span.count, count = static_cast<index>(work_.kept.size()) - first;
            if (count > 0 && cleared.after < half) work_.spans.push_back({middle + cleared.after, span.high, first, count});
            if (count > 0 && cleared.before < half) work_.spans.push_back({span.low, middle - cleared.before, first, count});
            if (work_.spans.empty()) break;
            span = work_.spans.back();
            work_.spans.pop_back();
        }
        stand_at(1.0);
        return true;
    }

private:
    struct Cleared {
        double before, after;  // by all pairs that are left
        index touching;        // a pair, or -1
    };

    // The configuration at s, and velocities there. False: there were too many, and it is free up to `free`.
    bool stand(double s, double free) {
        if (++end_.steps > task_.most) {
            end_.free = false, end_.spent = true, end_.part = free;
            return false;
        }
        stand_at(s);
        place_all(plan_, work_.q.data(), work_), move_all(plan_, work_.q.data(), dv_, work_);
        return true;
    }
    void stand_at(double s) {
        const index nv = plan_.model->nv;
        double* part = work_.dv.data() + nv;
        for (index i = 0; i < nv; ++i) part[i] = s * dv_[i];
        tree::integrate(*plan_.model, q0_, part, work_.q.data());
    }

    // How far the origin of an element is from where its hinge has it at zero, anywhere on the way.
    double travel(const rigid::Element& e, const Twist& own, const double* q1) const {
        const double from = std::fabs(q0_[e.q]), to = std::fabs(q1[e.q]);
        if (e.kind == rigid::PRISMATIC) return std::fabs(e.scale) * (from < to ? to : from);
        if (e.kind == rigid::HELICAL) return std::fabs(e.scale * e.pitch) * (from < to ? to : from);
        if (e.kind != rigid::FREE) return 0.0;
        // a path of length |v| between two points: |p(s)| <= |p0| + s |v| and <= |p1| + (1 - s) |v|
        const Point3 p0 = point(q0_ + e.q + 4), p1 = point(q1 + e.q + 4);
        return 0.5 * (length(p0) + length(p1) + length(own.v));
    }

    // A of every reach, from the shape inward. O(reaches depth).
    void bound_accelerations(const double* q1) {
        for (index r = 0; r < plan_.reach_count; ++r) {
            const Reach& reach = plan_.reaches[r];
            const MovingShape& s = plan_.shapes[reach.shape];
            double far = s.arm + s.core, sum = 0.0, outer = 0.0;
            for (index k = s.element; k != reach.common; k = plan_.model->elements[k].parent) {
                const rigid::Element& e = plan_.model->elements[k];
                const Twist own = tree::across<double>(e, q0_, dv_);
                const double a = length(own.w), g = (a > 0.0 ? a * far : 0.0) + length(own.v);
                sum += a * (g + 2.0 * outer), outer += g;
                far += travel(e, own, q1) + length(point(e.p));
            }
            work_.reach[static_cast<std::size_t>(2 * r)] = sum;
        }
    }
    double acceleration(index reach) const { return reach < 0 ? 0.0 : work_.reach[static_cast<std::size_t>(2 * reach)]; }
    double speed(index reach) const { return reach < 0 ? 0.0 : work_.reach[static_cast<std::size_t>(2 * reach + 1)]; }

    Twist relative(index shape, index common) const {
        const index e = plan_.shapes[shape].element;
        const Twist* all = twists(work_);
        if (e == common) return {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
        if (common < 0) return all[e];
        return {all[e].w - all[common].w, all[e].v - all[common].v};
    }
    Point3 middle_of(index shape) const { return point(work_.middle.data() + 3 * shape); }
    static double length(const Point3& x) { return std::sqrt(dot(x, x)); }

    // The pairs that may touch within half a part of the middle of all, by balls: a shape stays in its ball, however it turns.
    void look_around(double half) {
        for (index r = 0; r < plan_.reach_count; ++r) {
            const Reach& reach = plan_.reaches[r];
            const Twist V = relative(reach.shape, reach.common);
            work_.reach[static_cast<std::size_t>(2 * r + 1)] = length(at(V, reach.shape));
        }
        const auto moved = [&](index a, index b) {
            return half * (speed(a) + speed(b)) + 0.5 * half * half * (acceleration(a) + acceleration(b)) + task_.close;
        };
        look<W>(plan_, work_, [&](index mover) { return moved(mover, -1); }, [&](const MovingPair& x) { return moved(x.far_a, x.far_b); });
    }

    // The most that points of the core of a shape move along n, or the other way, by turning about its middle.
    double turning_along(index shape, const Point3& w, const Point3& n) const {
        constexpr int ROD = 1;
        const MovingShape& s = plan_.shapes[shape];
        if (!(s.core > 0.0)) return 0.0;
        const Point3 across = cross(n, w);  // n . (w x r) = r . (n x w)
        if (s.kind != ROD) return s.core * length(across);
        const double* R = work_.poses.data() + 12 * shape;
        return s.core * std::fabs(R[2] * across.x + R[5] * across.y + R[8] * across.z);
    }

    // How long a distance lasts: the h with  room = c h + A h^2 / 2.
    static double lasts(double room, double c, double A) {
        const double under = std::sqrt(c * c + 2.0 * A * room);
        if (c > 0.0) return 2.0 * room / (c + under);
        return A > 0.0 ? (under - c) / A : HUGE_VAL;
    }

    // What a pair clears before and after where it is.
    void clear(const Near& x, const double* row, double& before, double& after) const {
        const Twist Va = relative(x.a, x.common), Vb = relative(x.b, x.common);
        const MovingShape &a = plan_.shapes[x.a], &b = plan_.shapes[x.b];
        const Point3 closing = a.element < 0 || a.element == x.common ? -at(Vb, x.b) : b.element < 0 || b.element == x.common ? at(Va, x.a) : at(Va, x.a) - at(Vb, x.b);
        const double A = acceleration(x.far_a) + acceleration(x.far_b);
        const double room = row[0] - row[10] - 0.5 * task_.close;
        double along, turning;
        if (a.convex && b.convex) {
            const Point3 n = point(row + 7);
            along = dot(n, closing), turning = turning_along(x.a, Va.w, n) + turning_along(x.b, Vb.w, n);
        } else {
            along = 0.0, turning = length(closing) + length(Va.w) * a.core + length(Vb.w) * b.core;
        }
        after = lasts(room, turning + along, A), before = lasts(room, turning - along, A);
    }
    Point3 at(const Twist& V, index shape) const { return V.v + cross(V.w, middle_of(shape)); }

    // The pairs of `work.near` that are not clear of half a part on both sides go behind the first `top` that are kept.
    Cleared look_at_pairs(double half, index top) {
        const auto far = [&](const Near& x) {  // beyond that a pair is clear whatever its normal is
            return half * (rate(x.a, x.common) + rate(x.b, x.common)) + 0.5 * half * half * (acceleration(x.far_a) + acceleration(x.far_b)) + task_.close;
        };
        measure<W>(query_, work_, far, false);
        work_.kept.erase(work_.kept.begin() + top, work_.kept.end());
        Cleared all{HUGE_VAL, HUGE_VAL, -1};
        double nearest = HUGE_VAL;
        for (index i = 0; i < static_cast<index>(work_.near.size()); ++i) {
            const double* row = work_.rows.data() + NEAR_ROW * i;
            end_.least = row[0] < end_.least ? row[0] : end_.least;
            if (row[0] == HUGE_VAL) continue;
            const Near& x = work_.near[static_cast<std::size_t>(i)];
            double before = 0.0, after = 0.0;
            if (row[0] <= task_.close) {
                if (row[0] < nearest) nearest = row[0], all.touching = i;
            } else {
                clear(x, row, before, after);
                if (before >= half && after >= half) continue;
            }
            all.before = before < all.before ? before : all.before, all.after = after < all.after ? after : all.after;
            work_.kept.push_back(x);
        }
        return all;
    }
    double rate(index shape, index common) const {
        const MovingShape& s = plan_.shapes[shape];
        if (s.element == common || s.element < 0) return 0.0;
        const Twist V = relative(shape, common);
        return length(at(V, shape)) + length(V.w) * s.core;
    }

    void touch(double s, const Near& x) {
        end_.free = false, end_.part = s, end_.a = x.a, end_.b = x.b;
    }

    // The first touch of what was kept last, between a start that all before is free of, and a touch of a pair.
    void first_touch(double low, double high, const Near& pair) {
        double s = low;
        while (s < high && !work_.kept.empty()) {
            if (!stand(s, s)) return;
            work_.near.swap(work_.kept);
            const Cleared cleared = look_ahead(high - s);
            if (cleared.touching >= 0) return touch(s, work_.near[static_cast<std::size_t>(cleared.touching)]);
            s += cleared.after;
        }
        stand_at(high);
        touch(high, pair);
    }
    // As look_at_pairs, for what comes after; pairs that are clear of it are dropped.
    Cleared look_ahead(double rest) {
        measure<W>(query_, work_, [](const Near&) { return HUGE_VAL; }, false);
        work_.kept.clear();
        Cleared all{HUGE_VAL, HUGE_VAL, -1};
        double nearest = HUGE_VAL;
        for (index i = 0; i < static_cast<index>(work_.near.size()); ++i) {
            const double* row = work_.rows.data() + NEAR_ROW * i;
            end_.least = row[0] < end_.least ? row[0] : end_.least;
            if (row[0] <= task_.close) {
                if (row[0] < nearest) nearest = row[0], all.touching = i;
                continue;
            }
            double before, after;
            clear(work_.near[static_cast<std::size_t>(i)], row, before, after);
            if (after > rest) continue;
            all.after = after < all.after ? after : all.after;
            work_.kept.push_back(work_.near[static_cast<std::size_t>(i)]);
        }
        return all;
    }

    const MovingQuery& query_;
    const MovingPlan& plan_;
    const EdgeTask& task_;
    const double* q0_;
    MovingWork& work_;
    EdgeEnd& end_;
    const double* dv_;
};

template <int W>
bool edge_along(const MovingQuery& query, const EdgeTask& task, const double* q0, const double* q1, MovingWork& work, EdgeEnd& end) {
    return EdgeWalk<W>(query, task, q0, work, end).run(q1);
}

SOACRAFT_CONTACT_END
