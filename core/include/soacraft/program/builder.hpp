// Plans and programs as they grow: fields and their makers are added one by one, each once. What does not fit is refused
// with std::invalid_argument.
#pragma once

#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../reject.hpp"
#include "plan.hpp"

namespace soacraft {
namespace program {

using Indices = std::vector<index>;

// No space, field or list is longer: sums and products of their sizes do not overflow.
constexpr index MOST_NUMBERS = index(1) << 40;

struct Builder {
    Plan plan = {};
    Indices order, parent;
    std::deque<Indices> lists;  // whatever fields, makers and steps point to
    std::vector<Space> spaces;
    std::vector<Field> fields;
    std::vector<Maker> makers;
    std::vector<index> maker_of;  // by field
    std::vector<const Spot*> spots;
    std::deque<std::vector<Spot>> nodes;
    std::vector<RigidBody> bodies;
    std::vector<Screw> screws;
    std::map<Indices, index> known;  // what was asked for before
    unsigned long long parameters = 0;  // counts changes of the bodies
    unsigned long long version = 0;     // of the model's parameters, as the caller counts them
    index most = MOST_NUMBERS;          // of all fields together, and of a list

    Builder(Indices order_, Indices parent_, Indices body, Indices hinge, index most_ = MOST_NUMBERS)
        : order(std::move(order_)), parent(std::move(parent_)), most(most_) {
        const index n = static_cast<index>(order.size());
        std::vector<unsigned char> seen(order.size());
        if (parent.size() != order.size()) reject("a node has one parent");
        reject_fault(check_tree(order.data(), parent.data(), n, seen.data()));
        for (const Indices* offset : {&body, &hinge})
            if (static_cast<index>(offset->size()) != n + 1) reject("a space of the nodes has a slice for each");
        plan.forest = {n, order.data(), parent.data()};
        add_space(std::move(body));
        add_space(std::move(hinge));
        refresh();
    }
    Builder(const Builder&) = delete;

    index count() const { return plan.forest.count; }
    const index* keep(Indices list) {
        lists.push_back(std::move(list));
        return lists.back().data();
    }
    index add_space(Indices offset) {
        const index n = static_cast<index>(offset.size()) - 1;
        if (n < 0) reject("a space has one offset more than slices");
        reject_fault(check_slices("offset", offset.data(), n, offset.back()));
        if (offset.back() > most) reject("a space of %lld numbers is too large", static_cast<long long>(offset.back()));
        spaces.push_back({n, keep(std::move(offset))});
        refresh();
        return static_cast<index>(spaces.size()) - 1;
    }
    index size(index space, index k) const {
        return spaces[static_cast<std::size_t>(space)].offset[k + 1] - spaces[static_cast<std::size_t>(space)].offset[k];
    }
    const Field& field(index f) const { return fields[static_cast<std::size_t>(f)]; }
    void require_field(index f) const {
        if (f < 0 || f >= static_cast<index>(fields.size())) reject("there is no field %lld", static_cast<long long>(f));
    }
    void require_space(index s) const {
        if (s < 0 || s >= static_cast<index>(spaces.size())) reject("there is no space %lld", static_cast<long long>(s));
    }

    // A field with these blocks, which nothing makes yet.
    index add_field(index rows, index cols, Indices row, Indices col) {
        const index n = static_cast<index>(row.size());
        Indices start(row.size() + 1, 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const index height = size(rows, row[i]), width = size(cols, col[i]), left = most - plan.arena - start[i];
            if (height > 0 && width > left / height) reject("the fields of a plan have more than %lld numbers", static_cast<long long>(most));
            start[i + 1] = start[i] + height * width;
        }
        const index room = start.back();
        fields.push_back({rows, cols, n, keep(std::move(row)), keep(std::move(col)), keep(std::move(start)), plan.arena});
        maker_of.push_back(-1);
        plan.arena += (room + 3) / 4 * 4;
        refresh();
        return static_cast<index>(fields.size()) - 1;
    }
    index diagonal(index rows, index cols) {
        Indices k(static_cast<std::size_t>(count()));
        for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<index>(i);
        return add_field(rows, cols, k, k);
    }
    index edges(index rows, index cols) {
        Indices p, k;
        for (index i = 0; i < count(); ++i)
            if (parent[static_cast<std::size_t>(i)] >= 0) p.push_back(parent[static_cast<std::size_t>(i)]), k.push_back(i);
        return add_field(rows, cols, p, k);
    }
    index add_maker(Maker maker, index work = 0) {
        const index number = static_cast<index>(makers.size());
        for (index f : maker.out)
            if (f >= 0) maker_of[static_cast<std::size_t>(f)] = number;
        makers.push_back(maker);
        spots.push_back(nullptr);
        if (work > plan.work) plan.work = work;
        refresh();
        return number;
    }
    void refresh() {
        plan.spaces = spaces.data(), plan.fields = fields.data(), plan.makers = makers.data();
        plan.makers_count = static_cast<index>(makers.size());
        plan.spots = spots.data();
        plan.rigid.bodies = bodies.data(), plan.rigid.screws = screws.data();
    }

