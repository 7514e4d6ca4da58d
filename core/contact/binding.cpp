// `_core.ContactShape`, `contact_manifold`, `ContactScene`: geometry of contact.
//
// The interpreter's lock is kept while arrays of the caller are read; a scene copies poses only by reference for the
// length of a call, as its threads end before it does.
#include <cmath>

#include "array.hpp"
#include "numpy_array.hpp"
#include "pair_query.hpp"
#include "scene.hpp"
#include "signals.hpp"
#include "soacraft/contact/touch.hpp"
#include "spot_query.hpp"

namespace soacraft {
namespace contact {
namespace {

std::vector<Vec3> read_points(nb::handle given, const char* name) {
    const Array<double> x(given, name, 2);
    if (x.size(1) != 3 || x.size(0) == 0) refuse("%s must have the shape (points, 3)", name);
    std::vector<Vec3> made(static_cast<std::size_t>(x.size(0)));
    for (std::size_t i = 0; i < made.size(); ++i) {
        made[i] = {x.data()[3 * i], x.data()[3 * i + 1], x.data()[3 * i + 2]};
        if (!std::isfinite(made[i].x + made[i].y + made[i].z)) refuse("%s must be finite", name);
    }
    return made;
}

std::vector<index> read_indices(nb::handle given, const char* name, index count) {
    const Array<index> x(given, name, 1);
    std::vector<index> made(x.data(), x.data() + x.size());
    for (const index each : made)
        if (each < 0 || each >= count) refuse("%s has an entry %lld out of range", name, static_cast<long long>(each));
    return made;
}

// Offsets of slices of a list: they begin at zero, never fall, and end at its length.
std::vector<index> read_starts(nb::handle given, const char* name, std::size_t length) {
    const Array<index> x(given, name, 1);
    std::vector<index> made(x.data(), x.data() + x.size());
    bool fine = made.size() > 1 && made.front() == 0 && made.back() == static_cast<index>(length);
    for (std::size_t i = 1; i < made.size() && fine; ++i) fine = made[i - 1] <= made[i];
    if (!fine) refuse("%s must be offsets from 0 to %lld", name, static_cast<long long>(length));
    return made;
}

void set_extent(Shape& s) {
    const double* x = s.size;
    if (s.kind == SPHERE) s.extent = x[0];
    if (s.kind == CAPSULE) s.extent = x[0] + x[1];
    if (s.kind == BOX) s.extent = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    if (s.kind == CYLINDER) s.extent = std::hypot(x[0], x[1]);
    if (s.kind == ELLIPSOID) s.extent = std::max({x[0], x[1], x[2]});
    if (s.kind == PLANE) s.extent = HUGE_VAL;
    for (index i = 0; i < s.count; ++i) s.extent = std::max(s.extent, norm(s.points[i]));
}

// Half the least width across a face of a polytope, which may be less wide across two edges.
double thin_hull(const Shape& s) {
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < s.hull->normal.size(); ++i)
        least = std::min(least, s.hull->offset[i] + dot(-s.hull->normal[i], support(s, -s.hull->normal[i])));
    return std::isfinite(least) ? 0.5 * std::max(least, 0.0) : 0.0;
}

void set_thin(Shape& s) {
    constexpr double OF_EXTENT = 0.01;  // a solid of triangles, whose width is not known
    const double* x = s.size;
    switch (s.kind) {
        case SPHERE:
        case CAPSULE: s.thin = 2.0 * x[0]; break;
        case CYLINDER: s.thin = 2.0 * std::min(x[0], x[1]); break;
        case BOX:
        case ELLIPSOID: s.thin = 2.0 * std::min({x[0], x[1], x[2]}); break;
        case PLANE: s.thin = HUGE_VAL; break;
        case HULL: s.thin = thin_hull(s); break;
        case MESH: s.thin = s.mesh->closed ? OF_EXTENT * s.extent : 0.0; break;
    }
}

Shape make_primitive(int kind, nb::handle size_) {
    const Array<double> size(size_, "size", 1);
    if (kind < 0 || kind >= KINDS || kind == HULL || kind == MESH) refuse("there is no primitive shape %d", kind);
    if (size.size() != 3) refuse("size must have length 3");
    Shape s;
    s.kind = static_cast<Kind>(kind);
    for (int i = 0; i < 3; ++i) {
        s.size[i] = size.data()[i];
        if (!(s.size[i] >= 0.0) || !std::isfinite(s.size[i])) refuse("size must be finite and not negative");
    }
    set_extent(s), set_thin(s);
    return s;
}

Shape make_hull(nb::handle points, nb::handle normals, nb::handle offsets, nb::handle face_start, nb::handle face,
                nb::handle near_start, nb::handle near_to) {
    auto h = std::make_shared<Hull>();
    h->vertex = read_points(points, "points"), h->normal = read_points(normals, "normals");
    const Array<double> offset(offsets, "offsets", 1);
    h->offset.assign(offset.data(), offset.data() + offset.size());
    const index count = static_cast<index>(h->vertex.size());
    h->face = read_indices(face, "face", count), h->near_to = read_indices(near_to, "near_to", count);
    h->face_start = read_starts(face_start, "face_start", h->face.size());
    h->near_start = read_starts(near_start, "near_start", h->near_to.size());
    if (h->offset.size() != h->normal.size() || h->face_start.size() != h->normal.size() + 1 ||
        h->near_start.size() != h->vertex.size() + 1)
        refuse("the arrays of a hull do not fit each other");
    Shape s;
    s.kind = HULL, s.points = h->vertex.data(), s.count = count, s.hull = h.get(), s.owned_hull = h;
    set_extent(s), set_thin(s);
    return s;
}

Shape make_mesh(nb::handle points, nb::handle triangles, bool closed) {
    auto m = std::make_shared<Mesh>();
    m->vertex = read_points(points, "points");
    m->triangle = read_indices(triangles, "triangles", static_cast<index>(m->vertex.size()));
    if (m->triangle.empty() || m->triangle.size() % 3 != 0) refuse("triangles must have three vertices each");
    m->closed = closed;
    m->build();
    Shape s;
    s.kind = MESH, s.mesh = m;
    for (const Vec3& x : m->vertex) s.extent = std::max(s.extent, norm(x));
    set_thin(s);
    return s;
}

const double* read_poses(const Array<double>& x, const char* name) {
    if (x.size(1) != POSE) refuse("%s must have the shape (count, 12)", name);
    return x.data();
}

void require_answerable(const Shape& a, const Shape& b) {
    if (!answerable(a, b)) refuse("this pair of shapes has no distance");
}

nb::object as_array(const std::vector<double>& x, index columns) {
    nb::object made = new_array("empty", static_cast<index>(x.size()) / columns, columns);
    const Array<double> to(made, "result", 2, true);
    std::copy(x.begin(), x.end(), to.data());
    return made;
}

nb::object integers(const std::vector<index>& x, index columns) {
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object made = numpy.attr("empty")(nb::make_tuple(static_cast<index>(x.size()) / columns, columns), numpy.attr("int64"));
    const Array<index> to(made, "result", 2, true);
    std::copy(x.begin(), x.end(), to.data());
    return made;
}

// All contacts of two shapes at one pair of poses within a distance.
nb::object manifold(const Shape& a, nb::handle pose_a, const Shape& b, nb::handle pose_b, double within) {
    const Array<double> at_a(pose_a, "pose_a", 2), at_b(pose_b, "pose_b", 2);
    const double *x = read_poses(at_a, "pose_a"), *y = read_poses(at_b, "pose_b");
    if (at_a.size(0) != 1 || at_b.size(0) != 1) refuse("contacts are of one pair of poses");
    require_answerable(a, b);
    std::vector<Spot> spots;
    touch(a, x, b, y, within, true, spots);
    std::vector<double> rows(SPOT * spots.size());
    for (std::size_t i = 0; i < spots.size(); ++i) write(spots[i], rows.data() + SPOT * i);
    return as_array(rows, SPOT);
}

Hit ray(const Shape& s, const Frame& at, const Vec3& o, const Vec3& d) {
    const Vec3 p = at.back(o), e = at.R.transposed(d);
    Hit hit = s.kind == MESH ? ray_mesh(*s.mesh, p, e) : ray_convex(s, p, e);
    hit.n = at.R * hit.n;
    return hit;
}

// Shapes that may touch each other, at many states.
class Scene : public ShapeScene {
public:
    // `classes` (shapes, 4): the rigid group of each shape, the group that this hangs from (-1: none that counts), and its
    // masks; `exceptions` (count, 3): pairs i < j that may touch (1) or not (0), whatever their classes say; `padded`
    // (count, 2): pairs with a padding of their own.
    Scene(nb::list shapes, nb::handle padding_given, nb::handle classes_given, nb::handle exceptions_given, nb::handle padded_given,
          nb::handle pair_padding_given) {
        for (nb::handle each : shapes) shapes_.push_back(nb::cast<Shape>(each));
        const Array<double> padding(padding_given, "padding", 1), pair_padding(pair_padding_given, "pair_padding", 1);
        const Array<index> classes(classes_given, "classes", 2), exceptions(exceptions_given, "exceptions", 2);
        const Array<index> padded(padded_given, "padded", 2);
        if (padding.size() != count()) refuse("padding must have length %lld", static_cast<long long>(count()));
        if (classes.size(0) != count() || classes.size(1) != 4) refuse("classes must have the shape (shapes, 4)");
        if (exceptions.size(1) != 3) refuse("exceptions must have the shape (count, 3)");
        if (padded.size(1) != 2 || padded.size(0) != pair_padding.size()) refuse("padded must have the shape (count, 2)");
        padding_.assign(padding.data(), padding.data() + padding.size());
        for (index k = 0; k < classes.size(0); ++k) {
            const index* x = classes.data() + 4 * k;
            classes_.push_back({x[0], x[1], x[2], x[3]});
        }
        for (index k = 0; k < exceptions.size(0); ++k) {
            const index* x = exceptions.data() + 3 * k;
            exceptions_[pair_key(x, "exceptions")] = x[2] != 0;
        }
        for (index k = 0; k < padded.size(0); ++k) {
            pair_padding_[pair_key(padded.data() + 2 * k, "padded")] = pair_padding.data()[k];
            most_ = std::max(most_, pair_padding.data()[k]);
        }
        measure();
        std::vector<index> planes;
        for (index i = 0; i < count(); ++i)
            if (shapes_[static_cast<std::size_t>(i)].kind == PLANE) planes.push_back(i);
        for (const index i : planes)
            for (const index j : planes)
                if (i < j && may(i, j)) refuse("two planes have no distance");
    }

