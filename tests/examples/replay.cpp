// Everything that C++ computes of a saved model and a saved expression: the words are the files of the model, of the
// expression, of q, v, force and x in float64, and of the results.
#include <cstdio>
#include <fstream>

#include "soacraft/expression.hpp"
#include "soacraft/multibody.hpp"

using Numbers = std::vector<double>;

int run(char** words) {
    soacraft::Multibody mb = soacraft::Multibody::load(words[1]);
    soacraft::Expression expression = soacraft::Expression::load(words[2]);
    const auto nq = static_cast<std::size_t>(mb.nq()), nv = static_cast<std::size_t>(mb.nv());
    const auto bodies = static_cast<std::size_t>(mb.body_count()), rows = static_cast<std::size_t>(expression.rows());
    Numbers q(nq), v(nv), force(nv), x(static_cast<std::size_t>(expression.cols()));
    std::ifstream in(words[3], std::ios::binary);
    for (Numbers* some : {&q, &v, &force, &x})
        in.read(reinterpret_cast<char*>(some->data()), static_cast<std::streamsize>(some->size() * sizeof(double)));
    if (!in || in.peek() != std::ifstream::traits_type::eof()) return 2;
    Numbers vdot(nv), again(nv), M(nv * nv), J(6 * nv), R(9 * bodies), p(3 * bodies), y(rows);
    soacraft::Multibody copy = mb;
    if (!mb.forward_dynamics(q.data(), v.data(), force.data(), vdot.data()) ||
        !copy.inverse_dynamics(q.data(), v.data(), vdot.data(), again.data()) || !mb.mass_matrix(q.data(), M.data()) ||
        !mb.poses(q.data(), R.data(), p.data()) || !expression(q.data(), x.data(), y.data()))
        return 3;
    std::ofstream out(words[4], std::ios::binary);
    const auto write = [&out](const Numbers& some) {
        out.write(reinterpret_cast<const char*>(some.data()), static_cast<std::streamsize>(some.size() * sizeof(double)));
    };
    for (const Numbers* some : {&vdot, &again, &M, &R, &p, &y}) write(*some);
    for (std::size_t f = 0; f < mb.frames().size(); ++f) {
        if (!mb.jacobian(q.data(), static_cast<soacraft::index>(f), J.data())) return 3;
        write(J);
    }
    return out ? 0 : 4;
}

int main(int count, char** words) {
    try {
        return count == 5 ? run(words) : 1;
    } catch (const std::exception& fault) {
        std::fprintf(stderr, "replay: %s\n", fault.what());
        return 1;
    }
}
