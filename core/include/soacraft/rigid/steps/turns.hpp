// Sines and cosines of what hinges turn, asked for one after the other by a sweep base to tips: for one state they are
// computed as many at a time as a register holds, for several states as they come.
#pragma once

#include "../model/model.hpp"

SOACRAFT_RIGID_BEGIN

// `order(i)` is the i-th element asked for, of `count`.
template <class T, class In, class Order>
class Turns {
public:
    SOACRAFT_FLAT Turns(const Model& model, const In& q, index count, Order order)
        : model_(model), q_(q), count_(count), order_(order) {}

    // Of the i-th element; i goes up from 0 by ones.
    SOACRAFT_FLAT Turn<T> operator()(index i) {
        if constexpr (WIDTH == 1) {
            return turn_of<T>(model_.elements[order_(i)], q_);
        } else {
            const index lane = i % WIDTH;
            if (lane == 0) fill(i);
            return {T(cosine_[lane]), T(sine_[lane])};
        }
    }

private:
#if defined(__CUDACC__)
    static constexpr int WIDTH = 1;
    SOACRAFT_FLAT void fill(index) {}
#else
    static constexpr int WIDTH = Lanes<T>::count == 1 ? SOACRAFT_LANES : 1;
    SOACRAFT_FLAT void fill(index first) {
        Pack<WIDTH> angle, s, c;
        for (index i = 0; i < WIDTH; ++i) {
            const Element& e = model_.elements[order_(first + i < count_ ? first + i : first)];
            angle.x[i] = e.kind == REVOLUTE || e.kind == HELICAL ? e.scale * q_[e.q] : 0.0;
        }
        sine_cosine(angle, s, c);
        std::memcpy(sine_, &s, sizeof s), std::memcpy(cosine_, &c, sizeof c);
    }
#endif
    const Model& model_;
    const In& q_;
    index count_;
    Order order_;
    double sine_[WIDTH], cosine_[WIDTH];
};

struct InOrder {
    SOACRAFT_FLAT index operator()(index k) const { return k; }
};
// Elements 0 to count - 1.
template <class T, class In>
SOACRAFT_FLAT Turns<T, In, InOrder> turns_of(const Model& model, const In& q, index count) {
    return {model, q, count, InOrder{}};
}

SOACRAFT_RIGID_END
