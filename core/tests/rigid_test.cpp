// The mass matrix and its inverse of random rigid trees with every kind of hinge, with and without armature, against the
// kinetic energy; inverse and forward dynamics against the mass matrix; and how it changes with the configuration.
#include <cstring>
#include <memory>

#include "soacraft/rigid/coriolis_matrix.hpp"
#include "soacraft/rigid/crba.hpp"
#include "soacraft/rigid/log_det.hpp"
#include "soacraft/rigid/mass_gradient.hpp"
#include "soacraft/rigid/minv.hpp"
#include "random_tree.hpp"

namespace soacraft {
namespace {

using namespace rigid;
using namespace rigid::portable;

// Arrays of exactly the sizes that the kernels ask for.
template <class T>
struct Arrays {
    index n, nv, step;
    Buffer<HingeTurn<T>> turns;
    Buffer<Place<T>> at;
    Buffer<Rigid<T>> R;
    Buffer<Vec<T>> r;
    Buffer<index> piece_of;
    Buffer<Piece> pieces;
    Buffer<T> H, F, w, z, y;
    Buffer<Dof<T>> dofs;
    Buffer<Coupled<T>> wides;
    Buffer<Sized<T>> branches;
    Buffer<Passage<T>> passages;

    explicit Arrays(const Model& m)
        : n(m.count), nv(m.nv), step(m.nv + EIGHT), turns(n), at(n),
          R(n), r(n), piece_of(n), pieces(n), H(6 * nv), F(6 * (nv + EIGHT)), w(EIGHT * nv), z(6 * (nv + EIGHT)),
          y(6 * (nv + EIGHT)), dofs(nv), wides(m.wides), branches(m.branches), passages(n) {}
    CrbaWork<T> crba() {
        return {turns.data(), at.data(), R.data(), r.data(), piece_of.data(), pieces.data(), H.data(), F.data(), step};
    }
    MinvWork<T> minv() {
        return {turns.data(), at.data(), piece_of.data(), dofs.data(), w.data(), wides.data(), branches.data(), pieces.data(),
                passages.data(), z.data(), y.data(), step};
    }
};

// The columns C of scalars T; every lane of a pack of states holds the same one.
template <class C, class T, class In>
void test_matrices(const Model& model, const In& q, const Buffer<double>& M) {
    const index n = model.nv;
    Arrays<T> arrays(model);
    Buffer<T> y(M.size()), y_inv(M.size());
    expect(mass_matrix<C>(model, q, arrays.crba(), y.data()), "the mass matrix is finite");
    expect(mass_matrix_inverse<C>(model, q, arrays.minv(), y_inv.data()), "the mass matrix has an inverse");
    Buffer<double> found(M.size()), product(M.size(), 0.0), identity(M.size(), 0.0);
    for (int l = 0; l < Lanes<T>::count; ++l) {
        for (std::size_t i = 0; i < M.size(); ++i) found[i] = lane(y[i], l), product[i] = 0.0;
        expect(close(found, M), "the mass matrix is that of the kinetic energy");
        for (index i = 0; i < n; ++i)
            for (index j = 0; j < n; ++j) {
                const index ij = i * n + j;
                identity[ij] = i == j ? 1.0 : 0.0;
                for (index k = 0; k < n; ++k) product[ij] += M[i * n + k] * lane(y_inv[k * n + j], l);
            }
        double worst = 0.0;
        for (std::size_t i = 0; i < M.size(); ++i) worst = std::fmax(worst, std::fabs(product[i] - identity[i]));
        expect(worst < 1e-7, "the mass matrix times its inverse is 1");
    }
}

struct Same {
    const double* x;
    Pack<2> operator[](index i) const { return Pack<2>(x[i]); }
};

// What a state is read from and a result is written to.
struct Row {
    Buffer<double> x;
    double operator[](index i) const { return x[i]; }
    void set(index i, double value) { x[i] = value; }
};

// Each array that a kernel asks for, on the heap by itself.
struct Heap {
    std::vector<std::unique_ptr<char[]>> held;
    template <class S>
    S* take(index n) {
        held.push_back(std::make_unique<char[]>(static_cast<std::size_t>(n) * sizeof(S)));
        return reinterpret_cast<S*>(held.back().get());
    }
};

// At rest and without weight the force is M vdot, and forward dynamics gives vdot back.
void test_dynamics(const Model& model, const Buffer<double>& q_, const Buffer<double>& M, Random& random) {
    const index n = model.nv;
    const Row q{q_}, still{Buffer<double>(n, 0.0)}, vdot{random.numbers<double>(n)};
    Row tau{Buffer<double>(n)}, found{Buffer<double>(n)};
    Buffer<double> wanted(n, 0.0);
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j) wanted[i] += M[i * n + j] * vdot[j];
    Buffer<Moving<double>> moving(model.count);
    Buffer<Motion<double>> motions(model.branches);
    inverse_dynamics<double>(model, Base{}, q, still, vdot, nullptr, moving.data(), motions.data(), tau);
    expect(close(tau.x, wanted), "the force is the mass matrix times the acceleration");
    Heap heap;
    const AbaWork<double> work(model, heap);
    expect(forward_dynamics<double>(model, Base{}, q, still, tau, nullptr, work, found), "every hinge has inertia to move");
    double worst = 0.0;
    for (index i = 0; i < n; ++i) worst = std::fmax(worst, std::fabs(found[i] - vdot[i]));
    expect(worst < 1e-9, "forward dynamics undoes inverse dynamics");
}

// What a state is read from and a result is written to, in floats.
struct FloatRow {
    Buffer<float> x;
    explicit FloatRow(const Buffer<double>& from) : x(from.begin(), from.end()) {}
    float operator[](index i) const { return x[i]; }
    void set(index i, float value) { x[i] = value; }
};

// The same kernels in floats: the mass matrix and forces are those in doubles, accelerations need those forces.
void test_floats(const Model& model, const Buffer<double>& q_, const Buffer<double>& M, Random& random) {
    const index n = model.nv;
    const Row q{q_}, v{random.numbers<double>(n)}, vdot{random.numbers<double>(n)};
    const FloatRow q_f(q_), v_f(v.x), vdot_f(vdot.x);
    Arrays<float> arrays(model);
    Buffer<float> M_f(M.size());
    expect(mass_matrix<float>(model, q_f, arrays.crba(), M_f.data()), "the mass matrix in floats is finite");
    expect(close(M_f, Buffer<float>(M.begin(), M.end())), "the mass matrix in floats");
    Row tau{Buffer<double>(n)}, needed{Buffer<double>(n)};
    FloatRow tau_f(tau.x), found(tau.x);
    Buffer<Moving<double>> moving(model.count);
    Buffer<Moving<float>> moving_f(model.count);
    Buffer<Motion<double>> motions(model.branches);
    Buffer<Motion<float>> motions_f(model.branches);
    inverse_dynamics<double>(model, Base{}, q, v, vdot, nullptr, moving.data(), motions.data(), tau);
    inverse_dynamics<float>(model, Base{}, q_f, v_f, vdot_f, nullptr, moving_f.data(), motions_f.data(), tau_f);
    expect(close(tau_f.x, Buffer<float>(tau.x.begin(), tau.x.end())), "inverse dynamics in floats");
    Heap heap;
    const AbaWork<float> work(model, heap);
    if (!forward_dynamics<float>(model, Base{}, q_f, v_f, tau_f, nullptr, work, found)) {
        gives_up("a hinge is in doubt in floats");
        return;
    }
    const Row computed{Buffer<double>(found.x.begin(), found.x.end())};
    inverse_dynamics<double>(model, Base{}, q, v, computed, nullptr, moving.data(), motions.data(), needed);
    for (index i = 0; i < n; ++i) {
        double size = std::fabs(tau[i]) + 1.0;
        for (index j = 0; j < n; ++j) size += std::fabs(M[i * n + j] * computed[j]);
        expect(std::fabs(needed[i] - tau[i]) < 1e-3 * size, "forward dynamics in floats");
    }
}

// q after a short step t along v.
Buffer<double> stepped(const Model& model, Buffer<double> q, const Buffer<double>& v, double t) {
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        double* x = q.data() + e.q;
        if (e.kind <= HELICAL) {
            x[0] += t * v[e.v];
            continue;
        }
        const Spatial<double> V = across<double>(e, q, v);
        const Vec<double> travel = t * (quaternion_at<double>(q, e.q) * V.v), a = (0.5 * t) * V.w;
        const Vec<double> u{x[0], x[1], x[2]}, turned = u + x[3] * a + cross(u, a);
        const double w = x[3] - dot(u, a), norm = std::sqrt(dot(turned, turned) + w * w);
        x[0] = turned.x / norm, x[1] = turned.y / norm, x[2] = turned.z / norm, x[3] = w / norm;
        if (e.kind == FREE) x[4] += travel.x, x[5] += travel.y, x[6] += travel.z;
        if (e.kind == ROLLING) x[4] += travel.x, x[5] += travel.y;
    }
    return q;
}

