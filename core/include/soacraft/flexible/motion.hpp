// Where elements, flexible bodies and their nodes are and how they move, base to tips; the sums over bodies that follow, and
// Jacobians. O(n) bodies.
//
// Tracks are those of rigid/tracks.hpp, by element for its body frame, then by spot for the frame of the node.
#pragma once

#include "../rigid/drivers/motion.hpp"
#include "rnea.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct FlexTracks {
    Track<T>* at;
    FlexStates<T> states;
    template <class Taker>
    FlexTracks(const Job& job, Taker& arena)
        : at(arena.template take<Track<T>>(job.model->count + job.model->spot_count)), states(job, arena, false) {}
};

// Frame N of a node, in the axes of the body and at its origin, from the track of the body.
template <int ORDER, class T>
SOACRAFT_FLAT Track<T> node_of(const Track<T>& body, const Spotted<T>& spot, const Flexible& f, const T* etadd) {
    Track<T> N = body;
    if (ORDER >= VELOCITIES) N.V += spot.s;
    if (ORDER >= ACCELERATIONS) N.motion = of_node(body.motion, spot.s, spot.rate + along_modes(spot, f.n, etadd));
    return N;
}
// A frame that is fixed at X on another.
template <int ORDER, class T>
SOACRAFT_FLAT Track<T> track_on(const Place<T>& X, const Track<T>& from) {
    Track<T> to;
    to.X = from.X * X;
    if (ORDER >= VELOCITIES) to.V = outward(X, from.V);
    if (ORDER >= ACCELERATIONS) to.motion = fixed_on(X, from.motion);
    return to;
}

// The tracks of body frames and of the spots in use; with `hinges` those of the elements' own frames go there.
template <int ORDER, class T, class In>
SOACRAFT_INLINE void follow_flexible(const Model& model, const Track<T>& ground, const In& q, const In& v, const In& vdot,
                                     const FlexTracks<T>& w, Place<T>* hinges = nullptr) {
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Place<T> X = place<T>(e, turns(k), q);
        const Track<T>& parent = e.parent < 0 ? ground : w.at[e.spot >= 0 ? model.count + e.spot : e.parent];
        Track<T>& me = w.at[k];
        me.X = parent.X * X;
        if (ORDER >= VELOCITIES) me.V = outward(X, parent.V) + across<T>(e, q, v);
        if (ORDER >= ACCELERATIONS) {
            me.motion = parent.motion;
            move_outward<T>(e, X, q, v, vdot, me.motion);
        }
        if (hinges) hinges[k] = me.X;
        if (e.flexible < 0) continue;
        const Flexible& f = model.flexible[e.flexible];
        FlexBody<T>& body = w.states.bodies[e.flexible];
        read_modes(q, f.q, f.n, body.eta);
        if (ORDER >= VELOCITIES) read_modes(v, f.v, f.n, body.etad);
        if (ORDER >= ACCELERATIONS) read_modes(vdot, f.v, f.n, body.etadd);
        for (index s = f.first_spot; s < f.last_spot; ++s)
            if (w.states.used[s] || s == f.held)
                spot_at<(ORDER >= VELOCITIES), T>(model, model.spots[s], body.eta, body.etad, w.states.spots[s]);
        if (f.held >= 0) {
            const Spotted<T>& spot = w.states.spots[f.held];
            body.held = held_at(f, spot);
            me = track_on<ORDER>(body.held, me);
            if (ORDER >= VELOCITIES) me.V += T(-1.0) * spot.s;
            if (ORDER >= ACCELERATIONS)
                me.motion = of_body(me.motion, spot.s, spot.rate + along_modes(spot, f.n, static_cast<const T*>(body.etadd)));
        }
        for (index s = f.first_spot; s < f.last_spot; ++s)
            if (w.states.used[s]) {
                const Spotted<T>& spot = w.states.spots[s];
                w.at[model.count + s] = track_on<ORDER>(spot.X, node_of<ORDER>(me, spot, f, static_cast<const T*>(body.etadd)));
            }
    }
}

// What every driver of motion does: tracks at the states at work go to `Method::set`.
template <class Method>
struct FlexibleMotion {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexTracks<T> work(job, arena);
        const Track<T> ground = ground_of<T>(base_of(job), place_of<T>(job));
        bool fine = true;
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            const Reader<T> q(job, Q, rows), v(job, V, rows), vdot(job, X, rows);
            follow_flexible<Method::order, T>(model, ground, q, v, vdot, work);
            fine &= Method::template set<T>(job, rows, ground, work.at);
        }
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        Room taken;
        FlexTracks<T>(job, taken);
        return taken.bytes;
    }
};

