// `_core.MovingScene`: distances with gradients, touches and free motions of the shapes of a tree.
//
// Calls for one state run on memory of the object, under the interpreter's lock; those for many without it, on memory of their
// own. A call that is given something it is not sure of returns None: Python says what is wrong with it.
#include <cmath>

#include "array.hpp"
#include "moving_scene.hpp"
#include "numpy_array.hpp"
#include "rigid/rigid_model.hpp"
#include "signals.hpp"
#include "soacraft/contact/smooth.hpp"

namespace soacraft {
namespace contact {
namespace {

constexpr double LARGEST = 1e50;  // of a coordinate: positions are numbers whose products are, too

PyObject* fresh(int axes, index rows, index columns, int type) {
    npy_intp shape[2] = {rows, columns};
    PyObject* made = PyArray_SimpleNew(axes, shape, type);
    if (!made) throw nb::python_error();
    return made;
}
double* numbers_of(PyObject* o) { return static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(o))); }
index* wholes_of(PyObject* o) { return static_cast<index*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(o))); }

const ShapeScene& shapes_of(nb::handle scene) {
    const SpotQuery* query = nb::isinstance<SpotQuery>(scene) ? nb::cast<const SpotQuery*>(scene) : nullptr;
    const ShapeScene* shapes = dynamic_cast<const ShapeScene*>(query);
    if (!shapes) refuse("scene must be a ContactScene");
    return *shapes;
}

// Memory of one thread: rows (numbers, gradients, places) of several states, one after the other, in lists that only grow.
struct Share {
    MovingWork work;
    std::vector<double> numbers, gradient;
    std::vector<index> places, pairs;
    index rows = 0;
    bool fine = true;

    void make_room(index more, index nv) {
        const auto all = static_cast<std::size_t>(rows + more);
        if (all * 3 > places.size())
            numbers.resize(2 * all * static_cast<std::size_t>(SPOT)), gradient.resize(2 * all * static_cast<std::size_t>(nv)), places.resize(6 * all);
        if (2 * static_cast<std::size_t>(more) > pairs.size()) pairs.resize(4 * static_cast<std::size_t>(more));
    }
};

class BoundScene {
public:
    BoundScene(nb::object tree, nb::object scene, nb::handle body_, nb::handle local_) : scene_(scene) {
        if (!nb::isinstance<rigid::RigidModel>(tree)) refuse("tree must be a RigidModel");
        const rigid::RigidModel& model = *nb::inst_ptr<rigid::RigidModel>(tree);
        const ShapeScene& shapes = shapes_of(scene);
        if (model.flexible()) refuse("a tree with flexible bodies has no MovingScene");
        const Array<index> body(body_, "body", 1);
        const Array<double> local(local_, "local", 2);
        tables_ = model.tables, quaternions_ = model.quaternions;
        const rigid::Model& m = tables_->model;
        nq_ = m.nq, nv_ = m.nv;
        if (body.size() != shapes.count() || local.size(0) != shapes.count() || local.size(1) != POSE) refuse("body and local must be of the shapes of the scene");
        for (index i = 0; i < body.size(); ++i)
            if (body.data()[i] < -1 || body.data()[i] >= m.body_count) refuse("body has an entry out of range");
        made_ = std::make_unique<MovingScene>(m, shapes, body.data(), local.data());
        kernels_->begin(made_->plan(), one_.work);
    }

    // q (nq) or (states, nq) -> numbers (rows, 11), gradient (rows, nv), places (rows, 3): state and shapes.
    nb::object distances(nb::handle q, double within, index threads) {
        Given given;
        if (!read(q, given) || std::isnan(within)) return nb::none();
        if (given.count == 1) {
            one_.rows = 0, look(given.q, within, 0, one_);
            return told(one_.rows, [&](double* numbers, double* gradient, index* places) { give(one_, numbers, gradient, places); });
        }
        Lease lease(spare_);
        shared(given.count, threads, lease.shares, [&](index first, index last, Share& share) {
            for (index s = first; s < last; ++s) look(given.q + nq_ * s, within, s, share);
        });
        index rows = 0;
        for (const auto& x : lease.shares) rows += x->rows;
        return told(rows, [&](double* numbers, double* gradient, index* places) {
            for (const auto& x : lease.shares) give(*x, numbers, gradient, places);
        });
    }

