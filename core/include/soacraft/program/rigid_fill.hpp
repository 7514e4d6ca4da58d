// The blocks of a rigid tree at q: A, H and M of every body in one of three representations (see `model/flat/axes.py`).
#pragma once

#include "../scalars/small.hpp"
#include "plan.hpp"

SOACRAFT_PROGRAM_BEGIN

using namespace rigid::SOACRAFT_TARGET;

template <class T>
struct Pose {
    Mat<T> R;
    Vec<T> p;
};

template <class T>
SOACRAFT_FLAT Vec<T> vector_of(const double* a) { return {T(a[0]), T(a[1]), T(a[2])}; }
template <class T>
SOACRAFT_FLAT Mat<T> matrix_of(const double* a) {
    return {{T(a[0]), T(a[3]), T(a[6])}, {T(a[1]), T(a[4]), T(a[7])}, {T(a[2]), T(a[5]), T(a[8])}};
}
template <class T>
SOACRAFT_FLAT Pose<T> operator*(const Pose<T>& X, const Pose<T>& Y) { return {X.R * Y.R, X.p + X.R * Y.p}; }

// I + 2 (w u~ + u~ u~) / |q|^2 of a quaternion [u; w].
template <class T, class In>
SOACRAFT_FLAT Mat<T> turned_by(const In& q, index i) {
    const T x = q[i], y = q[i + 1], z = q[i + 2], w = q[i + 3];
    const T s = T(2.0) / (x * x + y * y + z * z + w * w);
    const T sx = s * x, sy = s * y, sz = s * z;
    return {{T(1.0) - (sy * y + sz * z), sx * y + sz * w, sx * z - sy * w},
            {sx * y - sz * w, T(1.0) - (sx * x + sz * z), sy * z + sx * w},
            {sx * z + sy * w, sy * z - sx * w, T(1.0) - (sx * x + sy * y)}};
}

// exp(S x) of one screw.
template <class T>
SOACRAFT_FLAT Pose<T> motion_of(const Screw& screw, const T& x) {
    const T t = T(screw.rate) * x;
    T half, other;
    sine_cosine(T(0.5) * t, half, other);
    const T s = T(2.0) * half * other, c = T(2.0) * half * half;  // sin t and 1 - cos t, which keeps its digits
    T e[12];
    const double* const b = screw.basis;
    for (int i = 0; i < 9; ++i) e[i] = T(b[i]) + s * T(b[24 + i]) + c * T(b[36 + i]);
    for (int i = 9; i < 12; ++i) e[i] = t * T(b[12 + i]) + s * T(b[24 + i]) + c * T(b[36 + i]);
    return {{{e[0], e[3], e[6]}, {e[1], e[4], e[7]}, {e[2], e[5], e[8]}}, {e[9], e[10], e[11]}};
}

// phi* S for phi of a pose: the twist S seen from that frame.
template <class T>
SOACRAFT_FLAT Spatial<T> seen_from(const Pose<T>& X, const Spatial<T>& S) {
    return {turn_back(X.R, S.w), turn_back(X.R, S.v + cross(S.w, X.p))};
}

template <class T, class In>
SOACRAFT_FLAT Vec<T> three_at(const In& q, index i) { return {q[i], q[i + 1], q[i + 2]}; }

// The pose across the hinge of a body; where H depends on q, its columns in the body frame go to `H`.
template <class T, class In>
SOACRAFT_INLINE Pose<T> across_hinge(const RigidTree& model, const RigidBody& b, const In& q, Spatial<T>* H) {
    const T o(0.0), i(1.0);
    const Mat<T> eye{{i, o, o}, {o, i, o}, {o, o, i}};
    const Pose<T> out{matrix_of<T>(b.R_out), vector_of<T>(b.p_out)};
    switch (b.kind) {
        case SCREWS: {
            const Screw* const screws = model.screws + b.screws;
            Pose<T> after = motion_of<T>(screws[b.nv - 1], q[b.q + b.nv - 1]);
            for (index m = b.nv; m-- > 0;) {
                if (m < b.nv - 1) after = motion_of<T>(screws[m], q[b.q + m]) * after;
            }
            if (!b.constant) {
                Pose<T> later = out;
                for (index m = b.nv; m-- > 0;) {
                    const double* const S = screws[m].vector;
                    H[m] = seen_from(later, {vector_of<T>(S), vector_of<T>(S + 3)});
                    if (m > 0) later = motion_of<T>(screws[m], q[b.q + m]) * later;
                }
            }
            return after;
        }
        case BALL: return {turned_by<T>(q, b.q), {o, o, o}};
        case ANYWHERE: return {turned_by<T>(q, b.q), three_at<T>(q, b.q + 4)};
        case ROLLS: {
            const Mat<T> R = turned_by<T>(q, b.q);
            const Vec<T> lever = turn_back(R, T(-b.radius) * vector_of<T>(b.normal));
            const Vec<T> axes[] = {eye.a, eye.b, eye.c};
            for (int m = 0; m < 3; ++m) H[m] = seen_from(out, Spatial<T>{axes[m], cross(lever, axes[m])});
            return {R, q[b.q + 4] * vector_of<T>(b.t1) + q[b.q + 5] * vector_of<T>(b.t2) +
                           T(b.radius) * vector_of<T>(b.normal)};
        }
        default: return {eye, {o, o, o}};
    }
}

