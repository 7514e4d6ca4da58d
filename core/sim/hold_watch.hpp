// Friction that sticks and rigid stops in steps: their margins at the quarters of each, by the dense output (sim/events.py).
#pragma once

#include <algorithm>
#include <vector>

#include "dense_points.hpp"

namespace soacraft {
namespace sim {

class HoldWatch {
public:
    explicit HoldWatch(Mechanism& m)
        : m_(m), by_force_(std::any_of(m.holds().begin(), m.holds().end(), [](const Hold& x) { return x.holds(); })) {}

    // True if it is certain that nothing begins or ends to hold in a step, at whose end these forces (names, nv) act. `again`: those
    // at its start may be others than at the end of the last one. The margins at its start are known to be positive.
    bool passes(const DensePoints::Step& s, const double* forces, DensePoints& inside, bool again) {
        const std::vector<Hold>& holds = m_.holds();
        if (holds.empty()) return true;
        g_.resize((Crossing::PARTS + 1) * holds.size());
        if (!again && begun_) {
            for (std::size_t i = 0; i < holds.size(); ++i) *values(i) = values(i)[Crossing::PARTS];
        } else if (!evaluate(s.t, s.x, 0)) {
            return false;
        }
        put(s.x1, forces, Crossing::PARTS);
        for (int k = 1; k < Crossing::PARTS; ++k) {
            const double theta = static_cast<double>(k) / Crossing::PARTS;
            if (!inside.move(theta) || !evaluate(inside.time(theta), inside.point(), k)) return false;
        }
        for (std::size_t i = 0; i < holds.size(); ++i) {
            double sign = 1.0;
            if (!(*values(i) > 0.0) || !FALLS.stays(values(i), sign)) return false;
        }
        return begun_ = true;
    }

private:
    static constexpr Crossing FALLS{-1};

    double* values(std::size_t i) { return g_.data() + (Crossing::PARTS + 1) * i; }

    void put(const double* x, const double* forces, int k) {
        const std::vector<Hold>& holds = m_.holds();
        for (std::size_t i = 0; i < holds.size(); ++i)
            values(i)[k] = holds[i].margin(x, x + m_.nq, by_force_ ? forces[holds[i].row * m_.nv + holds[i].dof] : 0.0);
    }

    bool evaluate(double t, const double* x, int k) {
        const std::vector<double> followed = m_.theta;
        if (by_force_) {
            forces_.resize(static_cast<std::size_t>(m_.names * m_.nv)), w_.resize(static_cast<std::size_t>(m_.size));
            if (!m_.rates(t, x, w_.data(), forces_.data())) return false;
        }
        m_.theta = followed;
        put(x, forces_.data(), k);
        return true;
    }

    Mechanism& m_;
    const bool by_force_;  // some hold now: their margins are of forces
    bool begun_ = false;   // the last margins are those at the end of the step before
    std::vector<double> g_, w_, forces_;  // g_: (holds, 5)
};

}  // namespace sim
}  // namespace soacraft
