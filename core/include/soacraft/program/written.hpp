// A program and what it points to: steps that take the register of the argument to that of the result.
#pragma once

#include "builder.hpp"

namespace soacraft {
namespace program {

struct Written {
    Builder* builder;
    Program program = {};
    std::vector<Step> steps;
    Indices needs, registers;
    Indices spaces;  // of the registers
    std::deque<Indices> lists;

    // The makers of a field, those it needs first.
    void need(index f, std::vector<char>& seen) {
        const index number = builder->maker_of[static_cast<std::size_t>(f)];
        if (number < 0) reject("nothing makes field %lld", static_cast<long long>(f));
        if (seen[static_cast<std::size_t>(number)]) return;
        seen[static_cast<std::size_t>(number)] = 1;
        const Maker maker = builder->makers[static_cast<std::size_t>(number)];
        for (index in : maker.in)
            if (in >= 0) need(in, seen);
        if (maker.how == PICK_OFF && builder->plan.rigid.count) need(builder->plan.rigid.M, seen);
        needs.push_back(number);
    }

    // `spaces`: of the registers, the first that of the argument, the second that of the result.
    void begin(Builder& b, Indices of_registers) {
        builder = &b, spaces = std::move(of_registers);
        if (spaces.size() < 2) reject("a program has an argument and a result");
        for (index s : spaces) b.require_space(s);
        written_.assign(spaces.size(), 0);
        written_[0] = 1;
    }

    // One more step, of which act, field, registers and factors are said.
    void add(Step s) {
        const Builder& b = *builder;
        const index count = static_cast<index>(spaces.size());
        const auto holds = [&](index r) { return r >= 0 && r < count && written_[static_cast<std::size_t>(r)]; };
        if (s.act < APPLY || s.act > COMBINE || s.out < 1 || s.out >= count || !holds(s.in) || (s.other != -1 && !holds(s.other)))
            reject("a step names a register that holds nothing");
        const index from = space_of(s.in), to = space_of(s.out);
        if (s.act == COMBINE) {
            b.require_same(from, to);
            if (s.other >= 0) b.require_same(space_of(s.other), to);
            s.size = length_of(to);
        } else {
            b.require_field(s.field);
            const Field& f = b.field(s.field);
            if (s.in == s.out) reject("a step reads what it writes");
            b.require_same(s.act == APPLY_T ? f.rows : f.cols, from), b.require_same(s.act == APPLY_T ? f.cols : f.rows, to);
            if (s.act >= GATHER) {
                b.require_on_nodes(f.rows);
                lists.push_back(b.above(s.field));
                s.list = lists.back().data();
            }
        }
        written_[static_cast<std::size_t>(s.out)] = 1;
        steps.push_back(s);
    }

    // All steps are there, and `needs` too.
    void end() {
        if (!steps.empty() && !written_[1]) reject("a program writes its result");
        index room = 0;
        registers.clear();
        for (std::size_t r = 0; r < spaces.size(); ++r) {
            registers.push_back(room);
            if (r > 1) room += length_of(spaces[r]);
            if (room > builder->most) reject("the registers of a program have more than %lld numbers", static_cast<long long>(builder->most));
        }
        program = {&builder->plan, needs.data(), static_cast<index>(needs.size()), steps.data(),
                   static_cast<index>(steps.size()), registers.data(), room, length_of(spaces[1]), length_of(spaces[0])};
    }

private:
    std::vector<char> written_;  // by register

    index space_of(index r) const { return spaces[static_cast<std::size_t>(r)]; }
    index length_of(index space) const {
        const Space& s = builder->spaces[static_cast<std::size_t>(space)];
        return s.offset[s.count];
    }
};

}  // namespace program
}  // namespace soacraft
