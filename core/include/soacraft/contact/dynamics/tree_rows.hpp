// Rows of velocity on a tree, of contacts and of single dofs, and their compliance by articulated bodies (EQUATIONS 4.6):
//
//     Y = N (I - H psi K)* D^-1/2,   each row climbing from its bodies to the base,     S = Y Y* = N Mcal^-1 N* = N B* Omega B N*
//     Mcal^-1 N* p = (I - H psi K)* D^-1/2 (Y* p)                                        one sweep outward
//
// O(n) for the inertias, O(depth) for a row; no mass matrix, no inverse of it. The nodes of `rows` are the elements. Of a closed
// chain rows are those of the motions that its closures allow (closure_space.hpp).
#pragma once

#include <algorithm>
#include <vector>

#include "closure_space.hpp"
#include "soacraft/workspace.hpp"

SOACRAFT_RIGID_BEGIN

// A point of contact: the velocity of b at its point relative to a at its own, along one to three axes; then about them.
struct Touch {
    index a, b;  // elements, -1: the ground
    Vec3 at_a, at_b;
    Vec3 axes[3];
    index rows;

    // The force of a unit impulse of a row, at the point.
    Twist along(index r) const {
        const Vec3 no{0.0, 0.0, 0.0};
        return r < 3 ? Twist{no, axes[r]} : Twist{axes[r - 3], no};
    }
};

// A row of velocity of one dof, with a sign.
struct DofRow {
    index dof;
    double sign;
};

// What the moment and the force of a row were computed from: what is left of less where terms cancel is rounding.
struct Extent {
    double w = 0.0, v = 0.0;
};
inline double length_of(const Vec3& x) { return std::sqrt(dot(x, x)); }

class TreeRows {
public:
    complementarity::SparseRows rows;

    // Of a closed chain the tree-augmented plan of this model, and the coordinates of the closures' hinges as they are at the time;
    // both stay the caller's.
    explicit TreeRows(const Model& model, const loops::Plan* closures = nullptr, const std::vector<double>* theta = nullptr)
        : tree_(of(model)), plan_(closures ? *closures : tree_), theta_(theta), memory_(hold(plan_)),
          w_(plan_, static_cast<char*>(memory_.hold(0))), closures_(plan_),
          element_of_(static_cast<std::size_t>(model.nv)), size_(at(model.nv)), arm_(at(model.count + model.spot_count)) {
        index first = 0, most = 0;
        for (index k = 0; k < model.count; ++k) {
            const index width = loops::width_of(model, k);
            for (index i = 0; i < dofs(model.elements[k].kind); ++i) element_of_[at(model.elements[k].v + i)] = k;
            rows.nodes.push_back({first, width});
            first += width, most = most < width ? width : most;
        }
        for (index i = 0; i < model.flexible_count; ++i)
            for (index j = 0; j < model.flexible[i].n; ++j) element_of_[at(model.flexible[i].v + j)] = model.flexible[i].element;
        if (model.flexible_count)
            for (Along* x : {&ahead_, &beside_}) x->force.resize(at(most)), x->size.resize(at(most));
        sorted_.resize(at(model.flexible_count ? model.nv : 0));
    }
    TreeRows(const TreeRows&) = delete;
    TreeRows& operator=(const TreeRows&) = delete;

    // Where the tree is, and how it moves.
    void place(const double* q, const double* v) {
        const Base base = {};
        const Model& model = w_.model;
        if (placed_.size() == at(model.nq + model.nv) && std::equal(q, q + model.nq, placed_.begin()) &&
            std::equal(v, v + model.nv, placed_.begin() + model.nq))
            return;
        placed_.assign(q, q + model.nq), placed_.insert(placed_.end(), v, v + model.nv), q_.assign(q, q + model.nq);
        take_stance<double>(w_.model, base, q, v, nullptr, w_.limbs, w_.S, &w_.flexible);
    }
    const Limb& limb(index element) const { return w_.limbs[element]; }
    Twist velocity(index element, const Vec3& x) const {
        return element < 0 ? none<double>() : carried(x - w_.limbs[element].p, w_.limbs[element].V);
    }

