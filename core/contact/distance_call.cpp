// `_core.contact_call`: distances of two shapes as a Call, at one pair of poses or at batches with one leading axis.
#include <cmath>

#include "call.hpp"
#include "pair_query.hpp"

namespace soacraft {
namespace contact {
namespace {

constexpr double LONGEST = 1e60;         // of a position: products of four lengths are numbers still
constexpr index LARGE = index(1) << 24;  // numbers of a result (128 MB): beyond, Python looks at the memory first

// The classes of shapes, poses and results, in `wrap`; and in `slots` where they keep what is read and written.
enum { SHAPES, PLACES, RESULTS };
enum { CORE, ROTATION, TRANSLATION, ROWS };

PyObject* slot(PyObject* o, Py_ssize_t at) { return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + at); }

struct Said {
    const Call& c;
    const Shape* shape[2];
    Poses at[2];
    index count = -1;  // of pairs of poses; -1: one, without an axis
    double within = HUGE_VAL;

    explicit Said(const Call& call) : c(call) {}

    bool read(PyObject* const* args, std::size_t given, PyObject* names) {
        if (!c.wrap || names || given != 5 || !PyFloat_CheckExact(args[4])) return false;
        within = PyFloat_AS_DOUBLE(args[4]);
        if (std::isnan(within)) return false;
        for (int side = 0; side < 2; ++side)
            if (!read_shape(side, args[2 * side]) || !read_poses(side, args[2 * side + 1])) return false;
        for (int side = 0; side < 2; ++side)
            if (at[side].step == 1 && length_[side] != count) return false;
        return answerable(*shape[0], *shape[1]) && (count < 0 || (count > 0 && count <= LARGE / SPOT));
    }

private:
    bool read_shape(int side, PyObject* given) {
        if (!PyObject_TypeCheck(given, reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(c.wrap, SHAPES)))) return false;
        PyObject* core = slot(given, c.slots[CORE]);
        static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(nb::type<Shape>().ptr());
        if (!core || Py_TYPE(core) != type) return false;
        shape[side] = nb::inst_ptr<Shape>(core);
        return true;
    }
    bool read_poses(int side, PyObject* given) {
        if (Py_TYPE(given) != reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(c.wrap, PLACES))) return false;
        PyObject *R = slot(given, c.slots[ROTATION]), *p = slot(given, c.slots[TRANSLATION]);
        if (!R || !p || !PyArray_CheckExact(p)) return false;
        const bool batch = PyArray_NDIM(reinterpret_cast<PyArrayObject*>(p)) == 2;
        length_[side] = batch ? PyArray_DIM(reinterpret_cast<PyArrayObject*>(p), 0) : 1;
        if (batch) count = std::max(count, length_[side]);
        const npy_intp turns[3] = {length_[side], 3, 3}, ways[2] = {length_[side], 3};
        at[side] = {data_of(R, batch ? 3 : 2, turns + !batch), data_of(p, batch ? 2 : 1, ways + !batch), index(batch)};
        if (!at[side].R || !at[side].p) return false;
        double far = 0.0;
        for (index i = 0; i < 3 * length_[side]; ++i) far = std::max(far, std::abs(at[side].p[i]));
        return far <= LONGEST;
    }
    index length_[2];
};

PyObject* distances(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    Said said(c);
    if (!said.read(args, given, names)) return nullptr;
    const bool one = said.count < 0;  // its numbers are cheaper as bytes than as an array
    npy_intp axes[2] = {said.count, SPOT};
    PyObject* rows = one ? PyBytes_FromStringAndSize(nullptr, SPOT * sizeof(double)) : PyArray_SimpleNew(2, axes, NPY_DOUBLE);
    if (!rows) return nullptr;
    PyArrayObject* array = reinterpret_cast<PyArrayObject*>(rows);
    void* data = one ? static_cast<void*>(PyBytes_AS_STRING(rows)) : PyArray_DATA(array);
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(c.wrap, RESULTS));
    PyObject* made = nullptr;
    try {
        PairQuery query(*said.shape[0], said.at[0], *said.shape[1], said.at[1], said.within);
        query.run(one ? 1 : said.count, static_cast<double*>(data));
        made = type->tp_alloc(type, 0);
    } catch (...) {
        Py_DECREF(rows);
        throw;
    }
    if (!one) PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
    if (!made) return Py_DECREF(rows), nullptr;
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made) + c.slots[ROWS]) = rows;
    return made;
}

// (a, pose_a, b, pose_b, within) -> a result; what is not plain goes to `fallback`.
nb::object distance_call(nb::handle shapes, nb::handle poses, nb::handle results, nb::handle fallback) {
    nb::object wrap = nb::make_tuple(shapes, poses, results);
    nb::object made = new_call(distances, nb::none(), nullptr, nullptr, nb::dict(), fallback, nb::none(), wrap);
    Call& c = *reinterpret_cast<Call*>(made.ptr());
    static constexpr struct {
        int of;
        const char* name;
    } SLOTS[] = {{SHAPES, "core"}, {PLACES, "_rotation"}, {PLACES, "_translation"}, {RESULTS, "_rows"}};
    for (int i = 0; i < 4; ++i) {
        PyObject* type = PyTuple_GET_ITEM(wrap.ptr(), SLOTS[i].of);
        const Py_ssize_t at = PyType_Check(type) ? slot_of(type, nb::str(SLOTS[i].name).ptr()) : -1;
        if (at < 0) refuse("the class %d of a distance must have the slot %s", SLOTS[i].of, SLOTS[i].name);
        c.slots[i] = at;
    }
    return made;
}

// The same for batches with any number of axes, as rows (count, 9), (count, 3), or one for all.
void distance_rows(const Shape& a, nb::handle Ra, nb::handle pa, const Shape& b, nb::handle Rb, nb::handle pb, double within,
                   nb::handle out_) {
    const Array<double> R[2] = {{Ra, "Ra", 2}, {Rb, "Rb", 2}}, p[2] = {{pa, "pa", 2}, {pb, "pb", 2}}, out(out_, "out", 2, true);
    const index count = out.size(0);
    Poses at[2];
    for (int side = 0; side < 2; ++side) {
        const index n = R[side].size(0);
        if (R[side].size(1) != 9 || p[side].size(1) != 3 || p[side].size(0) != n || (n != 1 && n != count))
            refuse("poses must have the shapes (count, 9) and (count, 3)");
        at[side] = {R[side].data(), p[side].data(), n == 1 ? 0 : 1};
    }
    if (out.size(1) != SPOT) refuse("out must have the shape (count, 11)");
    if (!answerable(a, b)) refuse("this pair of shapes has no distance");
    PairQuery(a, at[0], b, at[1], within).run(count, out.data());
}

}  // namespace

void bind_distances(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("contact_call", &distance_call, nb::arg("shapes"), nb::arg("poses"), nb::arg("results"), nb::arg("fallback"),
          "Distances of two shapes, at one pair of poses or many.");
    m.def("contact_distance", &distance_rows, nb::arg("a"), array("Ra"), array("pa"), nb::arg("b"), array("Rb"), array("pb"),
          nb::arg("within"), array("out"), "The nearest points of two shapes at pairs of poses.");
}

}  // namespace contact
}  // namespace soacraft
