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

constexpr int EPA_POINTS = 128, EPA_FACES = 4 * EPA_POINTS;
constexpr double EPA_ENOUGH = 1e-12;  // of the size of the pair: what is left to push
constexpr double FLAT = 1e-13;        // of the size of the pair: M has no thickness

class Polytope {
public:
    explicit Polytope(const Cores& cores) : cores_(cores) {}

    // The depth of the origin under the skin of M, as a negative distance.
    Nearest depth(const Simplex& start) {
        if (!begin(start, true)) return thin();
        const double enough = EPA_ENOUGH * cores_.size;
        Nearest x = grow();
        if (x.error > 1e-6 * cores_.size && begin(start, false)) {  // from another tetrahedron, where rounding spoilt one
            const Nearest again = grow();
            if (again.distance > x.distance) x = again;
        }
        if (x.error > enough) polish(cores_, x);
        return x;
    }

private:
    Nearest grow() {
        double low = -HUGE_VAL, doubt = 0.0, least = HUGE_VAL;  // offset - rounding <= depth <= h(n)
        Vec3 n = {0.0, 0.0, 1.0};
        int last = -1;  // the face whose normal has the least h, if the offset is its own too
        for (int f; (f = nearest_face()) >= 0;) {
            const Point s = cores_.support(face_[f].n);
            const double h = dot(face_[f].n, s.w);
            low = face_[f].offset, doubt = rounded(face_[f]), last = h <= least ? f : -1;
            if (h <= least) least = h, n = face_[f].n;
            if (least - low <= EPA_ENOUGH * cores_.size || points_ == EPA_POINTS || !push(s, f)) break;
        }
        const double error = std::max(least - low, 0.0) + doubt;
        if (last >= 0 && !face_[last].gone && error - doubt <= EPA_ENOUGH * cores_.size) return on_face(last, least, error);
        Nearest out = {-least, error, {}, {}, n};
        Nearest y;
        clear_points(cores_, out, y);
        return out;
    }

    // Counter-clockwise from outside; `across[i]` is the face behind the edge v[i] v[i + 1].
    struct Face {
        int v[3], across[3];
        Vec3 n;
        double offset;
        bool usable, gone;
    };
    struct Edge {
        int face, from, to;  // a face that stays, and the edge as that which goes had it
    };

    Vec3 barycentre(int f, double* t) const {  // of the foot of the origin, held to the face: what is left of it
        const Face& face = face_[f];
        Vec3 p[3];
        for (int i = 0; i < 3; ++i) p[i] = point_[face.v[i]].w - face.offset * face.n;
        nearest_on_triangle(p, t);
        return combined(p, t, 3);
    }

    // The points of A and B under the origin's foot on the face; their difference along n is its offset. Several
    // triangles may be in one plane: that which has the foot inside.
    Nearest on_face(int f, double h, double error) const {
        double t[3], best_t[3] = {0.0, 0.0, 0.0};
        int best = f;
        double least = HUGE_VAL;
        for (int g = 0; g < faces_ && least > 1e-12 * cores_.size; ++g) {
            const int at = g == 0 ? f : g <= f ? g - 1 : g;  // f first
            const Face& face = face_[at];
            if (face.gone || !face.usable || face.offset - face_[f].offset > EPA_ENOUGH * cores_.size) continue;
            if (dot(face.n, face_[f].n) < 1.0 - 1e-12) continue;
            const double off = norm(barycentre(at, t));
            if (off < least) least = off, best = at, std::copy(t, t + 3, best_t);
        }
        Nearest out = {-h, error, {}, {}, face_[f].n};
        for (int i = 0; i < 3; ++i) {
            const Point& p = point_[face_[best].v[i]];
            out.a = out.a + best_t[i] * p.a, out.b = out.b + best_t[i] * p.b;
        }
        Nearest y;
        if (least > 1e-9 * cores_.size) clear_points(cores_, out, y);  // on a flat that the triangles do not cover yet
        return out;
    }

    // What rounding may have moved the plane of a face by under the origin: that of its corners, times its length over its height.
    double rounded(const Face& f) const {
        const Vec3 a = point_[f.v[0]].w, e = point_[f.v[1]].w - a, g = point_[f.v[2]].w - a, k = g - e;
        return 1e-15 * cores_.size * std::max({dot(e, e), dot(g, g), dot(k, k)}) / norm(cross(e, g));
    }

    int nearest_face() const {
        int best = -1;
        double least = HUGE_VAL;
        for (int f = 0; f < faces_; ++f)
            if (offset_[f] < least) least = offset_[f], best = f;
        return best;
    }

