// Where the shapes of a tree are, and how fast they move along a motion of constant rates.
#pragma once

#include "../../rigid/coordinates.hpp"
#include "../../rigid/kinematics.hpp"
#include "../target.hpp"
#include "plan.hpp"

SOACRAFT_CONTACT_BEGIN

namespace tree = rigid::SOACRAFT_TARGET;
using Point3 = tree::Vec<double>;
using Place3 = tree::Place<double>;
using Twist = tree::Spatial<double>;  // of a body, at the origin of the inertial frame and in its axes

SOACRAFT_FLAT Place3* places(MovingWork& work) { return reinterpret_cast<Place3*>(work.place.data()); }
SOACRAFT_FLAT const Place3* places(const MovingWork& work) { return reinterpret_cast<const Place3*>(work.place.data()); }
SOACRAFT_FLAT Twist* twists(MovingWork& work) { return reinterpret_cast<Twist*>(work.twist.data()); }
SOACRAFT_FLAT Point3 point(const double* x) { return {x[0], x[1], x[2]}; }

// The pose of a shape and its middle, where its element is.
SOACRAFT_FLAT void place_shape(const MovingShape& s, const Place3& on, double* pose, double* middle) {
    const Place3 X = on * tree::place_at<double>(s.at, s.at + 9);
    const Point3* columns[] = {&X.R.a, &X.R.b, &X.R.c};
    for (int j = 0; j < 3; ++j) pose[j] = columns[j]->x, pose[3 + j] = columns[j]->y, pose[6 + j] = columns[j]->z;
    pose[9] = X.p.x, pose[10] = X.p.y, pose[11] = X.p.z;
    const Point3 m = X.p + X.R * point(s.middle);
    middle[0] = m.x, middle[1] = m.y, middle[2] = m.z;
}

SOACRAFT_INLINE void begin_work(const MovingPlan& plan, MovingWork& work) {
    const auto size = [](index n) { return static_cast<std::size_t>(n); };
    const rigid::Model& model = *plan.model;
    work.q.resize(size(model.nq)), work.dv.resize(size(2 * model.nv));
    work.place.resize(size(12 * model.count)), work.twist.resize(size(6 * model.count));
    work.poses.resize(size(12 * plan.count)), work.middle.resize(size(3 * plan.count));
    work.reach.resize(size(2 * plan.reach_count));
    for (index i = 0; i < plan.count; ++i)
        if (plan.shapes[i].element < 0)
            place_shape(plan.shapes[i], tree::no_place<double>(), work.poses.data() + 12 * i, work.middle.data() + 3 * i);
}

// The places of all elements at q, and of the shapes that move. O(elements + shapes that move).
SOACRAFT_INLINE void place_all(const MovingPlan& plan, const double* q, MovingWork& work) {
    const rigid::Model& model = *plan.model;
    Place3* at = places(work);
    auto turns = tree::turns_of<double>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const rigid::Element& e = model.elements[k];
        const Place3 X = tree::place<double>(e, turns(k), q);
        at[k] = e.parent < 0 ? X : at[e.parent] * X;
    }
    for (index i = 0; i < plan.count; ++i)
        if (plan.shapes[i].element >= 0)
            place_shape(plan.shapes[i], at[plan.shapes[i].element], work.poses.data() + 12 * i, work.middle.data() + 3 * i);
}

// The twists of all elements where they are, for velocities dv.
SOACRAFT_INLINE void move_all(const MovingPlan& plan, const double* q, const double* dv, MovingWork& work) {
    const rigid::Model& model = *plan.model;
    const Place3* at = places(work);
    Twist* to = twists(work);
    for (index k = 0; k < model.count; ++k) {
        const rigid::Element& e = model.elements[k];
        const Twist own = tree::across<double>(e, q, dv);
        const Point3 w = at[k].R * own.w, v = at[k].R * own.v - cross(w, at[k].p);
        to[k] = e.parent < 0 ? Twist{w, v} : Twist{to[e.parent].w + w, to[e.parent].v + v};
    }
}

SOACRAFT_CONTACT_END
