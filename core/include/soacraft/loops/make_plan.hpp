// Making a plan from a tree, its closures and couplings: what follows from who shares what. Once for a structure.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "embedding/group_stages.hpp"

namespace soacraft {
namespace loops {

namespace planning {

inline std::size_t at(index i) { return static_cast<std::size_t>(i); }

// How many numbers of a row belong to an element: its dofs and modes, or all six of a free body.
inline index width_of(const Plan& plan, index element) {
    return plan.free_bodies.empty() ? loops::width_of(*plan.tree, element) : 6;
}

// The element that carries a limb: of a node that deforms its body's; and that node, -1: none.
inline index carrier(const rigid::Model& tree, index limb) {
    return limb < tree.count ? limb : tree.flexible[tree.spots[limb - tree.count].flexible].element;
}
inline index spot_of(const rigid::Model& tree, index limb) { return limb < tree.count ? -1 : limb - tree.count; }

// The elements from the given ones to the base, in order, each with its parent's place.
inline std::vector<Step> steps_from(const Plan& plan, const std::vector<index>& ends) {
    const rigid::Model& tree = *plan.tree;
    std::set<index> found;
    for (index end : ends)
        for (index k = end < 0 ? end : carrier(tree, end); k >= 0 && found.insert(k).second; k = tree.elements[k].parent) {}
    std::vector<Step> steps;
    std::map<index, index> place;
    index width = 0;
    for (index k : found) {
        const index p = tree.elements[k].parent;
        place[k] = static_cast<index>(steps.size());
        steps.push_back({k, p < 0 ? -1 : place.at(p), width});
        width += width_of(plan, k);
    }
    return steps;
}

inline index place_of(const std::vector<Step>& steps, index element) {
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].element == element) return static_cast<index>(i);
    return -1;
}

inline void add_way(Plan& plan, index row, index rows, const std::vector<index>& ends, index a, index b) {
    Way way = {};
    way.row = row, way.rows = rows, way.steps = steps_from(plan, ends);
    for (const Step& step : way.steps) way.width += width_of(plan, step.element);
    const rigid::Model& tree = *plan.tree;
    way.from_a = a < 0 ? -1 : place_of(way.steps, carrier(tree, a)), way.from_b = b < 0 ? -1 : place_of(way.steps, carrier(tree, b));
    way.spot_a = spot_of(tree, a), way.spot_b = spot_of(tree, b);
    way.Y = plan.Y_size;
    plan.Y_size += way.rows * way.width;
    plan.ways.push_back(std::move(way));
}

inline void find_ways(Plan& plan) {
    for (const Closure& c : plan.closures) add_way(plan, c.row, c.rows, {c.a.element, c.b.element}, c.a.element, c.b.element);
    for (const Coupling& c : plan.couplings) {
        std::vector<index> ends;
        for (const Term& term : c.terms) ends.push_back(term.element);
        add_way(plan, c.row, 1, ends, -1, -1);
    }
}

// The dofs that two ways share, in runs.
inline std::vector<Run> shared(const Plan& plan, const Way& a, const Way& b) {
    std::vector<Run> runs;
    for (std::size_t i = 0, j = 0; i < a.steps.size() && j < b.steps.size();) {
        const Step &x = a.steps[i], &y = b.steps[j];
        if (x.element < y.element) {
            ++i;
        } else if (y.element < x.element) {
            ++j;
        } else {
            const index n = width_of(plan, x.element);
            if (!runs.empty() && runs.back().i + runs.back().count == x.at && runs.back().j + runs.back().count == y.at)
                runs.back().count += n;
            else
                runs.push_back({x.at, y.at, n});
            ++i, ++j;
        }
    }
    return runs;
}

typedef std::map<std::pair<index, index>, index> Places;  // where the block of two ways stands

inline index block_at(Plan& plan, Places& places, index i, index j) {
    const auto key = std::make_pair(i, j);
    const auto known = places.find(key);
    if (known != places.end()) return known->second;
    const index found = plan.S_size;
    plan.S_size += plan.ways[at(i)].rows * plan.ways[at(j)].rows;
    places[key] = found;
    return found;
}

inline std::vector<std::set<index>> find_blocks(Plan& plan, Places& places) {
    std::map<index, std::vector<index>> meeting;  // ways by the element at the base they come from
    for (std::size_t i = 0; i < plan.ways.size(); ++i)
        for (const Step& step : plan.ways[i].steps)
            if (step.inboard < 0) meeting[step.element].push_back(static_cast<index>(i));
    std::set<std::pair<index, index>> pairs;
    for (const auto& each : meeting)
        for (std::size_t a = 0; a < each.second.size(); ++a)
            for (std::size_t b = a; b < each.second.size(); ++b) pairs.insert({each.second[a], each.second[b]});
    for (std::size_t i = 0; i < plan.ways.size(); ++i) pairs.insert({static_cast<index>(i), static_cast<index>(i)});
    std::vector<std::set<index>> beside(plan.ways.size());
    for (const auto& pair : pairs) {
        const index i = pair.first, j = pair.second;
        plan.blocks.push_back({i, j, block_at(plan, places, i, j), shared(plan, plan.ways[at(i)], plan.ways[at(j)])});
        if (i != j) beside[at(i)].insert(j), beside[at(j)].insert(i);
    }
    return beside;
}

// Parts of a dense block whose rows and columns are those of ways; `upper`: rows and columns are the same ones.
inline std::vector<Front::Part> parts_of(Plan& plan, Places& places, const std::vector<index>& rows,
                                  const std::vector<index>& cols, bool upper) {
    std::vector<Front::Part> parts;
    index top = 0;
    for (std::size_t a = 0; a < rows.size(); ++a) {
        const index height = plan.ways[at(rows[a])].rows;
        index left = 0;
        for (std::size_t b = 0; b < cols.size(); ++b) {
            const index width = plan.ways[at(cols[b])].rows;
            if (!upper || b >= a) {
                const bool turned = rows[a] > cols[b];
                const index place = turned ? block_at(plan, places, cols[b], rows[a]) : block_at(plan, places, rows[a], cols[b]);
                parts.push_back({place, top, left, height, width, turned});
            }
            left += width;
        }
        top += height;
    }
    return parts;
}

inline std::vector<index> row_numbers(const Plan& plan, const std::vector<index>& ways) {
    std::vector<index> rows;
    for (index i : ways)
        for (index r = 0; r < plan.ways[at(i)].rows; ++r) rows.push_back(plan.ways[at(i)].row + r);
    return rows;
}

// The order of elimination: the way with the fewest neighbours first, with those that have the same ones.
inline void find_fronts(Plan& plan) {
    Places places;
    std::vector<std::set<index>> beside = find_blocks(plan, places);
    std::set<std::pair<std::size_t, index>> by_degree;
    for (std::size_t i = 0; i < beside.size(); ++i) by_degree.insert({beside[i].size(), static_cast<index>(i)});
    while (!by_degree.empty()) {
        const index first = by_degree.begin()->second;
        std::set<index> around = beside[at(first)];
        around.insert(first);
        std::vector<index> own{first}, others;
        for (index j : beside[at(first)]) {
            std::set<index> its = beside[at(j)];
            its.insert(j);
            (its == around ? own : others).push_back(j);
        }
        std::sort(own.begin(), own.end());
        Front front = {};
        front.own = row_numbers(plan, own), front.others = row_numbers(plan, others);
        front.corner = parts_of(plan, places, own, own, true);
        front.side = parts_of(plan, places, own, others, false);
        front.rest = parts_of(plan, places, others, others, true);
        const auto n = static_cast<index>(front.own.size()), m = static_cast<index>(front.others.size());
        front.L = plan.L_size, front.X = plan.X_size, front.order = plan.order_size;
        plan.L_size += 2 * n * n + n, plan.X_size += 2 * n * m, plan.order_size += n;
        plan.fronts.push_back(std::move(front));
        for (index i : own) by_degree.erase({beside[at(i)].size(), i});
        for (index i : others) {
            by_degree.erase({beside[at(i)].size(), i});
            for (index j : own) beside[at(i)].erase(j);
            for (index j : others)
                if (j != i) beside[at(i)].insert(j);
            by_degree.insert({beside[at(i)].size(), i});
        }
    }
}

// The blocks of the elements as free bodies.
inline void free_elements(Plan& plan) {
    for (index k = 0; k < plan.tree->count; ++k) {
        const Element& e = plan.tree->elements[k];
        const index n = rigid::dofs(e.kind);
        FreeBody b = {};
        b.rotors = e.has_armature ? n : 0, b.rows = e.has_armature ? 6 : 6 - n;
        b.turns = b.rows - (e.kind == rigid::PRISMATIC && !e.has_armature ? 2 : b.rows < 3 ? b.rows : 3);
        b.width = (6 + b.rotors + b.rows + 3) / 4 * 4;
        b.at = plan.free_size, b.rows_at = plan.hinge_rows, b.inverse_at = plan.inverse_size;
        plan.free_size += b.width, plan.hinge_rows += b.rows, plan.inverse_size += (6 + b.rotors + b.rows) * b.width;
        plan.free_bodies.push_back(b);
    }
}

// The elements of a closure's side inside a group.
inline void reach_from(const rigid::Model& tree, const std::vector<index>& group_of, index group, index element, double sign,
                std::map<index, double>& found) {
    for (; element >= 0; element = tree.elements[element].parent)
        if (group_of[at(element)] == group) found[element] += sign;
}

}  // namespace planning

