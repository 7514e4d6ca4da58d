// Flexible bodies and their nodes at a state, as the sweeps keep them; and what acts on them from outside.
#pragma once

#include "../rigid/drivers/access.hpp"
#include "inertia.hpp"
#include "spots.hpp"

SOACRAFT_RIGID_BEGIN

// eta, etad and etadd are filled up with zeros, as far as loops across modes run.
template <class T>
struct FlexBody {
    Flexed<T> at;
    T *eta, *etad, *etadd;
    Place<T> held;  // of the body frame in the element's
};

// What the longest loop across modes runs over.
template <class T>
SOACRAFT_INLINE index most_modes(const Model& m) {
    index most = 0;
    for (index i = 0; i < m.flexible_count; ++i) most = m.flexible[i].n > most ? m.flexible[i].n : most;
    return Across<T>::end(most);
}

// Sub-arrays of T, each as long as the loops across the modes of a body. `shared`: rows, eta and its rates are needed for one
// body at a time, and are in the same place for all.
template <class T>
struct FlexStates {
    FlexBody<T>* bodies;
    Spotted<T>* spots;
    unsigned char* used;  // by spot: whether a hinge, a force or a frame that is asked for is on it

    // Pointers are cut only where there is memory.
    template <class Taker>
    FlexStates(const Job& job, Taker& arena, bool shared) {
        const Model& m = *job.model;
        bodies = arena.template take<FlexBody<T>>(m.flexible_count);
        spots = arena.template take<Spotted<T>>(m.spot_count);
        used = arena.template take<unsigned char>(m.spot_count);
        for (index i = 0; i < m.spot_count && used; ++i) used[i] = m.spots[i].children != 0;
        for (index i = 0; i < job.wrench_count && used; ++i) {
            use(m, job.wrenches[i].at);
            if (job.wrenches[i].turned) use(m, job.wrenches[i].axes);
        }
        for (index i = 0; i < job.frame_count && used; ++i) use(m, job.frames[i]);
        T* const common = arena.template take<T>(shared ? 10 * most_modes<T>(m) : 0);
        for (index i = 0; i < m.flexible_count; ++i) {
            const Flexible& f = m.flexible[i];
            const index size = Across<T>::end(f.n);
            T* const own = arena.template take<T>(shared ? 0 : 10 * size);
            T* const rows = shared ? common : own;
            if (bodies) bodies[i].at.rows = rows, bodies[i].at.step = size, bodies[i].eta = rows + 7 * size,
                        bodies[i].etad = rows + 8 * size, bodies[i].etadd = rows + 9 * size;
            for (index s = f.first_spot; s < f.last_spot; ++s) {
                T* Pi = arena.template take<T>(NODE * size);
                if (spots) spots[s].Pi = Pi, spots[s].step = size;
            }
        }
    }

private:
    void use(const Model& m, const Body& frame) {
        if (frame.element >= m.count) used[frame.element - m.count] = 1;
    }
};

// Numbers of the modes of a body from a vector over coordinates or dofs.
template <class T, class In>
SOACRAFT_FLAT void read_modes(const In& x, index first, index n, T* to) {
    for (index j = 0; j < n; ++j) to[j] = x[first + j];
    for (index j = n; j < Across<T>::end(n); ++j) to[j] = T(0.0);
}

template <class T>
SOACRAFT_FLAT Place<T> inverse(const Place<T>& X) {
    const Mat<T> R = transpose(X.R);
    return {R, -(R * X.p)};
}

// The frame of a flexible body in that of its element, whose hinge holds a node that is at its spot.
template <class T>
SOACRAFT_FLAT Place<T> held_at(const Flexible& f, const Spotted<T>& spot) {
    return inverse(spot.X * place_at<T>(f.R, f.p));
}

// Where an element is in the body frame of its parent.
template <class T, class In>
SOACRAFT_FLAT Place<T> place_on(const Element& e, const Turn<T>& turn, const In& q, const Spotted<T>* spots) {
    const Place<T> X = place<T>(e, turn, q);
    return e.spot < 0 ? X : spots[e.spot].X * X;
}

// External forces: by element in the axes of its body frame, then by spot likewise, then along modes.
template <class T>
struct FlexPulls {
    Spatial<T>* on = nullptr;
    T* modes = nullptr;
    Place<T>* at = nullptr;  // the body frames of elements relative to the base, where a wrench needs their axes

    template <class Taker>
    FlexPulls(const Job& job, Taker& arena) {
        const Model& m = *job.model;
        if (job.in[PULL] || job.wrench_count) on = arena.template take<Spatial<T>>(m.count + m.spot_count);
        if (job.in[PULL]) modes = arena.template take<T>(m.modes);
        if (job.turned) at = arena.template take<Place<T>>(m.count);
    }
    // X(k): the frame of an element in the body frame of its parent.
    template <class Where>
    SOACRAFT_INLINE void add(const Job& job, const Rows<T>& rows, const FlexStates<T>& states, const Where& X) const {
        if (!on) return;
        const Model& m = *job.model;
        for (index k = 0; k < m.count + m.spot_count; ++k) on[k] = {zeros<T>(), zeros<T>()};
        if (job.in[PULL]) add_rows(job, rows);
        for (index k = 0; k < m.count && at; ++k) {
            const Element& e = m.elements[k];
            at[k] = e.parent < 0 ? X(k) : at[e.parent] * X(k);
            if (e.flexible >= 0 && m.flexible[e.flexible].held >= 0) at[k] = at[k] * states.bodies[e.flexible].held;
        }
        for (index i = 0; i < job.wrench_count; ++i) {
            const Wrench& w = job.wrenches[i];
            if (w.at.element < 0) continue;  // welded to the base
            Place<T> where = on_body(m, states, w.at);
            if (w.turned) {
                const Mat<T> own = at[carrier(m, w.at)].R;
                where.R = transpose(own) * axes_of(m, states, w.axes);
            }
            on[w.at.element] += inward(where, wrench_of(w, rows));
        }
    }

private:
    static SOACRAFT_FLAT index carrier(const Model& m, const Body& frame) {
        return frame.element < m.count ? frame.element : m.flexible[m.spots[frame.element - m.count].flexible].element;
    }
    static SOACRAFT_FLAT Place<T> on_body(const Model& m, const FlexStates<T>& states, const Body& frame) {
        const Place<T> X = place_at<T>(frame.R, frame.p);
        return frame.element < m.count ? X : states.spots[frame.element - m.count].X * X;
    }
    // The axes of a frame relative to the base.
    SOACRAFT_FLAT Mat<T> axes_of(const Model& m, const FlexStates<T>& states, const Body& frame) const {
        if (frame.element < 0) return mat<T>(frame.R);
        return at[carrier(m, frame)].R * on_body(m, states, frame).R;
    }
    SOACRAFT_INLINE void add_rows(const Job& job, const Rows<T>& rows) const {
        const Model& m = *job.model;
        const Reader<T> f(job, PULL, rows);
        for (index b = 0; b < m.body_count; ++b) {
            const Body& body = m.bodies[b];
            if (body.element < 0) continue;
            on[body.element] += inward(place_at<T>(body.R, body.p), Spatial<T>{three<T>(f, 6 * b), three<T>(f, 6 * b + 3)});
        }
        for (index i = 0; i < m.modes; ++i) modes[i] = f[6 * m.body_count + i];
    }
};

SOACRAFT_RIGID_END
