// Distances of two shapes at many pairs of poses: by the kernels of `lanes/` where they know the pair, else one by one.
#pragma once

#include <algorithm>
#include <vector>

#include "soacraft/contact/lanes/pair_job.hpp"
#include "soacraft/contact/touch.hpp"
#include "spot_query.hpp"

namespace soacraft {
namespace contact {

inline void write(const Spot& s, double* x) {
    x[0] = s.gap, x[10] = s.error;
    for (int i = 0; i < 3; ++i) x[1 + i] = s.a[i], x[4 + i] = s.b[i], x[7 + i] = s.n[i];
}

inline Frame frame_of(const Poses& at, index i) {
    const double *R = at.rotation(i), *p = at.translation(i);
    return {{{{R[0], R[1], R[2]}, {R[3], R[4], R[5]}, {R[6], R[7], R[8]}}}, {p[0], p[1], p[2]}};
}

// A row of 11 numbers for each pair of poses; beyond `within` the gap is infinite, and the rest zero.
class PairQuery {
public:
    PairQuery(const Shape& a, const Poses& at_a, const Shape& b, const Poses& at_b, double within)
        : shape_{&a, &b}, at_{at_a, at_b}, within_(within) {
        lanes_ = a.kind != b.kind ? has_lanes(a.kind > b.kind ? a : b, a.kind > b.kind ? b : a) : has_lanes(a, b);
        if (!lanes_) return;
        const int by_size = a.kind != b.kind ? (a.kind > b.kind ? -1 : 1) : compared(a.size, b.size, 3);
        job_.by_pose = by_size == 0, job_.mirrored = by_size > 0, job_.within = within;
        for (int side = 0; side < 2; ++side) {
            const int from = side ^ int(job_.mirrored);
            const Shape& s = *shape_[from];
            const Vec3 half = half_edges(s);
            job_.kind[side] = s.kind, job_.at[side] = at_[from], job_.round[side] = rounding(s);
            for (int i = 0; i < 3; ++i) job_.half[side][i] = half[i];
        }
        job_.extent = a.extent + b.extent;
    }

    void run(index count, double* row) {
        constexpr index CHUNK = 64;
        Answer answer[CHUNK];
        for (index begin = 0; begin < count; begin += CHUNK) {
            const index end = std::min(begin + CHUNK, count);
            if (lanes_) pair_kernels().distances(job_, begin, end, row + SPOT * begin, answer);
            for (index i = begin; i < end; ++i) {
                if (!lanes_ || answer[i - begin] == LEFT) one(i, row + SPOT * i);
                else if (answer[i - begin] == AXIS) along_axis(i, row + SPOT * i);
            }
        }
    }

private:
    static bool has_lanes(const Shape& A, const Shape& B) { return (A.kind <= BOX || A.kind == PLANE) && B.kind <= BOX; }

    void one(index i, double* row) {
        double x[2][POSE];
        for (int side = 0; side < 2; ++side) {
            std::copy(at_[side].rotation(i), at_[side].rotation(i) + 9, x[side]);
            std::copy(at_[side].translation(i), at_[side].translation(i) + 3, x[side] + 9);
        }
        spots_.clear();
        touch(*shape_[0], x[0], *shape_[1], x[1], within_, false, spots_);
        write(spots_.empty() ? Spot{{}, {}, {}, HUGE_VAL, 0.0} : spots_[0], row);
    }

    // Boxes whose axis is known: the points along it.
    void along_axis(index i, double* row) const {
        const int first = int(job_.mirrored) ^ int(second_first(job_, i));
        const Shape &A = *shape_[first], &B = *shape_[1 - first];
        const Frame base = frame_of(at_[first], i);
        const Cores c(A, B, relative(base, frame_of(at_[1 - first], i)));
        Nearest x = box_points(c, {row[0], {row[7], row[8], row[9]}, row[10]});
        if (x.distance > NEAR * c.size && norm(x.b - x.a) - x.distance > BOX_ENOUGH * c.size)
            x.a = {row[1], row[2], row[3]}, x.b = {row[4], row[5], row[6]};
        Touch t;
        contacts_of(c, x, within_, false, t);
        const Contact& near = t.contact[0];
        Spot s{base * near.a, base * near.b, base.R * t.n, near.gap, t.error};
        if (first == 1) std::swap(s.a, s.b), s.n = -s.n;
        write(s.gap <= within_ ? s : Spot{{}, {}, {}, HUGE_VAL, 0.0}, row);
    }

    const Shape* shape_[2];
    Poses at_[2];
    double within_;
    bool lanes_;
    PairJob job_;
    std::vector<Spot> spots_;
};

}  // namespace contact
}  // namespace soacraft
