// Reading a plan: the arrays that Python describes a closed chain by, and the choices made for it.
#include "batch.hpp"
#include "fields.hpp"
#include "soacraft/loops/make_plan.hpp"

namespace soacraft {
namespace loops {
namespace {

void read_place(const double* x, double* R, double* p) {
    for (int i = 0; i < 9; ++i) R[i] = x[i];
    for (int i = 0; i < 3; ++i) p[i] = x[9 + i];
}

constexpr index WHOLE = 10, REAL = 73;  // numbers of a closure in the arrays that describe it

void read_closures(Plan& plan, nb::handle whole_, nb::handle real_) {
    const Array<index> whole(whole_, "closure_whole", 2);
    const Array<double> real(real_, "closure_real", 2);
    require_length("closure_real", real.size(0), whole.size(0));
    if (whole.size(1) != WHOLE || real.size(1) != REAL) refuse("a closure has %lld and %lld numbers", shown(WHOLE), shown(REAL));
    const auto hinges = static_cast<index>(plan.hinges.size());
    for (index i = 0; i < whole.size(0); ++i) {
        const index* w = whole.data() + WHOLE * i;
        const double* r = real.data() + REAL * i;
        Closure c = {};
        c.a.element = w[0], c.b.element = w[1], c.body_a = w[2], c.body_b = w[3];
        c.fit = w[4], c.first = w[5], c.last = w[6], c.theta = w[7], c.rows = w[8], c.fixed = w[9], c.row = plan.size;
        const rigid::Model& tree = *plan.tree;
        const auto off = [](index x, index n) { return x < -1 || x >= n; };
        const index dofs = c.dofs(), limbs = tree.count + tree.spot_count;
        if (off(c.a.element, limbs) || off(c.b.element, limbs) || off(c.body_a, tree.body_count) ||
            off(c.body_b, tree.body_count) || c.fit < WELD || c.fit > ROLLING_ELLIPSOID || c.first < 0 || c.last < c.first ||
            c.last > hinges || dofs > 5 || c.rows != 6 - dofs || c.theta < 0 ||
            c.theta > plan.coordinates - c.coordinates() || (c.fit == WELD) != (dofs == 0) ||
            ((c.fit == TURN || c.fit == SLIDE) && dofs != 1) || (c.fit != CHAIN && !c.fixed && !c.rolls()) || (c.rolls() && c.fixed) ||
            (!c.is_holonomic() && c.first != c.last))
            refuse("closure %lld is not one of this tree", shown(i));
        read_place(r, c.a.R, c.a.p), read_place(r + 12, c.b.R, c.b.p), read_place(r + 24, c.R, c.p);
        for (int k = 0; k < 36; ++k) c.Q[k] = r[36 + k];
        c.length = r[72];
        plan.size += c.rows;
        plan.follows = plan.follows || c.fit == CHAIN;
        plan.closures.push_back(c);
    }
}

void read_hinges(Plan& plan, nb::handle whole_, nb::handle real_) {
    const Array<index> whole(whole_, "hinge_whole", 2);
    const Array<double> real(real_, "hinge_real", 2);
    require_length("hinge_real", real.size(0), whole.size(0));
    if (whole.size(1) != 2 || real.size(1) != 14) refuse("an element of a closure's hinge has 2 and 14 numbers");
    for (index i = 0; i < whole.size(0); ++i) {
        const double* r = real.data() + 14 * i;
        Element e = {};
        e.kind = whole.data()[2 * i], e.q = whole.data()[2 * i + 1];
        if (e.kind < rigid::REVOLUTE || e.kind > rigid::HELICAL || e.q < 0 || e.q >= plan.coordinates)
            refuse("element %lld of a closure's hinge is no screw", shown(i));
        read_place(r, e.R, e.p);
        e.scale = r[12], e.unscale = 1.0 / r[12], e.pitch = r[13];
        plan.hinges.push_back(e);
    }
}

void read_couplings(Plan& plan, nb::handle whole_, nb::handle real_, nb::handle offsets_, nb::handle sizes_) {
    const Array<index> whole(whole_, "term_whole", 2);
    const Array<double> real(real_, "term_real", 2), offsets(offsets_, "offsets", 1), sizes(sizes_, "sizes", 1);
    require_length("term_real", real.size(0), whole.size(0)), require_length("sizes", sizes.size(), offsets.size());
    if (whole.size(1) != 4) refuse("a term has 4 whole numbers");
    for (index i = 0; i < offsets.size(); ++i)
        plan.couplings.push_back({{}, offsets.data()[i], sizes.data()[i], plan.size++});
    const rigid::Model& tree = *plan.tree;
    for (index i = 0; i < whole.size(0); ++i) {
        const index* w = whole.data() + 4 * i;
        Term term = {};
        term.element = w[1], term.v = w[2], term.q = w[3];
        if (w[0] < 0 || w[0] >= offsets.size() || term.element < 0 || term.element >= tree.count || term.v < 0 ||
            term.v >= tree.nv || term.q < 0 || term.q >= tree.nq)
            refuse("term %lld is not one of this tree", shown(i));
        const Element& e = tree.elements[term.element];
        const bool bends = e.flexible >= 0 && term.v >= tree.flexible[e.flexible].v &&
                           term.v < tree.flexible[e.flexible].v + tree.flexible[e.flexible].n;
        if (!bends && (term.v < e.v || term.v >= e.v + rigid::dofs(e.kind))) refuse("term %lld is on another element", shown(i));
        term.d = bends ? tree.nv - tree.modes + tree.flexible[e.flexible].mode + term.v - tree.flexible[e.flexible].v : e.d + term.v - e.v;
        term.c.assign(real.data() + real.size(1) * i, real.data() + real.size(1) * (i + 1));
        plan.couplings[static_cast<std::size_t>(w[0])].terms.push_back(std::move(term));
    }
}

std::vector<index> indices(nb::handle source, const char* name, index size, index least, index most) {
    const Array<index> given(source, name, 1);
    require_length(name, given.size(), size);
    std::vector<index> found(given.data(), given.data() + size);
    for (index x : found)
        if (x < least || x > most) refuse("%s has an entry %lld out of range", name, shown(x));
    return found;
}

void read_groups(Plan& plan, nb::handle groups) {
    const index n = plan.tree->count;
    const auto closures = static_cast<index>(plan.closures.size()), couplings = static_cast<index>(plan.couplings.size());
    const std::vector<index> coupled = indices(field(groups, "of_coupling"), "of_coupling", couplings, -1, n);
    find_groups(plan, indices(field(groups, "of_element"), "of_element", n, -1, n),
                indices(field(groups, "of_closure"), "of_closure", closures, -1, n), coupled);
    for (const Coupling& c : plan.couplings)
        for (const Term& term : c.terms) {
            const auto number = static_cast<std::size_t>(&c - plan.couplings.data());
            bool found = coupled[number] < 0;
            for (const Group& g : plan.groups)
                for (const Tied& tied : g.ties)
                    if (!tied.loop && static_cast<std::size_t>(tied.number) == number)
                        for (index k : g.elements) found = found || k == term.element;
            if (!found) refuse("coupling %lld reaches out of its group", shown(static_cast<index>(number)));
        }
    for (const Group& g : plan.groups)
        for (std::size_t i = 0; i < g.elements.size(); ++i)
            if (g.inboard[i] < 0 && plan.tree->elements[g.elements[i]].parent != g.parent)
                refuse("a group hangs from several elements");
}

// Which dofs of the user's are dependent.
void read_dependent(Plan& plan, nb::handle mask_) {
    const std::vector<index> mask = indices(mask_, "dependent", plan.tree->nv, 0, 1);
    for (Group& g : plan.groups) {
        for (std::size_t i = 0; i < g.dofs.size(); ++i) {
            const index user = plan.user_dof[static_cast<std::size_t>(g.dofs[i])];
            (mask[static_cast<std::size_t>(user)] ? g.dependent : g.independent).push_back(static_cast<index>(i));
        }
        if (g.dependent.size() > g.rows.size()) refuse("a group has more dependent dofs than rows");
    }
}

// The compliance that rounding of each row is measured by, as 1/sqrt.
void read_scales(Plan& plan, nb::handle compliance_) {
    const Array<double> compliance(compliance_, "compliance", 1);
    require_length("compliance", compliance.size(), plan.size);
    for (index i = 0; i < plan.size; ++i) {
        const double x = compliance.data()[i];
        plan.scale[static_cast<std::size_t>(i)] = x > 0.0 ? 1.0 / std::sqrt(x) : 1.0;
    }
}

// Who carries whom among the user's bodies, parents first, and which dofs are whose.
void read_bodies(Plan& plan, nb::handle closures) {
    const index n = plan.tree->body_count, nv = plan.tree->nv;
    plan.body_parent = indices(field(closures, "body_parents"), "body_parents", n, -1, n - 1);
    plan.body_dofs = indices(field(closures, "body_dofs"), "body_dofs", n + 1, 0, nv);
    for (index k = 0; k < n; ++k)
        if (plan.body_parent[static_cast<std::size_t>(k)] >= k) refuse("body %lld comes before its parent", shown(k));
    for (index k = 0; k < n; ++k) {
        const index first = plan.body_dofs[static_cast<std::size_t>(k)], last = plan.body_dofs[static_cast<std::size_t>(k) + 1];
        if (first != static_cast<index>(plan.body_of_dof.size()) || last < first) refuse("body_dofs is not in order");
        plan.body_of_dof.resize(static_cast<std::size_t>(last), k);
    }
    require_length("body_dofs", static_cast<index>(plan.body_of_dof.size()), nv);
}

Tolerances read_tolerances(nb::handle given) {
    return {number(given, "closed"),   number(given, "doubtful"), number(given, "pivot"),
            number(given, "rounding"), number(given, "repeated"), number(given, "open_rows"), number(given, "lowest"),
            number(given, "highest"),  number(given, "closest"), number(given, "furthest"), number(given, "shrinks"),
            number(given, "trust"),    number(given, "small"), number(given, "longest"), number(given, "balanced"),
            number(given, "settled"),  number(given, "parallel"), number(given, "aligned"), number(given, "ahead"), number(given, "followed"),
            number(given, "assembled"), number(given, "zero"), number(given, "clear"), number(given, "stride"),
            number(given, "foretold"), number(given, "gained"), number(given, "nearest"), number(given, "refined_pivot"),
            number(given, "turned_over"), number(given, "stalled"), number(given, "abreast"),
            number(given, "abreast_pivot"), number(given, "lever"), number(given, "given_back"), number(given, "alike"),
            number(given, "reused")};
}

}  // namespace

void read_plan(ClosedSolver& to, nb::handle given) {
    Plan& plan = to.plan;
    const index method = integer(given, "method");
    if (method < 0 || method >= METHODS) refuse("there is no method %lld", shown(method));
    to.method = static_cast<Method>(method);
    const nb::object closures = field(given, "closures");
    const nb::object closure_whole = field(closures, "closure_whole");
    plan.coordinates = integer(closures, "coordinates");
    if (plan.coordinates < 0 || plan.coordinates > 7 * Array<index>(closure_whole, "closure_whole", 2).size(0))
        refuse("coordinates must be no fewer than none and no more than 7 of each closure");
    const nb::object units_ = field(closures, "units"), gravity_ = field(given, "gravity");
    const Array<double> units(units_, "units", 1), gravity(gravity_, "gravity", 1);
    require_length("units", units.size(), plan.tree->nv), require_length("gravity", gravity.size(), 3);
    for (int i = 0; i < 3; ++i) to.base[3 + i] = -gravity.data()[i];
    plan.unit.assign(units.data(), units.data() + units.size());
    plan.length = number(closures, "length"), plan.inertia = number(closures, "inertia");
    plan.tolerances = read_tolerances(field(given, "tolerances"));
    read_bodies(plan, closures);
    read_hinges(plan, field(closures, "hinge_whole"), field(closures, "hinge_real"));
    read_closures(plan, closure_whole, field(closures, "closure_real"));
    read_couplings(plan, field(closures, "term_whole"), field(closures, "term_real"), field(closures, "offsets"),
                   field(closures, "sizes"));
    if (plan.tree->flexible_count && to.method != ROWS && to.method != TREE_AUGMENTED)
        refuse("a tree with flexible bodies has a plan of rows, or of tree-augmented dynamics");
    const bool fully = to.method == FULLY_AUGMENTED, augmented = fully || to.method == TREE_AUGMENTED;
    complete(plan, augmented, fully);
    if (augmented) read_scales(plan, field(given, "compliance"));
    if (to.method == CONSTRAINT_EMBEDDING) {
        read_groups(plan, field(given, "groups"));
        read_dependent(plan, field(given, "dependent"));
        arrange_groups(plan);
    }
}

}  // namespace loops
}  // namespace soacraft
