// `_core.SystemPlan` and `_core.twins`.
#include "sim/components/plan_object.hpp"

#include "numpy_array.hpp"
#include "sim/components/twins.hpp"

namespace soacraft {
namespace sim {
namespace {

// Form of an argument or a result: a number, a whole number, a truth value, an array of numbers; an object in a separate slot;
// the count of a clock's ticks; an object that does not change.
enum Form : int { NUMBER = 0, WHOLE = 1, TRUTH = 2, ARRAY = 3, OBJECT = 4, COUNT = 5, CONSTANT = 6 };
constexpr double LARGEST_WHOLE = 9007199254740992.0;  // beyond 2^53 not every whole number is a double

constexpr index FRAME = 13;  // numbers of a frame: its element, rotation and translation

long long shown(index i) { return i; }

class PythonCall final : public Foreign {
public:
    struct Argument {
        Form form;
        const double* slot;
        const index* count;
        PyObject** object;  // a slot of one
        PyObject* constant;
    };
    PyObject *function = nullptr, *name = nullptr;  // held by the plan
    PlanObject* plan = nullptr;
    std::vector<Argument> arguments;
    Form form = NUMBER;
    double* out = nullptr;
    index n = 0;
    std::vector<npy_intp> shape;
    PyObject** to = nullptr;

    // False where it fails: an error is left for Python to see.
    bool call() override {
        std::vector<PyObject*>& given = given_;
        given.assign(1, nullptr);  // room that the callee may use
        bool made = true;
        for (const Argument& x : arguments) {
            given.push_back(made ? value(x) : nullptr);
            made = made && given.back();
        }
        const std::size_t count = arguments.size();
        PyObject* result = made ? PyObject_Vectorcall(function, given.data() + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr) : nullptr;
        for (std::size_t i = 1; i <= count; ++i) Py_XDECREF(given[i]);
        if (!result || plan->sees_edit()) plan->failed = name;
        const bool taken = result && !plan->edited && take(result);
        Py_XDECREF(result);
        return taken;
    }

private:
    // A new reference.
    static PyObject* value(const Argument& x) {
        switch (x.form) {
            case NUMBER: return PyFloat_FromDouble(*x.slot);
            case WHOLE: return PyLong_FromDouble(*x.slot);
            case TRUTH: return PyBool_FromLong(*x.slot != 0.0);
            case COUNT: return PyLong_FromLongLong(*x.count);
            default: {
                PyObject* known = x.form == OBJECT ? *x.object : x.constant;
                Py_XINCREF(known);
                return known;
            }
        }
    }

    bool take(PyObject* x) {
        if (form == OBJECT) {
            Py_INCREF(x);
            PyObject* before = *to;
            *to = x;
            Py_XDECREF(before);
            return true;
        }
        if (form == ARRAY) return take_array(x);
        if (form == TRUTH) {
            if (!PyBool_Check(x) && !PyArray_IsScalar(x, Bool)) return false;
            const int truth = PyObject_IsTrue(x);
            return truth >= 0 && (*out = truth, true);
        }
        if (PyFloat_Check(x)) {
            *out = PyFloat_AS_DOUBLE(x);
            return form == NUMBER;
        }
        if (!PyLong_Check(x) && !PyArray_IsScalar(x, Number) && !(PyArray_Check(x) && !PyArray_NDIM(reinterpret_cast<PyArrayObject*>(x))))
            return false;
        if (form == WHOLE && !PyIndex_Check(x)) return false;
        const double number = PyFloat_AsDouble(x);
        if (PyErr_Occurred() || (form == WHOLE && !(number >= -LARGEST_WHOLE && number <= LARGEST_WHOLE))) return false;
        *out = number;
        return true;
    }

    bool take_array(PyObject* x) {
        const int axes = static_cast<int>(shape.size());
        if (const double* numbers = data_of(x, axes, shape.data())) {
            Plan::copy(out, numbers, n);
            return true;
        }
        if (!PyArray_Check(x)) return false;
        PyArrayObject* a = reinterpret_cast<PyArrayObject*>(x);
        if (PyArray_NDIM(a) != axes || !(PyArray_ISFLOAT(a) || PyArray_ISINTEGER(a) || PyArray_ISBOOL(a))) return false;
        for (int i = 0; i < axes; ++i)
            if (PyArray_DIM(a, i) != shape[static_cast<std::size_t>(i)]) return false;
        PyObject* plain = PyArray_FROMANY(x, NPY_DOUBLE, axes, axes, NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST);
        if (!plain) return false;
        Plan::copy(out, static_cast<const double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(plain))), n);
        Py_DECREF(plain);
        return true;
    }

