// Accelerations where the motion of some dofs is prescribed, and the forces that these take in addition to the loads:
//
//     Mcal vdot + C = T + S* f,    S vdot = wanted
//
// of rigid trees in one sweep (soacraft/rigid/mixed.hpp), of flexible ones by a solve for each dof,
// f = (S Mcal^-1 S*)^-1 (wanted - S vdot), with vdot of the forces at the other dofs alone; of closed chains by driven couplings
// behind the closures, whose multipliers are -f (soacraft/loops).
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "prescribed.hpp"
#include "rigid/algorithms.hpp"

namespace soacraft {
namespace sim {

class MixedDynamics {
public:
    MixedDynamics(const Prescribed& set, const rigid::Job& job)
        : set_(set), nv_(job.model->nv), flexible_(job.model->flexible_count > 0), count_(set.dofs.size()),
          solver_(rigid::algorithm(flexible_ ? "forward_dynamics" : "mixed_dynamics", flexible_)),
          inverse_(rigid::algorithm("mass_matrix_solve", flexible_)) {
        if (!set.any()) return;
        const auto nv = static_cast<std::size_t>(nv_);
        wanted_.resize(nv), reaction_.resize(nv), force_.resize(nv), zeros_.resize(nv);
        if (flexible_) columns_.resize(count_ * nv), matrix_.resize(count_ * count_), pull_.resize(count_);
        rigid::Job largest = job;
        largest.mask = set.mask.data();
        space_.hold(std::max(solver_.one_bytes(largest), flexible_ ? inverse_.one_bytes(largest) : std::size_t(0)));
    }

    bool any() const { return set_.any(); }
    bool has_row() const { return set_.has_row; }
    const std::vector<PrescribedDof>& dofs() const { return set_.dofs; }
    double reaction(index dof) const { return reaction_[at(dof)]; }

    // Let functions be called again, whatever they gave for a time.
    void forget() { evaluated_ = false; }

    // Put a point where the prescribed motions have it; false where a function failed.
    bool impose(double t, double* q, double* v) {
        if (!evaluate(t)) return false;
        double here[3];
        for (const PrescribedDof& x : set_.dofs) {
            x.at(t, here);
            if (x.guidance != REST) q[x.place] = here[0];
            v[x.dof] = here[1];
        }
        return true;
    }

    // Accelerations that are wanted, and a force (nv) at the other dofs.
    bool want(double t, const double* total) {
        if (!evaluate(t)) return false;
        std::fill(wanted_.begin(), wanted_.end(), 0.0);
        double here[3];
        for (const PrescribedDof& x : set_.dofs) x.at(t, here), wanted_[at(x.dof)] = here[2];
        std::copy(total, total + nv_, force_.begin());
        return true;
    }

    // All of vdot under a force (nv) at the other dofs, and the reactions. `job` is the tree with all that acts.
    bool solve(double t, rigid::Job job, const double* q, const double* v, const double* total, double* vdot) {
        if (!want(t, total)) return false;
        job.in[rigid::Q] = q, job.in[rigid::V] = v, job.out[0] = vdot;
        if (!(flexible_ ? by_solves(job, vdot) : in_one_sweep(job))) return false;
        for (const PrescribedDof& x : set_.dofs) reaction_[at(x.dof)] -= total[x.dof];
        return rigid::finite(vdot, nv_) && rigid::finite(reaction_.data(), nv_);
    }

    // Dynamics of a closed chain whose last couplings drive these dofs: what drives them, the force at the others, and what the
    // multipliers of those couplings say.
    bool drive(double t, const double* v, const double* total) {
        if (!want(t, total)) return false;
        rates_.clear();
        for (const PrescribedDof& x : set_.dofs) {
            force_[at(x.dof)] = 0.0;
            rates_.push_back(v[x.dof]), rates_.push_back(wanted_[at(x.dof)]);
        }
        return true;
    }
    const double* rates() const { return rates_.data(); }
    const double* force() const { return force_.data(); }
    void take(const double* multipliers, const double* total) {
        for (const PrescribedDof& x : set_.dofs) reaction_[at(x.dof)] = -*multipliers++ - total[x.dof];
    }

private:
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    bool evaluate(double t) {
        if (!set_.functions || (evaluated_ && t == time_)) return true;
        evaluated_ = set_.functions->at(t), time_ = t;
        return evaluated_;
    }

    bool in_one_sweep(rigid::Job& job) {
        job.in[rigid::X] = force_.data(), job.in[rigid::Y] = wanted_.data(), job.mask = set_.mask.data();
        job.out[1] = reaction_.data();
        return solver_.one(job, 0, 1, space_.hold(0));
    }

    bool by_solves(rigid::Job& job, double* vdot) {
        for (const PrescribedDof& x : set_.dofs) force_[at(x.dof)] = 0.0;
        job.in[rigid::X] = force_.data();
        if (!solver_.one(job, 0, 1, space_.hold(0))) return false;
        rigid::Job still = job;
        still.passive = nullptr, still.wrenches = nullptr, still.wrench_count = 0, still.turned = false;
        std::memset(still.base, 0, sizeof still.base);
        still.in[rigid::V] = zeros_.data(), still.in[rigid::X] = force_.data();
        for (std::size_t i = 0; i < count_; ++i) {
            std::fill(force_.begin(), force_.end(), 0.0);
            force_[at(set_.dofs[i].dof)] = 1.0, still.out[0] = columns_.data() + i * at(nv_);
            if (!inverse_.one(still, 0, 1, space_.hold(0))) return false;
            for (std::size_t k = 0; k < count_; ++k) matrix_[i * count_ + k] = still.out[0][set_.dofs[k].dof];
            pull_[i] = wanted_[at(set_.dofs[i].dof)] - vdot[set_.dofs[i].dof];
        }
        solve_small();
        for (std::size_t i = 0; i < count_; ++i) {
            const double* column = columns_.data() + i * at(nv_);
            for (index k = 0; k < nv_; ++k) vdot[k] += pull_[i] * column[k];
            reaction_[at(set_.dofs[i].dof)] = pull_[i];
        }
        for (const PrescribedDof& x : set_.dofs) vdot[x.dof] = wanted_[at(x.dof)];
        return true;
    }

    // pull_ <- matrix_^-1 pull_, symmetric and positive: LDL*, in its place.
    void solve_small() {
        double* const A = matrix_.data();
        for (std::size_t j = 0; j < count_; ++j) {
            for (std::size_t i = j + 1; i < count_; ++i) {
                const double factor = A[i * count_ + j] / A[j * count_ + j];
                for (std::size_t k = i; k < count_; ++k) A[k * count_ + i] -= factor * A[k * count_ + j];
                pull_[i] -= factor * pull_[j];
            }
        }
        for (std::size_t j = count_; j-- > 0;) {
            for (std::size_t i = j + 1; i < count_; ++i) pull_[j] -= A[i * count_ + j] * pull_[i];
            pull_[j] /= A[j * count_ + j];
        }
    }

    const Prescribed& set_;
    const index nv_;
    const bool flexible_;
    const std::size_t count_;
    const rigid::Algorithm &solver_, &inverse_;
    bool evaluated_ = false;  // functions were called for
    double time_ = 0.0;
    std::vector<double> wanted_, reaction_, force_, zeros_, columns_, matrix_, pull_, rates_;
    rigid::Workspace space_;
};

}  // namespace sim
}  // namespace soacraft