// Along one direction v: d M by differences, C + C* = d M, C v the bias force, log det M and its rate tr(M^-1 d M).
template <class C>
void test_gradients(const Model& model, const Buffer<double>& q, const Buffer<double>& M, Random& random) {
    const index n = model.nv;
    const double t = 1e-5;
    const Row at{q}, v{random.numbers<double>(n)};
    const Buffer<double> after = by_energy(model, stepped(model, q, v.x, t));
    const Buffer<double> before = by_energy(model, stepped(model, q, v.x, -t));
    Heap heap;
    Buffer<double> d(n * n * n), dM(n * n, 0.0), twice(n * n), K(n * n), force(n, 0.0);
    expect(mass_matrix_gradient<C>(model, at, gradient_work<C>(model, heap), d.data()), "the gradient is finite");
    expect(coriolis_matrix<C>(model, at, v, coriolis_work<C>(model, heap), K.data()), "the Coriolis matrix is finite");
    double worst = 0.0, scale = 1.0;
    for (index i = 0; i < n * n; ++i) {
        for (index c = 0; c < n; ++c) dM[i] += d[i * n + c] * v[c];
        worst = std::fmax(worst, std::fabs(dM[i] - (after[i] - before[i]) / (2.0 * t)));
        scale = std::fmax(scale, std::fabs(dM[i]));
        twice[i] = K[i] + K[i % n * n + i / n];
        force[i / n] += K[i] * v[i % n];
    }
    expect(worst < 1e-7 * scale, "the gradient of the mass matrix is that of differences");
    expect(close(twice, dM), "C + C* is the rate of the mass matrix");
    Row wanted{Buffer<double>(n)};
    Buffer<Moving<double>> moving(model.count);
    Buffer<Motion<double>> motions(model.branches);
    const Row still{Buffer<double>(n, 0.0)};
    inverse_dynamics<double>(model, Base{}, at, v, still, nullptr, moving.data(), motions.data(), wanted);
    expect(close(force, wanted.x), "C v is the bias force");
    Buffer<double> L = M;  // Cholesky, and the trace of M^-1 d M by columns of M^-1
    double sum = 0.0, trace = 0.0;
    for (index j = 0; j < n; ++j)
        for (index i = j; i < n; ++i) {
            for (index k = 0; k < j; ++k) L[i * n + j] -= L[i * n + k] * L[j * n + k];
            L[i * n + j] = i == j ? std::sqrt(L[i * n + j]) : L[i * n + j] / L[j * n + j];
        }
    for (index j = 0; j < n; ++j) {
        Buffer<double> x(n);
        for (index i = 0; i < n; ++i) {
            x[i] = dM[i * n + j];
            for (index k = 0; k < i; ++k) x[i] -= L[i * n + k] * x[k];
            x[i] /= L[i * n + i];
        }
        for (index i = n; i-- > j;) {
            for (index k = i + 1; k < n; ++k) x[i] -= L[k * n + i] * x[k];
            x[i] /= L[i * n + i];
        }
        sum += 2.0 * std::log(L[j * n + j]), trace += x[j];
    }
    const LogDetWork<double> work = log_det_work<double>(model, heap);
    Row gradient{Buffer<double>(n)};
    double value, rate = 0.0;
    expect(log_det<C>(model, at, work, value), "the mass matrix has a determinant");
    expect(log_det_gradient<C>(model, at, work, gradient), "and the determinant a gradient");
    for (index i = 0; i < n; ++i) rate += v[i] * gradient[i];
    expect(std::fabs(value - sum) < 1e-9 * std::fmax(1.0, std::fabs(sum)), "log det of the mass matrix");
    expect(std::fabs(rate - trace) < 1e-7 * std::fmax(1.0, std::fabs(trace)), "its rate along v");
}