struct BodyPoses {
    static constexpr int order = PLACES;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> R(job, 0, rows), p(job, 1, rows);
        set_places(job.model->bodies, job.model->body_count, ground, at, R, p);
        return true;
    }
};

// -- sums over bodies ---------------------------------------------------------------------------------------------------

// Sums over bodies: those of rigid ones from their tracks, and M(eta) of flexible ones for the rest. `elastic`: the rows of
// the modes hold K eta.
template <class Method>
struct FlexibleSums {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexTracks<T> work(job, arena);
        const Track<T> ground = ground_of<T>(base_of(job), place_of<T>(job));
        bool fine = true;
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            const Reader<T> q(job, Q, rows), v(job, V, rows);
            follow_flexible<Method::order, T>(model, ground, q, v, v, work);
            for (index k = 0; k < model.flexible_count; ++k) {
                FlexBody<T>& body = work.states.bodies[k];
                const Flexible& f = model.flexible[k];
                if (Method::order < VELOCITIES)
                    for (index j = 0; j < Across<T>::end(f.n); ++j) body.etad[j] = T(0.0);
                flex<Method::elastic>(model, f, body.eta, body.etad, zeros<T>(), body.at);
            }
            fine &= Method::template set<T>(job, rows, ground, work, v);
        }
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) { return FlexibleMotion<BodyPoses>::template room<T>(job); }
};

// M_re etad
template <class T>
SOACRAFT_FLAT Spatial<T> modal_momentum(const Flexible& f, const FlexBody<T>& body) {
    Spotted<T> coupling;
    coupling.Pi = body.at.rows, coupling.step = body.at.step;
    return along_modes(coupling, f.n, static_cast<const T*>(body.etad));
}
template <class T>
SOACRAFT_FLAT Vec<T> flexible_first_moment(const Job& job, const Track<T>& ground, const FlexTracks<T>& w, T& mass) {
    const Model& model = *job.model;
    Vec<T> sum = first_moment(model, ground, static_cast<const Track<T>*>(w.at), mass);
    for (index k = 0; k < model.flexible_count; ++k) {
        const Place<T>& X = w.at[model.flexible[k].element].X;
        const Rigid<T>& I = w.states.bodies[k].at.I;
        sum += X.R * I.h + I.m * X.p;
        mass += I.m;
    }
    return sum;
}

struct FlexibleCenterOfMass {
    static constexpr int order = PLACES;
    static constexpr bool elastic = false;
    template <class T, class In>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const FlexTracks<T>& w, const In&) {
        T mass;
        const Vec<T> moment = flexible_first_moment(job, ground, w, mass);
        Writer<T> to(job, 0, rows);
        set_three(to, 0, (T(1.0) / mass) * moment);
        return !any_not_above(mass, T(0.0));
    }
};

// -sum m g . c + eta* K eta / 2
struct FlexiblePotential {
    static constexpr int order = PLACES;
    static constexpr bool elastic = true;
    template <class T, class In>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const FlexTracks<T>& w, const In&) {
        T mass;
        T sum = dot(ground.X.R * vec<T>(job.base + 9), flexible_first_moment(job, ground, w, mass));
        for (index k = 0; k < job.model->flexible_count; ++k) {
            const FlexBody<T>& body = w.states.bodies[k];
            for (index j = 0; j < job.model->flexible[k].n; ++j) sum += T(0.5) * body.eta[j] * body.at.rows[6 * body.at.step + j];
        }
        Writer<T>(job, 0, rows).set(0, sum);
        return true;
    }
};

struct FlexibleMomentum {
    static constexpr int order = VELOCITIES;
    static constexpr bool elastic = false;
    template <class T, class In>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const FlexTracks<T>& w, const In&) {
        const Model& model = *job.model;
        Spatial<T> sum = momentum(model, ground, static_cast<const Track<T>*>(w.at));
        for (index k = 0; k < model.flexible_count; ++k) {
            const Track<T>& at = w.at[model.flexible[k].element];
            const FlexBody<T>& body = w.states.bodies[k];
            sum += inward(at.X, body.at.I * at.V + modal_momentum(model.flexible[k], body));
        }
        Writer<T> to(job, 0, rows);
        set_six(to, 0, sum);
        return true;
    }
};

