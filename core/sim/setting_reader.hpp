// The setting of a run as Python gives it (`Setting` of sim/compiled.py), read and held for as long as it is used.
#pragma once

#include <algorithm>
#include <memory>

#include "fields.hpp"
#include "loops/closed_solver.hpp"
#include "methods.hpp"
#include "sim/components/plan_object.hpp"
#include "sim/contact/contact_tables.hpp"
#include "prescribed.hpp"
#include "sim/calls/python_functions.hpp"
#include "rigid/wrenches.hpp"

namespace soacraft {
namespace sim {

inline long long shown(index i) { return i; }

// Arrays that a call reads, held until it ends.
class Held {
public:
    const double* numbers(nb::handle of, const char* name, index size) {
        arrays_.push_back(std::make_unique<Array<double>>(field(of, name), name, 1));
        require(name, arrays_.back()->size(), size);
        return arrays_.back()->data();
    }
    const double* table(nb::handle of, const char* name, index rows, index columns) {
        arrays_.push_back(std::make_unique<Array<double>>(field(of, name), name, 2));
        require(name, arrays_.back()->size(0), rows), require(name, arrays_.back()->size(1), columns);
        return arrays_.back()->data();
    }
    double* output(nb::handle of, const char* name, index rows, index columns) {
        arrays_.push_back(std::make_unique<Array<double>>(field(of, name), name, 2, true));
        require(name, arrays_.back()->size(0), rows), require(name, arrays_.back()->size(1), columns);
        return arrays_.back()->data();
    }
    static void require(const char* name, index got, index wanted) {
        if (got != wanted) refuse("%s has length %lld, not %lld", name, shown(got), shown(wanted));
    }

private:
    std::vector<std::unique_ptr<Array<double>>> arrays_;
};

inline index length_of(nb::handle of, const char* name) {
    const Py_ssize_t n = PyObject_Size(field(of, name).ptr());
    if (n < 0) throw nb::python_error();
    return n;
}

// `rows` (n, nv), `lengths` (n, nq), `laws` (n, 8), and the knots of all, `starts` (n + 1), `times` and `values`.
inline std::vector<Load> read_loads(nb::handle setting, Held& held, const rigid::Model& model) {
    const index count = length_of(setting, "rows"), all = length_of(setting, "times");
    const double *rows = held.table(setting, "rows", count, model.nv), *lengths = held.table(setting, "lengths", count, model.nq);
    const double *laws = held.table(setting, "laws", count, 8), *times = held.numbers(setting, "times", all);
    const double* values = held.numbers(setting, "values", all);
    const nb::object starts_given = field(setting, "starts");
    const Array<index> starts(starts_given, "starts", 1);
    Held::require("starts", starts.size(), count + 1);
    std::vector<Load> loads;
    for (index i = 0; i < count; ++i) {
        const index first = starts.data()[i], last = starts.data()[i + 1];
        if (first < 0 || last <= first || last > all) refuse("load %lld has no knots", shown(i));
        const double* law = laws + 8 * i;
        loads.push_back({rows + i * model.nv, lengths + i * model.nq, times + first, values + first, last - first, law[0],
                         {law[1], law[2], law[3]}, {law[4], law[5]}, {law[6], law[7]}});
        span_of(loads.back().row, model.nv, loads.back().row_first, loads.back().row_last);
        span_of(loads.back().length, model.nq, loads.back().length_first, loads.back().length_last);
    }
    return loads;
}

inline Tableau read_tableau(nb::handle of, Held& held) {
    Tableau t;
    if (of.is_none()) return t;
    t.stages = length_of(of, "b");
    if (t.stages < 1) refuse("a tableau has a stage or more");
    t.A = held.table(of, "A", t.stages, t.stages), t.b = held.numbers(of, "b", t.stages), t.c = held.numbers(of, "c", t.stages);
    if (field(of, "E5").is_none()) return t;
    t.extra = length_of(of, "c_extra"), t.rows = length_of(of, "D");
    t.E5 = held.numbers(of, "E5", t.stages + 1), t.E3 = held.numbers(of, "E3", t.stages + 1);
    t.A_extra = held.table(of, "A_extra", t.extra, t.all()), t.c_extra = held.numbers(of, "c_extra", t.extra);
    t.D = held.table(of, "D", t.rows, t.all());
    return t;
}

inline const loops::ClosedSolver& solver_of(nb::handle chain, const char* name, const rigid::RigidModel& tree) {
    const nb::object given = field(chain, name);
    if (!nb::isinstance<loops::ClosedSolver>(given)) refuse("%s must be a ClosedSolver", name);
    const loops::ClosedSolver& s = *nb::cast<const loops::ClosedSolver*>(given);
    if (s.tree != &tree) refuse("%s is of another tree", name);
    return s;
}

// The solver and what moves states; false where one of them is not up to date.
inline bool read_chain(nb::handle chain, const rigid::RigidModel& tree, Chain& to) {
    const loops::ClosedSolver &solver = solver_of(chain, "solver", tree), &mover = solver_of(chain, "mover", tree);
    if (solver.method == loops::ROWS || mover.method != loops::TREE_AUGMENTED || solver.plan.coordinates != mover.plan.coordinates)
        refuse("the solver and the mover of a chain have no plan");
    if (solver.outdated() || mover.outdated()) return false;
    to.solver = solver.plan, to.mover = mover.plan, to.method = solver.method;
    to.room = solver.room > mover.room ? solver.room : mover.room;
    std::memcpy(to.base, solver.base, sizeof to.base);
    return true;
}

inline std::vector<index> read_numbers(nb::handle of, const char* name, index count, index least, index end) {
    const nb::object given = field(of, name);
    const Array<index> x(given, name, 1);
    if (count >= 0) Held::require(name, x.size(), count);
    std::vector<index> made(x.data(), x.data() + x.size());
    for (const index each : made)
        if (each < least || each >= end) refuse("%s has an entry %lld out of range", name, shown(each));
    return made;
}

// Read the contact of a run (`CompiledContact` of sim/forces/compiled_contact.py).
inline void read_contact(nb::handle of, Held& held, const rigid::Model& model, index loads, ContactSetting& to) {
    const nb::object scene = field(of, "scene");
    if (!nb::isinstance<contact::SpotQuery>(scene)) refuse("scene must be a ContactScene");
    to.scene = nb::cast<const contact::SpotQuery*>(scene);
    const index shapes = to.scene->shapes();
    to.body = read_numbers(of, "body", shapes, -1, model.body_count);
    to.local = held.table(of, "local", shapes, contact::POSE), to.surface = held.table(of, "surface", shapes, 3);
    to.far = held.numbers(of, "far", model.body_count);
    to.groups = length_of(of, "friction");
    to.group = read_numbers(of, "group", shapes, 0, to.groups);
    const nb::object rows_given = field(of, "rows"), friction_given = field(of, "friction");
    const Array<index> rows(rows_given, "rows", 2);
    const Array<double> friction(friction_given, "friction", 3);
    if (rows.size(0) != to.groups || rows.size(1) != to.groups || friction.size(1) != to.groups || friction.size(2) != FRICTIONS)
        refuse("rows and friction must be of %lld groups", shown(to.groups));
    to.rows.assign(rows.data(), rows.data() + to.groups * to.groups);
    for (const index n : to.rows)
        if (n != 1 && n != 3 && n != 4 && n != 6) refuse("a contact has 1, 3, 4 or 6 rows, not %lld", shown(n));
    to.friction.assign(friction.data(), friction.data() + to.groups * to.groups * FRICTIONS);
    to.restitution = held.table(of, "restitution", to.groups, to.groups);
    const std::vector<index> dofs = read_numbers(of, "stop_dofs", -1, 0, model.nv);
    const auto count = static_cast<index>(dofs.size());
    const std::vector<index> places = read_numbers(of, "stop_places", count, 0, model.nq);
    const double* limits = held.table(of, "limits", count, 2);
    const double* bounces = held.numbers(of, "stop_restitution", count);
    const std::vector<index> stopping = read_numbers(of, "stop_loads", count, -1, loads);
    for (std::size_t i = 0; i < dofs.size(); ++i)
        to.stops.push_back({dofs[i], places[i], limits[2 * i], limits[2 * i + 1], bounces[i], stopping[i]});
    const std::vector<index> rubbed = read_numbers(of, "dry_dofs", -1, 0, model.nv);
    const double* dry = held.numbers(of, "dry", static_cast<index>(rubbed.size()));
    const std::vector<index> rubbing = read_numbers(of, "dry_loads", static_cast<index>(rubbed.size()), -1, loads);
    for (std::size_t i = 0; i < rubbed.size(); ++i) to.rubs.push_back({rubbed[i], dry[i], rubbing[i]});
    to.energy = integer(of, "energy") != 0, to.tolerance = number(of, "tolerance");
    if (!(to.tolerance > 0.0)) refuse("tolerance must be positive");
    to.thin = number(of, "thin");
    to.impulses = read_impulses(field(of, "impulses"), "impulses");
}

// Dofs whose motion is prescribed (`CompiledPrescribed` of sim/forces/compiled_prescribed.py). `loads`: how many there are; `slots`
// are those of a plan, or null.
inline std::unique_ptr<PythonMotions> read_prescribed(nb::handle of, Held& held, const rigid::Model& model, index loads,
                                                      const Plan* plan, Prescribed& to) {
    const std::vector<index> dofs = read_numbers(of, "dofs", -1, 0, model.nv);
    const auto count = static_cast<index>(dofs.size());
    const std::vector<index> places = read_numbers(of, "places", count, 0, model.nq), rows = read_numbers(of, "rows", count, -1, loads);
    const std::vector<index> guidance = read_numbers(of, "guidance", count, 0, GUIDANCES);
    const std::vector<index> periodic = read_numbers(of, "periodic", count, 0, 2);
    const index all = length_of(of, "breaks"), numbers = length_of(of, "coefficients"), slots = plan ? plan->size : 0;
    const std::vector<index> slot = read_numbers(of, "slots", count, -1, slots > 3 ? slots - 2 : 0);
    const double *breaks = held.numbers(of, "breaks", all), *coefficients = held.numbers(of, "coefficients", numbers);
    const std::vector<index> breaks_at = read_numbers(of, "breaks_at", count + 1, 0, all + 1);
    const std::vector<index> coefficients_at = read_numbers(of, "coefficients_at", count + 1, 0, numbers + 1);
    const double* fixed = held.table(of, "numbers", count, 3);
    to.mask.assign(static_cast<std::size_t>(model.nv), 0), to.has_row = integer(of, "has_row") != 0;
    for (std::size_t i = 0; i < dofs.size(); ++i) {
        PrescribedDof x = {dofs[i], places[i], rows[i], static_cast<Guidance>(guidance[i]), {}, fixed + 3 * i};
        if (i && x.dof < dofs[i - 1]) refuse("prescribed dofs grow");
        if (to.mask[static_cast<std::size_t>(x.dof)] || (x.row < 0 && !to.has_row)) refuse("dof %lld is prescribed twice, or by nothing", shown(x.dof));
        to.mask[static_cast<std::size_t>(x.dof)] = 1;
        if (x.guidance == COMPONENT && slot[i] < 0) refuse("dof %lld has a motion in no slot of the plan", shown(x.dof));
        if (x.guidance == COMPONENT) x.numbers = plan->slots + slot[i];
        if (x.guidance == PIECEWISE) {
            const index pieces = breaks_at[i + 1] - breaks_at[i] - 1, size = coefficients_at[i + 1] - coefficients_at[i];
            if (pieces < 1 || size < pieces || size % pieces) refuse("the polynomials of dof %lld do not fit their breaks", shown(x.dof));
            x.curve = {breaks + breaks_at[i], coefficients + coefficients_at[i], pieces, size / pieces, periodic[i] != 0};
        }
        to.dofs.push_back(x);
    }
    for (index i = 0; i < model.nv; ++i) {
        const auto follows = [&](const PrescribedDof& x) { return x.dof == i && x.row < 0; };
        if (!std::any_of(to.dofs.begin(), to.dofs.end(), follows)) to.movable.push_back(i);
        if (!to.mask[static_cast<std::size_t>(i)]) to.restless.push_back(i);
    }
    const nb::object call = field(of, "call");
    if (call.is_none()) return nullptr;
    auto functions = std::make_unique<PythonMotions>(field(of, "t"), call);
    to.functions = functions.get();
    return functions;
}

// Friction that sticks and rigid stops (`CompiledHolds` of sim/forces/compiled_holds.py).
inline void read_holds(nb::handle of, Held& held, const rigid::Model& model, Setting& to) {
    const std::vector<index> dofs = read_numbers(of, "dofs", -1, 0, model.nv);
    const auto count = static_cast<index>(dofs.size());
    const std::vector<index> places = read_numbers(of, "places", count, 0, model.nq);
    const std::vector<index> rows = read_numbers(of, "rows", count, 0, static_cast<index>(to.loads.size()));
    const std::vector<index> stops = read_numbers(of, "stops", count, 0, 2);
    const double *modes = held.numbers(of, "modes", count), *laws = held.table(of, "laws", count, 6);
    for (std::size_t i = 0; i < dofs.size(); ++i) {
        const double* x = laws + 6 * i;
        to.holds.push_back({dofs[i], places[i], rows[i], stops[i] != 0, modes[i], x[0], x[1], x[2], x[3], x[4], x[5]});
    }
    for (const Hold& x : to.holds) to.loads[static_cast<std::size_t>(x.row)].hold = &x;
}

inline Method read_method(nb::handle setting, const Tableau& tableau) {
    const index method = integer(setting, "method");
    if (method < EXPLICIT || method >= METHODS || (method == EXPLICIT || method == MOREAU || method == GAUSS) != (tableau.stages > 0) ||
        (method != EXPLICIT && tableau.adaptive()))
        refuse("there is no such method");
    return static_cast<Method>(method);
}

// Arguments of a call, held until it ends.
struct Given {
    Held held;
    nb::object tableau_given, chain_given;
    Tableau tableau;
    Method method = EXPLICIT;
    Setting set = {};
    Chain chain = {};
    ContactSetting touching = {};
    rigid::Wrenches wrenches;
    PlanObject* plan = nullptr;
    std::unique_ptr<PythonFunctions> functions;
    Prescribed prescribed;
    std::unique_ptr<PythonMotions> motions;

