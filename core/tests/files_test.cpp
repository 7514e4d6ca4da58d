// Saved models and expressions: what is loaded gives what was saved; files that are cut off, or in which one word was
// changed and the sum made right again, are refused or loaded and run without a step outside any array.
#include "soacraft/expression.hpp"
#include "soacraft/multibody.hpp"
#include "soacraft/rigid/model/bodies.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

const rigid::Inertia ROD = {1.5, {0.1, -0.2, -0.4}, {0.3, 0.01, 0.0, 0.01, 0.4, 0.02, 0.0, 0.02, 0.2}};

Multibody machine() {
    using namespace rigid;
    Bodies bodies;
    const index base = bodies.add("base", -1, free_hinge(), at(0, 0, 1), ROD);
    const index arm = bodies.add("arm", base, pin(0.2, 1, 0), at(0.3, 0, 0), ROD);
    const index plate = bodies.add("plate", arm, weld(), at(0, 0, 0.2), ROD);
    bodies.add("hand", plate, spherical(), at(0, 0.1, 0), ROD);
    bodies.add("piston", base, slide(0, 0, 1), at(-0.3, 0, 0), ROD);
    bodies.add("nut", base, helical(1, 0, 0, 0.05), at(0, 0.3, 0), ROD);
    bodies.add_frame("hand/tool", 3, at(0.1, 0.2, 0.3));
    TreeFile& x = bodies.tree;
    x.armature[6] = 0.25;
    x.springs.push_back({7, 6, 2.0, 0.1, 0.3});
    x.balls.push_back({8, 7, 0, {1, 2, 3}, {0.1, 0.2, 0.3}, {0, 0, 0, 1}});
    x.strands.push_back({12, 10, 1.5}), x.strands.push_back({13, 11, -0.5});
    x.tendons.push_back({0, 2, {3.0, 0.2, -0.1, 0.1, -1, -1}});
    const double R[] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
    const auto node = [&](index body, double p) {
        NodeOn n = {body, {}, {p, 0.2, -0.3}};
        for (int i = 0; i < 9; ++i) n.R[i] = R[i];
        x.nodes.push_back(n);
    };
    node(3, 0.1), node(-1, 0.5), node(2, 0.3), node(4, 0.2);
    x.lines.push_back({0, 2, {4.0, 0.0, 0.2, 0.3, -1, 0}});
    x.curves.push_back({0, 2}), x.pieces = {{0.0, {0.0, 0.5, 0.0, 0.0}, 0.0}, {1.0, {0.5, 0.5, 0.1, 0.2}, 0.25}};
    Bushing b = {};
    for (int i = 0; i < 6; ++i) b.K[7 * i] = 1.0 + i, b.D[7 * i] = 0.1 * i;
    b.rest_R[0] = b.rest_R[4] = b.rest_R[8] = 1.0, b.rest_p[2] = 0.4;
    x.bushings.push_back(b);
    return Multibody(x);
}

const double Q[] = {0, 0, 0, 1, 0.1, 0.2, 0.3, 0.4, 0, 0.6, 0, 0.8, 0.2, -0.3};
const double V[] = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, 1.0, 0.3, 0.2};
const double F[] = {1, 0, -1, 2, 0, 1, 0.5, 0.1, 0.2, 0.3, -1, 1};

bool refused(const char* text, const std::string& bytes, bool model) {
    try {
        model ? (void)Multibody::read(bytes) : (void)Expression::read(bytes);
    } catch (const std::invalid_argument& fault) {
        return std::string(fault.what()).find(text) != std::string::npos;
    }
    return false;
}

std::string with_word(std::string bytes, std::size_t at, std::uint64_t word) {
    files::put_word(word, &bytes[at]);
    if (at >= files::HEADER)
        files::put_word(files::sum_of(bytes.data() + files::HEADER, bytes.size() - files::HEADER), &bytes[32]);
    return bytes;
}