    // -- fields ------------------------------------------------------------------------------------------------------

    // `constant`: the same at every state.
    index given(index field, bool constant) {
        add_maker({GIVEN, constant, {-1, -1, -1}, {field, -1, -1, -1}, {0, 0}, nullptr, 0});
        return field;
    }

    index product(index X, bool left, index Y, bool right) {
        require_field(X), require_field(Y);
        const Field x = field(X), y = field(Y);
        const index inner_x = left ? x.rows : x.cols, inner_y = right ? y.cols : y.rows;
        const index rows = left ? x.cols : x.rows, cols = right ? y.rows : y.cols;
        require_same(inner_x, inner_y);
        const Indices asked{PRODUCT, X, left, Y, right};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        std::unordered_map<index, Indices> by_row;
        for (index i = 0; i < y.count; ++i) by_row[right ? y.col[i] : y.row[i]].push_back(i);
        const index width = spaces[static_cast<std::size_t>(cols)].count;
        std::unordered_map<index, index> places;
        Indices row, col, list;
        for (index i = 0; i < x.count; ++i) {
            const index r = left ? x.col[i] : x.row[i], k = left ? x.row[i] : x.col[i];
            const auto meets = by_row.find(k);
            if (meets == by_row.end()) continue;
            if (list.size() > static_cast<std::size_t>(most)) reject("a product of fields has more than %lld terms", static_cast<long long>(most));
            for (index j : meets->second) {
                const index c = right ? y.row[j] : y.col[j];
                const auto [at, fresh] = places.emplace(r * width + c, static_cast<index>(row.size()));
                if (fresh) row.push_back(r), col.push_back(c);
                list.insert(list.end(), {i, j, at->second});
            }
        }
        const index Z = add_field(rows, cols, std::move(row), std::move(col));
        const index length = static_cast<index>(list.size());
        add_maker({PRODUCT, int(left) + 2 * int(right), {X, Y, -1}, {Z, -1, -1, -1}, {1, 1}, keep(std::move(list)), length});
        return known[asked] = Z;
    }

    // a X + b Y; Y may be -1. `part`: 0 all, 1 the diagonal blocks, 2 those off it.
    index sum(double a, index X, bool left, double b, index Y, bool right, int part) {
        require_field(X);
        if (Y >= 0) require_field(Y);
        Indices asked{SUM, X, left, Y, right, part, bits(a), bits(b)};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        const index rows = left ? field(X).cols : field(X).rows, cols = left ? field(X).rows : field(X).cols;
        const index width = spaces[static_cast<std::size_t>(cols)].count;
        std::unordered_map<index, index> places;
        Indices row, col, list;
        for (int side = 0; side < 2; ++side) {
            if (side && Y < 0) break;
            const Field f = field(side ? Y : X);
            const bool turned = side ? right : left;
            require_same(turned ? f.cols : f.rows, rows), require_same(turned ? f.rows : f.cols, cols);
            for (index i = 0; i < f.count; ++i) {
                const index r = turned ? f.col[i] : f.row[i], c = turned ? f.row[i] : f.col[i];
                if ((part == 1 && r != c) || (part == 2 && r == c)) {
                    list.push_back(-1);
                    continue;
                }
                const auto [at, fresh] = places.emplace(r * width + c, static_cast<index>(row.size()));
                if (fresh) row.push_back(r), col.push_back(c);
                list.push_back(at->second);
            }
        }
        const index Z = add_field(rows, cols, std::move(row), std::move(col));
        const index length = static_cast<index>(list.size());
        add_maker({SUM, int(left) + 2 * int(right), {X, Y, -1}, {Z, -1, -1, -1}, {a, b}, keep(std::move(list)), length});
        return known[asked] = Z;
    }