// Compound bodies, before their dofs are chosen (`arrange_groups` follows): the group of each element (-1: none), of each
// closure and of each coupling.
inline void find_groups(Plan& plan, const std::vector<index>& group_of, const std::vector<index>& of_closure,
                 const std::vector<index>& of_coupling) {
    using namespace planning;
    const rigid::Model& tree = *plan.tree;
    std::map<index, std::size_t> known;
    plan.groups.clear();
    plan.column.assign(at(tree.nv), -1);
    for (index k = 0; k < tree.count; ++k) {
        const Element& e = tree.elements[k];
        const index number = group_of[at(k)];
        if (number < 0 || known.find(number) == known.end()) {
            Group g = {};
            g.parent = e.parent;
            if (number >= 0) known[number] = plan.groups.size();
            plan.groups.push_back(std::move(g));
        }
        Group& g = plan.groups[number < 0 ? plan.groups.size() - 1 : known[number]];
        index inboard = -1;
        for (std::size_t i = 0; i < g.elements.size(); ++i)
            if (g.elements[i] == e.parent) inboard = static_cast<index>(i);
        g.elements.push_back(k);
        g.inboard.push_back(inboard);
        g.first.push_back(static_cast<index>(g.dofs.size()));
        for (index i = 0; i < rigid::dofs(e.kind); ++i) {
            plan.column[at(e.d + i)] = static_cast<index>(g.dofs.size());
            g.dofs.push_back(e.d + i);
        }
    }
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        for (index r = 0; of_closure[i] < 0 && r < c.rows; ++r) plan.rest.push_back({true, static_cast<index>(i), c.row + r});
        const auto where = known.find(of_closure[i]);
        if (where == known.end()) continue;  // between bodies without a moving hinge: nothing to tie
        Group& g = plan.groups[where->second];
        std::map<index, double> found;
        reach_from(tree, group_of, of_closure[i], c.b.element, 1.0, found);
        reach_from(tree, group_of, of_closure[i], c.a.element, -1.0, found);
        Tied tied = {};
        tied.loop = true, tied.number = static_cast<index>(i), tied.row = static_cast<index>(g.rows.size()), tied.rows = c.rows;
        for (const auto& each : found) {
            if (each.second == 0.0) continue;
            const Element& e = tree.elements[each.first];
            tied.elements.push_back(each.first), tied.sign.push_back(each.second);
            for (index j = 0; j < rigid::dofs(e.kind); ++j) tied.columns.push_back(plan.column[at(e.d + j)]);
        }
        g.ties.push_back(std::move(tied));
        for (index r = 0; r < c.rows; ++r) g.rows.push_back(c.row + r);
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        if (of_coupling[i] < 0) plan.rest.push_back({false, static_cast<index>(i), plan.couplings[i].row});
        const auto where = known.find(of_coupling[i]);
        if (where == known.end()) continue;
        Group& g = plan.groups[where->second];
        Tied tied = {};
        tied.number = static_cast<index>(i), tied.row = static_cast<index>(g.rows.size()), tied.rows = 1;
        for (const Term& term : plan.couplings[i].terms) tied.columns.push_back(plan.column[at(term.d)]);
        g.ties.push_back(std::move(tied));
        g.rows.push_back(plan.couplings[i].row);
    }
}

// What follows for a plan whose tree, closures and couplings are set; ways, blocks and fronts where it is to be `augmented`,
// `fully` with all elements free.
inline void complete(Plan& plan, bool augmented = true, bool fully = false) {
    using namespace planning;
    plan.user_dof.assign(at(plan.tree->nv), 0);
    for (index k = 0; k < plan.tree->count; ++k) {
        const Element& e = plan.tree->elements[k];
        for (index i = 0; i < rigid::dofs(e.kind); ++i) plan.user_dof[at(e.d + i)] = e.v + i;
    }
    for (index k = 0; k < plan.tree->flexible_count; ++k) {
        const rigid::Flexible& f = plan.tree->flexible[k];
        for (index j = 0; j < f.n; ++j) plan.user_dof[at(plan.tree->nv - plan.tree->modes + f.mode + j)] = f.v + j;
    }
    use_spots(plan);
    plan.scale.assign(at(plan.size), 1.0);
    if (!augmented) return;
    if (fully) free_elements(plan);
    find_ways(plan);
    find_fronts(plan);
}

}  // namespace loops
}  // namespace soacraft