// The body frame in its parent's.
template <class T>
SOACRAFT_FLAT Pose<T> relative_pose(const RigidBody& b, const Pose<T>& hinge) {
    const Mat<T> R_in = matrix_of<T>(b.R_in);
    const Mat<T> R = R_in * hinge.R;
    Pose<T> X{R, vector_of<T>(b.p_in) + R_in * hinge.p};
    if (b.shifted) X.p += R * vector_of<T>(b.p_out);
    if (b.turned) X.R = R * matrix_of<T>(b.R_out);
    return X;
}

template <class T>
SOACRAFT_FLAT void put_matrix(const Mat<T>& X, T* to, index stride) {
    to[0] = X.a.x, to[1] = X.b.x, to[2] = X.c.x;
    to[stride] = X.a.y, to[stride + 1] = X.b.y, to[stride + 2] = X.c.y;
    to[2 * stride] = X.a.z, to[2 * stride + 1] = X.b.z, to[2 * stride + 2] = X.c.z;
}

// [[R, p~R], [0, R]] into the upper left corner of a block whose other entries stay zero.
template <class T>
SOACRAFT_FLAT void put_phi(const Pose<T>& X, T* to, index stride) {
    put_matrix(X.R, to, stride);
    put_matrix(cross(X.p, X.R), to + 3, stride);
    put_matrix(X.R, to + 3 * stride + 3, stride);
}

// [[I, p~], [0, I]], of which only p~ changes with the state.
template <class T>
SOACRAFT_FLAT void put_arm(const Vec<T>& p, T* to, index stride) {
    const T o(0.0);
    put_matrix(Mat<T>{{o, p.z, -p.y}, {-p.z, o, p.x}, {p.y, -p.x, o}}, to + 3, stride);
}

// X M X* for X = phi of a pose; M is six by six.
template <class T>
SOACRAFT_INLINE void put_moved_inertia(const Pose<T>& X, const double* M, T* to, index stride) {
    T phi[36] = {}, t[36];
    put_phi(X, phi, 6);
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
            T sum(0.0);
            for (int i = 0; i < 6; ++i) sum += phi[6 * r + i] * T(M[6 * i + c]);
            t[6 * r + c] = sum;
        }
    for (int r = 0; r < 6; ++r)
        for (int c = 0; c <= r; ++c) {
            T lower(0.0), upper(0.0);
            for (int i = 0; i < 6; ++i) {
                lower += t[6 * r + i] * phi[6 * c + i];
                upper += t[6 * c + i] * phi[6 * r + i];
            }
            to[r * stride + c] = to[c * stride + r] = T(0.5) * (lower + upper);
        }
}

template <class T>
SOACRAFT_FLAT void put_row(const Spatial<T>& h, T* to) {
    to[0] = h.w.x, to[1] = h.w.y, to[2] = h.w.z, to[3] = h.v.x, to[4] = h.v.y, to[5] = h.v.z;
}
template <class T>
SOACRAFT_FLAT Spatial<T> row_of(const RigidBody& b, index m) {
    const double* const h = b.H + m;
    return {{T(h[0]), T(h[b.nv]), T(h[2 * b.nv])}, {T(h[3 * b.nv]), T(h[4 * b.nv]), T(h[5 * b.nv])}};
}

// Where the numbers of a model's state stand.
template <class T>
struct Filled {
    const Plan* plan;
    T* arena;

    SOACRAFT_FLAT T* block(index field, index i) const {
        const Field& f = plan->fields[field];
        return arena + f.at + f.start[i];
    }
    SOACRAFT_FLAT index size(index k) const {  // of node k
        const Space& s = plan->spaces[plan->fields[plan->rigid.M].rows];
        return s.offset[k + 1] - s.offset[k];
    }
    SOACRAFT_FLAT Pose<T>* world() const { return reinterpret_cast<Pose<T>*>(arena + plan->rigid.world); }
};

