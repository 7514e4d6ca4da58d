// The points of contact of a tree, where it is: shapes on its elements, and their surfaces.
#pragma once

#include "sim/contact/contact_setting.hpp"
#include "soacraft/contact/dynamics/tree_rows.hpp"

namespace soacraft {
namespace sim {
namespace SOACRAFT_TARGET {

namespace spatial = rigid::SOACRAFT_TARGET;  // articulated sweeps, as built here

struct ContactPoint {
    index a, b;  // shapes
    spatial::Touch touch;
    double gap, restitution;
    const double* friction;
    spatial::Vec3 slip, middle;
    std::size_t block;  // of rows
    index row;      // its first
};

class ContactSearch {
public:
    ContactSearch(const ContactSetting& set, const rigid::Model& model)
        : set_(set), model_(model), poses_(at(set.scene->shapes() * contact::POSE)) {
        for (index i = 0; i < set.scene->shapes(); ++i) place_shape(i);
    }

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

    // The angular speed of the body with shapes that turns fastest.
    double turning(const spatial::TreeRows& tree) const {
        double most = 0.0;
        for (index i = 0; i < model_.body_count; ++i) {
            const index element = model_.bodies[i].element;
            if (element >= 0 && set_.far[i] > 0.0) most = std::fmax(most, std::sqrt(dot(tree.limb(element).V.w, tree.limb(element).V.w)));
        }
        return most;
    }

    // The points of contact with gaps of at most `within`, where a tree is.
    void look(const spatial::TreeRows& tree, double within, std::vector<ContactPoint>& points) {
        place(tree, poses_.data());
        set_.scene->spots(poses_.data(), within, spots_);
        points.clear();
        for (std::size_t i = 0; i < spots_.numbers.size() / at(contact::SPOT); ++i) {
            const double* x = spots_.numbers.data() + i * at(contact::SPOT);
            const index a = spots_.places[3 * i + 1], b = spots_.places[3 * i + 2];
            const index pair = set_.group[at(a)] * set_.groups + set_.group[at(b)];
            ContactPoint point{a, b, {shapes_[at(a)].element, shapes_[at(b)].element, vec(x + 1), vec(x + 4), {}, set_.rows[at(pair)]}, x[0],
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

    // True if some pair is so thin that it may pass each other in a step in which no two points come closer by more than this.
    bool may_pass(double way) const { return way > NEVER * set_.thin; }
    // The pair, of those near in the last search, that allows the smallest part of a step of length h, between two trees.
    contact::Passed passed(const spatial::TreeRows& from, const spatial::TreeRows& to, double h) {
        constexpr index SIX = 6;
        const index count = set_.scene->shapes();
        double* to_poses[2];
        double* to_velocities[2];
        ends_.resize(at(2 * count * (contact::POSE + SIX)));
        for (int i = 0; i < 2; ++i) {
            to_poses[i] = ends_.data() + i * count * contact::POSE;
            to_velocities[i] = ends_.data() + 2 * count * contact::POSE + i * count * SIX;
            const spatial::TreeRows& tree = i ? to : from;
            place(tree, to_poses[i]);
            for (index k = 0; k < count; ++k) {
                const index element = shapes_[at(k)].element;
                const spatial::Twist u = tree.velocity(element, vec(to_poses[i] + k * contact::POSE + 9));
                const double numbers[] = {u.w.x, u.w.y, u.w.z, u.v.x, u.v.y, u.v.z};
                std::copy(numbers, numbers + SIX, to_velocities[i] + k * SIX);
            }
        }
        return set_.scene->passed({to_poses[0], to_poses[1], to_velocities[0], to_velocities[1], h}, spots_.pairs);
    }

private:
    static constexpr double NEVER = 0.1;  // of the width of a pair, below the least that a step may take (`contact/passage.hpp`)
    struct Carried {  // a shape: the element that carries it, -1 for the ground, and its pose there
        index element;
        spatial::Place<double> at;
    };
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    static spatial::Vec3 vec(const double* x) { return {x[0], x[1], x[2]}; }
    // poses (shapes, 12) of the shapes of a tree.
    void place(const spatial::TreeRows& tree, double* to) const {
        for (const Carried& shape : shapes_) {
            spatial::Place<double> X = shape.at;
            if (shape.element >= 0) X = spatial::Place<double>{tree.limb(shape.element).R, tree.limb(shape.element).p} * X;
            const spatial::Vec3* columns[] = {&X.R.a, &X.R.b, &X.R.c};
            for (int j = 0; j < 3; ++j) to[j] = columns[j]->x, to[3 + j] = columns[j]->y, to[6 + j] = columns[j]->z;
            to[9] = X.p.x, to[10] = X.p.y, to[11] = X.p.z;
            to += contact::POSE;
        }
    }
    void place_shape(index i) {
        const double* local = set_.local + i * contact::POSE;
        spatial::Place<double> X = spatial::place_at<double>(local, local + 9);
        const index body = set_.body[at(i)];
        if (body >= 0) X = spatial::place_at<double>(model_.bodies[body].R, model_.bodies[body].p) * X;
        shapes_.push_back({body < 0 ? -1 : model_.bodies[body].element, X});
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

    const ContactSetting& set_;
    const rigid::Model& model_;
    std::vector<Carried> shapes_;
    std::vector<double> poses_, ends_;  // ends_: poses and velocities at both ends of a step
    contact::Spots spots_;
};

}  // namespace SOACRAFT_TARGET
}  // namespace sim
}  // namespace soacraft