    std::vector<PyObject*> given_;
};

nb::tuple as_tuple(nb::handle x) {
    if (!PyTuple_CheckExact(x.ptr())) refuse("a call of a plan is described by tuples");
    return nb::borrow<nb::tuple>(x);
}

index whole(nb::handle x) {
    index i = 0;
    if (!nb::try_cast<index>(x, i, false)) refuse("a plan has whole numbers for slots");
    return i;
}

void require_entries(const char* what, std::size_t got, std::size_t wanted) {
    if (got != wanted) refuse("%s of a plan has %lld entries, not %lld", what, shown(index(got)), shown(index(wanted)));
}

}  // namespace

PlanObject::PlanObject(nb::object slots, nb::object counts, nb::object places, nb::object clocks, index origin, index nq, index nv,
                       index objects)
    : slots_kept_(slots), counts_kept_(counts), slots_(slots, "slots", 1, true), counts_(counts, "counts", 1, true), nq_(nq), nv_(nv) {
    constexpr index MOST = index(1) << 24, LAST = index(1) << 62;
    if (objects < 0 || objects > MOST) refuse("a plan has no such number of objects");
    objects_.assign(static_cast<std::size_t>(objects), nullptr);
    plan.slots = slots_.data(), plan.size = slots_.size(), plan.counts = counts_.data(), plan.origin = origin;
    const Array<index> at(places, "places", 1), ticks(clocks, "clocks", 2);
    if (at.size() != 6 || ticks.size(1) != 3 || ticks.size(0) != counts_.size() || ticks.size(0) > 64 || plan.size < 1)
        refuse("places, clocks and counts of a plan do not fit");
    plan.q = at.data()[0], plan.v = at.data()[1], plan.vdot = at.data()[2];
    plan.z = {at.data()[3], at.data()[5]}, plan.zdot = at.data()[4];
    if (plan.q >= 0) require_range("q", plan.q, nq), require_range("v", plan.v, nv), require_range("vdot", plan.vdot, nv);
    require_range("z", plan.z.at, plan.z.count), require_range("the rates of z", plan.zdot, plan.z.count);
    for (index i = 0; i < ticks.size(0); ++i) {
        const index* c = ticks.data() + 3 * i;
        if (c[0] < 1 || c[1] < 1 || c[0] >= LAST || c[1] >= LAST || c[2] < 0 || c[2] >= LAST) refuse("clock %lld of a plan does not tick", shown(i));
        plan.clocks.push_back({c[0], c[1], c[2]});
    }
}

void PlanObject::require_range(const char* name, index at, index count) const {
    if (at < 0 || count < 0 || at > slots_.size() || count > slots_.size() - at) refuse("%s of a plan is not within its slots", name);
}

void PlanObject::require_idle() const {
    if (busy) refuse("a plan cannot change while it runs");
}

PyObject* PlanObject::hold(nb::handle x) {
    Py_INCREF(x.ptr());
    held_.push_back(x.ptr());
    return x.ptr();
}

// (address, slots of arguments, parameters, slot of the result, its size)
void PlanObject::read_twin(nb::handle call, Calls& to) const {
    const nb::tuple c = as_tuple(call);
    require_entries("a compiled call", c.size(), 5);
    std::uintptr_t address = 0;
    if (!nb::try_cast<std::uintptr_t>(c[0], address, false) || !address) refuse("a compiled call has an address");
    std::vector<const double*> in;
    for (nb::handle x : as_tuple(c[1])) {
        const index at = whole(x);
        require_range("an argument", at, 1);
        in.push_back(plan.slots + at);
    }
    std::vector<double> p;
    for (nb::handle x : as_tuple(c[2])) {
        p.push_back(0.0);
        if (!nb::try_cast<double>(x, p.back())) refuse("parameters of a compiled call are numbers");
    }
    const index out = whole(c[3]), n = whole(c[4]);
    require_range("a result", out, n);
    to.add(reinterpret_cast<Twin>(address), in, p, plan.slots + out, n);
}

