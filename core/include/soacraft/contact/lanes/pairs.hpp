// Distances of spheres, capsules, boxes and half spaces, W pairs of poses side by side. No branch depends on a pose.
#pragma once

#include "box_pairs.hpp"
#include "pair_job.hpp"

SOACRAFT_CONTACT_BEGIN

// Kinds, in the order of `shape.hpp`, which is not included: what it defines is built for one instruction set.
enum : int { ROUND = 0, LONG = 1, BOXED = 2, HALF_SPACE = 6 };

constexpr double TOO_NEAR = 1e-8;       // of the size: points that are nearer have no normal of their own
constexpr double SHARP = 1e-14;         // of the size: what separation and distance may differ by

template <int W>
struct Pairs {
    using T = Pack<W>;
    using M = typename T::Mask;
    using V = Three<T>;

    const PairJob& job;
    Place<T> at[2];
    bool swapped[W];
    // The answer: in the axes of A where it is an axis, else in those of the poses.
    T gap, error;
    V a, b, n;
    M left, axis;

    // `count` lanes; those beyond it repeat the last. A pose for all is read once; a sphere does not turn.
    SOACRAFT_FLAT void read(index begin, index count, bool first) {
        for (int k = 0; k < W; ++k) swapped[k] = job.by_pose && second_first(job, begin + (k < count ? k : count - 1));
        for (int side = 0; side < 2; ++side) {
            if (!first && !job.by_pose && job.at[side].step == 0) continue;
            double x[12][W];
            for (int k = 0; k < W; ++k) {
                const index i = begin + (k < count ? k : count - 1);
                const Poses& from = job.at[side ^ int(swapped[k])];
                const double *R = from.rotation(i), *p = from.translation(i);
                if (job.kind[side] != ROUND)
                    for (int j = 0; j < 9; ++j) x[j][k] = R[j];
                for (int j = 0; j < 3; ++j) x[9 + j][k] = p[j];
            }
            const auto pack = [](const double* from) {
                T t;
                std::memcpy(&t.x, from, sizeof t.x);
                return t;
            };
            if (job.kind[side] != ROUND)
                for (int j = 0; j < 3; ++j) at[side].column[j] = {pack(x[j]), pack(x[3 + j]), pack(x[6 + j])};
            at[side].p = {pack(x[9]), pack(x[10]), pack(x[11])};
        }
        left = axis = M{};
        error = T(0.0);
    }

    // Points of the cores and the way between them: gap and normal, roundings taken off.
    SOACRAFT_FLAT void between(const V& from, const V& to, const V& way) {
        const T far = root(dot(way, way));
        left = ~(T(TOO_NEAR * job.extent).x < far.x);
        n = T(1.0) / far * way;
        finish(from, to, far);
    }
    SOACRAFT_FLAT void finish(const V& from, const V& to, const T& far) {
        a = from + T(job.round[0]) * n, b = to - T(job.round[1]) * n, gap = far - (job.round[0] + job.round[1]);
    }

    SOACRAFT_FLAT void segments() {
        const V &u = at[0].column[2], &v = at[1].column[2], r = at[1].p - at[0].p;
        T s, t;
        nearest_on_segments(u, job.half[0][2], v, job.half[1][2], r, s, t);
        between(at[0].p + s * u, at[1].p + t * v, r + t * v - s * u);
    }

    SOACRAFT_FLAT void box_and_point() {
        const V x = at[0].turned_back(at[1].p - at[0].p);
        const double* h = job.half[0];
        const V skin{clamped(x.x, h[0]), clamped(x.y, h[1]), clamped(x.z, h[2])};
        between(at[0].turned(skin) + at[0].p, at[1].p, at[0].turned(x - skin));
    }

    // The half space z <= 0 of A, and the lowest point of B over it.
    SOACRAFT_FLAT void plane() {
        n = at[0].column[2];
        V low = T(-job.round[1]) * n;
        for (int i = 0; i < 3; ++i) {
            const double h = job.half[1][i];
            if (h > 0.0) low = low - choose(below(dot(n, at[1].column[i]), T(0.0)), T(-h), T(h)) * at[1].column[i];
        }
        gap = dot(n, at[1].p - at[0].p + low);
        b = at[1].p + low, a = b - gap * n;
    }

    SOACRAFT_FLAT void boxes() {
        const double *ha = job.half[0], *hb = job.half[1];
        const Place<T> in_A = seen_from(at[0], at[1]);
        const Axis<T> best = separating_axis(ha, hb, in_A, job.extent);
        const double both = job.round[0] + job.round[1];
        const M apart = T(TOO_NEAR * job.extent).x < best.separation.x, beyond = T(job.within + both).x < best.separation.x;
        Between<T> points{T(0.0), {}, {}};
        if (any(apart & ~beyond)) points = nearest_points(ha, hb, in_A);
        const T enough = SHARP * (job.extent + points.distance);
        const V way = points.b - points.a, along = T(1.0) / points.distance * way;
        const T low = separation_along(ha, hb, in_A, along);
        const M faces = ~apart | (points.distance.x - best.separation.x <= enough.x);
        const M sure = points.distance.x - low.x <= enough.x;
        axis = faces & ~beyond;
        left = ~faces & ~sure & ~beyond;
        error = choose(axis, best.code, most(points.distance - low, T(0.0)));
        n = choose_three(M(faces | beyond), best.n, along);
        const T far = choose(M(faces | beyond), best.separation, points.distance);
        a = points.a, b = points.b, gap = far;
        // lanes that are done: to the axes of the poses
        n = choose_three(axis, n, at[0].turned(n));
        a = choose_three(axis, a, at[0].turned(a) + at[0].p), b = choose_three(axis, b, at[0].turned(b) + at[0].p);
        const V from = a, to = b;
        finish(from, to, far);
        gap = choose(axis, far, gap), a = choose_three(axis, from, a), b = choose_three(axis, to, b);
    }

    static bool any(const M& mask) {
        long long one = 0;
        for (int i = 0; i < W; ++i) one |= mask[i];
        return one != 0;
    }

    void compute() {
        if (job.kind[0] == HALF_SPACE) plane();
        else if (job.kind[0] <= LONG) segments();
        else if (job.kind[1] == ROUND) box_and_point();
        else boxes();
    }

    void write(int k, double* x, Answer& answer) const {
        answer = left[k] ? LEFT : axis[k] ? AXIS : DONE;
        if (answer == DONE && !(gap.x[k] <= job.within)) {
            for (int i = 0; i < 11; ++i) x[i] = 0.0;
            x[0] = HUGE_VAL;
            return;
        }
        const bool turn = answer == DONE && (job.mirrored != swapped[k]);
        double *first = x + (turn ? 4 : 1), *second = x + (turn ? 1 : 4);
        x[0] = gap.x[k], x[10] = error.x[k];
        for (int i = 0; i < 3; ++i)
            first[i] = a[i].x[k], second[i] = b[i].x[k], x[7 + i] = turn ? -n[i].x[k] : n[i].x[k];
    }
};

template <int W>
void distances(const PairJob& job, index begin, index end, double* row, Answer* answer) {
    Pairs<W> pairs{job, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    for (index i = begin; i < end; i += W) {
        const index count = end - i < W ? end - i : index(W);
        pairs.read(i, count, i == begin);
        pairs.compute();
        for (int k = 0; k < count; ++k) pairs.write(k, row + 11 * (i - begin + k), answer[i - begin + k]);
    }
}

SOACRAFT_CONTACT_END
