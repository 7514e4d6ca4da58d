// A plan, a program and the numbers given as they are at one instant, for a batch that runs without Python's lock: meanwhile
// others may add to the plan, bring parameters, or give other numbers.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "soacraft/program/numbers.hpp"

namespace soacraft {
namespace program {

// The lists that fields, makers and steps point to stay where they are, for as long as the plan and the program live.
struct Snapshot {
    Plan plan;
    Program program;
    std::vector<Space> spaces;
    std::vector<Field> fields;
    std::vector<Maker> makers;
    std::vector<const Spot*> spots;
    std::deque<std::vector<Spot>> nodes;
    std::vector<RigidBody> bodies;
    std::vector<Screw> screws;
    std::vector<index> maker_of;
    double base[12];
    std::vector<double> numbers;  // of fields that are given for all states
    std::vector<const double*> given;  // by maker
    std::vector<index> steps;

    Snapshot(const Numbers& n, const Program& p)
        : plan(n.builder->plan), program(p), spaces(n.builder->spaces), fields(n.builder->fields), makers(n.builder->makers),
          spots(n.builder->spots), nodes(n.builder->nodes), bodies(n.builder->bodies), screws(n.builder->screws), maker_of(n.builder->maker_of),
          given(makers.size(), nullptr), steps(makers.size(), 0) {
        plan.spaces = spaces.data(), plan.fields = fields.data(), plan.makers = makers.data(), plan.spots = spots.data();
        plan.rigid.bodies = bodies.data(), plan.rigid.screws = screws.data();
        for (const Spot*& own : spots)
            for (std::size_t i = 0; own && i < nodes.size(); ++i)
                if (own == n.builder->nodes[i].data()) own = nodes[i].data();
        program.plan = &plan;
        std::memcpy(base, n.base, sizeof base);
        std::size_t room = 0;
        for (std::size_t i = 0; i < makers.size(); ++i) room += has(n, i) ? size(i) : 0;
        numbers.reserve(room);  // what is pointed to does not move
        for (std::size_t i = 0; i < makers.size(); ++i) {
            if (!has(n, i)) continue;
            const double* const from = n.arena.data() + field_of(i).at;
            given[i] = numbers.data() + numbers.size();
            numbers.insert(numbers.end(), from, from + size(i));
        }
    }
    Snapshot(const Snapshot&) = delete;

    // Numbers of a field for each state of the batch, in place of those for all.
    void give(index field, const double* data) {
        const auto maker = static_cast<std::size_t>(maker_of[static_cast<std::size_t>(field)]);
        given[maker] = data, steps[maker] = static_cast<index>(size(maker));
    }
    // Whether all is given that the program needs to be given.
    bool complete() const {
        for (index i = 0; i < program.needs_count; ++i) {
            const auto number = static_cast<std::size_t>(program.needs[i]);
            if (makers[number].how == GIVEN && !given[number]) return false;
        }
        return true;
    }

private:
    static bool has(const Numbers& n, std::size_t i) { return n.builder->makers[i].how == GIVEN && n.made[i]; }
    const Field& field_of(std::size_t maker) const { return fields[static_cast<std::size_t>(makers[maker].out[0])]; }
    std::size_t size(std::size_t maker) const {
        const Field& f = field_of(maker);
        return static_cast<std::size_t>(f.start[f.count]);
    }
};

}  // namespace program
}  // namespace soacraft
