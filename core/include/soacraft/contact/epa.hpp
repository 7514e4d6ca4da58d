// The depth of cores in each other, by a polytope inside M = A - B that grows where the origin is nearest to its skin
// (expanding polytope algorithm; van den Bergen 2001).
//
// The face with the least offset n.w is pushed out to the support of M along n, until there is nothing more to push:
// offset <= depth <= h(n). It need not hold the origin: cores that only just touch have an offset of about zero, of
// either sign, and their normal is that of a face, where GJK would divide two small numbers.
#pragma once

#include "gjk.hpp"

namespace soacraft {
namespace contact {

constexpr int EPA_POINTS = 192, EPA_FACES = 4 * EPA_POINTS;
constexpr double EPA_ENOUGH = 1e-12;  // of the size of the pair: what is left to push
constexpr double FLAT = 1e-13;        // of the size of the pair: M has no thickness

class Polytope {
public:
    explicit Polytope(const Cores& cores) : cores_(cores) {}

    // The depth of the origin under the skin of M, as a negative distance.
    Nearest depth(const Simplex& start) {
        if (!begin(start)) return thin();
        Nearest best = {-HUGE_VAL, HUGE_VAL, {}, {}, {}};
        double least = HUGE_VAL;  // the smallest h(n) met: an upper bound of the depth
        while (true) {
            const int f = nearest_face();
            if (f < 0) break;
            const Point s = cores_.support(face_[f].n);
            const double h = dot(face_[f].n, s.w);
            if (h < least || best.error == HUGE_VAL) {
                least = std::min(least, h);
                best = on_face(f, h);
            }
            best.error = std::max(least - face_[f].offset, 0.0);
            if (h - face_[f].offset <= EPA_ENOUGH * cores_.size) {
                best = on_face(f, h);
                break;
            }
            if (points_ == EPA_POINTS || !push(s, f)) break;
        }
        return best;
    }

private:
    struct Face {
        int v[3];
        Vec3 n;
        double offset;
        bool usable;
    };

    // The points of A and B under the origin's foot on the face; their difference along n is its offset.
    Nearest on_face(int f, double h) const {
        const Face& face = face_[f];
        const Vec3 foot = face.offset * face.n;
        Vec3 p[3];
        for (int i = 0; i < 3; ++i) p[i] = point_[face.v[i]].w - foot;
        double t[3];
        nearest_on_triangle(p, t);
        Nearest out = {-h, h - face.offset, {}, {}, face.n};
        for (int i = 0; i < 3; ++i)
            out.a = out.a + t[i] * point_[face.v[i]].a, out.b = out.b + t[i] * point_[face.v[i]].b;
        return out;
    }

    int nearest_face() const {
        int best = -1;
        for (int f = 0; f < faces_; ++f)
            if (face_[f].usable && (best < 0 || face_[f].offset < face_[best].offset)) best = f;
        return best;
    }

    bool add_face(int a, int b, int c) {
        if (faces_ == EPA_FACES) return false;
        Face& f = face_[faces_];
        f.v[0] = a, f.v[1] = b, f.v[2] = c;
        const Vec3 e = point_[b].w - point_[a].w, g = point_[c].w - point_[a].w, n = cross(e, g);
        const double area = norm(n);
        f.usable = area > 1e-14 * norm(e) * norm(g) && area > 0.0;  // slivers have no normal to speak of
        if (f.usable) {
            f.n = (1.0 / area) * n;
            // the corner nearest to the foot of the origin rounds least
            f.offset = (dot(f.n, point_[a].w) + dot(f.n, point_[b].w) + dot(f.n, point_[c].w)) / 3.0;
        } else {
            f.n = {0.0, 0.0, 0.0}, f.offset = HUGE_VAL;
        }
        ++faces_;
        return true;
    }

    // Takes away the faces that see the new point, and closes the hole with faces to it. False where nothing changes.
    bool push(const Point& s, int seen_by) {
        for (int i = 0; i < points_; ++i)
            if (norm(point_[i].w - s.w) <= 1e-15 * cores_.size) return false;
        point_[points_] = s;
        int edges = 0, kept = 0;
        static constexpr int MOST = 3 * EPA_FACES;
        int (&edge)[MOST][2] = edge_;
        for (int f = 0; f < faces_; ++f) {
            const Face& face = face_[f];
            const bool sees = f == seen_by ||
                              (face.usable && dot(face.n, s.w - point_[face.v[0]].w) > 1e-15 * cores_.size);
            if (!sees) {
                face_[kept++] = face;
                continue;
            }
            for (int i = 0; i < 3; ++i) {  // an edge met twice is inside the hole
                const int a = face.v[i], b = face.v[(i + 1) % 3];
                int twin = -1;
                for (int e = 0; e < edges && twin < 0; ++e)
                    if (edge[e][0] == b && edge[e][1] == a) twin = e;
                if (twin >= 0) {
                    --edges;
                    edge[twin][0] = edge[edges][0], edge[twin][1] = edge[edges][1];
                } else {
                    edge[edges][0] = a, edge[edges][1] = b, ++edges;
                }
            }
        }
        faces_ = kept;
        const int top = points_++;
        for (int e = 0; e < edges; ++e)
            if (!add_face(edge[e][0], edge[e][1], top)) return false;
        return edges >= 3;
    }