struct FlexibleKinetic {
    static constexpr int order = VELOCITIES;
    static constexpr bool elastic = false;
    template <class T, class In>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const FlexTracks<T>& w, const In& v) {
        const Model& model = *job.model;
        T twice = dot(ground.V, fixed_inertia<T>(model) * ground.V);
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            if (!e.massless) twice += dot(w.at[k].V, inertia<T>(e) * w.at[k].V);
        }
        for (index k = 0; k < model.flexible_count; ++k) {
            const Flexible& f = model.flexible[k];
            const Track<T>& at = w.at[f.element];
            const FlexBody<T>& body = w.states.bodies[k];
            twice += dot(at.V, body.at.I * at.V + T(2.0) * modal_momentum(f, body));
            for (index i = 0; i < f.n; ++i) {
                T sum(0.0);
                for (index j = 0; j < f.n; ++j) sum += T(model.modal[f.mass + i * f.blocks() + j / 8].x[j % 8]) * body.etad[j];
                twice += body.etad[i] * sum;
            }
        }
        for (index i = 0; i < model.nv && model.has_armature; ++i) twice += T(model.armature[i]) * v[i] * v[i];
        Writer<T>(job, 0, rows).set(0, T(0.5) * twice);
        return true;
    }
};

// -- Jacobians ----------------------------------------------------------------------------------------------------------

// J = B* phi* H* of nodes: hinges as of rigid trees; the modes of a body on the way by Pi of the node that the way goes through,
// less Pi of the one that its hinge holds.
struct FlexibleJacobian {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexTracks<T> work(job, arena);
        Place<T>* hinges = arena.take<Place<T>>(model.count);
        Track<T> ground;
        ground.X = {place_of<T>(job).R, zeros<T>()};
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            const Reader<T> q(job, Q, rows);
            follow_flexible<PLACES, T>(model, ground, q, q, q, work, hinges);
            Writer<T>(job, 0, rows).clear(6 * model.nv * job.frame_count);
            for (index k = 0; k < job.frame_count; ++k) {
                Part_of<Writer<T>> J{Writer<T>(job, 0, rows), 6 * model.nv * k};
                columns(model, q, job.frames[k], work, hinges, J);
            }
        }
        return true;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        return FlexibleMotion<BodyPoses>::template room<T>(job) + rigid::SOACRAFT_TARGET::room<Place<T>>(job.model->count);
    }

private:
    template <class T, class In, class Out>
    static SOACRAFT_INLINE void columns(const Model& model, const In& q, const Body& frame, const FlexTracks<T>& work,
                                        const Place<T>* hinges, Out& J) {
        if (frame.element < 0) return;
        const Vec<T> tip = (work.at[frame.element].X * place_at<T>(frame.R, frame.p)).p;
        index spot = frame.element >= model.count ? frame.element - model.count : -1;
        index k = spot < 0 ? frame.element : model.flexible[model.spots[spot].flexible].element;
        for (; k >= 0; spot = model.elements[k].spot, k = model.elements[k].parent) {
            const Element& e = model.elements[k];
            if (e.flexible >= 0) {
                const Flexible& f = model.flexible[e.flexible];
                const Place<T>& X = work.at[k].X;
                const Vec<T> arm = tip - X.p;
                for (index j = 0; j < f.n; ++j) {
                    Spatial<T> twist{zeros<T>(), zeros<T>()};
                    if (spot >= 0) twist += column_of(work.states.spots[spot], j);
                    if (f.held >= 0) twist += T(-1.0) * column_of(work.states.spots[f.held], j);
                    const Vec<T> w = X.R * twist.w;
                    set_column(J, model.nv, f.v + j, w, X.R * twist.v + cross(w, arm));
                }
            }
            set_hinge_columns(e, q, hinges[k], tip, model.nv, J);
        }
    }
    template <class T>
    static SOACRAFT_FLAT Spatial<T> column_of(const Spotted<T>& spot, index j) {
        const T* x = spot.Pi + j;
        const index n = spot.step;
        return {{x[0], x[n], x[2 * n]}, {x[3 * n], x[4 * n], x[5 * n]}};
    }
};

SOACRAFT_RIGID_END