// Every word replaced by numbers that no file should have there, or by small ones that some other place may have.
template <class Try>
void change_words(const std::string& good, const Try& load) {
    const std::uint64_t bad[] = {0, 1, 2, 3, 7, ~std::uint64_t(0), ~std::uint64_t(1), std::uint64_t(1) << 31, std::uint64_t(1) << 62,
                                 (std::uint64_t(1) << 63) - 1, std::uint64_t(1) << 63, 0x7ff8000000000000u, 0x7ff0000000000000u,
                                 0x0000000000000001u, 0x7fe0000000000000u};
    for (std::size_t at = 8; at < good.size(); at += 8) {
        const std::uint64_t own = files::word_at(&good[at]);
        for (std::uint64_t word : bad) load(with_word(good, at, word));
        load(with_word(good, at, own + 1)), load(with_word(good, at, own - 1));
    }
}

// Numbers that no spring has, in a tree that a program made or in a file that it wrote.
void refuse_springs() {
    using namespace rigid;
    const auto wrong = [](const char* text, void (*change)(TreeFile&)) {
        TreeFile x = read_tree(machine().bytes());
        change(x);
        bool seen = false;
        try {
            Multibody mb(x);
        } catch (const std::invalid_argument& fault) {
            seen = std::string(fault.what()).find(text) != std::string::npos;
        }
        expect(seen, text);
    };
    wrong("a number that is not finite", [](TreeFile& x) { x.springs[0].k = INFINITY; });
    wrong("a number that is not finite", [](TreeFile& x) { x.balls[0].d[1] = std::nan(""); });
    wrong("a number that is not finite", [](TreeFile& x) { x.strands[1].c = std::nan(""); });
    wrong("a number that is not finite", [](TreeFile& x) { x.tendons[0].law.d = -INFINITY; });
    wrong("a number that is not finite", [](TreeFile& x) { x.bushings[0].K[8] = std::nan(""); });
    wrong("a number that is not finite", [](TreeFile& x) { x.pieces[1].c[2] = std::nan(""); });
    wrong("slack from 0.3 up to 0.2", [](TreeFile& x) { std::swap(x.lines[0].law.low, x.lines[0].law.high); });
    wrong("no unit quaternion", [](TreeFile& x) { x.balls[0].rest[3] = 0.9; });
    wrong("a bushing rests where there is no rotation", [](TreeFile& x) { x.bushings[0].rest_R[0] = -1.0; });
    wrong("a frame that is no rotation", [](TreeFile& x) { x.nodes[1].R[0] = 1.1; });
    wrong("not in order", [](TreeFile& x) { x.pieces[1].x = -1.0; });
}

void test_models() {
    Multibody mb = machine();
    const std::string good = mb.bytes();
    Multibody again = Multibody::read(good);
    double vdot[12], other[12], force[12], J[72], M[144];
    expect(mb.forward_dynamics(Q, V, F, vdot) && again.forward_dynamics(Q, V, F, other), "forward dynamics of a saved model");
    for (int i = 0; i < 12; ++i) expect(vdot[i] == other[i], "a loaded model has the dynamics of the saved one");
    expect(again.inverse_dynamics(Q, V, vdot, force), "inverse dynamics of a saved model");
    for (int i = 0; i < 12; ++i) expect(std::fabs(force[i] - F[i]) < 1e-12, "inverse dynamics undoes forward dynamics");
    expect(again.mass_matrix(Q, M) && again.jacobian(Q, again.frame("hand/tool"), J), "matrices of a saved model");
    double energy = 0.0, R[54], p[18];
    for (int i = 0; i < 12; ++i)
        for (int j = 0; j < 12; ++j) energy += V[i] * M[12 * i + j] * V[j];
    expect(energy > 0.0 && again.poses(Q, R, p) && again.bytes() == good, "a model is saved as it was loaded");
    double nan_q[14];
    for (int i = 0; i < 14; ++i) nan_q[i] = Q[i];
    nan_q[3] = 0.9;
    expect(!again.forward_dynamics(nan_q, V, F, other), "a quaternion that is not unit");
    nan_q[3] = std::nan("");
    expect(!again.forward_dynamics(nan_q, V, F, other), "a number that is not finite");

    for (std::size_t size = 0; size < good.size(); size += size < 48 ? 1 : 37)
        expect(refused("", good.substr(0, size), true), "a file that is cut off");
    expect(refused("no saved model", "hello", true) && refused("no saved model", std::string(64, 'x'), true), "no file of ours");
    expect(refused("version 4", with_word(good, 8, files::VERSION + 1), true), "a version to come");
    expect(refused("version 1", with_word(good, 8, 1), true), "a version of before");
    expect(refused("no expression", good, false), "a model is no expression");
    expect(refused("sum of them differs", with_word(good, 32, 1), true), "a wrong sum");
    expect(refused("bytes after its header", good + "12345678", true), "a file that goes on");
    refuse_springs();
    int loaded = 0, refusals = 0;
    change_words(good, [&](const std::string& bytes) {
        try {
            Multibody changed = Multibody::read(bytes);
            ++loaded;
            std::vector<double> q(static_cast<std::size_t>(changed.nq())), v(static_cast<std::size_t>(changed.nv())), out(v), f(v);
            std::vector<double> jacobian(6 * v.size() + 1);
            for (std::size_t i = 0; i < q.size(); ++i) q[i] = Q[i % 14];
            (void)changed.forward_dynamics(q.data(), v.data(), f.data(), out.data());
            if (!changed.frames().empty()) (void)changed.jacobian(q.data(), 0, jacobian.data());
        } catch (const std::invalid_argument&) {
            ++refusals;
        }
    });
    expect(loaded > 1000 && refusals > 1000, "some changed files are models, others are refused");
}

