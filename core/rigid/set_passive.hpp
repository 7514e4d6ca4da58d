// Springs, dampers and tendons of a compiled rigid tree, read from Python's arrays.
#pragma once

#include "array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

// Rows of whole numbers and of real ones that say the same things.
struct Rows2 {
    const Array<index> whole;
    const Array<double> real;
    Rows2(nb::handle w, nb::handle r, const char* what, index wholes, index reals)
        : whole(w, what, 2), real(r, what, 2) {
        if (whole.size(1) != wholes || real.size(1) != reals || whole.size(0) != real.size(0))
            refuse("%s have %lld whole and %lld real numbers", what, static_cast<long long>(wholes), static_cast<long long>(reals));
    }
    index count() const { return whole.size(0); }
    const index* w(index i) const { return whole.data() + i * whole.size(1); }
    const double* r(index i) const { return real.data() + i * real.size(1); }
};

// springs: whole (q, v), real (k, d, rest). balls: whole (q, v, free), real (k 6, d 6, rest 7). tendons: whole (curve of the
// spring, of the damper, or -1), real (k, d, low, high). strands: whole (tendon, q, v), real (c), by tendon. lines: whole
// (number of nodes, curves as of a tendon), real as of a tendon. bushings: K, D, rest. nodes: body, rotation and translation,
// of all lines, then both of each bushing. curves: the number of pieces of each; pieces: x, four coefficients, integral.
// `in_python`: Python has more of them, and takes the calls.
inline void set_passive(RigidModel& m, nb::handle spring_whole, nb::handle spring_real, nb::handle ball_whole,
                        nb::handle ball_real, nb::handle tendon_whole, nb::handle tendon_real, nb::handle strand_whole,
                        nb::handle strand_real, nb::handle line_whole, nb::handle line_real, nb::handle bushing_real,
                        nb::handle node_body, nb::handle node_pose, nb::handle curve_pieces, nb::handle piece_real,
                        bool in_python) {
    const Rows2 springs(spring_whole, spring_real, "springs", 2, 3), balls(ball_whole, ball_real, "balls", 3, 19);
    const Rows2 tendons(tendon_whole, tendon_real, "tendons", 2, 4), strands(strand_whole, strand_real, "strands", 3, 1);
    const Rows2 lines(line_whole, line_real, "lines", 3, 4), nodes(node_body, node_pose, "nodes", 1, 12);
    const Array<double> bushings(bushing_real, "bushing_real", 2), pieces(piece_real, "piece_real", 2);
    const Array<index> curves(curve_pieces, "curve_pieces", 1);
    if (bushings.size(1) != 84 || pieces.size(1) != 6) refuse("bushings have 84 numbers, pieces of curves 6");
    Tables read;
    read.model.nq = m.model.nq, read.model.nv = m.model.nv, read.model.body_count = m.model.body_count;
    for (index i = 0; i < springs.count(); ++i) {
        const double* r = springs.r(i);
        read.springs.push_back({springs.w(i)[0], springs.w(i)[1], r[0], r[1], r[2]});
    }
    for (index i = 0; i < balls.count(); ++i) {
        const index* w = balls.w(i);
        const double* r = balls.r(i);
        Ball b = {w[0], w[1], w[2] != 0, {}, {}, {}};
        for (int k = 0; k < 6; ++k) b.k[k] = r[k], b.d[k] = r[6 + k];
        for (int k = 0; k < 7; ++k) b.rest[k] = r[12 + k];
        read.balls.push_back(b);
    }
    const auto law = [](const index* w, const double* r) { return Law{r[0], r[1], r[2], r[3], w[0], w[1]}; };
    for (index i = 0; i < tendons.count(); ++i) read.tendons.push_back({0, 0, law(tendons.w(i), tendons.r(i))});
    for (index i = 0; i < strands.count(); ++i) {
        const index* w = strands.w(i);
        if (w[0] < 0 || w[0] >= tendons.count() || (i > 0 && w[0] < w[-3])) refuse("strands stand by tendons");
        Tendon& t = read.tendons[static_cast<std::size_t>(w[0])];
        if (t.last == 0) t.first = i;
        t.last = i + 1;
        read.strands.push_back({w[1], w[2], strands.r(i)[0]});
    }
    index at = 0;
    for (index i = 0; i < lines.count(); ++i) {
        const index* w = lines.w(i);
        read.lines.push_back({at, at + w[0], law(w + 1, lines.r(i))});
        at += w[0];
    }
    for (index i = 0; i < bushings.size(0); ++i) {
        const double* r = bushings.data() + 84 * i;
        Bushing b = {};
        for (int k = 0; k < 36; ++k) b.K[k] = r[k], b.D[k] = r[36 + k];
        for (int k = 0; k < 9; ++k) b.rest_R[k] = r[72 + k];
        for (int k = 0; k < 3; ++k) b.rest_p[k] = r[81 + k];
        read.bushings.push_back(b);
    }
    for (index i = 0; i < nodes.count(); ++i) {
        NodeOn n = {nodes.w(i)[0], {}, {}};
        for (int k = 0; k < 9; ++k) n.R[k] = nodes.r(i)[k];
        for (int k = 0; k < 3; ++k) n.p[k] = nodes.r(i)[9 + k];
        read.nodes.push_back(n);
    }
    index first = 0;
    for (index i = 0; i < curves.size(); ++i) {
        read.curves.push_back({first, first + curves.data()[i]});
        first += curves.data()[i];
    }
    for (index i = 0; i < pieces.size(0); ++i) {
        const double* r = pieces.data() + 6 * i;
        read.pieces.push_back({r[0], {r[1], r[2], r[3], r[4]}, r[5]});
    }
    check_passive(read);
    m.change([&](Tables& t) {
        t.springs.swap(read.springs), t.balls.swap(read.balls), t.tendons.swap(read.tendons), t.strands.swap(read.strands);
        t.lines.swap(read.lines), t.bushings.swap(read.bushings), t.nodes.swap(read.nodes);
        t.curves.swap(read.curves), t.pieces.swap(read.pieces);
    });
    m.passive_in_python = in_python;
}

}  // namespace rigid
}  // namespace soacraft
