// A lowered expression in a file: the rigid tree, how each field that the program needs is made of others, and its steps.
//
// Makers are saved as they were asked for, and a file is read by asking a new plan for the same: `Builder` and `Written`
// check a file by what they check anyway.
#pragma once

#include <unordered_map>

#include "../program/numbers.hpp"
#include "../program/rate_plan.hpp"
#include "../program/rigid_plan.hpp"
#include "../program/written.hpp"
#include "archive.hpp"

namespace soacraft {
namespace program {

// No saved plan has more numbers: 512 MB.
constexpr index MOST_SAVED = index(1) << 26;

// One maker: what was asked for, as `Builder::known` keeps it; or what is given, or picked off.
struct MakerFile {
    Indices asked;             // the kind first; of GIVEN and PICK_OFF also spaces
    Indices row, col;          // of GIVEN
    std::vector<double> data;  // of GIVEN
    std::vector<Spot> spots;   // of PICK_OFF
};

struct StepFile {
    index act = 0, field = 0, in = 0, other = 0, out = 0;
    double factor[2] = {};
};

struct ProgramFile {
    Indices order, parent, body, hinge;
    index axes = 0, nq = 0;
    std::vector<RigidBody> bodies;
    std::vector<Screw> screws;
    std::vector<Indices> spaces;  // besides those of bodies and hinges
    std::vector<MakerFile> makers;
    Indices registers;
    std::vector<StepFile> steps;
};

template <class Archive>
void pass(Archive& a, Screw& x) { a(x.vector), a(x.rate), a(x.basis); }
template <class Archive>
void pass(Archive& a, Spot& x) { a(x.body), a(x.R), a(x.p); }
template <class Archive>
void pass(Archive& a, RigidBody& x) {
    a(x.parent), a(x.q), a(x.nv), a(x.screws), a(x.kind), a(x.constant), a(x.turned), a(x.shifted), a(x.R_in), a(x.p_in);
    a(x.R_out), a(x.p_out), a(x.H), a(x.M), a(x.armature), a(x.extended), a(x.radius), a(x.normal), a(x.t1), a(x.t2);
}
template <class Archive>
void pass(Archive& a, MakerFile& x) { a(x.asked), a(x.row), a(x.col), a(x.data), a(x.spots); }
template <class Archive>
void pass(Archive& a, StepFile& x) { a(x.act), a(x.field), a(x.in), a(x.other), a(x.out), a(x.factor); }
template <class Archive>
void pass(Archive& a, ProgramFile& x) {
    a(x.order), a(x.parent), a(x.body), a(x.hinge), a(x.axes), a(x.nq), a(x.bodies), a(x.screws), a(x.spaces), a(x.makers);
    a(x.registers), a(x.steps);
}

// Where the fields of a request stand in it: from the second on, by kind.
inline Indices places_of_fields(const Indices& asked) {
    switch (asked[0]) {
        case PRODUCT: return {1, 3};
        case SUM: return {1, 3};
        case INVERSE:
        case PAST_HINGE: return {1};
        case FORWARD:
        case BACKWARD:
        case RICCATI:
        case REMAINDER: return {1, 2, 3};
        case SWEEP: return {2, 3};
        case CROSS: return {2};
        default: return {};
    }
}

// What a program needs of its plan, fields numbered anew. `numbers` has those that are given.
inline ProgramFile file_of(const Written& w, const Numbers& numbers) {
    const Builder& b = *w.builder;
    const auto offsets = [&b](std::size_t s) { return Indices(b.spaces[s].offset, b.spaces[s].offset + b.spaces[s].count + 1); };
    if (b.plan.rigid.count == 0) reject("only the program of a rigid tree is saved");
    ProgramFile x;
    x.order = b.order, x.parent = b.parent, x.body = offsets(0), x.hinge = offsets(1);
    x.axes = b.plan.rigid.axes, x.nq = b.plan.rigid.nq, x.bodies = b.bodies, x.screws = b.screws;
    for (std::size_t s = 2; s < b.spaces.size(); ++s) x.spaces.push_back(offsets(s));
    std::unordered_map<index, const Indices*> asked;
    for (const auto& one : b.known) asked[one.second] = &one.first;
    std::unordered_map<index, index> number{{0, 0}, {1, 1}, {2, 2}};
    index next = 3;
    for (index need : w.needs) {
        const Maker& maker = b.makers[static_cast<std::size_t>(need)];
        if (maker.how == RIGID) continue;
        const Field& f = b.field(maker.out[0]);
        MakerFile m;
        if (maker.how == GIVEN) {
            if (!maker.transposed || numbers.made.size() <= static_cast<std::size_t>(need) || !numbers.made[static_cast<std::size_t>(need)])
                reject("field %lld is given anew at every state", static_cast<long long>(maker.out[0]));
            m.asked = {GIVEN, f.rows, f.cols};
            m.row.assign(f.row, f.row + f.count), m.col.assign(f.col, f.col + f.count);
            const double* const from = numbers.arena.data() + f.at;
            m.data.assign(from, from + f.start[f.count]);
        } else if (maker.how == PICK_OFF) {
            m.asked = {PICK_OFF, f.cols};
            m.spots.assign(b.spots[static_cast<std::size_t>(need)], b.spots[static_cast<std::size_t>(need)] + f.count);
        } else {
            m.asked = *asked.at(maker.out[0]);
            for (index at : places_of_fields(m.asked)) {
                index& field = m.asked[static_cast<std::size_t>(at)];
                if (field >= 0) field = number.at(field);
            }
        }
        for (index out : maker.out)
            if (out >= 0) number[out] = next++;
        x.makers.push_back(std::move(m));
    }
    x.registers = w.spaces;
    for (const Step& s : w.steps)
        x.steps.push_back({s.act, s.act == COMBINE ? -1 : number.at(s.field), s.in, s.other, s.out, {s.factor[0], s.factor[1]}});
    return x;
}

inline std::string bytes_of(ProgramFile& x) {
    files::Out out;
    pass(out, x);
    return out.file(files::EXPRESSION);
}

inline ProgramFile read_program(const std::string& bytes) {
    files::In in(bytes.data(), bytes.size(), files::EXPRESSION);
    ProgramFile x;
    pass(in, x);
    in.end();
    return x;
}

// Asks a plan for one maker of a file.
inline void add_maker(Builder& b, const MakerFile& m) {
    const Indices& a = m.asked;
    const auto wants = [&a](std::size_t count) {
        if (a.size() != count) reject("a maker of kind %lld has %lld parts", static_cast<long long>(a[0]), static_cast<long long>(a.size()));
    };
    if (a.empty()) reject("a maker has no kind");
    const auto real = [](index bits) {
        double x;
        std::memcpy(&x, &bits, sizeof x);
        if (!std::isfinite(x)) reject("it holds a number that is not finite");
        return x;
    };
    switch (a[0]) {
        case GIVEN: {
            wants(3);
            const index f = add_given(b, a[1], a[2], m.row, m.col, true);
            if (b.field(f).start[b.field(f).count] != static_cast<index>(m.data.size())) reject("a given field has other numbers");
            break;
        }
        case PICK_OFF: wants(2), add_pick_off(b, a[1], m.spots); break;
        case PRODUCT: wants(5), b.product(a[1], a[2] != 0, a[3], a[4] != 0); break;
        case SUM:
            wants(8);
            if (a[5] < 0 || a[5] > 2) reject("a sum has no such part");
            b.sum(real(a[6]), a[1], a[2] != 0, real(a[7]), a[3], a[4] != 0, static_cast<int>(a[5]));
            break;
        case INVERSE: wants(2), b.inverse(a[1]); break;
        case FORWARD:
        case BACKWARD: wants(4), b.lyapunov(a[1], a[2], a[3], a[0] == BACKWARD); break;
        case RICCATI: wants(4), b.riccati(a[1], a[2], a[3]); break;
        case PAST_HINGE: wants(2), b.past_hinge(a[1]); break;
        case REMAINDER: wants(4), b.remainder(a[1], a[2], a[3]); break;
        case SWEEP: wants(4), add_sweep(b, a[1], a[2], a[3]); break;
        case CROSS:
            if (a.size() < 4) wants(4);
            add_cross(b, a[1], a[2], a[3], Indices(a.begin() + 4, a.end()));
            break;
        case HINGE_RATE: wants(3), add_hinge_rate(b, a[1], a[2]); break;
        default: reject("a maker has no such kind");
    }
}

// A plan and its program from a file, with what is given in `numbers`.
struct LoadedProgram {
    Builder builder;
    Written written;
    Numbers numbers;
    Indices quaternions;