    // Of a field whose blocks are all on the diagonal, one for each slice.
    index inverse(index X) {
        require_field(X);
        const Field x = field(X);
        const Indices asked{INVERSE, X};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        require_same(x.rows, x.cols);
        const index n = spaces[static_cast<std::size_t>(x.rows)].count;
        index work = 0;
        Indices seen(static_cast<std::size_t>(n), 0);
        for (index i = 0; i < x.count; ++i) {
            if (x.row[i] != x.col[i]) reject("only a block-diagonal field has an inverse here");
            ++seen[static_cast<std::size_t>(x.row[i])];
            const index d = size(x.rows, x.row[i]);
            work = work < 2 * d * (d + 1) ? 2 * d * (d + 1) : work;
        }
        for (index k = 0; k < n; ++k)
            if (!seen[static_cast<std::size_t>(k)] && size(x.rows, k)) reject("a block of the diagonal is zero");
        const index Z = add_field(x.rows, x.cols, {x.row, x.row + x.count}, {x.col, x.col + x.count});
        add_maker({INVERSE, 0, {X, -1, -1}, {Z, -1, -1, -1}, {1, 1}, nullptr, 0}, work);
        return known[asked] = Z;
    }

    // For each node the block of a field above it, or -1; refused when another block is not zero.
    Indices above(index E) const {
        const Field& e = field(E);
        Indices at(static_cast<std::size_t>(count()), -1);
        for (index i = 0; i < e.count; ++i) {
            const index k = e.col[i];
            if (k >= count() || parent[static_cast<std::size_t>(k)] != e.row[i]) reject("a block is on no edge of the tree");
            at[static_cast<std::size_t>(k)] = i;
        }
        return at;
    }
    // For each node the block of a field of the nodes on the diagonal, or -1; refused when another block is not zero.
    Indices on_diagonal(index X) const {
        const Field& x = field(X);
        Indices at(static_cast<std::size_t>(count()), -1);
        for (index i = 0; i < x.count; ++i) {
            if (x.row[i] != x.col[i]) reject("a block is not on the diagonal");
            at[static_cast<std::size_t>(x.row[i])] = i;
        }
        return at;
    }

    index lyapunov(index A, index X, index B, bool backward) {
        require_field(A), require_field(X), require_field(B);
        const Indices asked{backward ? BACKWARD : FORWARD, A, X, B};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        for (index f : {A, B}) require_same(field(f).rows, field(f).cols), require_on_nodes(field(f).rows);
        require_same(field(A).rows, field(X).rows), require_same(field(B).rows, field(X).cols);
        const Indices a = above(A), b = above(B), own = on_diagonal(X);
        std::vector<char> reached(own.size(), 0);  // only these have a block: others are zero whatever the numbers
        for (std::size_t k = 0; k < own.size(); ++k) reached[k] = own[k] >= 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto k = static_cast<std::size_t>(order[backward ? i : order.size() - 1 - i]);
            if (parent[k] < 0 || a[k] < 0 || b[k] < 0) continue;
            const auto p = static_cast<std::size_t>(parent[k]);
            if (reached[backward ? p : k]) reached[backward ? k : p] = 1;
        }
        Indices list = a, result(own.size(), -1), place;
        index work = 0;
        for (index k = 0; k < count(); ++k) {
            work = work < size(field(X).cols, k) ? size(field(X).cols, k) : work;
            if (!reached[static_cast<std::size_t>(k)]) continue;
            result[static_cast<std::size_t>(k)] = static_cast<index>(place.size());
            place.push_back(k);
        }
        for (const Indices* more : {&b, &own, static_cast<const Indices*>(&result)}) list.insert(list.end(), more->begin(), more->end());
        const index Y = add_field(field(X).rows, field(X).cols, place, place);
        const index length = static_cast<index>(list.size());
        add_maker({backward ? BACKWARD : FORWARD, 0, {A, X, B}, {Y, -1, -1, -1}, {1, 1}, keep(std::move(list)), length}, work);
        return known[asked] = Y;
    }

