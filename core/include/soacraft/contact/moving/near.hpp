// The pairs of a plan that may be near: by balls around shapes, and a tree of boxes around those that never move.
#pragma once

#include "near_lanes.hpp"
#include "poses.hpp"

SOACRAFT_CONTACT_BEGIN

// Far above rounding of the sizes, far below what matters: no pair is left out for its last digits.
constexpr double ROUNDED = 1e-9;

// Adds the pairs of a mover and the slots whose boxes are within `far` of its middle.
template <int W>
SOACRAFT_INLINE void look_at_slots(const MovingPlan& plan, index mover, double far, MovingWork& work) {
    using T = Pack<W>;
    const index shape = plan.movers[mover];
    const MovingShape& s = plan.shapes[shape];
    const double* c = work.middle.data() + 3 * shape;
    const double far2 = far * far;
    const std::uint64_t* may = plan.may + plan.words * mover;
    constexpr int DEEP = 64;
    index stack[DEEP], top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const BoxNode& node = plan.nodes[stack[--top]];
        double off2 = 0.0;
        for (int i = 0; i < 3; ++i) {
            const double d = c[i] < node.low[i] ? node.low[i] - c[i] : c[i] > node.high[i] ? c[i] - node.high[i] : 0.0;
            off2 += d * d;
        }
        if (!(off2 <= far2)) continue;
        if (node.right != 0) {
            stack[top++] = node.right, stack[top++] = &node - plan.nodes + 1;
            continue;
        }
        for (index first = node.first; first < node.last; first += W) {
            T near2(0.0);
            for (int i = 0; i < 3; ++i) {
                T low, high;
                std::memcpy(&low.x, plan.boxes + i * plan.box_step + first, sizeof low.x);
                std::memcpy(&high.x, plan.boxes + (3 + i) * plan.box_step + first, sizeof high.x);
                const T d = most(most(low - T(c[i]), T(c[i]) - high), T(0.0));
                near2 += d * d;
            }
            for (index k = 0; k < W && first + k < node.last; ++k) {
                if (!(near2.x[k] <= far2)) continue;
                const index slot = first + k;
                if (!((may[slot / 64] >> (slot % 64)) & 1)) continue;
                const index other = plan.slots[slot];
                Near x{shape < other ? shape : other, shape < other ? other : shape, s.pad + plan.shapes[other].pad, SINGLY, false, -1, -1, -1};
                (shape < other ? x.far_a : x.far_b) = mover;
                x.type = pair_class(plan.shapes[x.a].kind, plan.shapes[x.b].kind, x.swapped);
                work.near.push_back(x);
            }
        }
    }
}

// Whether the balls around two shapes, or a plane and a ball, are farther apart than a distance.
SOACRAFT_FLAT bool balls_apart(const MovingPlan& plan, const MovingWork& work, index a, index b, double by) {
    constexpr int HALF = 6;
    if (plan.shapes[b].kind == HALF) { const index x = a; a = b, b = x; }
    const MovingShape &x = plan.shapes[a], &y = plan.shapes[b];
    const Point3 way = point(work.middle.data() + 3 * b) - point(work.middle.data() + 3 * a);
    if (x.kind == HALF) {
        const double* R = work.poses.data() + 12 * a;
        return R[2] * way.x + R[5] * way.y + R[8] * way.z - y.radius > by;
    }
    const double far = x.radius + y.radius + by;
    return dot(way, way) > far * far || far < 0.0;
}

// `within(reach)`: how far a mover (its reach) may be from what it meets; `of(pair)`: the same of a pair that is listed.
template <int W, class Within, class Of>
SOACRAFT_FLAT void look(const MovingPlan& plan, MovingWork& work, const Within& within, const Of& of) {
    work.near.clear();
    if (plan.slot_count > 0)
        for (index m = 0; m < plan.mover_count; ++m) {
            const MovingShape& s = plan.shapes[plan.movers[m]];
            const double far = within(m) + s.pad + s.radius * (1.0 + ROUNDED);
            if (far >= 0.0) look_at_slots<W>(plan, m, far, work);
        }
    for (index p = 0; p < plan.pair_count; ++p) {
        const MovingPair& x = plan.pairs[p];
        if (balls_apart(plan, work, x.a, x.b, of(x) + x.pad + ROUNDED * plan.shapes[x.a].core)) continue;
        work.near.push_back({x.a, x.b, x.pad, x.type, x.swapped, x.common, x.far_a, x.far_b});
    }
}

// The rows of the pairs in `work.near`, padding taken off. `within(pair)` is how far apart they are of interest: rows beyond
// may have an infinite gap. With `one`, it ends once a gap is at most zero, with true.
template <int W, class Within>
SOACRAFT_FLAT bool measure(const MovingQuery& query, MovingWork& work, const Within& within, bool one) {
    const MovingPlan& plan = *query.plan;
    const index count = static_cast<index>(work.near.size());
    const Near* list = work.near.data();
    work.rows.resize(static_cast<std::size_t>(NEAR_ROW * count));
    for (std::vector<index>& each : work.by_type) each.clear();
    for (index i = 0; i < count; ++i) work.by_type[list[i].type].push_back(i);
    NearLanes<W> lanes;
    lanes.shapes = plan.shapes, lanes.poses = work.poses.data();
    for (int type = 0; type < SINGLY; ++type) {
        const std::vector<index>& some = work.by_type[type];
        const index all = static_cast<index>(some.size());
        for (index i = 0; i < all; i += W) {
            const index lanes_used = all - i < W ? all - i : index(W);
            lanes.read(list, some.data() + i, lanes_used);
            lanes.compute(type);
            for (int k = 0; k < lanes_used; ++k) {
                const index at = some[static_cast<std::size_t>(i + k)];
                double* row = work.rows.data() + NEAR_ROW * at;
                lanes.write(k, list[at].swapped, row);
                if (lanes.left[k]) work.by_type[SINGLY].push_back(at);
                else row[0] -= list[at].pad;
                if (one && !lanes.left[k] && row[0] <= 0.0) return true;
            }
        }
    }
    for (const index at : work.by_type[SINGLY]) {
        const Near& x = list[at];
        double* row = work.rows.data() + NEAR_ROW * at;
        const double *pose_a = work.poses.data() + 12 * x.a, *pose_b = work.poses.data() + 12 * x.b;
        if (query.ask(query.scene, x.a, pose_a, x.b, pose_b, within(x) + x.pad, row)) row[0] -= x.pad;
        else row[0] = HUGE_VAL;
        if (one && row[0] <= 0.0) return true;
    }
    return false;
}

SOACRAFT_CONTACT_END