// H psi B-like: all makers there are, on a pair of bodies with armature.
program::ProgramFile some_program() {
    using namespace program;
    ProgramFile x;
    x.order = {0, 1, 2}, x.parent = {-1, 0, 0}, x.body = {0, 7, 13, 19}, x.hinge = {0, 1, 4, 4};
    x.axes = INERTIAL_AXES, x.nq = 5;
    const int kinds[] = {SCREWS, BALL, WELDED};
    for (index k = 0; k < 3; ++k) {
        RigidBody b = {};
        b.parent = k ? 0 : -1, b.q = k ? (k == 1 ? 1 : 5) : 0, b.nv = k == 0 ? 1 : k == 1 ? 3 : 0, b.kind = kinds[k], b.constant = 1;
        b.R_in[0] = b.R_in[4] = b.R_in[8] = b.R_out[0] = b.R_out[4] = b.R_out[8] = 1.0, b.p_in[0] = 0.5;
        for (int i = 0; i < 6; ++i) b.M[7 * i] = 1.0 + 0.1 * i;
        for (index m = 0; m < b.nv; ++m) b.H[m * b.nv + m] = 1.0;
        b.extended = k == 0, b.armature[0] = 0.3;
        x.bodies.push_back(b);
    }
    Screw s = {};
    s.vector[0] = 1.0, s.rate = 1.0;  // about x: R = I + sin t x~ + (1 - cos t) x~ x~
    s.basis[0] = s.basis[4] = s.basis[8] = 1.0, s.basis[24 + 5] = -1.0, s.basis[24 + 7] = 1.0, s.basis[36 + 4] = s.basis[36 + 8] = -1.0;
    x.screws.push_back(s);
    x.spaces = {{0, 6, 12}, {0, 1}};
    Spot spot = {};
    spot.body = 1, spot.R[0] = spot.R[4] = spot.R[8] = 1.0, spot.p[2] = 0.25;
    const auto asked = [&x](Indices a) {
        x.makers.emplace_back();
        x.makers.back().asked = std::move(a);
    };
    const index one = Builder::bits(1.0), minus = Builder::bits(-1.0);
    asked({PICK_OFF, 2});                          // 3: B
    x.makers.back().spots = {spot, spot};
    asked({RICCATI, 0, 1, 2});                     // 4 to 6: P, D, G
    asked({PAST_HINGE, 4});                        // 7: P+
    asked({PRODUCT, 0, 0, 6, 0});                  // 8: K
    asked({PRODUCT, 8, 0, 1, 0});                  // 9: K H
    asked({REMAINDER, 0, 8, 1});                   // 10: E_psi
    asked({INVERSE, 5});                           // 11: D^-1
    asked({PRODUCT, 1, 1, 11, 0});                 // 12: H* D^-1
    asked({PRODUCT, 12, 0, 1, 0});                 // 13
    asked({BACKWARD, 10, 13, 10});                 // 14: Upsilon
    asked({FORWARD, 0, 2, 0});                     // 15: R
    asked({GIVEN, 1, 1});                          // 16
    x.makers.back().row = x.makers.back().col = {0, 1};
    x.makers.back().data = {2.0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    asked({SUM, 0, 0, 9, 0, 0, one, minus});       // 17: E_psi again
    asked({GIVEN, 1, 3});                          // 18: the first dof, a column
    x.makers.back().row = x.makers.back().col = {0};
    x.makers.back().data = {1.0};
    asked({PRODUCT, 1, 1, 18, 0});                 // 19: H* of it
    asked({SWEEP, SCATTER, 0, 19});                // 20: velocities
    asked({CROSS, FORCE_CROSS, 20, 0});            // 21
    asked({CROSS, TURNING, 20, 2, 1, 0});          // 22: of the nodes
    asked({HINGE_RATE, 1, 2});                     // 23
    x.registers = {2, 1, 0, 0, 1, 2};
    x.steps = {{APPLY, 22, 0, -1, 5, {1, 0}}, {APPLY, 3, 5, -1, 2, {1, 0}}, {APPLY, 21, 2, -1, 3, {1, 0}},
               {APPLY, 23, 3, -1, 1, {1, 0}}, {APPLY, 3, 0, -1, 2, {1, 0}}, {APPLY, 14, 2, -1, 3, {1, 0}}, {APPLY, 15, 3, -1, 2, {1, 0}},
               {GATHER, 10, 2, -1, 3, {1, 0}}, {APPLY, 1, 3, -1, 4, {1, 0}}, {APPLY_T, 16, 4, -1, 1, {1, 0}},
               {COMBINE, -1, 1, 4, 1, {2, -1}}};
    return x;
}

void test_expressions() {
    program::ProgramFile file = some_program();
    const std::string good = program::bytes_of(file);
    const double q[] = {0.3, 0.6, 0, 0, 0.8}, x[] = {1, 2, 3, 4, 5, 6, 0, 1, 0, 1, 0, 1};
    double y[4], z[4], again[4];
    Expression expression = Expression::read(good);
    expect(expression.nq() == 5 && expression.rows() == 4 && expression.cols() == 12, "the sizes of an expression");
    expect(expression(q, x, y), "the product of an expression");
    program::LoadedProgram loaded(file, program::portable::MACHINE);
    program::ProgramFile second = program::file_of(loaded.written, loaded.numbers);
    const std::string bytes = program::bytes_of(second);
    expect(bytes == good, "an expression is saved as it was loaded");
    const double elsewhere[] = {-0.2, 0, 0.6, 0, 0.8}, bad[] = {0.3, 0.6, 0, 0, 0.9};
    expect(expression(elsewhere, x, z) && expression(q, x, again), "other states");
    bool differs = false;
    for (int i = 0; i < 4; ++i) expect(y[i] == again[i], "the same at the same state"), differs = differs || y[i] != z[i];
    expect(differs && !expression(bad, x, z), "a quaternion that is not unit");
    for (std::size_t size = 0; size < good.size(); size += size < 48 ? 1 : 101)
        expect(refused("", good.substr(0, size), false), "a file that is cut off");
    expect(refused("no model", good, true), "an expression is no model");
    int fine = 0, refusals = 0;
    change_words(good, [&](const std::string& changed) {
        try {
            Expression other(program::read_program(changed), 1 << 16);
            ++fine;
            std::vector<double> state(static_cast<std::size_t>(other.nq()) + 1), in(static_cast<std::size_t>(other.cols()) + 1, 1.0),
                out(static_cast<std::size_t>(other.rows()) + 1);
            for (std::size_t i = 0; i < state.size(); ++i) state[i] = q[i % 5];
            (void)other(state.data(), in.data(), out.data());
        } catch (const std::invalid_argument&) {
            ++refusals;
        }
    });
    expect(fine > 1000 && refusals > 1000, "some changed files are expressions, others are refused");
}

}  // namespace
}  // namespace soacraft

void test_files() {
    soacraft::test_models();
    soacraft::test_expressions();
}
