// The tables of a flexible body and of its nodes (model.hpp), made of its modal data in a frame of choice.
//
// In a frame where points are R r + t the moments are, with p' = R p and S' = R S,
//
//     R first + m t,   N' = R N R* + t p'*,   Q' = R Q R*,   T' = R T R* + t S'*,   R lam, R gam
#pragma once

#include <cmath>
#include <vector>

#include "../reject.hpp"
#include "model.hpp"

namespace soacraft {
namespace rigid {

// Modal data as they are given, arrays row by row: p (n, 3), N (n, 9), Q and T (n, n, 9), S (n, n, 3), M, K and D (n, n); of
// a node its pose, lam and gam (3, n), lam2 and gam2 (3, n, n) or empty.
struct ModalNumbers {
    struct Node {
        double R[9], p[3];
        std::vector<double> lam, gam, lam2, gam2;
    };
    index n = 0;
    double mass = 0.0, first[3] = {}, second[9] = {};
    std::vector<double> p, N, Q, M, K, D, S, T;
    std::vector<Node> nodes;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    static void require(bool fits) {
        if (!fits) reject("modal data have arrays of other sizes than their modes");
    }
    void check() const {
        const std::size_t k = at(n);
        require(p.size() == 3 * k && N.size() == 9 * k && Q.size() == 9 * k * k && M.size() == k * k);
        require(K.size() == k * k && D.size() == k * k && (S.empty() ? T.empty() : S.size() == 3 * k * k && T.size() == 9 * k * k));
        for (const Node& x : nodes) {
            require(x.lam.size() == 3 * k && x.gam.size() == 3 * k);
            require((x.lam2.empty() || x.lam2.size() == 3 * k * k) && (x.gam2.empty() || x.gam2.size() == 3 * k * k));
        }
    }
};

class ModalTables {
public:
    ModalTables(const ModalNumbers& from, const double* R, const double* t, std::vector<Eight>& to) : data_(from), R_(R), t_(t), to_(to) {}

    void body(Flexible& f) const {
        const index n = data_.n;
        f.n = n, f.geometric = !data_.S.empty(), f.m = data_.mass;
        double turned[3], Y[9];
        turn(data_.first, turned);
        turn_both(data_.second, Y);
        for (int a = 0; a < 3; ++a) {
            f.c[a] = turned[a] + data_.mass * t_[a];
            for (int b = 0; b < 3; ++b) Y[3 * a + b] += turned[a] * t_[b] + t_[a] * turned[b] + data_.mass * t_[a] * t_[b];
        }
        moment(Y, 0.5, f.J);  // Y is symmetric already
        const index numbers = f.geometric ? SECOND_GEOMETRIC : SECOND;
        f.first = room(f.blocks() * FIRST), f.second = room(f.blocks() * n * numbers), f.mass = room(n * f.blocks());
        f.factor = room(n * f.blocks() + f.blocks());
        for (index j = 0; j < n; ++j) {
            double p[3], N[9];
            turn(&data_.p[at(3 * j)], p), turn_both(&data_.N[at(9 * j)], N);
            add_outer(p, N);
            double row[FIRST];
            moment(N, 1.0, row), axial(N, row + 6);
            for (int a = 0; a < 3; ++a) row[9 + a] = p[a];
            put(f.first + j / 8 * FIRST, j % 8, row, FIRST);
            for (index i = 0; i < n; ++i) {
                pair(i, j, f.geometric, f.second + (j / 8 * n + i) * numbers, numbers);
                to_[at(f.mass + i * f.blocks() + j / 8)].x[j % 8] = data_.M[at(i * n + j)];
            }
        }
        factor(f);
    }