// (function, ((form, slot or object), ...), form, slot of the result, its shape, a name)
void PlanObject::read_python(nb::handle call, Calls& to) {
    const nb::tuple c = as_tuple(call);
    require_entries("a call into Python", c.size(), 6);
    auto made = std::make_unique<PythonCall>();
    const auto object_at = [&](index i) {
        if (i < 0 || i >= static_cast<index>(objects_.size())) refuse("slot %lld of a plan holds no object", shown(i));
        return objects_.data() + i;
    };
    const auto form_of = [](nb::handle x) {
        const index form = whole(x);
        if (form < NUMBER || form > CONSTANT) refuse("a plan knows no form %lld", shown(form));
        return static_cast<Form>(form);
    };
    for (nb::handle x : as_tuple(c[1])) {
        const nb::tuple given = as_tuple(x);
        require_entries("an argument", given.size(), 2);
        PythonCall::Argument argument = {form_of(given[0]), nullptr, nullptr, nullptr, nullptr};
        if (argument.form == CONSTANT || argument.form == ARRAY) {  // an array is a view of its slots
            argument.form = CONSTANT;
            argument.constant = hold(given[1]);
        } else if (argument.form == OBJECT) {
            argument.object = object_at(whole(given[1]));
        } else if (argument.form == COUNT) {
            const index i = whole(given[1]);
            if (i < 0 || i >= counts_.size()) refuse("a plan has no clock %lld", shown(i));
            argument.count = counts_.data() + i;
        } else {
            require_range("an argument", whole(given[1]), 1);
            argument.slot = plan.slots + whole(given[1]);
        }
        made->arguments.push_back(argument);
    }
    made->form = form_of(c[2]);
    if (made->form > OBJECT) refuse("a plan knows no such result");
    const index out = whole(c[3]);
    if (made->form == OBJECT) {
        made->to = object_at(out);
    } else {
        made->n = 1;
        for (nb::handle x : as_tuple(c[4])) made->shape.push_back(static_cast<npy_intp>(whole(x))), made->n *= whole(x);
        require_range("a result", out, made->n);
        made->out = plan.slots + out;
    }
    if (!PyCallable_Check(nb::handle(c[0]).ptr())) refuse("a call into Python is of a function");
    made->function = hold(c[0]), made->name = hold(c[5]), made->plan = this;
    python_ = true;
    to.add(std::move(made));
}

Calls PlanObject::read(nb::list calls) {
    Calls made;
    for (nb::handle call : calls) {
        const nb::tuple c = as_tuple(call);
        if (!c.size()) refuse("a call of a plan is empty");
        PyLong_Check(nb::handle(c[0]).ptr()) ? read_twin(call, made) : read_python(call, made);
    }
    return made;
}

std::vector<Range> PlanObject::ranges(nb::handle given, const char* name, int columns, std::vector<index>* third) const {
    const Array<index> x(given, name, 2);
    if (x.size(1) != columns) refuse("%s of a plan has %lld columns", name, shown(x.size(1)));
    std::vector<Range> made;
    for (index i = 0; i < x.size(0); ++i) {
        const index* row = x.data() + columns * i;
        require_range(name, row[0], row[1]);
        made.push_back({row[0], row[1]});
        if (third) require_range(name, row[2], row[1]), third->push_back(row[2]);
    }
    return made;
}

void PlanObject::set_stage(nb::list before, nb::list behind, nb::list rates, bool reads_vdot, nb::object pushes, nb::object nominal) {
    require_idle();
    const Array<double> usual(nominal, "nominal", 1);
    if (usual.size() != plan.z.count) refuse("a plan has %lld states, and %lld usual sizes", shown(plan.z.count), shown(usual.size()));
    const Array<index> given(pushes, "pushes", 2);
    if (given.size(1) != 5) refuse("pushes of a plan have five columns");
    std::vector<Push> made;
    for (index i = 0; i < given.size(0); ++i) {
        const index *row = given.data() + 5 * i, at = row[0], dof = row[1], spot = row[2], kind = row[3];
        if (dof < -1 || dof >= nv_) refuse("there is no dof %lld", shown(dof));
        if (spot < -1 || spot >= static_cast<index>(spots_.size()) / FRAME || kind < FORCE || kind > BOTH) refuse("there is no spot %lld", shown(spot));
        require_range("a force", at, dof >= 0 ? 1 : spot < 0 ? nv_ : kind == BOTH ? 6 : 3);
        made.push_back({at, dof, spot, static_cast<Wrenched>(kind), row[4] != 0});
    }
    plan.before = read(before), plan.behind = read(behind), plan.rates = read(rates);
    plan.reads_vdot = reads_vdot, plan.pushes = made;
    plan.nominal.assign(usual.data(), usual.data() + usual.size());
}