    int add_face(int a, int b, int c) {
        int at = faces_;
        if (free_ > 0) at = unused_[--free_];
        else if (faces_ == EPA_FACES) return -1;
        else ++faces_;
        Face& f = face_[at];
        f.v[0] = a, f.v[1] = b, f.v[2] = c, f.gone = false;
        f.across[0] = f.across[1] = f.across[2] = -1;
        const Vec3 e = point_[b].w - point_[a].w, g = point_[c].w - point_[a].w, n = cross(e, g);
        const double area = norm(n);
        f.usable = area > 1e-14 * norm(e) * norm(g) && area > 0.0;  // slivers have no normal to speak of
        f.n = f.usable ? (1.0 / area) * n : Vec3{0.0, 0.0, 0.0};
        f.offset = f.usable ? std::max({dot(f.n, point_[a].w), dot(f.n, point_[b].w), dot(f.n, point_[c].w)}) : HUGE_VAL;
        offset_[at] = f.offset;
        return at;
    }

    // Takes away the faces around `from` that see the new point, which hang together, and joins the rim of the hole to
    // it. False where there is no more to push.
    bool push(const Point& s, int from) {
        const double same = 1e-15 * cores_.size;
        for (int i = 0; i < points_; ++i) {
            const Vec3 d = point_[i].w - s.w;
            if (std::abs(d.x) <= same && std::abs(d.y) <= same && std::abs(d.z) <= same) return false;
        }
        point_[points_] = s;
        int stack[EPA_FACES], top = 0, rim = 0;
        const auto take = [&](int f) { face_[f].gone = true, offset_[f] = HUGE_VAL, stack[top++] = f; };
        take(from);
        while (top > 0) {
            const int f = stack[--top];
            for (int i = 0; i < 3; ++i) {
                const int other = face_[f].across[i];
                Face& o = face_[other];
                if (o.gone) continue;
                // a sliver goes along with its neighbour
                if (!o.usable || dot(o.n, s.w - point_[o.v[0]].w) > same) take(other);
            }
            taken_[taken_count_++] = f;
        }
        for (int k = 0; k < taken_count_; ++k) {
            const Face& f = face_[taken_[k]];
            for (int i = 0; i < 3; ++i)
                if (!face_[f.across[i]].gone) rim_[rim++] = {f.across[i], f.v[i], f.v[(i + 1) % 3]};
        }
        for (int k = 0; k < taken_count_; ++k) unused_[free_++] = taken_[k];
        taken_count_ = 0;
        if (rim < 3) return false;
        const int apex = points_++;
        for (int k = 0; k < points_; ++k) begins_[k] = -1;
        for (int k = 0; k < rim; ++k) {
            if (begins_[rim_[k].from] >= 0) return false;  // the rim crosses itself: rounding has the better of it
            const int f = add_face(rim_[k].from, rim_[k].to, apex);
            if (f < 0) return false;
            begins_[rim_[k].from] = f;
            Face& o = face_[rim_[k].face];
            for (int i = 0; i < 3; ++i)
                if (o.v[i] == rim_[k].to && o.v[(i + 1) % 3] == rim_[k].from) o.across[i] = f;
            face_[f].across[0] = rim_[k].face;
        }
        for (int k = 0; k < rim; ++k) {  // next to each other around the new point
            const int f = begins_[rim_[k].from], next = begins_[rim_[k].to];
            if (next < 0) return false;
            face_[f].across[1] = next, face_[next].across[2] = f;
        }
        return true;
    }

    bool tetrahedron(const Point& a, const Point& b, const Point& c, const Point& d) {
        const double volume = dot(cross(b.w - a.w, c.w - a.w), d.w - a.w);
        point_[0] = a, point_[1] = volume > 0.0 ? c : b, point_[2] = volume > 0.0 ? b : c, point_[3] = d;
        points_ = 4, faces_ = free_ = taken_count_ = 0;
        static constexpr int CORNERS[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
        for (const auto& x : CORNERS) add_face(x[0], x[1], x[2]);
        for (int f = 0; f < 4; ++f)
            for (int i = 0; i < 3; ++i)
                for (int g = 0; g < 4; ++g)
                    for (int k = 0; k < 3; ++k)
                        if (face_[g].v[k] == face_[f].v[(i + 1) % 3] && face_[g].v[(k + 1) % 3] == face_[f].v[i])
                            face_[f].across[i] = g;
        return true;
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
    bool begin(const Simplex& s, bool from_simplex) {
        static const Vec3 AXES[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
        const double flat = FLAT * cores_.size;
        if (from_simplex && s.count == 4) {
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
            if (now <= FLAT * cores_.size) break;
        }
        if (s.count == 0) s.p[0] = cores_.support(n), s.weight[0] = 1.0, s.count = 1;
        for (int i = 0; i < s.count; ++i)
            out.a = out.a + s.weight[i] * s.p[i].a, out.b = out.b + s.weight[i] * s.p[i].b;
        return out;
    }

    const Cores& cores_;
    Point point_[EPA_POINTS + 1];
    Face face_[EPA_FACES];
    double offset_[EPA_FACES];  // of the faces that may be nearest; infinite of the others
    Edge rim_[3 * EPA_FACES];
    int unused_[EPA_FACES], taken_[EPA_FACES], begins_[EPA_POINTS + 1];
    int points_ = 0, faces_ = 0, free_ = 0, taken_count_ = 0;
    Vec3 thin_ = {0.0, 0.0, 1.0};
};

}  // namespace contact
}  // namespace soacraft