    bool tetrahedron(const Point& a, const Point& b, const Point& c, const Point& d) {
        const double volume = dot(cross(b.w - a.w, c.w - a.w), d.w - a.w);
        point_[0] = a, point_[1] = volume > 0.0 ? c : b, point_[2] = volume > 0.0 ? b : c, point_[3] = d;
        points_ = 4, faces_ = 0;
        return add_face(0, 1, 2) && add_face(0, 2, 3) && add_face(0, 3, 1) && add_face(1, 3, 2);
    }

    // The farthest of points of M from some of them: along directions, of both signs.
    template <typename Far>
    double farthest(const Vec3* direction, int count, const Far& far, Point& out) const {
        double most = -1.0;
        for (int i = 0; i < 2 * count; ++i) {
            const Point s = cores_.support(i % 2 == 0 ? direction[i / 2] : -direction[i / 2]);
            const double d = far(s.w);
            if (d > most) most = d, out = s;
        }
        return most;
    }

    // A first tetrahedron with some volume; false where M is flat: `thin_` has its normal.
    bool begin(const Simplex& s) {
        static const Vec3 AXES[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
        const double flat = FLAT * cores_.size;
        if (s.count == 4) {
            const Vec3 n = cross(s.p[1].w - s.p[0].w, s.p[2].w - s.p[0].w);
            const double area = norm(n), height = std::abs(dot(n, s.p[3].w - s.p[0].w));
            if (area > 1e-6 * cores_.size * cores_.size && height > 1e-4 * cores_.size * area)
                return tetrahedron(s.p[0], s.p[1], s.p[2], s.p[3]);
        }
        Point p[4];
        p[0] = cores_.support(AXES[0]);
        const Vec3 o = p[0].w;
        if (farthest(AXES, 3, [&](const Vec3& w) { return norm(w - o); }, p[1]) <= flat) {
            thin_ = {0.0, 0.0, 1.0};  // a point: any normal will do
            return false;
        }
        const Vec3 line = (1.0 / norm(p[1].w - o)) * (p[1].w - o);
        Vec3 across[2];
        tangents(line, across[0], across[1]);
        if (farthest(across, 2, [&](const Vec3& w) { return norm(cross(line, w - o)); }, p[2]) <= flat) {
            thin_ = across[0];  // a segment: any normal across it
            return false;
        }
        Vec3 n = cross(line, p[2].w - o);
        n = (1.0 / norm(n)) * n;
        thin_ = n;
        if (farthest(&n, 1, [&](const Vec3& w) { return std::abs(dot(n, w - o)); }, p[3]) <= flat) return false;
        return tetrahedron(p[0], p[1], p[2], p[3]);
    }

    // Cores without thickness between them: they touch, along the normal of the flat M, to the side of B's centre.
    Nearest thin() const {
        Vec3 n = thin_;
        if (dot(n, cores_.at.p) < 0.0) n = -n;
        Simplex s;
        Nearest out = {0.0, FLAT * cores_.size, {}, {}, n};
        Vec3 v = -cores_.at.p;
        if (!(dot(v, v) > 0.0)) v = {1.0, 0.0, 0.0};
        double last = HUGE_VAL;
        for (int step = 0; step < GJK_STEPS; ++step) {  // the points of the simplex nearest to the origin
            const Simplex before = s;
            s.p[s.count] = cores_.support(-v), s.weight[s.count] = 1.0, ++s.count;
            const bool inside = reduce(s, v);
            const double now = norm(v);
            if (inside || !(now < last)) {
                s = before;
                break;
            }
            last = now;
            if (now <= FLAT * cores_.size || s.count == 4) break;
        }
        if (s.count == 0) s.p[0] = cores_.support(n), s.weight[0] = 1.0, s.count = 1;
        for (int i = 0; i < s.count; ++i)
            out.a = out.a + s.weight[i] * s.p[i].a, out.b = out.b + s.weight[i] * s.p[i].b;
        return out;
    }

    const Cores& cores_;
    Point point_[EPA_POINTS + 1];
    Face face_[EPA_FACES];
    int edge_[3 * EPA_FACES][2];
    int points_ = 0, faces_ = 0;
    Vec3 thin_ = {0.0, 0.0, 1.0};
};

}  // namespace contact
}  // namespace soacraft