    explicit Given(nb::handle setting)
        : tableau_given(field(setting, "tableau")), chain_given(field(setting, "chain")), tableau(read_tableau(tableau_given, held)),
          method(read_method(setting, tableau)) {}

    // False where compiled code does not know all of it.
    bool read(rigid::RigidModel& tree, nb::handle setting) {
        const rigid::Model& model = tree.model;
        for (index k = 0; k < model.count; ++k)
            if (model.elements[k].kind == rigid::ROLLING) refuse("compiled steps take no hinge that rolls");
        if (tree.retired || tree.outdated || tree.passive_in_python) return false;
        set.job = tree.job(true), set.job.passive = tree.acting(true), set.loads = read_loads(setting, held, model);
        set.passive = integer(setting, "passive") != 0, set.unit = held.numbers(setting, "unit", model.nv);
        set.slowest = number(setting, "slowest"), set.floating = held.numbers(setting, "floating", model.nv);
        if (!chain_given.is_none() && !read_chain(chain_given, tree, chain)) return false;
        set.chain = chain_given.is_none() ? nullptr : &chain;
        if (tree.flexible() && (method == VARIATIONAL || method == VARIATIONAL4))
            refuse("compiled steps of flexible bodies are those of methods without derivatives");
        if (touches(method) && has_servo_of_mode(model)) return false;
        const nb::object contact_given = field(setting, "contact");
        if (!contact_given.is_none()) {
            read_contact(contact_given, held, model, static_cast<index>(set.loads.size()), touching);
            set.contact = &touching;
        }
        if (touches(method) != (set.contact != nullptr)) refuse("only moreau and moreau_midpoint take contacts");
        if (set.chain && method == MIDPOINT) refuse("moreau_midpoint takes trees");
        if (!read_plan(field(setting, "plan"), tree)) return false;
        const nb::object functions_given = field(setting, "functions");
        if (!functions_given.is_none()) {
            functions = std::make_unique<PythonFunctions>(functions_given, model.nq, model.nv, set.loads);
            set.functions = functions.get();
        }
        const nb::object prescribed_given = field(setting, "prescribed");
        if (!prescribed_given.is_none()) {
            if (method == MIDPOINT || method == VARIATIONAL || method == VARIATIONAL4 || (method == MOREAU && set.chain))
                refuse("compiled steps prescribe motions by methods without derivatives, with contacts by moreau on trees");
            motions = read_prescribed(prescribed_given, held, model, static_cast<index>(set.loads.size()), set.plan, prescribed);
            set.prescribed = &prescribed;
            if (set.chain && !drives(chain.solver, prescribed)) refuse("the last couplings of a chain drive its prescribed dofs");
        }
        const nb::object holds_given = field(setting, "holds");
        if (!holds_given.is_none()) {
            if (!set.prescribed) refuse("what holds prescribes motions");
            read_holds(holds_given, held, model, set);
        }
        const nb::object forces = field(setting, "forces"), frames = field(setting, "frames");
        if (!PyDict_Check(forces.ptr()) || !PyDict_Check(frames.ptr())) refuse("forces and frames must be dicts");
        const unsigned long long stamp = tree.stamp;
        if (PyDict_GET_SIZE(forces.ptr()) && !wrenches.read(tree, frames.ptr(), forces.ptr(), nullptr, -1, set.job))
            return false;
        return tree.stamp == stamp && !tree.retired;  // not edited by another thread while Python gave a frame
    }

