// A rigid tree for C++: built from bodies or loaded from a file that Python saved (`sc.save_core`), then asked for its
// dynamics at one state after the other.
//
//     soacraft::Multibody arm = soacraft::Multibody::load("arm.soacraft");
//     arm.forward_dynamics(q, v, force, vdot);
//
// Twists and wrenches are angular part first; q and v are as in Python (`docs/notation.md`), matrices row-major. Every
// function returns false, and says nothing of its result, where an input is not finite, a quaternion not within 1e-6 of
// unit, or a hinge has no inertia to move. A Multibody belongs to one thread; a copy shares the tables and is another's.
#pragma once

#include <memory>

#include "files/model_file.hpp"
#include "rigid/drivers/drivers.hpp"
#include "rigid/drivers/matrices.hpp"
#include "workspace.hpp"

SOACRAFT_BEGIN

class Multibody {
public:
    explicit Multibody(rigid::TreeFile tree) {
        auto made = std::make_shared<Fixed>();
        made->quaternions = rigid::tabulate(tree, made->assembly, made->tables);
        made->file = std::move(tree);
        fixed_ = std::move(made);
        zeros_.assign(static_cast<std::size_t>(nv()) + 1, 0.0);
    }
    Multibody(const Multibody& other) : fixed_(other.fixed_), zeros_(other.zeros_) {}
    Multibody(Multibody&&) = default;

    static Multibody read(const std::string& bytes) { return Multibody(rigid::read_tree(bytes)); }
    static Multibody load(const std::string& path) { return files::load(path, read); }
    std::string bytes() const {
        rigid::TreeFile copy = fixed_->file;
        return rigid::bytes_of(copy);
    }

    index nq() const { return model().nq; }
    index nv() const { return model().nv; }
    index body_count() const { return model().body_count; }
    const std::vector<rigid::NamedFrame>& frames() const { return fixed_->file.frames; }
    // The number of a frame by its name, "forearm" or "forearm/tool".
    index frame(const std::string& name) const {
        for (std::size_t i = 0; i < frames().size(); ++i)
            if (frames()[i].name == name) return static_cast<index>(i);
        throw std::invalid_argument("the model has no frame '" + name + "'");
    }

    // Articulated-body forward dynamics, O(n), gravity and springs included.
    [[nodiscard]] bool forward_dynamics(const double* q, const double* v, const double* force, double* vdot) {
        rigid::Job job = begin(q, v, force, true);
        return run(rigid::SOACRAFT_TARGET::run_forward_dynamics<double>, rigid::SOACRAFT_TARGET::room_for_forward_dynamics<double>, job, vdot, nv());
    }
    // Newton-Euler inverse dynamics, O(n).
    [[nodiscard]] bool inverse_dynamics(const double* q, const double* v, const double* vdot, double* force) {
        rigid::Job job = begin(q, v, vdot, true);
        return run(rigid::SOACRAFT_TARGET::run_inverse_dynamics<double>, rigid::SOACRAFT_TARGET::room_for_inverse_dynamics<double>, job, force, nv());
    }
    // The mass matrix (nv, nv).
    [[nodiscard]] bool mass_matrix(const double* q, double* M) {
        rigid::Job job = begin(q, zeros_.data(), zeros_.data(), false);
        return run(rigid::SOACRAFT_TARGET::run_mass_matrix<double>, rigid::SOACRAFT_TARGET::room_for_mass_matrix<double>, job, M, nv() * nv());
    }
    // The Jacobian (6, nv) of a frame: J v is its angular velocity, then that of its origin, in inertial axes.
    [[nodiscard]] bool jacobian(const double* q, index frame, double* J) {
        const rigid::Body node = place(frame);
        rigid::Job job = begin(q, zeros_.data(), zeros_.data(), false);
        job.frames = &node, job.frame_count = 1;
        return run(rigid::SOACRAFT_TARGET::run_jacobian<double>, rigid::SOACRAFT_TARGET::room_for_jacobian<double>, job, J, 6 * nv());
    }
    // The body frames in inertial axes: rotations (body, 3, 3) and origins (body, 3).
    [[nodiscard]] bool poses(const double* q, double* R, double* p) {
        rigid::Job job = begin(q, zeros_.data(), zeros_.data(), false);
        job.out[1] = p;
        return run(rigid::SOACRAFT_TARGET::run_poses<double>, rigid::SOACRAFT_TARGET::room_for_poses<double>, job, R, 9 * body_count()) &&
               rigid::finite(p, 3 * body_count());
    }

    // Where a frame is: the element that carries it, and its place there.
    rigid::Body place(index frame) const {
        const rigid::NamedFrame& named = frames().at(static_cast<std::size_t>(frame));
        const rigid::Body& body = fixed_->tables.bodies[static_cast<std::size_t>(named.body)];
        rigid::Frame on;
        for (int i = 0; i < 9; ++i) on.R[i] = body.R[i];
        for (int i = 0; i < 3; ++i) on.p[i] = body.p[i];
        on = on * named.at;
        rigid::Body node = {body.element, {}, {}};
        for (int i = 0; i < 9; ++i) node.R[i] = on.R[i];
        for (int i = 0; i < 3; ++i) node.p[i] = on.p[i];
        return node;
    }
    // Whether the quaternions of q are unit, within 1e-6.
    bool unit(const double* q) const { return rigid::unit_quaternions(fixed_->quaternions, q); }

    // For drivers of one's own, of batches in packs of SOACRAFT_LANES states too (`rigid/drivers/drivers.hpp`).
    rigid::Job job(bool gravity) const {
        rigid::Job j = {};
        j.model = &model();
        for (int i = 0; i < 3 && gravity; ++i) j.base[9 + i] = -fixed_->file.gravity[i];
        j.place[0] = j.place[4] = j.place[8] = 1.0;
        const rigid::Passive& own = fixed_->tables.passive;
        if (gravity && own.any()) j.passive = &own;
        return j;
    }

private:
    struct Fixed {
        rigid::TreeFile file;
        rigid::Assembly assembly;
        rigid::Tables tables;
        std::vector<index> quaternions;
    };
    std::shared_ptr<const Fixed> fixed_;
    std::vector<double> zeros_;
    rigid::Workspace workspace_;

    const rigid::Model& model() const { return fixed_->tables.model; }
    rigid::Job begin(const double* q, const double* v, const double* x, bool forces) const {
        rigid::Job j = job(forces);
        j.in[rigid::Q] = q, j.in[rigid::V] = v, j.in[rigid::X] = x;
        return j;
    }
    bool run(rigid::Kernel kernel, rigid::Size room, rigid::Job& job, double* out, index count) {
        if (!rigid::finite(job.in[rigid::Q], nq()) || !rigid::finite(job.in[rigid::V], nv()) ||
            !rigid::finite(job.in[rigid::X], nv()) || !rigid::unit_quaternions(fixed_->quaternions, job.in[rigid::Q]))
            return false;
        job.out[0] = out;
        return kernel(job, 0, 1, workspace_.hold(room(job))) && rigid::finite(out, count);
    }
};

SOACRAFT_END