    // Whether anything touches at q (nq): a bool; or at (states, nq): an array of them.
    nb::object collides(nb::handle q, index threads) {
        Given given;
        if (!read(q, given)) return nb::none();
        if (!given.batch) return nb::bool_(kernels_->collides(made_->query(), given.q, one_.work));
        nb::object made = nb::steal(fresh(1, given.count, 0, NPY_BOOL));
        npy_bool* to = static_cast<npy_bool*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(made.ptr())));
        Lease lease(spare_);
        shared(given.count, threads, lease.shares, [&](index first, index last, Share& share) {
            for (index s = first; s < last; ++s) to[s] = kernels_->collides(made_->query(), given.q + nq_ * s, share.work);
        });
        return made;
    }

    // From q0 to q1 (nq): free, part, least, shapes a and b, steps, spent, and q there. None where it cannot be told.
    nb::object edge(nb::handle q0, nb::handle q1, double close, bool first, index most) {
        Given from, to;
        if (made_->moving_plane() || !read(q0, from) || !read(q1, to) || from.batch || to.batch) return nb::none();
        const EdgeTask task{close, first, most};
        EdgeEnd end;
        if (!kernels_->edge(made_->query(), task, from.q, to.q, one_.work, end)) return nb::none();
        nb::object q = nb::steal(fresh(1, nq_, 0, NPY_DOUBLE));
        const double* there = end.free ? to.q : one_.work.q.data();
        std::copy(there, there + nq_, numbers_of(q.ptr()));
        return nb::make_tuple(end.free, end.part, end.least, end.a, end.b, end.steps, end.spent, q);
    }

    // The same for (count, nq): numbers (count, 2): part and least; wholes (count, 5): free, a, b, steps, spent; q (count, nq).
    nb::object edges(nb::handle q0, nb::handle q1, double close, bool first, index most, index threads) {
        Given from, to;
        if (made_->moving_plane() || !read(q0, from) || !read(q1, to) || !from.batch || !to.batch || from.count != to.count) return nb::none();
        nb::object numbers = nb::steal(fresh(2, from.count, 2, NPY_DOUBLE)), wholes = nb::steal(fresh(2, from.count, 5, NPY_INT64));
        nb::object q = nb::steal(fresh(2, from.count, nq_, NPY_DOUBLE));
        double *x = numbers_of(numbers.ptr()), *y = numbers_of(q.ptr());
        index* w = wholes_of(wholes.ptr());
        const EdgeTask task{close, first, most};
        Lease lease(spare_);
        shared(from.count, threads, lease.shares, [&](index begin, index last, Share& share) {
            for (index s = begin; s < last; ++s) {
                EdgeEnd end;
                const double *a = from.q + nq_ * s, *b = to.q + nq_ * s;
                if (!kernels_->edge(made_->query(), task, a, b, share.work, end)) share.fine = false;
                x[2 * s] = end.part, x[2 * s + 1] = end.least;
                w[5 * s] = end.free, w[5 * s + 1] = end.a, w[5 * s + 2] = end.b, w[5 * s + 3] = end.steps, w[5 * s + 4] = end.spent;
                const double* there = end.free ? b : share.work.q.data();
                std::copy(there, there + nq_, y + nq_ * s);
            }
        });
        for (const auto& each : lease.shares)
            if (!each->fine) return nb::none();
        return nb::make_tuple(numbers, wholes, q);
    }