    LoadedProgram(const ProgramFile& x, const Machine& machine, index most = MOST_SAVED)
        : builder(x.order, x.parent, x.body, x.hinge, most), numbers(&builder, machine) {
        if (x.axes < BODY_AXES || x.axes > ORIGIN_AXES) reject("there are three kinds of axes");
        index all = 0;
        for (const RigidBody& b : x.bodies) all += coordinates(b);
        if (all != x.nq) reject("the bodies have %lld coordinates, not %lld", static_cast<long long>(all), static_cast<long long>(x.nq));
        add_rigid(builder, x.bodies, x.screws, 0, static_cast<int>(x.axes), x.nq);
        for (const Indices& offset : x.spaces) builder.add_space(offset);
        for (const MakerFile& m : x.makers) add_maker(builder, m);
        written.begin(builder, x.registers);
        for (index i = 0; i < static_cast<index>(builder.makers.size()); ++i) written.needs.push_back(i);
        for (const StepFile& s : x.steps) {
            if (s.act < APPLY || s.act > COMBINE) reject("a step does no such thing");
            written.add({static_cast<int>(s.act), s.field, s.in, s.other, s.out, {s.factor[0], s.factor[1]}, 0, nullptr});
        }
        if (written.steps.empty()) reject("a program has no steps");
        written.end();
        quaternions = quaternions_of(builder.plan.rigid);
        numbers.parameters = builder.parameters;
        index given = 0;
        for (const MakerFile& m : x.makers) {
            if (m.asked[0] != GIVEN) continue;
            while (builder.makers[static_cast<std::size_t>(given)].how != GIVEN) ++given;
            numbers.give(builder.makers[static_cast<std::size_t>(given++)].out[0], m.data.data());
        }
    }
    LoadedProgram(const LoadedProgram&) = delete;
};

}  // namespace program
}  // namespace soacraft
