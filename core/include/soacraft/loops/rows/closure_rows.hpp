// The rows of closures and couplings at one state (formula F2), in inertially oriented axes at frame b.
//
//     xi = V_b - V_a at b;   Q xi = 0;   Q (alpha_b - alpha_a + crm(xi) V_a - Hdot_c* thetadot_c) = 0
#pragma once

#include "followed_lanes.hpp"
#include "rolling_hinge.hpp"

SOACRAFT_RIGID_BEGIN

// One closure at one state.
template <class T>
struct TieOf {
    Vec<T> at;       // where b is
    Mat<T> R_a, R_b;
    Vec<T> r_a, r_b;  // from the elements that carry a and b (or from the ground) to b
    Spatial<T> Q[6];  // rows, in inertial axes at b
    T local[36];      // the same in the axes of b
    T gamma[6];       // what Q xidot has besides Q (alpha_b - alpha_a)
    T speed[6];       // Q xi
    T gap[6];         // log(T_hinge^-1 T_ab)
};
typedef TieOf<double> Tie;

// One coupling at one state: p'(q) of each term follows in `rates`.
template <class T>
struct RatioOf {
    T gamma, residual, speed;
    index rates;
};
typedef RatioOf<double> Ratio;

// The pose of the hinge nearest to T_ab, and its coordinates where `wanted`; false where Python should look for them.
template <class S>
inline Where<S> fit(const Plan& plan, const Closure& c, const Place<S>& T_ab, bool wanted, S* theta, HingeAtOf<S>& hinge) {
    const Place<S> out = place_at<S>(c.R, c.p);
    const S o(0.0), one(1.0);
    switch (c.fit) {
        case loops::WELD: hinge.T = out; return everywhere<S>();
        case loops::BALL:
            hinge.T = {T_ab.R, {o, o, o}};
            if constexpr (!Several<S>::value) {
                if (!wanted) return true;
                double q[4];
                quaternion_of(T_ab.R, q);
                double* old = theta + c.theta;
                const bool other = q[0] * old[0] + q[1] * old[1] + q[2] * old[2] + q[3] * old[3] < 0.0;
                for (int i = 0; i < 4; ++i) old[i] = other ? -q[i] : q[i];
            }
            return everywhere<S>();
        case loops::TURN: {
            const Element& e = hinge_of(plan, c)[0];
            const Place<S> in = place_at<S>(e.R, e.p);
            const Mat<S> R = transpose(in.R) * (T_ab.R * transpose(out.R));
            const S x = R.a.x + R.b.y, y = R.a.y - R.b.x, n = square_root(x * x + y * y);
            const Where<S> fine = is_above(n, S(plan.tolerances.turned_over));  // or else turned over: no nearest angle
            if (!any(fine)) return fine;
            const S cosine = x / n, sine = y / n;
            const Place<S> turn{{{cosine, sine, o}, {-sine, cosine, o}, {o, o, one}}, {o, o, o}};
            hinge.T = in * turn * out;
            if constexpr (!Several<S>::value) {
                if (!wanted) return true;
                constexpr double round = 6.283185307179586476925;
                const double angle = std::atan2(y, x), old = e.scale * theta[e.q];
                theta[e.q] = (angle + round * std::round((old - angle) / round)) * e.unscale;
            }
            return fine;
        }
        case loops::SLIDE: {
            const Element& e = hinge_of(plan, c)[0];
            const Place<S> in = place_at<S>(e.R, e.p);
            const Vec<S> p = (inverse(in) * (T_ab * inverse(out))).p;
            hinge.T = Place<S>{in.R, in.p + p.z * in.R.c} * out;
            if (wanted) theta[e.q] = p.z * S(e.unscale);
            return everywhere<S>();
        }
        case loops::CHAIN: return follow(plan, c, T_ab, theta, hinge);
        default:
            if constexpr (Several<S>::value)
                return nowhere<S>();  // one by one
            else
                return c.fit == loops::KNIFE ? place_knife(c, T_ab, wanted, theta) : roll(c, T_ab, wanted, theta, hinge);
    }
}

// The frame on an element (or the ground): where it is, its axes, the velocity there.
template <class T>
struct SpotOf {
    Place<T> X;
    const LimbOf<T>* limb;
};
template <class T>
inline SpotOf<T> spot(const Body& frame, const LimbOf<T>* limbs) {
    const Place<T> X = place_at<T>(frame.R, frame.p);
    if (frame.element < 0) return {X, nullptr};
    const LimbOf<T>& limb = limbs[frame.element];
    return {Place<T>{limb.R, limb.p} * X, &limb};
}