    // The pairs (count, 2) that may touch. O(shapes^2).
    nb::object pairs() const {
        std::vector<index> all;
        for (index i = 0; i < count(); ++i)
            for (index j = i + 1; j < count(); ++j)
                if (may(i, j)) all.push_back(i), all.push_back(j);
        return integers(all, 2);
    }
    index pair_count() const {
        index sum = 0;
        for (index i = 0; i < count(); ++i)
            for (index j = i + 1; j < count(); ++j) sum += may(i, j);
        return sum;
    }
    // poses (states, shapes, 12) -> numbers (spots, 11), places (spots, 3): state and shapes of each.
    nb::object run(nb::handle poses_, double within, bool several, int threads) const {
        const Array<double> poses(poses_, "poses", 3);
        if (poses.size(1) != count() || poses.size(2) != POSE)
            refuse("poses must have the shape (states, %lld, 12)", static_cast<long long>(count()));
        const index cores = std::max<index>(static_cast<index>(std::thread::hardware_concurrency()), 1);
        const index states = poses.size(0), parts = std::min<index>({std::max<index>(threads, 1), states > 0 ? states : 1, 4 * cores});
        std::vector<Spots> results(static_cast<std::size_t>(parts));
        const double* data = poses.data();
        without_lock([&] {
            interrupt::share(parts, [&](index k) {
                for (index s = k * states / parts; s < (k + 1) * states / parts; ++s) {
                    one(s, data + s * count() * POSE, within, several, results[static_cast<std::size_t>(k)]);
                    interrupt::check(s);
                }
            });
        });
        std::vector<double> numbers;
        std::vector<index> places;
        for (const Spots& r : results) {
            numbers.insert(numbers.end(), r.numbers.begin(), r.numbers.end());
            places.insert(places.end(), r.places.begin(), r.places.end());
        }
        return nb::make_tuple(as_array(numbers, SPOT), integers(places, 3));
    }

