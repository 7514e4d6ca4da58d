// Calls of programs: the product of a live expression with a vector, an expression as a function of the state.
#include <algorithm>
#include <thread>

#include "binding.hpp"
#include "rigid/algorithms.hpp"
#include "signals.hpp"
#include "snapshot.hpp"

namespace soacraft {
namespace program {
namespace {

// New results with more numbers than this (128 MB) go to Python, which looks at the memory first.
constexpr index LARGE = index(1) << 24;

// A (N,) or (N, m) array of finite numbers; null for anything else.
const double* read_columns(PyObject* o, index size, int& ndim, index& columns) {
    if (!is_array(o)) return nullptr;
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    ndim = PyArray_NDIM(a);
    if (ndim < 1 || ndim > 2) return nullptr;
    columns = ndim == 2 ? PyArray_DIM(a, 1) : 1;
    const npy_intp axes[] = {size, columns};
    const double* x = data_of(o, ndim, axes);
    return x && columns > 0 && rigid::finite(x, size * columns) ? x : nullptr;
}

// -- the product with a vector ---------------------------------------------------------------------------------------

struct Product {
    Numbers* numbers;
    const Program* program;
    nb::object keep_numbers, keep_program;
};

PyObject* product(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    if (given != 1 || names) return nullptr;
    const Product& p = *static_cast<const Product*>(c.model);
    int ndim;
    index columns;
    const double* const x = read_columns(args[0], p.program->cols, ndim, columns);
    if (!x || p.program->rows * columns > LARGE || p.program->register_room * columns > LARGE) return nullptr;
    const npy_intp axes[] = {p.program->rows, columns};
    nb::object out = nb::steal(PyArray_SimpleNew(ndim, axes, NPY_DOUBLE));
    if (!out.is_valid()) return nullptr;
    PyArrayObject* const a = reinterpret_cast<PyArrayObject*>(out.ptr());
    if (!p.numbers->run(*p.program, x, columns, static_cast<double*>(PyArray_DATA(a)))) return nullptr;
    if (!c.wrap) return out.release().ptr();
    PyArray_CLEARFLAGS(a, NPY_ARRAY_WRITEABLE);
    return PyObject_CallOneArg(c.wrap, out.ptr());
}

nb::object make_product(nb::object numbers, nb::object program, nb::handle fallback, nb::handle wrap) {
    auto made = std::make_unique<Product>();
    made->numbers = nb::cast<Numbers*>(numbers);
    Written& w = *nb::cast<Written*>(program);
    if (w.builder != made->numbers->builder) refuse("the program belongs to another plan");
    if (w.steps.empty()) refuse("that program has no steps");
    made->program = &w.program, made->keep_numbers = numbers, made->keep_program = program;
    Product* const p = made.get();
    nb::object owner = nb::cast(made.release(), nb::rv_policy::take_ownership);
    return new_call(product, owner, p, nullptr, nb::dict(), fallback, nb::none(), wrap);
}

// -- a function of the state -------------------------------------------------------------------------------------------

// An expression as f(q, v, x): by a kernel of the rigid tree where there is one, or else by its program.
struct Compiled {
    Numbers* numbers;
    const Written* written;
    rigid::RigidModel* rigid = nullptr;
    const rigid::Algorithm *kernel = nullptr, *dense_kernel = nullptr;
    std::vector<double> zero, eye;
    nb::object keep[4];
    const Store* store = nullptr;  // that of the model: not ready once its structure changed