// What no state changes: zeros, armature, and in body axes M and most of H. Once for an arena.
template <class T>
SOACRAFT_INLINE void fill_constant(const Filled<T>& to) {
    const RigidTree& model = to.plan->rigid;
    for (index k = 0; k < model.count; ++k) {
        const RigidBody& b = model.bodies[k];
        const index size = to.size(k);
        T *const H = to.block(model.H, k), *const M = to.block(model.M, k);
        for (index i = 0; i < b.nv * size; ++i) H[i] = T(0.0);
        for (index i = 0; i < size * size; ++i) M[i] = T(0.0);
        if (b.extended)
            for (index m = 0; m < b.nv; ++m) H[m * size + 6 + m] = T(1.0), M[(6 + m) * size + 6 + m] = T(b.armature[m]);
        if (model.axes == BODY_AXES) {
            for (int r = 0; r < 6; ++r)
                for (int c = 0; c < 6; ++c) M[r * size + c] = T(b.M[6 * r + c]);
            if (b.constant)
                for (index m = 0; m < b.nv; ++m) put_row(row_of<T>(b, m), H + m * size);
        }
        if (model.edge[k] < 0) continue;
        T* const A = to.block(model.A, model.edge[k]);
        for (index i = 0; i < size * to.size(b.parent); ++i) A[i] = T(0.0);
        for (int i = 0; i < 6; ++i) A[i * size + i] = T(1.0);
    }
}

// What q decides. `base` is the pose of what base bodies hang from.
template <class T, class In>
SOACRAFT_INLINE void fill_at(const Filled<T>& to, const In& q, const Pose<T>& base) {
    const RigidTree& model = to.plan->rigid;
    Pose<T>* const world = to.world();
    for (index k = 0; k < model.count; ++k) {
        const RigidBody& b = model.bodies[k];
        Spatial<T> columns[6];
        const Pose<T> X = relative_pose(b, across_hinge<T>(model, b, q, columns));
        const index size = to.size(k);
        T* const H = to.block(model.H, k);
        if (model.axes == BODY_AXES) {
            if (model.edge[k] >= 0) put_phi(X, to.block(model.A, model.edge[k]), size);
            if (!b.constant)
                for (index m = 0; m < b.nv; ++m) put_row(columns[m], H + m * size);
            continue;
        }
        const Pose<T>& inboard = b.parent < 0 ? base : world[b.parent];
        const Vec<T> l = inboard.R * X.p;
        world[k] = {inboard.R * X.R, inboard.p + l};
        const bool referred = model.axes == ORIGIN_AXES;
        const T o(0.0);
        const Pose<T> at{world[k].R, referred ? world[k].p : Vec<T>{o, o, o}};
        if (!referred && model.edge[k] >= 0) put_arm(l, to.block(model.A, model.edge[k]), size);
        for (index m = 0; m < b.nv; ++m) {
            const Spatial<T> h = b.constant ? row_of<T>(b, m) : columns[m];
            const Vec<T> w = at.R * h.w, v = at.R * h.v;
            put_row(Spatial<T>{w, referred ? v + cross(at.p, w) : v}, H + m * size);
        }
        put_moved_inertia(at, b.M, to.block(model.M, k), size);
    }
}

// phi(k, O) of nodes: in body axes from node axes, otherwise in inertial axes.
template <class T>
SOACRAFT_INLINE void fill_pick_off(const Filled<T>& to, index field, const Spot* spots) {
    const Field& f = to.plan->fields[field];
    const RigidTree& model = to.plan->rigid;
    const T o(0.0), i(1.0);
    const Mat<T> eye{{i, o, o}, {o, i, o}, {o, o, i}};
    for (index n = 0; n < f.count; ++n) {
        const Spot& s = spots[n];
        T* const block = to.block(field, n);
        for (index e = 0; e < 6 * to.size(s.body); ++e) block[e] = o;
        const Vec<T> p = vector_of<T>(s.p);
        if (model.axes == BODY_AXES) {
            put_phi(Pose<T>{matrix_of<T>(s.R), p}, block, 6);
            continue;
        }
        const Pose<T>& X = to.world()[s.body];
        const Vec<T> arm = X.R * p;
        put_phi(Pose<T>{eye, model.axes == INERTIAL_AXES ? arm : X.p + arm}, block, 6);
    }
}

SOACRAFT_PROGRAM_END