void PlanObject::set_nodes(nb::object frames, nb::object places, nb::object spots) {
    require_idle();
    const Array<double> nodes(frames, "frames", 2), pushed(spots, "spots", 2);
    const Array<index> to(places, "places", 2);
    if (nodes.size(1) != FRAME || pushed.size(1) != FRAME || to.size(1) != 4 || to.size(0) != nodes.size(0))
        refuse("frames and places of a plan do not fit");
    std::vector<Node> made;
    for (index i = 0; i < to.size(0); ++i) {
        const index* row = to.data() + 4 * i;
        for (int k = 0; k < 4; ++k)
            if (row[k] != -1) require_range("a place", row[k], k ? 3 : 9);
        made.push_back({row[0], row[1], row[2], row[3]});
    }
    plan.nodes = made, plan.pushes.clear();
    frames_.assign(nodes.data(), nodes.data() + nodes.size(0) * FRAME);
    spots_.assign(pushed.data(), pushed.data() + pushed.size(0) * FRAME);
}

bool PlanObject::find_frames(const rigid::RigidModel& tree) {
    tree_ = &tree, stamp_ = tree.stamp;
    const auto read = [&](const std::vector<double>& from, std::vector<rigid::Body>& to) {
        to.assign(from.size() / FRAME, rigid::Body());
        for (std::size_t i = 0; i < to.size(); ++i)
            if (!rigid::read_frame(tree, from.data() + FRAME * i, to[i])) return false;
        return true;
    };
    return read(frames_, plan.frames) && read(spots_, plan.spots);
}

void PlanObject::set_record(nb::list before, nb::list behind, nb::object columns) {
    require_idle();
    plan.columns = ranges(columns, "columns", 2);
    plan.late_before = read(before), plan.late_behind = read(behind);
    plan.width = 0;
    for (const Range& x : plan.columns) plan.width += x.count;
}

void PlanObject::set_crossings(nb::list margins, index at, nb::object directions, nb::object signs) {
    require_idle();
    const Array<index> ways(directions, "directions", 1);
    auto shared = std::make_unique<Array<double>>(signs, "signs", 2, true);
    if (shared->size(0) != 2 || shared->size(1) != ways.size() || static_cast<index>(margins.size()) != ways.size())
        refuse("crossings, directions and signs of a plan do not fit");
    require_range("the values of crossings", at, ways.size());
    std::vector<Crossing> made;
    for (index i = 0; i < ways.size(); ++i) {
        if (ways.data()[i] < -1 || ways.data()[i] > 1) refuse("crossing %lld of a plan has no direction", shown(i));
        made.push_back({static_cast<int>(ways.data()[i])});
    }
    plan.margins = read(margins);
    plan.margin = {at, ways.size()}, plan.crossings = made, plan.signs = shared->data();
    signs_ = std::move(shared), signs_kept_ = signs;
}

void PlanObject::set_touches(nb::list touches) {
    require_idle();
    std::vector<Touch> made;
    for (nb::handle given : touches) {
        const nb::tuple c = as_tuple(given);
        require_entries("a contact", c.size(), 4);
        Touch touch{whole(c[0]), whole(c[1]) != 0, {}, {}};
        require_range("a contact", touch.at, touch.pressed ? 1 : 3);
        for (int i : {2, 3}) {
            const nb::object shapes = nb::borrow<nb::object>(c[static_cast<std::size_t>(i)]);
            const Array<index> some(shapes, "shapes", 1);
            (i == 2 ? touch.on : touch.from).assign(some.data(), some.data() + some.size());
        }
        made.push_back(touch);
    }
    plan.touches = made;
}

