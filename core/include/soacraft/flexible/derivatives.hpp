// Derivatives of inverse and forward dynamics of a tree with flexible bodies, along the dofs and in v: the sweeps of rnea.hpp run
// on dual numbers, which hold one state and as many directions as a register does. O(N) for each direction, exact.
//
//     d vdot = -Mcal^-1 dT       at the accelerations of forward dynamics
#pragma once

#include "../rigid/passive.hpp"
#include "../scalars/dual.hpp"
#include "matrices.hpp"

SOACRAFT_RIGID_BEGIN

template <class D>
struct Across<Dual<D>> {
    typedef Dual<D> Wide;
    static constexpr index step = 1;
    static constexpr index seven = 7;
    static SOACRAFT_FLAT index end(index n) { return n; }
};
template <class D>
SOACRAFT_FLAT Dual<D> root_of(const Dual<D>& x) { return square_root(x); }
template <class D>
SOACRAFT_FLAT Dual<D> below(const Dual<D>& s, double limit, const Dual<D>& x, const Dual<D>& y) { return s.x < limit ? x : y; }

// Numbers that are given do not vary.
template <class D>
struct Reader<Dual<D>> {
    const double* x;
    Reader(const Job& job, int which, const Rows<Dual<D>>& rows)
        : x(job.in[which] ? job.in[which] + rows.row[0] * job.in_step[which] : nullptr) {}
    SOACRAFT_FLAT Dual<D> operator[](index i) const { return x[i]; }
};
template <class D>
SOACRAFT_FLAT Spatial<Dual<D>> wrench_of(const Wrench& wrench, const Rows<Dual<D>>& rows) {
    const double* f = wrench.f + rows.row[0] * wrench.step;
    return spatial<Dual<D>>(f);
}

// Numbers over coordinates or dofs.
template <class T>
struct Numbers {
    T* x;
    SOACRAFT_FLAT const T& operator[](index i) const { return x[i]; }
    SOACRAFT_FLAT void set(index i, const T& value) { x[i] = value; }
};

template <bool forward>
struct FlexibleDerivatives {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        bool fine = true;
        for (index i = first; i < last; ++i) fine &= at(job, i, workspace);
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        const Job plain = bare(job);
        const std::size_t sweep = Sweep::bytes(job), matrix = FlexibleMatrix<forward>::template room<double>(plain);
        std::size_t most = sweep > matrix ? sweep : matrix;
        for (std::size_t more : {FlexibleForward<true>::template room<double>(job), Response::bytes(plain)})
            most = forward && more > most ? more : most;
        return rigid::SOACRAFT_TARGET::room<double>(job.model->nv) + most;
    }