    // P, D and G, one after the other.
    index riccati(index A, index H, index M) {
        require_field(A), require_field(H), require_field(M);
        const Indices asked{RICCATI, A, H, M};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        const index body = field(H).cols, hinge = field(H).rows;
        require_on_nodes(body), require_on_nodes(hinge);
        for (index f : {A, M}) require_same(field(f).rows, body), require_same(field(f).cols, body);
        Indices list = above(A);
        const Indices own = on_diagonal(M), maps = on_diagonal(H);
        list.insert(list.end(), own.begin(), own.end());
        index work = 0;
        for (index k = 0; k < count(); ++k) {
            if (maps[static_cast<std::size_t>(k)] != k || field(H).count != count()) reject("H has a block for each node");
            const index n = size(body, k), dofs = size(hinge, k);
            if (dofs > n) reject("a hinge has no more dofs than its node rows");
            const index room = n * n + n + dofs * (n + 3 * dofs + 4);
            work = work < room ? room : work;
        }
        const index P = diagonal(body, body);
        diagonal(hinge, hinge), diagonal(body, hinge);
        const index length = static_cast<index>(list.size());
        const index nodes_size = spaces[static_cast<std::size_t>(body)].offset[count()];
        add_maker({RICCATI, 0, {A, H, M}, {P, P + 1, P + 2, -1}, {1, 1}, keep(std::move(list)), length}, work + nodes_size);
        return known[asked] = P;
    }

    // P+ for the P of a Riccati equation. Few programs want it, so the equation does not keep it.
    index past_hinge(index P) {
        require_field(P);
        const index number = maker_of[static_cast<std::size_t>(P)];
        const Maker solved = number < 0 ? Maker{} : makers[static_cast<std::size_t>(number)];
        if (number < 0 || solved.how != RICCATI || solved.out[0] != P) reject("field %lld is no P of a Riccati equation", static_cast<long long>(P));
        const Indices asked{PAST_HINGE, P};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        const index H = solved.in[1], G = solved.out[2], body = field(P).rows;
        index work = 0;
        for (index k = 0; k < count(); ++k) {
            const index room = size(field(H).rows, k) * size(body, k);
            work = work < room ? room : work;
        }
        const index P_plus = diagonal(body, body);
        add_maker({PAST_HINGE, 0, {P, H, G}, {P_plus, -1, -1, -1}, {1, 1}, nullptr, 0}, work);
        return known[asked] = P_plus;
    }

    // X - Y Z, where Y Z has at most one term for each block of X and none elsewhere: E_psi = E_phi - K H.
    index remainder(index X, index Y, index Z) {
        require_field(X), require_field(Y), require_field(Z);
        const Field x = field(X), y = field(Y), z = field(Z);
        require_same(x.rows, y.rows), require_same(x.cols, z.cols), require_same(y.cols, z.rows);
        const Indices asked{REMAINDER, X, Y, Z};
        if (const auto at = known.find(asked); at != known.end()) return at->second;
        const index width = spaces[static_cast<std::size_t>(x.cols)].count;
        std::unordered_map<index, index> places;
        for (index i = 0; i < x.count; ++i) places[x.row[i] * width + x.col[i]] = i;
        std::unordered_map<index, Indices> by_row;
        for (index i = 0; i < z.count; ++i) by_row[z.row[i]].push_back(i);
        Indices list(2 * static_cast<std::size_t>(x.count), -1);
        for (index i = 0; i < y.count; ++i) {
            const auto meets = by_row.find(y.col[i]);
            if (meets == by_row.end()) continue;
            for (index j : meets->second) {
                const auto at = places.find(y.row[i] * width + z.col[j]);
                if (at == places.end()) reject("a product is taken from a block that is not there");
                index* const pair = list.data() + 2 * at->second;
                if (pair[0] >= 0) reject("two products are taken from one block");
                pair[0] = i, pair[1] = j;
            }
        }
        const index out = add_field(x.rows, x.cols, {x.row, x.row + x.count}, {x.col, x.col + x.count});
        const index length = static_cast<index>(list.size());
        add_maker({REMAINDER, 0, {X, Y, Z}, {out, -1, -1, -1}, {1, 1}, keep(std::move(list)), length});
        return known[asked] = out;
    }

    void require_same(index a, index b) const {
        if (a == b) return;
        const Space &x = spaces[static_cast<std::size_t>(a)], &y = spaces[static_cast<std::size_t>(b)];
        bool same = x.count == y.count;
        for (index k = 0; same && k <= x.count; ++k) same = x.offset[k] == y.offset[k];
        if (!same) reject("spaces %lld and %lld differ", static_cast<long long>(a), static_cast<long long>(b));
    }
    void require_on_nodes(index space) const {
        if (spaces[static_cast<std::size_t>(space)].count != count()) reject("that space is not one of the nodes");
    }
    static index bits(double x) {
        index b;
        static_assert(sizeof b == sizeof x, "");
        std::memcpy(&b, &x, sizeof b);
        return b;
    }
};

}  // namespace program
}  // namespace soacraft