private:
    struct Given {
        const double* q;
        index count;
        bool batch;
    };
    static std::size_t at_(index i) { return static_cast<std::size_t>(i); }

    // Contiguous numbers of the right shape, finite, quaternions of unit length.
    bool read(nb::handle given, Given& to) const {
        PyObject* o = given.ptr();
        if (!is_array(o)) return false;
        PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
        const int axes = PyArray_NDIM(a);
        if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(a) || axes < 1 || axes > 2 || PyArray_DIM(a, axes - 1) != nq_) return false;
        to = {static_cast<const double*>(PyArray_DATA(a)), axes == 2 ? PyArray_DIM(a, 0) : 1, axes == 2};
        for (index i = 0; i < to.count * nq_; ++i)
            if (!(std::abs(to.q[i]) <= LARGEST)) return false;
        for (index s = 0; s < to.count; ++s)
            if (!rigid::unit_quaternions(quaternions_, to.q + nq_ * s)) return false;
        return true;
    }
    template <class Fill>
    nb::object told(index rows, const Fill& fill) const {
        nb::object numbers = nb::steal(fresh(2, rows, SPOT, NPY_DOUBLE)), gradient = nb::steal(fresh(2, rows, nv_, NPY_DOUBLE));
        nb::object places = nb::steal(fresh(2, rows, 3, NPY_INT64));
        fill(numbers_of(numbers.ptr()), numbers_of(gradient.ptr()), wholes_of(places.ptr()));
        return nb::make_tuple(numbers, gradient, places);
    }
    // The rows of state s at q, behind those that are there.
    void look(const double* q, double within, index s, Share& to) const {
        kernels_->distances(made_->query(), q, within, to.work);
        const index n = to.work.found, before = to.rows;
        to.make_room(n, nv_);
        kernels_->write(made_->plan(), to.work, q, to.numbers.data() + SPOT * before, to.gradient.data() + nv_ * before, to.pairs.data());
        index* place = to.places.data() + 3 * before;
        for (index i = 0; i < n; ++i, place += 3)
            place[0] = s, place[1] = to.pairs[at_(2 * i)], place[2] = to.pairs[at_(2 * i + 1)];
        to.rows += n;
    }
    void give(const Share& x, double*& numbers, double*& gradient, index*& places) const {
        numbers = std::copy(x.numbers.data(), x.numbers.data() + SPOT * x.rows, numbers);
        gradient = std::copy(x.gradient.data(), x.gradient.data() + nv_ * x.rows, gradient);
        places = std::copy(x.places.data(), x.places.data() + 3 * x.rows, places);
    }

    using Shares = std::vector<std::unique_ptr<Share>>;
    // The memory of a call, given back at its end; both under the interpreter's lock.
    struct Lease {
        Shares& home;
        Shares shares;
        explicit Lease(Shares& from) : home(from) { shares.swap(from); }
        Lease(const Lease&) = delete;
        ~Lease() {
            if (home.empty()) home.swap(shares);
        }
    };

    // work(first, last, share) for parts of the states on threads. Results do not depend on their number: states do not meet. A
    // call that runs next to another takes memory of its own.
    template <class Work>
    void shared(index count, index threads, Shares& mine, const Work& work) const {
        const index parts = std::max<index>(1, std::min<index>({threads, count, rigid::MOST_THREADS}));
        while (static_cast<index>(mine.size()) < parts) {
            mine.push_back(std::make_unique<Share>());
            kernels_->begin(made_->plan(), mine.back()->work);
        }
        for (const auto& each : mine) each->rows = 0, each->fine = true;
        without_lock([&] {
            interrupt::share(parts, [&](index k) { work(k * count / parts, (k + 1) * count / parts, *mine[at_(k)]); });
        });
    }

    nb::object scene_;
    std::shared_ptr<const rigid::Tables> tables_;
    std::vector<index> quaternions_;
    index nq_ = 0, nv_ = 0;
    std::unique_ptr<MovingScene> made_;
    Share one_;
    Shares spare_;
    const MovingKernels* kernels_ = &moving_kernels();
};

// Whether distances have derivatives: poses (states, shapes, 12), places (rows, 3), numbers (rows, 11) -> out (rows).
void smooth(nb::handle scene, nb::handle poses_, nb::handle places_, nb::handle numbers_, nb::handle out_) {
    const ShapeScene& shapes = shapes_of(scene);
    const Array<double> poses(poses_, "poses", 3), numbers(numbers_, "numbers", 2);
    const Array<index> places(places_, "places", 2), out(out_, "out", 1, true);
    if (poses.size(1) != shapes.count() || poses.size(2) != POSE || numbers.size(1) != SPOT || places.size(1) != 3 ||
        places.size(0) != numbers.size(0) || out.size() != numbers.size(0))
        refuse("poses, places, numbers and out must be of the same rows");
    std::vector<Spot> spots;
    for (index i = 0; i < out.size(); ++i) {
        const index *at = places.data() + 3 * i, state = at[0], a = at[1], b = at[2];
        if (state < 0 || state >= poses.size(0) || a < 0 || a >= shapes.count() || b < 0 || b >= shapes.count() ||
            !answerable(shapes.shape(a), shapes.shape(b)))
            refuse("places has an entry out of range");
        const double *x = numbers.data() + SPOT * i, *from = poses.data() + POSE * shapes.count() * state;
        const Vec3 p{x[1], x[2], x[3]}, r{x[4], x[5], x[6]}, n{x[7], x[8], x[9]};
        const Spot spot{p, r, n, dot(n, r - p), x[10]};  // without a padding
        out.data()[i] = is_smooth(shapes.shape(a), from + POSE * a, shapes.shape(b), from + POSE * b, spot, spots);
    }
}

}  // namespace

void bind_moving(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<BoundScene>(m, "MovingScene", "The shapes of a tree, at its states and along its motions.")
        .def(nb::init<nb::object, nb::object, nb::handle, nb::handle>(), nb::arg("tree"), nb::arg("scene"), array("body"), array("local"))
        .def("distances", &BoundScene::distances, array("q"), nb::arg("within"), nb::arg("threads"))
        .def("collides", &BoundScene::collides, array("q"), nb::arg("threads"))
        .def("edge", &BoundScene::edge, array("q0"), array("q1"), nb::arg("close"), nb::arg("first"), nb::arg("most"))
        .def("edges", &BoundScene::edges, array("q0"), array("q1"), nb::arg("close"), nb::arg("first"), nb::arg("most"), nb::arg("threads"));
    m.def("contact_smooth", &smooth, nb::arg("scene"), array("poses"), array("places"), array("numbers"), array("out"),
          "Whether distances have derivatives.");
}

}  // namespace contact
}  // namespace soacraft