    // True if a servo acts along a mode, which steps with contact would take implicitly: modes have no armature.
    bool has_servo_of_mode(const rigid::Model& model) const {
        for (index k = 0; k < model.flexible_count; ++k)
            for (const Load& x : set.loads) {
                const index mode = x.row_first - model.flexible[k].v;
                if (mode >= 0 && mode < model.flexible[k].n && (x.bias[1] != 0.0 || x.bias[2] != 0.0)) return true;
            }
        return false;
    }

    bool calls_python() const { return functions || motions || (plan && plan->calls_python()); }

    // True if a coupling for each prescribed dof is behind the others.
    static bool drives(const loops::Plan& plan, const Prescribed& prescribed) {
        const std::size_t count = prescribed.dofs.size(), all = plan.couplings.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (count > all) return false;
            const loops::Coupling& x = plan.couplings[all - count + i];
            if (x.terms.size() != 1 || x.terms[0].v != prescribed.dofs[i].dof) return false;
        }
        return true;
    }

    // Components that are carried along; false while a run walks through them.
    bool read_plan(nb::handle given, const rigid::RigidModel& tree) {
        const rigid::Model& model = tree.model;
        if (given.is_none()) return true;
        if (!nb::isinstance<PlanObject>(given)) refuse("plan must be a SystemPlan");
        plan = nb::cast<PlanObject*>(given);
        const bool takes = method != VARIATIONAL && method != VARIATIONAL4 && method != MIDPOINT;
        if (!plan->fits(model.nq, model.nv) || !takes) refuse("the plan is of another tree or method");
        set.plan = &plan->plan;
        return !plan->busy && plan->find_frames(tree);
    }
};

}  // namespace sim
}  // namespace soacraft