    void spot(const ModalNumbers::Node& node, Spot& s) const {
        const index n = data_.n, blocks = (n + 7) / 8;
        turn(node.p, s.p);
        for (int a = 0; a < 3; ++a) {
            s.p[a] += t_[a];
            for (int b = 0; b < 3; ++b) s.R[3 * a + b] = R_[3 * a] * node.R[b] + R_[3 * a + 1] * node.R[3 + b] + R_[3 * a + 2] * node.R[6 + b];
        }
        s.geometric = !node.lam2.empty() || !node.gam2.empty();
        s.first = room(blocks * NODE), s.second = room(s.geometric ? blocks * n * NODE : 0);
        for (index j = 0; j < n; ++j) {
            double row[NODE];
            column(node.lam, n, j, row), column(node.gam, n, j, row + 3);
            put(s.first + j / 8 * NODE, j % 8, row, NODE);
            for (index i = 0; i < n && s.geometric; ++i) {
                column(node.lam2, n * n, i * n + j, row), column(node.gam2, n * n, i * n + j, row + 3);
                put(s.second + (j / 8 * n + i) * NODE, j % 8, row, NODE);
            }
        }
    }

private:
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    index room(index count) const {
        const std::size_t first = to_.size();
        to_.resize(first + at(count), Eight{});
        return static_cast<index>(first);
    }
    void put(index first, index lane, const double* x, index count) const {
        for (index a = 0; a < count; ++a) to_[at(first + a)].x[lane] = x[a];
    }
    void turn(const double* x, double* y) const {
        for (int a = 0; a < 3; ++a) y[a] = R_[3 * a] * x[0] + R_[3 * a + 1] * x[1] + R_[3 * a + 2] * x[2];
    }
    // R X R*
    void turn_both(const double* X, double* Y) const {
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
                Y[3 * a + b] = 0.0;
                for (int c = 0; c < 3; ++c)
                    for (int d = 0; d < 3; ++d) Y[3 * a + b] += R_[3 * a + c] * X[3 * c + d] * R_[3 * b + d];
            }
    }
    // X += t y*
    void add_outer(const double* y, double* X) const {
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) X[3 * a + b] += t_[a] * y[b];
    }
    // tr(X + X*) I - (X + X*), times a factor: xx xy xz yy yz zz.
    static void moment(const double* X, double s, double* J) {
        J[0] = 2.0 * s * (X[4] + X[8]), J[3] = 2.0 * s * (X[0] + X[8]), J[5] = 2.0 * s * (X[0] + X[4]);
        J[1] = -s * (X[1] + X[3]), J[2] = -s * (X[2] + X[6]), J[4] = -s * (X[5] + X[7]);
    }
    static void axial(const double* X, double* x) { x[0] = X[5] - X[7], x[1] = X[6] - X[2], x[2] = X[1] - X[3]; }

    void pair(index i, index j, bool geometric, index first, index numbers) const {
        const index ij = i * data_.n + j;
        double Q[9], row[SECOND_GEOMETRIC];
        turn_both(&data_.Q[at(9 * ij)], Q);
        row[9] = data_.K[at(ij)], row[10] = data_.D[at(ij)];
        if (geometric) {
            axial(Q, row + 11);
            double T[9];
            turn(&data_.S[at(3 * ij)], row + 14), turn_both(&data_.T[at(9 * ij)], T);
            add_outer(row + 14, T);
            for (int a = 0; a < 9; ++a) Q[a] += T[a];
        }
        moment(Q, 1.0, row), axial(Q, row + 6);
        put(first, j % 8, row, numbers);
    }
    void column(const std::vector<double>& x, index step, index j, double* y) const {
        const double given[3] = {x.empty() ? 0.0 : x[at(j)], x.empty() ? 0.0 : x[at(step + j)], x.empty() ? 0.0 : x[at(2 * step + j)]};
        turn(given, y);
    }

    // The Cholesky factor of the modal mass by columns, and behind it the inverses of its diagonal.
    void factor(const Flexible& f) const {
        const index n = f.n, step = 8 * f.blocks();
        double* L = to_[at(f.factor)].x;
        double* inverse = L + n * step;
        const double* M = to_[at(f.mass)].x;
        for (index j = 0; j < n; ++j) {
            for (index i = j; i < n; ++i) {
                double sum = M[j * step + i];
                for (index k = 0; k < j; ++k) sum -= L[k * step + i] * L[k * step + j];
                L[j * step + i] = sum;
            }
            if (!(L[j * step + j] > 0.0)) reject("the modal mass of a flexible body is not positive");
            inverse[j] = 1.0 / std::sqrt(L[j * step + j]);
            for (index i = j; i < n; ++i) L[j * step + i] *= inverse[j];
        }
    }

    const ModalNumbers& data_;
    const double *R_, *t_;
    std::vector<Eight>& to_;
};

}  // namespace rigid
}  // namespace soacraft