void PlanObject::add_due(std::uint64_t which, nb::list before, nb::list behind, bool reads_vdot, nb::list updates, nb::object outputs,
                         nb::object fresh) {
    require_idle();
    Due due;
    due.outputs = ranges(outputs, "outputs", 2), due.fresh = ranges(fresh, "fresh", 3, &due.to);
    due.before = read(before), due.behind = read(behind), due.updates = read(updates), due.reads_vdot = reads_vdot;
    plan.dues.erase(which);
    plan.dues.emplace(which, std::move(due));
    plan.unknown = 0;
}

nb::object PlanObject::wrong() const {
    const index size = static_cast<index>(plan.wrong.size());
    nb::object made = new_vector(size);
    Plan::copy(Array<double>(made, "wrong", 1, true).data(), plan.wrong.data(), size);
    return made;
}

int PlanObject::traverse(visitproc visit, void* arg) const {
    for (PyObject* x : held_) Py_VISIT(x);
    for (PyObject* x : objects_) Py_VISIT(x);
    return 0;
}

void PlanObject::clear() {
    for (Calls* x : {&plan.before, &plan.behind, &plan.rates, &plan.late_before, &plan.late_behind, &plan.margins}) *x = Calls();
    plan.dues.clear();
    plan.margin = {0, 0}, plan.crossings.clear();
    failed = nullptr;
    std::vector<PyObject*> held, objects(objects_.size(), nullptr);
    held.swap(held_), objects.swap(objects_);
    for (PyObject* x : held) Py_DECREF(x);
    for (PyObject* x : objects) Py_XDECREF(x);
}

namespace {

int traverse_plan(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<PlanObject>(self)->traverse(visit, arg) : 0;
}
int clear_plan(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<PlanObject>(self)->clear();
    return 0;
}
PyType_Slot plan_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_plan)},
                            {Py_tp_clear, reinterpret_cast<void*>(clear_plan)},
                            {0, nullptr}};

nb::dict twins() {
    nb::dict made;
    for (const Named* x = TWINS; x->name; ++x) made[x->name] = reinterpret_cast<std::uintptr_t>(x->twin);
    return made;
}

}  // namespace

void bind_plan(nb::module_& m) {
    nb::class_<PlanObject>(m, "SystemPlan", nb::type_slots(plan_slots), "The equations of a system as a list of calls on slots.")
        .def(nb::init<nb::object, nb::object, nb::object, nb::object, index, index, index, index>(), nb::arg("slots"), nb::arg("counts"),
             nb::arg("places"), nb::arg("clocks"), nb::arg("origin"), nb::arg("nq"), nb::arg("nv"), nb::arg("objects"))
        .def("set_stage", &PlanObject::set_stage, nb::arg("before"), nb::arg("behind"), nb::arg("rates"), nb::arg("reads_vdot"), nb::arg("pushes"), nb::arg("nominal"))
        .def("set_nodes", &PlanObject::set_nodes, nb::arg("frames"), nb::arg("places"), nb::arg("spots"))
        .def("set_record", &PlanObject::set_record, nb::arg("before"), nb::arg("behind"), nb::arg("columns"))
        .def("set_crossings", &PlanObject::set_crossings, nb::arg("margins"), nb::arg("at"), nb::arg("directions"), nb::arg("signs"))
        .def("set_touches", &PlanObject::set_touches, nb::arg("touches"))
        .def("add_due", &PlanObject::add_due, nb::arg("which"), nb::arg("before"), nb::arg("behind"), nb::arg("reads_vdot"), nb::arg("updates"),
             nb::arg("outputs"), nb::arg("fresh"))
        .def_prop_ro("unknown", [](const PlanObject& x) { return x.plan.unknown; })
        .def_prop_ro("failed", [](const PlanObject& x) { return x.failed ? nb::borrow<nb::object>(x.failed) : nb::none(); })
        .def_prop_ro("ticking", [](const PlanObject& x) { return x.plan.ticking; })
        .def_prop_ro("edited", [](const PlanObject& x) { return x.edited; })
        .def_prop_ro("spoilt",
                     [](const PlanObject& x) -> nb::object {
                         if (!x.plan.spoiled) return nb::none();
                         return nb::cast(x.plan.spoilt);
                     })
        .def_prop_ro("wrong", &PlanObject::wrong);
    m.def("twins", &twins, "The addresses of the compiled equations that come along, by name.");
}

}  // namespace sim
}  // namespace soacraft