    Indices quaternions;
};

// States first to last of a batch; packs in doubt are tried once more state by state. False when one stays in doubt.
bool run_states(const Job& job, index first, index last, void* workspace, double* spare) {
    const Machine& on = machine();
    const Program& p = *job.program;
    const Plan& plan = *p.plan;
    std::vector<unsigned char> made(static_cast<std::size_t>(plan.makers_count));
    double *const arena = spare, *const work = arena + plan.arena, *const registers = work + plan.work;
    while (first < last) {
        const index at = on.run_batch(job, first, last, workspace);
        if (at < 0) return true;
        const index end = at + on.lanes < last ? at + on.lanes : last;
        for (index s = at; s < end; ++s) {
            Job one = job;
            one.q = job.q ? job.q + s * job.q_step : nullptr;
            one.x = job.x + s * job.x_step, one.out = job.out + s * job.out_step;
            std::fill(made.begin(), made.end(), 0);
            for (std::size_t i = 0; i < made.size(); ++i) {
                if (plan.makers[i].how != GIVEN || !job.given[i]) continue;
                const Field& f = plan.fields[plan.makers[i].out[0]];
                const double* const from = job.given[i] + s * job.given_step[i];
                std::memcpy(arena + f.at, from, static_cast<std::size_t>(f.start[f.count]) * sizeof(double));
                made[i] = 1;
            }
            if (!on.make_one(one, arena, made.data(), work) || !on.run_one(one, arena, registers)) return false;
        }
        first = end;
    }
    return true;
}

// Numbers of fields for each state of a batch, besides those that `Numbers` has for all.
struct GivenRows {
    index field;
    const double* data;
};

// A batch, without Python's lock: each thread takes its share of packs, so that results do not depend on their number.
bool run_batch(Numbers& n, Job job, const std::vector<GivenRows>& rows, index count, index threads) {
    const Machine& on = machine();
    n.grow();
    Snapshot now(n, *job.program);
    const Program& p = now.program;
    for (const GivenRows& r : rows) now.give(r.field, r.data);
    if (!now.complete()) return false;
    job.program = &p, job.base = now.base, job.given = now.given.data(), job.given_step = now.steps.data();
    const index packs = (count + on.lanes - 1) / on.lanes;
    threads = threads < 1 ? 1 : threads > packs ? packs : threads;
    threads = threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    const auto parts = static_cast<std::size_t>(threads);
    const auto bytes = (static_cast<std::size_t>(on.batch_bytes(job)) + 63) / 64 * 64;
    const auto spare = static_cast<std::size_t>(p.plan->arena + p.plan->work + p.register_room * job.columns) * sizeof(double);
    std::vector<rigid::Workspace> spaces(parts);
    std::vector<char> fine(parts, 1);
    for (rigid::Workspace& space : spaces) space.hold(bytes + spare);
    without_lock([&] {
        interrupt::share(threads, [&](index t) {
            const index first = packs * t / threads * on.lanes, last = packs * (t + 1) / threads * on.lanes;
            char* const memory = static_cast<char*>(spaces[static_cast<std::size_t>(t)].hold(0));
            fine[static_cast<std::size_t>(t)] =
                interrupt::in_parts(first, last < count ? last : count, on.lanes, [&](index from, index to) {
                    return run_states(job, from, to, memory, reinterpret_cast<double*>(memory + bytes));
                });
        });
    });
    for (char one : fine)
        if (!one) return false;
    return rigid::finite(job.out, count * p.rows * job.columns);
}

index threads_for(const Program& p, index count) {
    static const index cores = static_cast<index>(std::thread::hardware_concurrency());  // asking costs microseconds
    const index worth = 1 + count * p.plan->forest.count / 20000;
    return worth < cores ? worth : cores;
}

// Products (B, N, m) of a batch of B states with x, (B, N, m) or (1, N, m); q may be None when nothing depends on it.
// `given`: pairs (field, numbers (B, size)). None when a number is in doubt or not finite.
nb::object batch_of(Numbers& n, const Written& w, nb::handle q_, nb::handle x_, nb::list given_) {
    if (w.builder != n.builder || w.steps.empty()) refuse("the program belongs to another plan, or has no steps");
    const Program& p = w.program;
    const Array<double> x(x_, "x", 3);
    index count = x.size(0);
    std::unique_ptr<Array<double>> q;
    if (!q_.is_none()) {
        q = std::make_unique<Array<double>>(q_, "q", 2);
        require_length("a row of q", q->size(1), p.plan->rigid.nq);
        count = q->size(0);
    } else if (p.plan->rigid.count) {
        refuse("a rigid tree takes q");
    }
    std::vector<std::unique_ptr<Array<double>>> held;
    std::vector<GivenRows> rows;
    for (nb::handle one : given_) {
        const auto pair = nb::cast<nb::tuple>(one);
        if (pair.size() != 2) refuse("given are pairs of a field and its numbers");
        const index f = nb::cast<index>(pair[0]);
        n.builder->require_field(f);
        held.push_back(std::make_unique<Array<double>>(pair[1], "given", 2));
        const Field& field = n.builder->field(f);
        if (n.builder->makers[static_cast<std::size_t>(n.builder->maker_of[static_cast<std::size_t>(f)])].how != GIVEN)
            refuse("that field is not given");
        require_length("a row of given", held.back()->size(1), field.start[field.count]);
        if (!q && rows.empty()) count = held.back()->size(0);
        require_length("given", held.back()->size(0), count);
        rows.push_back({f, held.back()->data()});
    }
    require_length("a column of x", x.size(1), p.cols);
    if (x.size(0) != 1) require_length("x", x.size(0), count);
    nb::object result = nb::module_::import_("numpy").attr("empty")(nb::make_tuple(count, p.rows, x.size(2)));
    if (count == 0 || x.size(2) == 0) return result;
    const Array<double> out(result, "result", 3, true);
    Job job = n.job(p);
    job.q = q ? q->data() : nullptr, job.q_step = p.plan->rigid.nq;
    job.x = x.data(), job.columns = x.size(2), job.x_step = x.size(0) == 1 ? 0 : p.cols * job.columns;
    job.out = out.data(), job.out_step = p.rows * job.columns;
    return run_batch(n, job, rows, count, threads_for(p, count)) ? result : nb::none();
}

bool run_kernel(const Compiled& c, const rigid::Algorithm& kernel, const double* q, index q_step, const double* x,
                index x_step, double* out, index count, bool single, index threads) {
    rigid::Job job = c.rigid->job(false);
    job.in[rigid::Q] = q, job.in_step[rigid::Q] = q_step;
    job.in[rigid::V] = c.zero.data(), job.in[rigid::X] = x, job.in_step[rigid::X] = x_step;
    job.out[0] = out, job.out_step[0] = rigid::size_of(kernel.out[0], job);
    if (single) return rigid::run_one(kernel, *c.rigid, job, false);
    const auto held_tables = c.rigid->pin(job);
    bool fine = false;
    without_lock([&] { fine = rigid::run_several(kernel, job, count, threads, false); });
    return fine;
}

// f(q, v, x): v is looked at by Python only. One vector, or none for the dense matrix.
PyObject* compiled(const Call& call, PyObject* const* args, std::size_t given, PyObject* names) {
    Compiled& c = *static_cast<Compiled*>(call.model);
    if (given < 1 || given > 3 || names || !c.store->ready || c.store->parameters != c.numbers->builder->version ||
        (c.rigid && c.rigid->outdated) || (given > 1 && args[1] != Py_None)) return nullptr;
    const Program& p = c.written->program;
    const index nq = p.plan->rigid.nq;
    if (!is_array(args[0])) return nullptr;
    const int qdim = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(args[0]));
    const index count = qdim == 2 ? PyArray_DIM(reinterpret_cast<PyArrayObject*>(args[0]), 0) : 1;
    const npy_intp q_axes[] = {count, nq};
    const double* const q = qdim == 2 ? data_of(args[0], 2, q_axes) : qdim == 1 ? data_of(args[0], 1, q_axes + 1) : nullptr;
    if (!q || count == 0 || !rigid::finite(q, count * nq)) return nullptr;
    for (index s = 0; s < count; ++s)
        if (!rigid::unit_quaternions(c.quaternions, q + s * nq)) return nullptr;
    const bool dense = given < 3, batch = qdim == 2;
    const double* x = c.eye.data();
    index x_step = 0, columns = dense ? p.cols : 1;
    if (!dense) {
        if (!is_array(args[2])) return nullptr;
        const npy_intp x_axes[] = {count, p.cols};
        const bool each = batch && PyArray_NDIM(reinterpret_cast<PyArrayObject*>(args[2])) == 2;
        x = each ? data_of(args[2], 2, x_axes) : data_of(args[2], 1, x_axes + 1);
        x_step = each ? p.cols : 0;
        if (!x || !rigid::finite(x, (each ? count : 1) * p.cols)) return nullptr;
        if (each && count == p.cols) return nullptr;  // a block of vectors, or one for each state: Python says which
    }
    if (count * p.rows * columns > LARGE || p.register_room * columns > LARGE / 16) return nullptr;
    npy_intp axes[3] = {count};
    int ndim = batch ? 1 : 0;
    axes[ndim++] = p.rows;
    if (dense) axes[ndim++] = p.cols;
    if (dense && c.eye.empty()) {
        c.eye.assign(static_cast<std::size_t>(p.cols * p.cols), 0.0);
        for (index i = 0; i < p.cols; ++i) c.eye[static_cast<std::size_t>(i * p.cols + i)] = 1.0;
        x = c.eye.data();
    }
    nb::object out = nb::steal(PyArray_SimpleNew(ndim, axes, NPY_DOUBLE));
    if (!out.is_valid()) return nullptr;
    double* const y = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out.ptr())));
    const index threads = batch ? threads_for(p, count) : 1;
    const rigid::Algorithm* const kernel = dense ? c.dense_kernel : c.kernel;
    bool fine;
    if (kernel) {
        fine = run_kernel(c, *kernel, q, nq, x, x_step, y, count, !batch, threads) &&
               rigid::finite(y, count * p.rows * columns);
    } else if (!batch) {
        c.numbers->set_q(q, static_cast<std::size_t>(nq));
        fine = c.numbers->run(p, x, columns, y);
    } else {
        Job job = c.numbers->job(p);
        job.q = q, job.q_step = nq, job.x = x, job.x_step = x_step, job.columns = columns;
        job.out = y, job.out_step = p.rows * columns;
        fine = run_batch(*c.numbers, job, {}, count, threads);
    }
    return fine ? out.release().ptr() : nullptr;
}