private:
    typedef Dual<Abreast> D;

    // What varies along directions: T at a state.
    struct Sweep {
        FlexRneaWork<D> work;
        FlexPulls<D> pulls;
        Numbers<D> q, v, vdot, tau;
        template <class Taker>
        Sweep(const Job& job, Taker& arena)
            : work(job, arena), pulls(job, arena), q{arena.template take<D>(job.model->nq)}, v{arena.template take<D>(job.model->nv)},
              vdot{arena.template take<D>(job.model->nv)}, tau{arena.template take<D>(job.model->nv)} {}
        static std::size_t bytes(const Job& job) {
            Room taken;
            Sweep(job, taken);
            return taken.bytes;
        }
    };

    // Without gravity, springs and forces.
    static Job bare(const Job& job) {
        Job plain = job;
        std::memset(plain.base, 0, sizeof plain.base);
        plain.passive = nullptr, plain.wrenches = nullptr, plain.wrench_count = 0, plain.turned = false;
        plain.in[PULL] = nullptr, plain.frame_count = 0;
        return plain;
    }
    static const double* given(const Job& job, int which, index i) { return job.in[which] + i * job.in_step[which]; }

    static bool at(const Job& job, index i, void* workspace) {
        const Model& model = *job.model;
        const index n = model.nv, size = n * n;
        Arena arena{static_cast<char*>(workspace)};
        double* const vdot = arena.take<double>(n);
        double* out[3];
        for (int k = 0; k < 3; ++k) out[k] = job.out[k] + i * job.out_step[k];
        for (index k = 0; k < model.count; ++k)
            if (model.elements[k].kind == ROLLING) return false;  // its dofs do not span where it can be
        std::memcpy(vdot, given(job, X, i), static_cast<std::size_t>(n) * sizeof(double));
        if (forward) {
            Job moving = job;
            moving.out[0] = vdot, moving.out_step[0] = 0;
            if (!FlexibleForward<true>::template run<double>(moving, i, i + 1, arena.at)) return false;
        }
        vary(job, i, vdot, out, arena);
        const Reader<double> q(job, Q, Rows<double>(i, i + 1)), v(job, V, Rows<double>(i, i + 1));
        if (job.passive && !add_passive_rates(*job.passive, model, ground_of<double>(job), q, v, LinkRateWork(), out[0], out[1])) return false;
        Job plain = bare(job);
        plain.out[0] = out[2] - i * size, plain.out_step[0] = size;
        if (!FlexibleMatrix<forward>::template run<double>(plain, i, i + 1, arena.at)) return false;
        if (forward) {
            Arena rest = arena;
            Response response(plain, rest);
            for (int k = 0; k < 2; ++k)
                if (!response.apply(plain, given(job, Q, i), out[k])) return false;
        }
        double bad = 0.0;
        for (int k = 0; k < 2; ++k)
            for (index j = 0; j < size; ++j) bad += 0.0 * out[k][j];
        return bad == 0.0;
    }

    // dT along the dofs and in v, as many columns at a time as a register holds.
    static void vary(const Job& job, index i, const double* vdot, double* const* out, Arena arena) {
        const Model& model = *job.model;
        const index n = model.nv;
        const Sweep s(job, arena);
        Numbers<D> tau = s.tau;
        const Rows<D> rows(i, i + 1);
        for (index k = 0; k < model.nq; ++k) s.q.x[k] = D(given(job, Q, i)[k]);
        for (index k = 0; k < n; ++k) s.v.x[k] = D(given(job, V, i)[k]), s.vdot.x[k] = D(vdot[k]);
        for (int which = 0; which < 2; ++which)
            for (index c = 0; c < n; c += SOACRAFT_LANES) {
                const index count = c + SOACRAFT_LANES < n ? SOACRAFT_LANES : n - c;
                for (index k = 0; k < count; ++k) direct(model, which == 0, c + k, static_cast<int>(k), 1.0, s);
                flexible_inverse_dynamics<true, D>(job, rows, s.q, s.v, s.vdot, s.pulls, s.work, tau);
                for (index k = 0; k < count; ++k) direct(model, which == 0, c + k, static_cast<int>(k), 0.0, s);
                for (index r = 0; r < n; ++r)
                    for (index k = 0; k < count; ++k) out[which][r * n + c + k] = lane(tau[r].d, static_cast<int>(k));
            }
    }

    // Direction `lane` goes along a dof, or along its velocity; with x = 0 no more.
    static void direct(const Model& model, bool along, index dof, int lane, double x, const Sweep& s) {
        if (!along) {
            s.v.x[dof].d.x[lane] = x;
            return;
        }
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            const index i = dof - e.v;
            if (i < 0 || i >= dofs(e.kind)) continue;
            D* const q = s.q.x + e.q;
            if (e.kind <= HELICAL) {
                q->d.x[lane] = x;
                return;
            }
            const double turn[3] = {i == 0 ? x : 0.0, i == 1 ? x : 0.0, i == 2 ? x : 0.0};
            const Vec<double> u{q[0].x, q[1].x, q[2].x}, w{turn[0], turn[1], turn[2]}, by = q[3].x * w + cross(u, w);
            q[0].d.x[lane] = 0.5 * by.x, q[1].d.x[lane] = 0.5 * by.y, q[2].d.x[lane] = 0.5 * by.z, q[3].d.x[lane] = -0.5 * dot(u, w);
            if (e.kind != FREE) return;
            const double numbers[4] = {q[0].x, q[1].x, q[2].x, q[3].x};
            const Vec<double> go = quaternion_at<double>(static_cast<const double*>(numbers), 0) *
                                   Vec<double>{i == 3 ? x : 0.0, i == 4 ? x : 0.0, i == 5 ? x : 0.0};
            q[4].d.x[lane] = go.x, q[5].d.x[lane] = go.y, q[6].d.x[lane] = go.z;
            return;
        }
        for (index k = 0; k < model.flexible_count; ++k) {
            const Flexible& f = model.flexible[k];
            if (dof >= f.v && dof < f.v + f.n) s.q.x[f.q + dof - f.v].d.x[lane] = x;
        }
    }

    // Mcal^-1 times columns, as many at a time as a register holds.
    struct Response {
        typedef Abreast C;
        FlexAbaWork<C> work;
        FlexPulls<C> pulls;
        StateVector<C> q, v, x, y;
        template <class Taker>
        Response(const Job& job, Taker& arena)
            : work(job, arena), pulls(job, arena), q{arena.template take<C>(job.model->nq)}, v{arena.template take<C>(job.model->nv)},
              x{arena.template take<C>(job.model->nv)}, y{arena.template take<C>(job.model->nv)} {}
        static std::size_t bytes(const Job& job) {
            Room taken;
            Response(job, taken);
            return taken.bytes;
        }
        // X = -Mcal^-1 X, n x n
        bool apply(const Job& job, const double* at, double* X) {
            const index n = job.model->nv;
            for (index k = 0; k < job.model->nq; ++k) q.x[k] = C(at[k]);
            v.clear(n);
            for (index c = 0; c < n; c += SOACRAFT_LANES) {
                const index count = c + SOACRAFT_LANES < n ? SOACRAFT_LANES : n - c;
                for (index r = 0; r < n; ++r)
                    for (index k = 0; k < SOACRAFT_LANES; ++k) x.x[r].x[k] = k < count ? -X[r * n + c + k] : 0.0;
                if (!flexible_forward_dynamics<false, C>(job, Rows<C>(0, 1), q, v, x, pulls, work, y)) return false;
                for (index r = 0; r < n; ++r)
                    for (index k = 0; k < count; ++k) X[r * n + c + k] = y.x[r].x[k];
            }
            return true;
        }
    };
};

SOACRAFT_RIGID_END