    // Whether it moves so.
    bool moves(const double* v) const {
        const index nq = w_.model.nq, nv = w_.model.nv;
        return placed_.size() == at(nq + nv) && std::equal(v, v + nv, placed_.begin() + nq);
    }
    // Another motion of the tree where it is.
    void move(const double* v) {
        placed_.clear();
        if (w_.model.flexible_count) {
            take_stance<double>(w_.model, Base{}, q_.data(), v, nullptr, w_.limbs, w_.S, &w_.flexible);
            return;
        }
        for (index k = 0; k < w_.model.count; ++k) {
            const Element& e = w_.model.elements[k];
            Limb& me = w_.limbs[k];
            const Twist* S = w_.S + e.d;
            Twist across = v[e.v] * S[0];
            for (index i = 1, n = dofs(e.kind); i < n; ++i) across += v[e.v + i] * S[i];
            const Twist in = e.parent < 0 ? none<double>() : carried(me.l, w_.limbs[e.parent].V);
            me.c = motion_cross(in, across), me.V = in + across, me.b = gyroscopic(me.I, me.V);
        }
    }

    // vdot <- Mcal^-1 (force - C) for the motion it has, after the inertias; `ground` is the acceleration of the base.
    void accelerate(const Twist& ground, const double* force, double* vdot) {
        const Model& model = w_.model;
        for (index k = 0; k < model.count + model.spot_count; ++k) w_.z[k] = k < model.count ? w_.limbs[k].b : none<double>();
        for (index k = model.count; k-- > 0;) {
            const Element& e = model.elements[k];
            Twist& z = w_.z[k];
            const index n = rows.nodes[at(k)].width;
            if (e.flexible >= 0) {
                push_modes(w_, e, force);
            } else {
                double* u = w_.u + e.d;
                for (index i = 0; i < n; ++i) u[i] = force[e.v + i] - dot(w_.S[e.d + i], z);
                divide(n, w_.factor(e, k), u);
            }
            if (e.parent < 0) continue;
            z += w_.P[k] * w_.limbs[k].c;
            for (index i = 0; i < n; ++i) z += w_.u[place_of(e, i)] * w_.W[place_of(e, i)];
            w_.z[inboard(model, e)] += pulled(w_.limbs[k].l, z);
        }
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            w_.A[k] = carried(w_.limbs[k].l, e.parent < 0 ? ground : w_.A[inboard(model, e)]) + w_.limbs[k].c;
            release_hinge<true>(w_, e, k, w_.u, w_.A[k], vdot);
        }
    }

    bool is_closed() const { return !closures_.empty(); }

    // Articulated inertias there; false where a hinge has no inertia to move, or closures are in doubt. Rows of before are forgotten.
    bool articulate() {
        forget();
        const Model& model = w_.model;
        for (index k = 0; k < model.count + model.spot_count; ++k)
            w_.P[k] = k < model.count ? articulated(w_.limbs[k].I) : no_inertia<double>();
        for (index k = model.count; k-- > 0;) {
            const Element& e = model.elements[k];
            if (!factor_hinge(w_, e, k)) return false;
            const index n = rows.nodes[at(k)].width;
            for (index i = 0; i < n; ++i) {
                const Twist &S = w_.S[place_of(e, i)], &W = w_.W[place_of(e, i)];
                size_[at(place_of(e, i))] = {{length_of(S.w), length_of(S.v)}, {length_of(W.w), length_of(W.v)}};
            }
            if (e.spot >= 0) arm_[at(model.count + e.spot)] = length_of(w_.limbs[model.count + e.spot].l);
            if (e.parent < 0) continue;
            for (index i = 0; i < n; ++i) subtract(w_.P[k], w_.W[place_of(e, i)]);
            arm_[at(k)] = length_of(w_.limbs[k].l);
            w_.P[inboard(model, e)] += shifted(w_.limbs[k].l, w_.P[k]);
        }
        if (closures_.empty()) return true;
        std::copy(theta_->begin(), theta_->end(), w_.theta);
        return closures_.take(w_, q_.data());
    }

    // Rows are added after the inertias. Contacts before single dofs.
    void forget() { rows.clear(), touches_.clear(), single_.clear(); }
    void add(const Touch& t) {
        rows.begin(t.rows);
        touches_.push_back(t);
        for (index k = t.b, l = t.a; k >= 0 || l >= 0;) {  // the steps: the outermost first
            const index next = k > l ? k : l;
            rows.add_piece(next);
            const index parent = w_.model.elements[next].parent;
            if (k == next) k = parent;
            if (l == next) l = parent;
        }
        rows.end();
        for (index first = 0; first < t.rows; first += SOACRAFT_LANES) climb(t, first);
        if (!closures_.empty()) closures_.project(rows);
    }
    void add(const DofRow& x) {
        climb(x);
        if (!closures_.empty()) closures_.project(rows);
    }

    // (Mcal^-1)_kk of a dof, after the inertias, of what closures leave free; where it is more than `enough`, or may not be, a part
    // of it that is more, or what it is less than. Rows of before are forgotten. O(depth), and O(m depth) with closures.
    double compliance(index dof, double enough) {
        const index k = element_of_[at(dof)];
        const Element& e = w_.model.elements[k];
        const double own = dofs(e.kind) == 1 && e.flexible < 0 ? *w_.factor(e, k) * *w_.factor(e, k) : 0.0;  // 1/D
        if (own > enough && closures_.empty()) return own;
        forget();
        climb(DofRow{dof, 1.0});
        const complementarity::RowBlock& way = rows.blocks.back();
        const double* row = rows.row(way, 0);
        double sum = 0.0;
        for (index i = 0; i < way.width; ++i) sum += row[i] * row[i];
        return closures_.empty() || !(sum > enough) ? sum : sum - closures_.part_of_last(rows);
    }

    // dv <- Mcal^-1 N* p, of the rows or of some of them
    void release(const complementarity::SparseRows& some, const double* p, double* dv) {
        double *y = w_.push, *sum = sorted_.empty() ? y : sorted_.data();
        for (index i = 0; i < w_.model.nv; ++i) sum[i] = 0.0;
        for (const complementarity::RowBlock& block : some.blocks) some.push(block, p + block.row, sum);
        for (index k = 0; k < w_.model.count && !sorted_.empty(); ++k)
            for (index i = 0; i < rows.nodes[at(k)].width; ++i) y[place_of(w_.model.elements[k], i)] = sum[rows.nodes[at(k)].first + i];
        for (index k = 0; k < w_.model.count; ++k) {
            const Element& e = w_.model.elements[k];
            Twist& a = w_.f[k];
            a = e.parent < 0 ? none<double>() : carried(w_.limbs[k].l, w_.f[inboard(w_.model, e)]);
            release_hinge<false>(w_, e, k, y, a, dv);
        }
    }

    // force <- Mcal dv: what changes velocities by dv, closures included.
    void momentum(const double* dv, double* force) {
        const Model& model = w_.model;
        velocities(model, w_.limbs, w_.S, dv, w_.A, &w_.flexible);
        for (index k = 0; k < model.count; ++k) w_.f[k] = w_.limbs[k].I * w_.A[k];
        w_.flexible.clear(model, w_.f), w_.flexible.add_inertia(model, w_.A, dv, false, w_.f);
        through_hinges(model, w_.limbs, w_.S, w_.f, force, &w_.flexible);
        for (index i = 0; i < model.nv; ++i) force[i] += model.armature[i] * dv[i];
    }

    // force <- N* p of the rows of contacts and of single dofs, (nv) each, without that of closures.
    void push(const double* p, double* contact, double* held) {
        for (index k = 0; k < w_.model.count; ++k) w_.f[k] = none<double>();
        w_.flexible.clear(w_.model, w_.f);
        for (const Touch& t : touches_) {
            Twist f = none<double>();
            for (index r = 0; r < t.rows; ++r) f += *p++ * t.along(r);
            if (t.b >= 0) w_.f[t.b] += pulled(t.at_b - w_.limbs[t.b].p, f);
            if (t.a >= 0) w_.f[t.a] -= pulled(t.at_a - w_.limbs[t.a].p, f);
        }
        through_hinges(w_.model, w_.limbs, w_.S, w_.f, contact, &w_.flexible);
        for (index i = 0; i < w_.model.nv; ++i) held[i] = 0.0;
        for (const DofRow& x : single_) held[x.dof] += x.sign * *p++;
    }

