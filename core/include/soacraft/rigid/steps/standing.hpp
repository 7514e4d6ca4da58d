// Where the elements of a tree stand and how they move, and the work that kernels with columns by dofs have in common.
#pragma once

#include "sheet.hpp"
#include "variation.hpp"

SOACRAFT_RIGID_BEGIN

// An element as it stands and moves: axes, what leads from the parent's origin to its own, the origin from that of the
// base element, the parent's velocity about it and its own.
template <class T>
struct Standing {
    Mat<T> R;
    Vec<T> l, r;
    Spatial<T> V_plus, V;
};

// The turns of all hinges, as many at a time as a C holds.
template <class C, class In>
SOACRAFT_INLINE void turn_hinges(const Model& model, const In& q, Turn<double>* SOACRAFT_RESTRICT to) {
    constexpr int w = columns_in<C, double>;
    double angle[w], sine[w], cosine[w];
    for (index k = 0; k < model.count; k += w) {
        const index count = k + w < model.count ? w : model.count - k;
        for (index i = 0; i < w; ++i) {
            const Element& e = model.elements[k + (i < count ? i : 0)];
            angle[i] = e.kind == REVOLUTE || e.kind == HELICAL ? e.scale * q[e.q] : 0.0;
        }
        C s, c;
        sine_cosine(load<C>(angle), s, c);
        store(sine, s), store(cosine, c);
        for (index i = 0; i < count; ++i) to[k + i] = {cosine[i], sine[i]};
    }
}

// Where an element stands and how fast what it hangs from moves, from its parent's Standing; `V0` for a base element.
template <class T, class In>
SOACRAFT_FLAT void stand_on(const Element& e, const Turn<T>& turn, const In& q, const Spatial<T>& V0,
                            const Standing<T>* w, Standing<T>& me) {
    const Place<T> X = place<T>(e, turn, q);
    if (e.parent < 0) {
        me.R = X.R, me.l = X.p, me.r = zeros<T>();
        me.V_plus = motion_at(me.l, V0);
    } else {
        const Standing<T>& p = w[e.parent];
        me.R = p.R * X.R, me.l = p.R * X.p, me.r = p.r + me.l;
        me.V_plus = motion_at(me.l, p.V);
    }
}

// The middle of the elements [first, last): the common point of a tree, wherever its base stands.
template <class T>
SOACRAFT_INLINE Vec<T> middle(const Standing<T>* w, index first, index last) {
    Vec<T> sum = zeros<T>();
    for (index k = first; k < last; ++k) sum += w[k].r;
    return T(1.0 / static_cast<double>(last - first)) * sum;
}

// The work on a tree of which a Sum of all that is outboard is taken at each element.
template <class Sum>
struct TreeWork {
    Standing<double>* at;
    Sum* branches;
    Turn<double>* turns;
    Numbering number;

    template <class Arena>
    SOACRAFT_INLINE void take(const Model& model, Arena& arena) {
        at = arena.template take<Standing<double>>(model.count);
        branches = arena.template take<Sum>(model.branches);
        turns = arena.template take<Turn<double>>(model.count);
        number = take_numbering(model, arena);
    }
    // A new state; C holds the hinges that are turned together.
    template <class C, class In>
    SOACRAFT_INLINE void begin(const Model& model, const In& q, const Sum& nothing) {
        number_dofs(model, number);
        turn_hinges<C>(model, q, turns);
        for (index i = 0; i < model.branches; ++i) branches[i] = nothing;
    }
    // What the children of element k passed inward; `carry` is what the element behind it did.
    SOACRAFT_FLAT Sum outboard(const Element& e, index k, const Sum& carry, const Sum& nothing) const {
        return e.branch >= 0 ? branches[e.branch] : e.last > k + 1 ? carry : nothing;
    }
    SOACRAFT_FLAT void pass_inward(const Model& model, const Element& e, const Vec<double>& l, const Sum& sum,
                                   Sum& carry) const {
        if (e.parent < 0) return;
        const Element& p = model.elements[e.parent];
        if (p.branch >= 0)
            branches[p.branch] += shifted(l, sum);
        else
            carry = shifted(l, sum);
    }
};

SOACRAFT_RIGID_END
