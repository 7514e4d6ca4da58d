// Distances of the shapes of a tree at a state, with their gradients; and whether any touch.
#pragma once

#include <algorithm>

#include "near.hpp"

SOACRAFT_CONTACT_BEGIN

// Pairs within a distance at q: `work.order` has their numbers in `work.rows`, in the order of their shapes.
template <int W>
void distances_at(const MovingQuery& query, const double* q, double within, MovingWork& work) {
    const MovingPlan& plan = *query.plan;
    place_all(plan, q, work);
    look<W>(plan, work, [within](index) { return within; }, [within](const MovingPair&) { return within; });
    measure<W>(query, work, [within](const Near&) { return within; }, false);
    work.order.clear();
    for (index i = 0; i < static_cast<index>(work.near.size()); ++i)
        if (work.rows[static_cast<std::size_t>(NEAR_ROW * i)] <= within) work.order.push_back(i);
    const Near* list = work.near.data();
    const auto before = [list](index i, index j) { return list[i].a < list[j].a || (list[i].a == list[j].a && list[i].b < list[j].b); };
    std::sort(work.order.begin(), work.order.end(), before);
    work.found = static_cast<index>(work.order.size());
}

// Adds sign n . J to g, J the Jacobian of a point on an element: by the hinges between it and an element inboard of it. Those
// that carry both points of a pair do not count: they turn n with them. O(hinges between).
SOACRAFT_INLINE void add_along(const MovingPlan& plan, const Place3* at, const double* q, index element, index common,
                               const Point3& x, const Point3& n, double sign, double* g) {
    for (index k = element; k != common; k = plan.model->elements[k].parent) {
        const rigid::Element& e = plan.model->elements[k];
        if (e.kind == rigid::FIXED) continue;
        const Place3& X = at[k];
        const Point3 arm = x - X.p, turn = cross(arm, n);  // n . (z x arm) = z . (arm x n)
        if (e.kind == rigid::PRISMATIC) {
            g[e.v] += sign * e.scale * dot(X.R.c, n);
        } else if (e.kind <= rigid::HELICAL) {
            const double pitch = e.kind == rigid::HELICAL ? e.pitch : 0.0;
            g[e.v] += sign * e.scale * (dot(X.R.c, turn) + pitch * dot(X.R.c, n));
        } else {
            const Point3 lead = e.kind == rigid::ROLLING ? X.R * tree::lever<double>(e, q) : Point3{0.0, 0.0, 0.0};
            const Point3 both = turn + cross(n, lead);  // n . (lead x z) = z . (n x lead)
            g[e.v] += sign * dot(X.R.a, both), g[e.v + 1] += sign * dot(X.R.b, both), g[e.v + 2] += sign * dot(X.R.c, both);
            if (e.kind != rigid::FREE) continue;
            g[e.v + 3] += sign * dot(X.R.a, n), g[e.v + 4] += sign * dot(X.R.b, n), g[e.v + 5] += sign * dot(X.R.c, n);
        }
    }
}

// What was found at q: numbers (rows, 11), gradient (rows, nv) = n . (J_b - J_a), shapes (rows, 2).
inline void write_found(const MovingPlan& plan, const MovingWork& work, const double* q, double* numbers, double* gradient,
                        index* shapes) {
    const Place3* at = places(work);
    const index nv = plan.model->nv;
    for (index i = 0; i < work.found; ++i) {
        const index from = work.order[static_cast<std::size_t>(i)];
        const Near& pair = work.near[static_cast<std::size_t>(from)];
        const double* row = work.rows.data() + NEAR_ROW * from;
        std::memcpy(numbers + NEAR_ROW * i, row, NEAR_ROW * sizeof(double));
        shapes[2 * i] = pair.a, shapes[2 * i + 1] = pair.b;
        double* g = gradient + nv * i;
        for (index k = 0; k < nv; ++k) g[k] = 0.0;
        const Point3 n = point(row + 7);
        add_along(plan, at, q, plan.shapes[pair.a].element, pair.common, point(row + 1), n, -1.0, g);
        add_along(plan, at, q, plan.shapes[pair.b].element, pair.common, point(row + 4), n, 1.0, g);
    }
}

template <int W>
bool collides_at(const MovingQuery& query, const double* q, MovingWork& work) {
    place_all(*query.plan, q, work);
    look<W>(*query.plan, work, [](index) { return 0.0; }, [](const MovingPair&) { return 0.0; });
    return measure<W>(query, work, [](const Near&) { return 0.0; }, true);
}

SOACRAFT_CONTACT_END