nb::object make_compiled(nb::object numbers, nb::object program, nb::object store, nb::handle quaternions_,
                         nb::handle fallback, nb::object rigid_, nb::handle kernel, nb::handle dense) {
    auto made = std::make_unique<Compiled>();
    made->numbers = nb::cast<Numbers*>(numbers), made->written = nb::cast<Written*>(program);
    if (made->written->builder != made->numbers->builder) refuse("the program belongs to another plan");
    if (made->written->steps.empty()) refuse("that program has no steps");
    const Array<index> quaternions(quaternions_, "quaternions", 1);
    for (index i = 0; i < quaternions.size(); ++i) {
        const index at = quaternions.data()[i];
        if (at < 0 || at + 4 > made->numbers->builder->plan.rigid.nq) refuse("a quaternion is not within q");
        made->quaternions.push_back(at);
    }
    if (made->numbers->builder->plan.rigid.count == 0 || made->numbers->store) refuse("numbers of a rigid tree at any q");
    if (!rigid_.is_none()) {
        made->rigid = nb::cast<rigid::RigidModel*>(rigid_);
        if (made->rigid->model.nq != made->numbers->builder->plan.rigid.nq) refuse("the model is another one");
        const index nv = made->rigid->model.nv;
        made->zero.assign(static_cast<std::size_t>(nv), 0.0);
        if (made->written->program.rows != nv || made->written->program.cols != nv) refuse("kernels map dofs to dofs");
        if (!kernel.is_none()) made->kernel = &rigid::algorithm(nb::cast<const char*>(kernel));
        if (!dense.is_none()) made->dense_kernel = &rigid::algorithm(nb::cast<const char*>(dense));
    }
    made->store = nb::cast<Store*>(store);
    made->keep[3] = store, made->keep[0] = numbers, made->keep[1] = program, made->keep[2] = rigid_;
    Compiled* const c = made.get();
    nb::object owner = nb::cast(made.release(), nb::rv_policy::take_ownership);
    return new_call(compiled, owner, c, nullptr, nb::dict(), fallback, nb::none(), nb::none());
}

}  // namespace

void bind_calls(nb::module_& m) {
    nb::class_<Product>(m, "Product");
    nb::class_<Compiled>(m, "CompiledProgram");
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("product", &make_product, nb::arg("numbers"), nb::arg("program"), nb::arg("fallback"), nb::arg("wrap").none(),
          "The product of a program with a vector or columns at the state that numbers are at.");
    m.def("batch", &batch_of, nb::arg("numbers"), nb::arg("program"), array("q"), array("x"), nb::arg("given"),
          "Products of a program with columns at a batch of states.");
    m.def("compiled_program", &make_compiled, nb::arg("numbers"), nb::arg("program"), nb::arg("store"),
          array("quaternions"), nb::arg("fallback"), nb::arg("rigid").none(), nb::arg("kernel").none(), nb::arg("dense").none(),
          "An expression as a function f(q, v, x) of one state or a batch.");
    bind_store(m);
}

}  // namespace program
}  // namespace soacraft