private:
    static loops::Plan of(const Model& model) {
        loops::Plan plan;
        plan.tree = &model;
        loops::use_spots(plan);
        return plan;
    }
    static Workspace hold(const loops::Plan& plan) {
        Workspace memory;
        memory.hold(LoopWork(plan, nullptr).bytes + 1);
        return memory;
    }
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // Terms of a dof that cancel to this part of their sum are rounding: that dof does not move the row.
    static constexpr double CANCELS = 1e-13;

    // Forces along the modes of the flexible body that a row comes to next, of as many rows as climb side by side.
    struct Along {
        std::vector<Pack<SOACRAFT_LANES>> force, size;
    };
    // Forces of rows on their way to the base, side by side, and what their moments and forces were computed from.
    template <class T>
    struct Climber {
        Spatial<T> f = none<T>();
        T w = T(0.0), v = T(0.0);
        Along* along = nullptr;
    };
    // Place of dof i of an element, its modes first, in the order of d.
    index place_of(const Element& e, index i) const { return e.flexible < 0 ? e.d + i : w_.place(e, i); }

    // The force of some rows of a contact on the element that carries its point.
    template <class T>
    Climber<T> begun(const Touch& t, index first, index element, const Vec3& point) const {
        Climber<T> to;
        if (element < 0) return to;
        const Vec3 arm = point - w_.limbs[element].p;
        const double reach = length_of(point) + length_of(w_.limbs[element].p);  // each of their roundings
        for (int i = 0; i < Lanes<T>::count && first + i < t.rows; ++i) {
            const Twist one = t.along(first + i), f = pulled(arm, one);
            const double v = length_of(one.v);
            set(to.f.w.x, i, f.w.x), set(to.f.w.y, i, f.w.y), set(to.f.w.z, i, f.w.z);
            set(to.f.v.x, i, f.v.x), set(to.f.v.y, i, f.v.y), set(to.f.v.z, i, f.v.z);
            set(to.w, i, length_of(one.w) + reach * v), set(to.v, i, v);
        }
        return to;
    }

    // Some rows of the contact that was added last, to the base.
    void climb(const Touch& t, index first) {
        typedef Pack<SOACRAFT_LANES> Rows;
        Climber<Rows> f = begun<Rows>(t, first, t.b, t.at_b), g = begun<Rows>(t, first, t.a, t.at_a);
        f.along = &ahead_, g.along = &beside_;
        clear(ahead_), clear(beside_);
        g.f = none<Rows>() - g.f;
        const complementarity::RowBlock& way = rows.blocks.back();
        index i = t.b, j = t.a;
        for (std::size_t s = way.first; s < way.last; ++s) {
            if (i == j) {  // both ways are one from here on
                f.f += g.f, f.w += g.w, f.v += g.v;
                for (std::size_t k = 0; k < ahead_.force.size(); ++k)
                    ahead_.force[k] += beside_.force[k], ahead_.size[k] += beside_.size[k];
                j = -1;
            }
            const bool of_b = i > j;
            step(way, first, rows.pieces[s], of_b ? f : g, nullptr);
            (of_b ? i : j) = w_.model.elements[rows.pieces[s].node].parent;
        }
    }

    // The row of a dof, to the base.
    void climb(const DofRow& x) {
        rows.begin(1);
        single_.push_back(x);
        const index first = element_of_[at(x.dof)];
        for (index k = first; k >= 0; k = w_.model.elements[k].parent) rows.add_piece(k);
        rows.end();
        Climber<double> f;
        f.along = &ahead_, clear(ahead_);
        const complementarity::RowBlock& way = rows.blocks.back();
        for (std::size_t s = way.first; s < way.last; ++s) step(way, 0, rows.pieces[s], f, s == way.first ? &x : nullptr);
    }

    static void set(double& to, int, double x) { to = x; }
    template <int W>
    static void set(Pack<W>& to, int i, double x) { to.x[i] = x; }
    template <class T>
    static Spatial<T> spread(const Twist& x) {
        return {{T(x.w.x), T(x.w.y), T(x.w.z)}, {T(x.v.x), T(x.v.y), T(x.v.z)}};
    }

    // Forces of rows from `first` on past the hinge of a step, which takes its part; `own`: a unit force along one of its dofs.
    template <class T>
    void step(const complementarity::RowBlock& way, index first, const complementarity::Piece& step, Climber<T>& of, const DofRow* own) {
        const index k = step.node;
        const Element& e = w_.model.elements[k];
        if (e.flexible >= 0) return step_modes(way, first, step, of, own);
        const index n = dofs(e.kind);
        const Twist *S = w_.S + e.d, *W = w_.W + e.d;
        const double* L = w_.factor(e, k);
        const Sizes* size = size_.data() + e.d;
        T y[6];
        for (index i = 0; i < n; ++i) {
            y[i] = dot(spread<T>(S[i]), of.f);
            const T sum = T(size[i].S.w) * of.w + T(size[i].S.v) * of.v;
            y[i] = choose(is_at_most(absolute(y[i]), T(CANCELS) * sum), T(0.0), y[i]);
        }
        if (own) y[own->dof - e.v] += T(own->sign);
        if (n == 1) {
            y[0] *= T(L[0]);
        } else {
            for (index i = 0; i < n; ++i) {
                for (index c = 0; c < i; ++c) y[i] -= T(L[6 * i + c]) * y[c];
                y[i] *= T(L[6 * i + i]);
            }
        }
        for (int r = 0; r < Lanes<T>::count && first + r < way.rows; ++r) {
            double* to = rows.row(way, first + r) + step.at;
            for (index i = 0; i < n; ++i) to[i] = lane(y[i], r);
        }
        if (e.parent < 0) return;
        for (index i = 0; i < n; ++i) {
            of.f -= y[i] * spread<T>(W[i]);
            of.w += absolute(y[i]) * T(size[i].W.w), of.v += absolute(y[i]) * T(size[i].W.v);
        }
        leave(e, k, of);
    }

    template <class T>
    void carry(index limb, Climber<T>& of) const {
        const Vec3& l = w_.limbs[limb].l;
        of.f = pulled(Vec<T>{T(l.x), T(l.y), T(l.z)}, of.f);
        of.w += T(arm_[at(limb)]) * of.v;
    }
    // From an element to its parent: through a node that deforms to the body, whose modes have what the node gives them.
    template <class T>
    void leave(const Element& e, index k, Climber<T>& of) {
        carry(k, of);
        if (e.spot < 0) return;
        carry(w_.model.count + e.spot, of);
        const Spotted<double>& s = w_.flexible.spots[e.spot];
        for (index j = 0, n = w_.model.flexible[w_.model.spots[e.spot].flexible].n; j < n; ++j) {
            const Twist Pi = FlexibleLimbs<double>::column(s.Pi, s.step, j);
            put(of.along->force[at(j)], dot(spread<T>(Pi), of.f));
            put(of.along->size[at(j)], T(length_of(Pi.w)) * of.w + T(length_of(Pi.v)) * of.v);
        }
    }
    static void clear(Along& x) {
        std::fill(x.force.begin(), x.force.end(), Pack<SOACRAFT_LANES>(0.0));
        std::fill(x.size.begin(), x.size.end(), Pack<SOACRAFT_LANES>(0.0));
    }
    static void put(Pack<SOACRAFT_LANES>& to, const Pack<SOACRAFT_LANES>& x) { to = x; }
    static void put(Pack<SOACRAFT_LANES>& to, double x) { to = Pack<SOACRAFT_LANES>(x); }
    static void get(const Pack<SOACRAFT_LANES>& from, Pack<SOACRAFT_LANES>& x) { x = from; }
    static void get(const Pack<SOACRAFT_LANES>& from, double& x) { x = lane(from, 0); }

    // The step of a flexible body: past its modes and its hinge together.
    template <class T>
    void step_modes(const complementarity::RowBlock& way, index first, const complementarity::Piece& step, Climber<T>& of, const DofRow* own) {
        const Element& e = w_.model.elements[step.node];
        const FlexibleLimb<double>& limb = w_.flexible.bodies[e.flexible];
        const index n = limb.width, modes = w_.model.flexible[e.flexible].n;
        const double* L = limb.L;
        std::vector<Pack<SOACRAFT_LANES>>& done = of.along->force;  // L^-1 of the rows, one dof after the other
        for (index i = 0; i < n; ++i) {
            const index d = w_.place(e, i);
            T y(0.0), sum(0.0);
            if (i < modes) get(of.along->force[at(i)], y), get(of.along->size[at(i)], sum);
            y += dot(spread<T>(w_.S[d]), of.f);
            sum += T(size_[at(d)].S.w) * of.w + T(size_[at(d)].S.v) * of.v;
            y = choose(is_at_most(absolute(y), T(CANCELS) * sum), T(0.0), y);
            if (own && w_.dof(e, i) == own->dof) y += T(own->sign);
            for (index c = 0; c < i; ++c) {
                T before;
                get(done[at(c)], before);
                y -= T(L[n * i + c]) * before;
            }
            put(done[at(i)], y * T(L[n * i + i]));
        }
        for (int r = 0; r < Lanes<T>::count && first + r < way.rows; ++r) {
            double* to = rows.row(way, first + r) + step.at;
            for (index i = 0; i < n; ++i) to[i] = lane(done[at(i)], r);
        }
        for (index i = 0; i < n && e.parent >= 0; ++i) {
            const index d = w_.place(e, i);
            T y;
            get(done[at(i)], y);
            of.f -= y * spread<T>(w_.W[d]);
            of.w += absolute(y) * T(size_[at(d)].W.w), of.v += absolute(y) * T(size_[at(d)].W.v);
        }
        clear(*of.along);
        if (e.parent >= 0) leave(e, step.node, of);
    }

    loops::Plan tree_;         // without closures
    const loops::Plan& plan_;  // that, or the one of a closed chain
    const std::vector<double>* theta_;
    Workspace memory_;
    LoopWork w_;
    ClosureSpace closures_;
    std::vector<index> element_of_;
    std::vector<Touch> touches_;
    std::vector<DofRow> single_;
    struct Sizes {
        Extent S, W;
    };
    std::vector<Sizes> size_;             // of the dofs: lengths of their S and W
    Along ahead_, beside_;
    std::vector<double> sorted_;  // of what rows push, by element, where there are flexible bodies
    std::vector<double> arm_, placed_, q_;  // of the elements: the length of l; the state they are at, and its coordinates
};

SOACRAFT_RIGID_END
