// Inverse kinematics of a limb, for C++: hinges of one dof each from a base frame to a tip.
//
//     soacraft::Arm arm(robot, robot.frame("torso"), robot.frame("hand/tool"), lower, upper);
//     if (arm.ik(goal, near, q)) ...                                // goal: rows of the rotation, then the place, in the base
//
// It is what `limb.ik` is in Python (docs/robots/limbs.md). Nothing is allocated after it was made, and every loop is bounded.
#pragma once

#include <vector>

#include "kinematics/limb_search.hpp"
#include "loops/rows/closure_hinge.hpp"
#include "multibody.hpp"

SOACRAFT_BEGIN

class Arm {
public:
    // `lower` and `upper` (dofs): finite, in radians or metres.
    Arm(const Multibody& robot, index base, index tip, const std::vector<double>& lower, const std::vector<double>& upper) : lower_(lower), upper_(upper) {
        const rigid::Body from = robot.place(base), to = robot.place(tip);
        const rigid::Model& model = *robot.job(false).model;
        std::vector<index> way;
        for (index k = to.element; k != from.element; k = model.elements[k].parent) {
            if (k < 0) throw std::invalid_argument("the tip is not outboard of the base");
            if (model.elements[k].kind > rigid::HELICAL) throw std::invalid_argument("a limb has hinges of one dof each");
            way.insert(way.begin(), k);
        }
        const std::size_t n = way.size();
        if (n == 0 || n > static_cast<std::size_t>(kinematics::MOST_DOFS) || lower.size() != n || upper.size() != n)
            throw std::invalid_argument("a limb has one limit for each of its dofs, of which there are at least one and at most " + std::to_string(kinematics::MOST_DOFS));
        double reach = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            const rigid::Element& e = model.elements[way[i]];
            rigid::Frame at = frame(e.R, e.p);
            if (i == 0) at = inverse(frame(from.R, from.p)) * at;
            kinematics::LimbHinge h = {};
            put(at, h.at);
            h.turn = e.kind == rigid::PRISMATIC ? 0.0 : 1.0, h.slide = e.kind == rigid::PRISMATIC ? 1.0 : e.kind == rigid::HELICAL ? e.pitch : 0.0;
            h.ratio = e.scale, h.dof = static_cast<index>(i);
            reach += std::sqrt(at.p[0] * at.p[0] + at.p[1] * at.p[1] + at.p[2] * at.p[2]);
            hinges_.push_back(h);
            places_.push_back(e.q);
        }
        reach += std::sqrt(to.p[0] * to.p[0] + to.p[1] * to.p[1] + to.p[2] * to.p[2]);
        for (const kinematics::LimbHinge& h : hinges_) unit_.push_back(h.turn == 0.0 && reach > 0.0 ? 1.0 / reach : 1.0);
        limb_ = {hinges_.data(), static_cast<index>(n), static_cast<index>(n), {}, lower_.data(), upper_.data(), unit_.data(), reach > 0.0 ? reach : 1.0};
        put(frame(to.R, to.p), limb_.tip);
        fill_table();
        for (double& x : options.tolerance) x = 1e-9;
        options.seeds = 64, options.steps = 60, options.patience = 5, options.enough = 0.5, options.damping = 0.3, options.damped = 1e-12;
        options.largest = 1.2, options.settling = 100, options.settled = 1e-13;
    }
    Arm(const Arm&) = delete;
    Arm& operator=(const Arm&) = delete;

    index dofs() const { return limb_.dofs; }
    const std::vector<index>& places() const { return places_; }  // of its coordinates in q of the robot
    kinematics::LimbOptions options = {};                         // of a search; tolerances are in radians and metres

    // q (dofs) <- coordinates at which the tip is at the goal, from `near` and, where that fails, from a table of others; false
    // where the tolerance is not met: then the nearest approach.
    [[nodiscard]] bool ik(const double* goal, const double* near, double* q) {
        double left[6] = {};
        index told[3] = {};
        const kinematics::LimbJob job = {&limb_, &table_, &options, goal, near, 1, 1, q, left, told};
        rigid::SOACRAFT_TARGET::search_limb<SOACRAFT_LANES>(job, 0, 1);
        return told[0] > 0;
    }
    // The pose of the tip in the base: rows of the rotation, then the place.
    void pose(const double* q, double* to) const {
        rigid::Frame X = frame(hinges_[0].at, hinges_[0].at + 9);
        for (std::size_t i = 0; i < hinges_.size(); ++i) {
            const kinematics::LimbHinge& h = hinges_[i];
            if (i > 0) X = X * frame(h.at, h.at + 9);
            const double x = h.ratio * q[i], c = std::cos(h.turn * x), s = std::sin(h.turn * x);
            const double R[9] = {c, -s, 0, s, c, 0, 0, 0, 1}, p[3] = {0, 0, h.slide * x};
            X = X * frame(R, p);
        }
        put(X * frame(limb_.tip, limb_.tip + 9), to);
    }

private:
    static constexpr index TABLE = 512;  // configurations to start from
    static constexpr double BEYOND = 1.1;
    std::vector<kinematics::LimbHinge> hinges_;
    std::vector<index> places_;
    std::vector<double> lower_, upper_, unit_, table_q_, position_, turn_;
    kinematics::Limb limb_ = {};
    kinematics::LimbTable table_ = {};

    static rigid::Frame frame(const double* R, const double* p) {
        rigid::Frame x;
        for (int i = 0; i < 9; ++i) x.R[i] = R[i];
        for (int i = 0; i < 3; ++i) x.p[i] = p[i];
        return x;
    }
    static rigid::Frame inverse(const rigid::Frame& x) {
        rigid::Frame y;
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) y.R[3 * i + j] = x.R[3 * j + i];
        for (int i = 0; i < 3; ++i) y.p[i] = -(y.R[3 * i] * x.p[0] + y.R[3 * i + 1] * x.p[1] + y.R[3 * i + 2] * x.p[2]);
        return y;
    }
    static void put(const rigid::Frame& x, double* to) {
        for (int i = 0; i < 9; ++i) to[i] = x.R[i];
        for (int i = 0; i < 3; ++i) to[9 + i] = x.p[i];
    }
    // Points spread evenly between the limits and a little beyond (Halton 1960), those brought back to them: goals near limits have
    // few starts else.
    void fill_table() {
        static const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31,  37,  41,  43,  47,  53,
                                     59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131};
        const std::size_t n = hinges_.size(), m = static_cast<std::size_t>(TABLE);
        table_q_.resize(m * n), position_.resize(3 * m), turn_.resize(4 * m);
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                double x = 0.0, part = 1.0;
                for (std::size_t k = i + 21; k > 0; k /= static_cast<std::size_t>(primes[j])) part /= primes[j], x += part * static_cast<double>(k % static_cast<std::size_t>(primes[j]));
                x = 0.5 + BEYOND * (x - 0.5), x = x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
                table_q_[i * n + j] = lower_[j] + x * (upper_[j] - lower_[j]);
            }
            double X[kinematics::PLACE], q[4];
            pose(table_q_.data() + i * n, X);
            for (std::size_t k = 0; k < 3; ++k) position_[k * m + i] = X[9 + k];
            rigid::SOACRAFT_TARGET::quaternion_of(rigid::SOACRAFT_TARGET::mat<double>(X), q);
            for (std::size_t k = 0; k < 4; ++k) turn_[k * m + i] = q[k];
        }
        table_ = {table_q_.data(), position_.data(), turn_.data(), TABLE};
    }
};

SOACRAFT_END
