// Springs, dampers and tendons of a compiled rigid tree, read from Python's arrays.
#pragma once

#include "array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

// springs: whole (q, v), real (k, d, rest). balls: whole (q, v, free), real (k 6, d 6, rest 7). tendons: real (k, d, low,
// high). strands: whole (tendon, q, v), real (c), by tendon. `in_python`: Python has more of them, and takes the calls.
inline void set_passive(RigidModel& m, nb::handle spring_whole_, nb::handle spring_real_, nb::handle ball_whole_,
                        nb::handle ball_real_, nb::handle tendon_real_, nb::handle strand_whole_,
                        nb::handle strand_real_, bool in_python) {
    const Array<index> spring_whole(spring_whole_, "spring_whole", 2), ball_whole(ball_whole_, "ball_whole", 2);
    const Array<index> strand_whole(strand_whole_, "strand_whole", 2);
    const Array<double> spring_real(spring_real_, "spring_real", 2), ball_real(ball_real_, "ball_real", 2);
    const Array<double> tendon_real(tendon_real_, "tendon_real", 2), strand_real(strand_real_, "strand_real", 1);
    if (spring_whole.size(1) != 2 || spring_real.size(1) != 3 || spring_real.size(0) != spring_whole.size(0) ||
        ball_whole.size(1) != 3 || ball_real.size(1) != 19 || ball_real.size(0) != ball_whole.size(0) ||
        tendon_real.size(1) != 4 || strand_whole.size(1) != 3 || strand_real.size() != strand_whole.size(0))
        refuse("springs have 2 and 3 numbers, balls 3 and 19, tendons 4, strands 3 and 1");
    Tables read;
    read.model.nq = m.model.nq, read.model.nv = m.model.nv;
    for (index i = 0; i < spring_whole.size(0); ++i) {
        const index* w = spring_whole.data() + 2 * i;
        const double* r = spring_real.data() + 3 * i;
        read.springs.push_back({w[0], w[1], r[0], r[1], r[2]});
    }
    for (index i = 0; i < ball_whole.size(0); ++i) {
        const index* w = ball_whole.data() + 3 * i;
        const double* r = ball_real.data() + 19 * i;
        Ball b = {w[0], w[1], w[2] != 0, {}, {}, {}};
        for (int k = 0; k < 6; ++k) b.k[k] = r[k], b.d[k] = r[6 + k];
        for (int k = 0; k < 7; ++k) b.rest[k] = r[12 + k];
        read.balls.push_back(b);
    }
    for (index i = 0; i < tendon_real.size(0); ++i) {
        const double* r = tendon_real.data() + 4 * i;
        read.tendons.push_back({0, 0, r[0], r[1], r[2], r[3]});
    }
    for (index i = 0; i < strand_whole.size(0); ++i) {
        const index* w = strand_whole.data() + 3 * i;
        if (w[0] < 0 || w[0] >= tendon_real.size(0) || (i > 0 && w[0] < w[-3])) refuse("strands stand by tendons");
        Tendon& t = read.tendons[static_cast<std::size_t>(w[0])];
        if (t.last == 0) t.first = i;
        t.last = i + 1;
        read.strands.push_back({w[1], w[2], strand_real.data()[i]});
    }
    check_passive(read);
    m.change([&](Tables& t) {
        t.springs.swap(read.springs), t.balls.swap(read.balls), t.tendons.swap(read.tendons), t.strands.swap(read.strands);
    });
    m.passive_in_python = in_python;
}

}  // namespace rigid
}  // namespace soacraft