template <class T>
SOACRAFT_FLAT Spatial<T> to_axes(const Mat<T>& R, const T* x) { return {R * three<T>(x, 0), R * three<T>(x, 3)}; }

// The rows of a closure; false where Python should look at it. `theta` holds the coordinates it had before.
template <class T>
inline Where<T> tie(const Plan& plan, const Closure& c, const LimbOf<T>* limbs, bool wanted, T* theta, TieOf<T>& t) {
    const SpotOf<T> a = spot(c.a, limbs), b = spot(c.b, limbs);
    const Place<T> T_ab{transpose(a.X.R) * b.X.R, turn_back(a.X.R, b.X.p - a.X.p)};
    HingeAtOf<T> hinge;
    Where<T> fine = fit(plan, c, T_ab, wanted, theta, hinge);
    if (!any(fine)) return fine;
    const Spatial<T> still = none<T>();
    const Spatial<T> gap = c.fit == loops::BALL    ? Spatial<T>{still.w, turn_back(T_ab.R, T_ab.p)}
                           : c.fit == loops::KNIFE ? still
                           : c.rolls()             ? Spatial<T>{still.w, hinge.off}
                                                   : log_of(inverse(hinge.T) * T_ab);
    const T open[] = {gap.w.x, gap.w.y, gap.w.z, gap.v.x, gap.v.y, gap.v.z};
    for (int i = 0; i < 6; ++i) t.gap[i] = open[i];
    t.at = b.X.p, t.R_a = a.X.R, t.R_b = b.X.R;
    t.r_a = a.limb ? t.at - a.limb->p : t.at, t.r_b = b.limb ? t.at - b.limb->p : t.at;
    if (c.fixed)
        for (index i = 0; i < 6 * c.rows; ++i) t.local[i] = T(c.Q[i]);
    else
        forbidden(plan.tolerances, hinge, t.local);
    const Spatial<T> V_a = a.limb ? carried(t.r_a, a.limb->V) : still, V_b = b.limb ? carried(t.r_b, b.limb->V) : still;
    const Spatial<T> xi = V_b - V_a;
    Spatial<T> extra = motion_cross(xi, V_a);
    if (!c.fixed) {
        Spatial<T> bias;
        const Spatial<T> seen{turn_back(t.R_b, xi.w), turn_back(t.R_b, xi.v)};
        if constexpr (Several<T>::value)
            fine &= hinge_bias(plan.tolerances, hinge, seen, c.length, bias);
        else if (c.rolls())
            fine &= rolling_bias(plan.tolerances, hinge, seen, c.length, bias);
        else
            fine &= hinge_bias(plan.tolerances, hinge, seen, c.length, bias);
        if (!any(fine)) return fine;
        extra -= Spatial<T>{t.R_b * bias.w, t.R_b * bias.v};
    }
    for (index r = 0; r < c.rows; ++r) {
        t.Q[r] = to_axes(t.R_b, t.local + 6 * r);
        t.gamma[r] = dot(t.Q[r], extra);
        t.speed[r] = dot(t.Q[r], xi);
    }
    return fine;
}

// The row of a coupling; rates of its terms go to `rates`.
template <class T>
inline RatioOf<T> ratio(const Coupling& c, const T* q, const T* v, T* rates, index at) {
    RatioOf<T> found{T(0.0), T(-c.offset), T(0.0), at};
    for (const Term& term : c.terms) {
        const T x = q[term.q], speed = v[term.v];
        T p(0.0), first(0.0), second(0.0);  // by Horner's rule
        for (std::size_t i = term.c.size(); i-- > 1;) {
            const double n = static_cast<double>(i + 1);
            second = second * x + T(n * (n - 1.0) * term.c[i]);
        }
        for (std::size_t i = term.c.size(); i-- > 0;) {
            p = (p + T(term.c[i])) * x;
            first = first * x + T(static_cast<double>(i + 1) * term.c[i]);
        }
        rates[at++] = first;
        found.gamma += second * speed * speed;
        found.residual += p;
        found.speed += first * speed;
    }
    return found;
}

// Q (A_b - A_a) of accelerations or velocities of the elements, for one row.
template <class T>
SOACRAFT_FLAT T along(const TieOf<T>& t, index r, const Spatial<T>& A_a, const Spatial<T>& A_b) {
    return dot(t.Q[r], carried(t.r_b, A_b) - carried(t.r_a, A_a));
}

SOACRAFT_RIGID_END