    // The least sum of the widths of two shapes that may touch; infinite where one of every two is a half space.
    double thinnest() const {
        std::vector<index> order(shapes_.size());
        for (index i = 0; i < count(); ++i) order[static_cast<std::size_t>(i)] = i;
        const auto thin = [&](index i) { return shape(i).thin; };
        std::sort(order.begin(), order.end(), [&](index a, index b) { return thin(a) < thin(b); });
        double least = HUGE_VAL;
        for (std::size_t i = 0; i < order.size(); ++i)
            for (std::size_t j = i + 1; j < order.size() && thin(order[i]) + thin(order[j]) < least; ++j)
                if (may(std::min(order[i], order[j]), std::max(order[i], order[j]))) least = thin(order[i]) + thin(order[j]);
        return least;
    }
    // Poses (2, shapes, 12) and velocities (2, shapes, 6) at the ends of a step of length h -> None where it leads no shapes through
    // each other, else the two, the part of it that does not, how much closer they come, from which gap, and how thick they are.
    nb::object passing(nb::handle poses_, nb::handle velocities_, double h) const {
        const Array<double> poses(poses_, "poses", 3), velocities(velocities_, "velocities", 3);
        if (poses.size(0) != 2 || poses.size(1) != count() || poses.size(2) != POSE || velocities.size(0) != 2 ||
            velocities.size(1) != count() || velocities.size(2) != 6)
            refuse("poses and velocities must have the shapes (2, %lld, 12) and (2, %lld, 6)", static_cast<long long>(count()), static_cast<long long>(count()));
        const double *x = poses.data(), *u = velocities.data();
        const StepEnds ends{x, x + POSE * count(), u, u + 6 * count(), h};
        const Passed worst = worst_passed(ends);
        if (worst.part >= 1.0) return nb::none();
        return nb::make_tuple(worst.a, worst.b, worst.part, worst.closes, worst.gap, worst.thick);
    }