void test_tree(const RandomTree& tree, const Buffer<double>& q, Random& random) {
    const Buffer<double> M = by_energy(tree.model, q);
    test_matrices<Pack<2>, double>(tree.model, q, M);
    test_matrices<Pack<2>, Pack<2>>(tree.model, Same{q.data()}, M);
    test_dynamics(tree.model, q, M, random);
    test_floats(tree.model, q, M, random);
    test_gradients<Pack<2>>(tree.model, q, M, random);
}

// A massless tip moves by its armature alone.
void test_massless_tip() {
    Random random(7);
    RandomTree tree(random, 6, false);
    Element& e = tree.elements[5];
    std::memset(e.J, 0, sizeof e.J), std::memset(e.h, 0, sizeof e.h), e.m = 0.0, e.massless = 1;
    const Buffer<double> q = tree.state(random);
    Arrays<double> arrays(tree.model);
    Buffer<double> y(tree.model.nv * tree.model.nv);
    expect(!mass_matrix_inverse<Pack<2>>(tree.model, q, arrays.minv(), y.data()), "a massless tip has no inverse");
    Heap heap;
    const FloatRow q_f(q), still(Buffer<double>(tree.model.nv));
    FloatRow vdot(still);
    expect(!forward_dynamics<float>(tree.model, Base{}, q_f, still, still, nullptr, AbaWork<float>(tree.model, heap), vdot),
           "nor does it move in floats");
    for (index i = 0; i < dofs(e.kind); ++i) tree.armature[e.v + i] = 0.5;
    tree.look_for_armature();
    test_tree(tree, q, random);
}

}  // namespace
}  // namespace soacraft

using namespace soacraft;

void test_rigid(unsigned seed) {
    Random random(seed);
    const RandomTree tree(random, random.integer(0, 14), seed % 2 == 1);
    test_tree(tree, tree.state(random), random);
    if (seed == 0) test_massless_tip();
}
