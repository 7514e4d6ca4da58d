// A lowered expression for C++: saved by Python (`expr.compile().save(path)`), loaded and multiplied with vectors here.
//
//     soacraft::Expression J = soacraft::Expression::load("jacobian.soacraft");
//     J(q, x, y);    // y = J(q) x
//
// An Expression belongs to one thread. It returns false, and says nothing of its result, where an input is not finite, a
// quaternion not within 1e-6 of unit, or a hinge may have no inertia to move.
#pragma once

#include <memory>

#include "files/program_file.hpp"
#include "program/drivers.hpp"

SOACRAFT_BEGIN

class Expression {
public:
    explicit Expression(const program::ProgramFile& file, index most = program::MOST_SAVED)
        : loaded_(std::make_unique<program::LoadedProgram>(file, program::SOACRAFT_TARGET::MACHINE, most)) {}

    static Expression read(const std::string& bytes) { return Expression(program::read_program(bytes)); }
    static Expression load(const std::string& path) { return files::load(path, read); }

    index nq() const { return loaded_->builder.plan.rigid.nq; }
    index rows() const { return program().rows; }
    index cols() const { return program().cols; }

    // y (rows, columns) = X(q) x (cols, columns), row-major. Nothing is computed again that q alone decides and did not change.
    [[nodiscard]] bool operator()(const double* q, const double* x, double* y, index columns = 1) {
        program::LoadedProgram& own = *loaded_;
        if (columns < 1 || !rigid::finite(q, nq()) || !rigid::finite(x, cols() * columns) ||
            !rigid::unit_quaternions(own.quaternions, q))
            return false;
        own.numbers.set_q(q, static_cast<std::size_t>(nq()));
        return own.numbers.run(program(), x, columns, y);
    }

private:
    std::unique_ptr<program::LoadedProgram> loaded_;
    const program::Program& program() const { return loaded_->written.program; }
};

SOACRAFT_END