    // One set of poses (1, shapes, 12), rays (count, 6), shapes that do not count (-1: none) by ray -> (count, 5): t, n
    // and the number of the shape.
    void rays(nb::handle poses_, nb::handle rays_, nb::handle but_, nb::handle out_) const {
        const Array<double> poses(poses_, "poses", 3), rays(rays_, "rays", 2), out(out_, "out", 2, true);
        const Array<index> but(but_, "but", 1);
        if (poses.size(0) != 1 || poses.size(1) != count() || poses.size(2) != POSE || rays.size(1) != 6 ||
            out.size(1) != 5 || out.size(0) != rays.size(0))
            refuse("rays must have the shape (count, 6)");
        std::vector<bool> counts(shapes_.size(), true);
        for (index i = 0; i < but.size(); ++i) {
            if (but.data()[i] < 0 || but.data()[i] >= count()) refuse("but has an entry out of range");
            counts[static_cast<std::size_t>(but.data()[i])] = false;
        }
        std::vector<Bounds> around;
        for (index k = 0; k < count(); ++k)
            around.push_back(bounds_of(shapes_[static_cast<std::size_t>(k)], poses.data() + POSE * k));
        for (index i = 0; i < rays.size(0); ++i) {
            const double* x = rays.data() + 6 * i;
            const Vec3 o{x[0], x[1], x[2]}, d{x[3], x[4], x[5]};
            Hit best;
            index of = -1;
            for (index k = 0; k < count(); ++k) {
                const std::size_t at = static_cast<std::size_t>(k);
                if (!counts[at] || !(ray_enters(o, d, around[at].low, around[at].high) < best.t)) continue;
                const Hit hit = ray(shapes_[at], read_frame(poses.data() + POSE * k), o, d);
                if (hit.t < best.t) best = hit, of = k;
            }
            double* y = out.data() + 5 * i;
            y[0] = best.t, y[1] = best.n.x, y[2] = best.n.y, y[3] = best.n.z, y[4] = static_cast<double>(of);
        }
    }


private:
    // A pair of shapes, i < j.
    std::size_t pair_key(const index* x, const char* name) const {
        if (x[0] < 0 || x[1] <= x[0] || x[1] >= count()) refuse("%s has an entry that is not a pair of shapes", name);
        return key(x[0], x[1]);
    }
};

void cast_rays(const Shape& s, nb::handle pose_, nb::handle rays_, nb::handle out_) {
    const Array<double> pose(pose_, "pose", 2), rays(rays_, "rays", 2), out(out_, "out", 2, true);
    if (pose.size(0) != 1 || pose.size(1) != POSE || rays.size(1) != 6 || out.size(1) != 4 || out.size(0) != rays.size(0))
        refuse("rays must have the shape (count, 6)");
    const Frame at = read_frame(pose.data());
    for (index i = 0; i < rays.size(0); ++i) {
        const double* x = rays.data() + 6 * i;
        const Hit hit = ray(s, at, {x[0], x[1], x[2]}, {x[3], x[4], x[5]});
        double* y = out.data() + 4 * i;
        y[0] = hit.t, y[1] = hit.n.x, y[2] = hit.n.y, y[3] = hit.n.z;
    }
}

}  // namespace

void bind(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<Shape>(m, "ContactShape", "A shape in its own frame.")
        .def_prop_ro("kind", [](const Shape& s) { return static_cast<int>(s.kind); })
        .def_prop_ro("extent", [](const Shape& s) { return s.extent; })
        .def_prop_ro("thin", [](const Shape& s) { return s.thin; });
    m.def("contact_primitive", &make_primitive, nb::arg("kind"), array("size"), "A primitive shape.");
    m.def("contact_hull", &make_hull, array("points"), array("normals"), array("offsets"), array("face_start"),
          array("face"), array("near_start"), array("near_to"), "A convex polytope.");
    m.def("contact_mesh", &make_mesh, array("points"), array("triangles"), nb::arg("closed"), "A triangle mesh.");
    m.def("contact_manifold", &manifold, nb::arg("a"), array("pose_a"), nb::arg("b"), array("pose_b"), nb::arg("within"),
          "All contacts of two shapes.");
    m.def("contact_rays", &cast_rays, nb::arg("shape"), array("pose"), array("rays"), array("out"), "Where rays meet a shape.");
    nb::class_<SpotQuery>(m, "ContactQuery", "Where shapes touch, as compiled steps ask for it.");
    nb::class_<Scene, SpotQuery>(m, "ContactScene", "Shapes that may touch each other.")
        .def(nb::init<nb::list, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("shapes"),
             array("padding"), array("classes"), array("exceptions"), array("padded"), array("pair_padding"))
        .def("pairs", &Scene::pairs)
        .def("pair_count", &Scene::pair_count)
        .def("thinnest", &Scene::thinnest)
        .def("passing", &Scene::passing, array("poses"), array("velocities"), nb::arg("h"))
        .def("run", &Scene::run, array("poses"), nb::arg("within"), nb::arg("several"), nb::arg("threads"))
        .def("rays", &Scene::rays, array("poses"), array("rays"), array("but"), array("out"));
}

}  // namespace contact
}  // namespace soacraft
