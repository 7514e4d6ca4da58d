"""Mutants of the C++ code that no test can notice, as (file, statement, changed): the reason."""

RIGID, LOOPS = "core/include/soacraft/rigid", "core/include/soacraft/loops"
LIMBS = "core/include/soacraft/kinematics"
MOVING = "core/include/soacraft/contact/moving"

SURVIVORS: dict[tuple[str, str, str], str] = {
    (
        "core/sim/components/crossing.hpp",
        "return at != 0 && at != FINE && least < near;",
        "return at != 0 && at != FINE && least <= near;",
    ): "an extremum just as near as is looked at is one more or less step that Python looks at",
    (
        "core/include/soacraft/contact/dynamics/closure_space.hpp",
        "if (size < LITTLE) {",
        "if (size <= LITTLE) {",
    ): "no row has just that part left, and one more turn would leave it as it is",
    (
        f"{MOVING}/near.hpp",
        "if (!(near2.x[k] <= far2)) continue;",
        "if (!(near2.x[k] < far2)) continue;",
    ): "boxes and balls are made larger by more than rounding: no pair is just at their rim",
    (
        f"{MOVING}/near.hpp",
        "if (!(off2 <= far2)) continue;",
        "if (!(off2 < far2)) continue;",
    ): "boxes and balls are made larger by more than rounding: no pair is just at their rim",
    (
        f"{MOVING}/near.hpp",
        "const double far = within(m) + s.pad + s.radius * (1.0 + ROUNDED);",
        "const double far = within(m) + s.pad + s.radius * (1.0 - ROUNDED);",
    ): "the boxes are larger than the shapes by as much",
    (
        f"{MOVING}/near.hpp",
        "off2 += d * d;",
        "",
    ): "no branch of the tree is left out: slower, and no more",
    (
        f"{MOVING}/near.hpp",
        "if (plan.shapes[b].kind == HALF) { const index x = a; a = b, b = x; }",
        "if (plan.shapes[b].kind != HALF) { const index x = a; a = b, b = x; }",
    ): "a plane is then near to everything: slower, and no more",
    (
        "core/contact/moving_scene.hpp",
        "if (node.high[i] - node.low[i] > node.high[axis] - node.low[axis]) axis = i;",
        "if (!(node.high[i] - node.low[i] > node.high[axis] - node.low[axis])) axis = i;",
    ): "which way boxes are cut is a choice of speed",
    (
        "core/contact/moving_binding.cpp",
        "if (2 * static_cast<std::size_t>(more) > pairs.size()) pairs.resize(4 * static_cast<std::size_t>(more));",
        "if (2 * static_cast<std::size_t>(more) >= pairs.size()) pairs.resize(4 * static_cast<std::size_t>(more));",
    ): "memory grows before it must",
    (
        f"{MOVING}/edges.hpp",
        "const double room = row[0] - row[10] - 0.5 * task_.close;",
        "const double room = row[0] + row[10] - 0.5 * task_.close;",
    ): "what an iteration leaves is far below half of what is a touch",
    (
        f"{MOVING}/edges.hpp",
        "return A > 0.0 ? (under - c) / A : HUGE_VAL;",
        "return A > 0.0 ? (under + c) / A : HUGE_VAL;",
    ): "shapes that part are given less time than they have: more steps, and no more",
    (
        f"{MOVING}/edges.hpp",
        "all.before = before < all.before ? before : all.before, all.after = after < all.after ? after : all.after;",
        "all.before = before <= all.before ? before : all.before, all.after = after < all.after ? after : all.after;",
    ): "of two equal numbers either is the least",
    (
        f"{MOVING}/edges.hpp",
        "all.after = after < all.after ? after : all.after;",
        "all.after = after <= all.after ? after : all.after;",
    ): "of two equal numbers either is the least",
    (
        f"{MOVING}/near_lanes.hpp",
        "left = ~(NO_NORMAL * size.x < far.x);",
        "left = ~(NO_NORMAL * size.x <= far.x);",
    ): "points at just that distance have a normal either way",
    (
        f"{MOVING}/poses.hpp",
        "if (plan.shapes[i].element < 0)",
        "if (plan.shapes[i].element <= 0)",
    ): "what moves is placed again before it is looked at",
    (
        "core/include/soacraft/cholesky.hpp",
        "const T tangent = (half < T(0) ? T(-1) : T(1)) / (std::fabs(half) + std::sqrt(half * half + T(1)));",
        "const T tangent = (half <= T(0) ? T(-1) : T(1)) / (std::fabs(half) + std::sqrt(half * half + T(1)));",
    ): "where half is 0, turning by 45 degrees either way takes the entry away",
    (
        "core/include/soacraft/lyapunov.hpp",
        "return p < 0 || tree.node.size(p) == 0 || tree.node.size(k) == 0 || right.size(p) == 0 || right.size(k) == 0;",
        "return p < 0 || tree.node.size(p) == 0 && tree.node.size(k) == 0 || right.size(p) == 0 || right.size(k) == 0;",
    ): "products with a block that has no entries are formed instead of skipped, and add nothing",
    (
        "core/include/soacraft/flexible/across.hpp",
        "return Pack<W>(s.x < limit - typename Pack<W>::Real{} ? x.x : y.x);",
        "return Pack<W>(s.x < limit + typename Pack<W>::Real{} ? x.x : y.x);",
    ): "the zeros make a register of a number, added or taken away",
    (
        f"{LIMBS}/limb_lanes.hpp",
        "const double x = at[i] < limb.lower[i] ? limb.lower[i] : at[i] > limb.upper[i] ? limb.upper[i] : at[i];",
        "const double x = at[i] <= limb.lower[i] ? limb.lower[i] : at[i] > limb.upper[i] ? limb.upper[i] : at[i];",
    ): "at the limit both are the limit",
    (
        f"{LIMBS}/limb_search.hpp",
        "if (job.options->all || job.count < 2 * W)",
        "if (job.options->all || job.count <= 2 * W)",
    ): "how many goals make a batch is a choice of speed",
    (
        f"{LIMBS}/limb_search.hpp",
        "if (job_.told[3 * g] || lanes_.square.x[0] > (1.0 - set_.settled) * here) break;",
        "if (job_.told[3 * g] && lanes_.square.x[0] > (1.0 - set_.settled) * here) break;",
    ): "steps go on that gain nothing: slower, and no more",
    (
        f"{LIMBS}/limb_search.hpp",
        "if (lanes_.square.x[i] < lanes_.square.x[best]) best = i;",
        "if (lanes_.square.x[i] <= lanes_.square.x[best]) best = i;",
    ): "of two steps that come as near either may be taken",
    (
        f"{LIMBS}/limb_lanes.hpp",
        "if (n < 6) solve_dofs(mu);",
        "if (n <= 6) solve_dofs(mu);",
    ): "of six dofs both forms are systems of six, with the same step",
    (
        f"{LIMBS}/limb_table.hpp",
        "if (d[i] > d[k]) k = i;",
        "if (d[i] >= d[k]) k = i;",
    ): "of two equal components of a quaternion either may be divided by",
    (
        f"{LIMBS}/limb_table.hpp",
        "if (low_[i] < low_[c]) c = i;",
        "if (low_[i] <= low_[c]) c = i;",
    ): "of two configurations that are as far either may go first",
    (
        f"{LIMBS}/limb_table.hpp",
        "if (found < 0 && x == low_[c]) found = COLUMNS * r + c, x = HUGE_VAL;",
        "if (found <= 0 && x == low_[c]) found = COLUMNS * r + c, x = HUGE_VAL;",
    ): "another configuration just as far as the first would be taken with it, and no two are",
    (
        f"{LIMBS}/limb_search.hpp",
        "if (square < x.best) keep(i, x.goal, square);",
        "if (square <= x.best) keep(i, x.goal, square);",
    ): "of two equal approaches either may be told",
    (
        f"{RIGID}/minv.hpp",
        "const index columns = model.elements[piece.tip].last > piece.tip + 1 ? EIGHT + 6 : piece.count;",
        "const index columns = model.elements[piece.tip].last >= piece.tip + 1 ? EIGHT + 6 : piece.count;",
    ): "a tip that carries nothing gets columns that nobody reads: slower, and no more",
    (
        f"{RIGID}/steps/grid.hpp",
        "const index end = w > 1 && next + w <= n ? next : n;",
        "const index end = w > 1 && next + w < n ? next : n;",
    ): "the last square is copied twice, number by number and as a whole: the same numbers",
    (
        f"{RIGID}/mass_gradient.hpp",
        "const index left = e.parent < 0 ? 0 : first[e.parent + 1];",
        "const index left = e.parent <= 0 ? 0 : first[e.parent + 1];",
    ): "what it clears are entries of the first base element, and the rows begin outboard of it",
    (
        f"{RIGID}/fd_derivatives.hpp",
        "return margin > 0.0;",
        "return margin >= 0.0;",
    ): "a margin of 0 takes a D of 0; then the matrices are not finite, which is refused too",
    (
        f"{RIGID}/id_derivatives.hpp",
        "if (w.number.run[k] > 0 || end < model.nv)",
        "if (w.number.run[k] >= 0 || end < model.nv)",
    ): "rows that are written from end to end are cleared first: slower, and no more",
    (
        "core/rigid/rigid_model.hpp",
        "threads = threads < 1 ? 1 : threads;",
        "threads = threads <= 1 ? 1 : threads;",
    ): "1 is 1",
    (
        f"{LOOPS}/rows/closure_hinge.hpp",
        "} else if (yy >= zz) {",
        "} else if (yy > zz) {",
    ): "where yy is zz both ways give the same quaternion, to rounding",
    (
        f"{LOOPS}/rows/closure_hinge.hpp",
        "if (size < plan.tolerances.followed) return !slipped(plan, c, hinge, T_ab);",
        "if (size <= plan.tolerances.followed) return !slipped(plan, c, hinge, T_ab);",
    ): "a step of exactly 1e-13, which no model gives, is taken or not: rounding",
    (
        f"{LOOPS}/work.hpp",
        "longest = longest < steps ? steps : longest;",
        "longest = longest <= steps ? steps : longest;",
    ): "the larger of two equal numbers is either",
    (
        f"{LOOPS}/embedding/embedding.hpp",
        "w.f[k] = w.P[k] * A + w.z[k];",
        "w.f[k] = w.P[k] * A - w.z[k];",
    ): "the first answer is wrong, and the refinement that follows mends it to rounding: one round more",
    (
        "core/loops/batch.hpp",
        "threads = threads < 1 ? 1 : threads > count ? count : "
        "threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;",
        "threads = threads < 1 ? 1 : threads >= count ? count : "
        "threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;",
    ): "as many threads as states are as many as states",
    (
        f"{RIGID}/compliance.hpp",
        "if (!(1.0 > SURE_RANK * trace * trace_of_inverse)) return false;",
        "if (!(1.0 >= SURE_RANK * trace * trace_of_inverse)) return false;",
    ): "a bound of the rank that is one to the last bit; Python, asked on one side of it, gives the same numbers",
    (
        "core/program/calls.cpp",
        "if (!x || p.program->rows * columns > LARGE || p.program->register_room * columns > LARGE) return nullptr;",
        "if (!x || p.program->rows * columns > LARGE && p.program->register_room * columns > LARGE) return nullptr;",
    ): "products of so many columns go to Python, which asks for the memory first and gives the same numbers",
    (
        "core/dispatch.cpp",
        'const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && '
        '__builtin_cpu_supports("bmi2");',
        'const bool v3 = __builtin_cpu_supports("avx2") || __builtin_cpu_supports("fma") && '
        '__builtin_cpu_supports("bmi2");',
    ): "not in the portable build; and it takes a processor that has one of the three and not the others",
    (
        f"{LOOPS}/work.hpp",
        "if (checked && !(plan.length > 0.0)) return nowhere<T>();",
        "if (checked && !(plan.length >= 0.0)) return nowhere<T>();",
    ): "only sliders have no length; rows in units of 0 then let no state pass the checks that follow",
    (
        f"{RIGID}/steps/grid.hpp",
        "if (j < n && n - w >= next) mirror_tile(y, n, i, n - w, bads);",
        "if (j < n || n - w >= next) mirror_tile(y, n, i, n - w, bads);",
    ): "a square is copied once more, or across the diagonal where both sides are equal already: the same numbers",
    (
        f"{RIGID}/steps/grid.hpp",
        "bad += nonsense(y[r * n + c]);",
        "bad -= nonsense(y[r * n + c]);",
    ): "0 or NaN, whatever its sign",
    (
        f"{RIGID}/steps/grid.hpp",
        "bad += nonsense(y[r * n + r]);",
        "bad -= nonsense(y[r * n + r]);",
    ): "0 or NaN, whatever its sign",
    (
        f"{RIGID}/compliance.hpp",
        "if (!(largest[0] > 0.0 && largest[1] > 0.0)) return false;",
        "if (!(largest[0] > 0.0 || largest[1] > 0.0)) return false;",
    ): "a scale of 1/0 makes NaN of the entries, which Cholesky refuses",
    (
        "core/include/soacraft/program/written.hpp",
        'if (room > builder->most) reject("the registers of a program have more than %lld numbers", '
        "static_cast<long long>(builder->most));",
        'if (room >= builder->most) reject("the registers of a program have more than %lld numbers", '
        "static_cast<long long>(builder->most));",
    ): "registers of exactly so many numbers, which no memory holds",
    (
        "core/include/soacraft/program/numbers.hpp",
        "if (builder->makers[i].how == GIVEN && !builder->makers[i].transposed) made[i] = 0;",
        "if (!(builder->makers[i].how == GIVEN && !builder->makers[i].transposed)) made[i] = 0;",
    ): "numbers that follow a state are given constants alone, which are then given once more",
    (
        "core/program/calls.cpp",
        "one.q = job.q ? job.q + s * job.q_step : nullptr;",
        "one.q = job.q ? job.q - s * job.q_step : nullptr;",
    ): "a state in doubt in a pack is in doubt alone too: what is computed for its neighbours is thrown away",
    (
        "core/include/soacraft/program/numbers.hpp",
        "if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;",
        "if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n <= (1.0 + 1e-6) * (1.0 + 1e-6))) return false;",
    ): "a square of a length that is on the bound to the last bit",
    (
        f"{RIGID}/steps/sheet.hpp",
        "if (c >= from && c + w <= to)",
        "if (c >= from && c + w < to)",
    ): "the last columns are stored one by one: slower, and no more",
    (
        f"{RIGID}/steps/sheet.hpp",
        "to.run[k] = k > 0 && e.parent == k - 1 ? to.run[k - 1] : k;",
        "to.run[k] = k > 0 && e.parent == k + 1 ? to.run[k - 1] : k;",
    ): "every element is a run of its own: slower, and no more",
    (
        f"{RIGID}/steps/columns.hpp",
        "const index end = direct || begin + TRAY > nv ? nv : begin + TRAY;",
        "const index end = direct || begin + TRAY >= nv ? nv : begin + TRAY;",
    ): "the smaller of two equal numbers is either",
    (
        f"{RIGID}/steps/grid.hpp",
        "bad += nonsense(r[k]);",
        "",
    ): "of a positive definite matrix no entry is larger than those on the diagonal, which are looked at",
    (
        f"{RIGID}/drivers/matrices.hpp",
        "if (model.nv > SMALL) return run_matrix<Matrix>(job, first, last, arena, static_cast<double*>(nullptr));",
        "if (model.nv >= SMALL) return run_matrix<Matrix>(job, first, last, arena, static_cast<double*>(nullptr));",
    ): "states of 40 dofs are computed one by one instead of in packs, in the larger room: the same numbers",
    (
        "core/include/soacraft/contact/rays.hpp",
        "if (at >= 0.0 && at < t) t = at, n = normal;",
        "if (at >= 0.0 && at <= t) t = at, n = normal;",
    ): "a ray into an edge has the normal of either face",
    (
        "core/include/soacraft/contact/epa.hpp",
        "if (dot(n, cores_.at.p) < 0.0) n = -n;",
        "if (dot(n, cores_.at.p) <= 0.0) n = -n;",
    ): "where the middle of B is in the flat, either side of it is as near",
    (
        "core/include/soacraft/contact/solvers/cone.hpp",
        "if (norm(x + 1, d - 1) <= x[0]) {",
        "if (norm(x + 1, d - 1) < x[0]) {",
    ): "on the skin of the cone, to the last bit, what slides does so at no speed: the same impulse",
    (
        "core/rigid/coordinate_kernels.cpp",
        "return bad[0] + bad[1] + bad[2] + bad[3] == 0.0;",
        "return bad[0] - bad[1] + bad[2] + bad[3] == 0.0;",
    ): "0 or NaN, whatever its sign",
    (
        "core/include/soacraft/contact/solvers/cone.hpp",
        "if (b[0] >= 0) return true;",
        "if (b[0] > 0) return true;",
    ): "a contact that neither approaches nor leaves: no impulse obeys the laws, and so does what else they give",
    (
        "core/sim/advance.hpp",
        "course_.length = h >= 0.5 * length || refused ? next(h, error, refused) : length;",
        "course_.length = h > 0.5 * length || refused ? next(h, error, refused) : length;",
    ): "a step that is half of what was planned to the last bit: the next is planned anew or not, and both are good",
    (
        "core/include/soacraft/contact/lanes/box_pairs.hpp",
        "if (!(ha[i] > 0.0) || !(hb[j] > 0.0)) continue;",
        "if (!(ha[i] > 0.0) || !(hb[j] >= 0.0)) continue;",
    ): "edges without length give directions that are no faces of M: none separates more than the best face",
    (
        "core/include/soacraft/contact/solvers/solver.hpp",
        "if (residual < least) least = residual, std::copy(p, p + n, best.begin());",
        "if (residual <= least) least = residual, std::copy(p, p + n, best.begin());",
    ): "of two answers with one residual either is as good",
    (
        "core/include/soacraft/kinematics/reaching.hpp",
        "const bool stalled = !met && square > (1.0 - t.unimproved) * cost;",
        "const bool stalled = !met && square >= (1.0 - t.unimproved) * cost;",
    ): "a cost that is on the bound to the last bit",
    (
        "core/include/soacraft/rigid/model/assembly.hpp",
        "e.branch = children[at(k)] > 1 || (children[at(k)] == 1 && e.flexible >= 0) ? branches++ : -1;",
        "e.branch = children[at(k)] >= 1 || (children[at(k)] == 1 && e.flexible >= 0) ? branches++ : -1;",
    ): "only children are accumulated like several: slower, and the same numbers",
    (
        "core/include/soacraft/contact/pushes.hpp",
        "if (A_.closed && dot(triangle_normal(A_, i), n) < UPRIGHT) return;",
        "if (A_.closed && dot(triangle_normal(A_, i), n) <= UPRIGHT) return;",
    ): "a face as upright as the bound to the last bit",
    (
        "core/include/soacraft/contact/rays.hpp",
        "if (o[i] < low[i] || o[i] > high[i]) return HUGE_VAL;",
        "if (o[i] < low[i] || o[i] >= high[i]) return HUGE_VAL;",
    ): "a ray within the face of a box, to the last bit, meets it or not",
    (
        "core/include/soacraft/contact/dynamics/tree_rows.hpp",
        "const index next = k > l ? k : l;",
        "const index next = k >= l ? k : l;",
    ): "the larger of two equal numbers is either",
    (
        "core/include/soacraft/contact/pushes.hpp",
        "if (made[k].gap <= within) out.push_back({made[k].a + t.middle, made[k].b + t.middle, n, made[k].gap, 0.0});",
        "if (made[k].gap < within) out.push_back({made[k].a + t.middle, made[k].b + t.middle, n, made[k].gap, 0.0});",
    ): "a point as far away as was asked for, to the last bit",
    (
        "core/include/soacraft/rigid/twist_log.hpp",
        "if (x >= y && x >= z) {",
        "if (x > y && x >= z) {",
    ): "of two largest either loses no digits",
    (
        "core/module.cpp",
        "if (x.size(1) > 0) kernel(tree, A, x.size(1), x.data(), y.data());",
        "if (x.size(1) >= 0) kernel(tree, A, x.size(1), x.data(), y.data());",
    ): "no columns: nothing to compute",
    (
        "core/include/soacraft/loops/rows/closure_hinge.hpp",
        "if (trace > 0.0) {",
        "if (trace >= 0.0) {",
    ): "where the trace is 0 to the last bit, either way loses no digits",
    (
        "core/include/soacraft/loops/augmented/tree_augmented.hpp",
        "if (largest(w.row, m) <= w.plan.tolerances.closest * largest(rhs, m)) break;",
        "if (largest(w.row, m) < w.plan.tolerances.closest * largest(rhs, m)) break;",
    ): "what is left is on the bound to the last bit: one round more",
    (
        "core/include/soacraft/loops/closing.hpp",
        "if (!(gained > t.gained || open <= t.assembled)) return false;",
        "if (!(gained >= t.gained || open <= t.assembled)) return false;",
    ): "a gain that is on the bound to the last bit",
    (
        "core/include/soacraft/scalars/dual.hpp",
        "return a.x < b.x ? a : b.x < a.x ? b : Dual<D>{a.x, D(NAN)};",
        "return a.x < b.x ? a : b.x < a.x ? b : Dual<D>{a.y, D(NAN)};",
    ): "where both are equal the derivative is no number, and the answer goes to Python",
    (
        "core/include/soacraft/contact/solvers/islands.hpp",
        "all.residual = one.residual <= all.residual ? all.residual : one.residual;",
        "all.residual = one.residual < all.residual ? all.residual : one.residual;",
    ): "the larger of two equal numbers is either",
    (
        "core/include/soacraft/rigid/steps/inertial.hpp",
        "const index count = k + w <= model.count ? w : model.count - k;",
        "const index count = k - w <= model.count ? w : model.count - k;",
    ): "lanes past the last element are computed from what is behind it, and end in the padding of the arena",
    (
        "core/include/soacraft/rigid/steps/standing.hpp",
        "const index count = k + w < model.count ? w : model.count - k;",
        "const index count = k - w < model.count ? w : model.count - k;",
    ): "lanes past the last element are computed from what is behind it, and end in the padding of the arena",
    (
        "core/include/soacraft/contact/mesh.hpp",
        "sum += d * d;",
        "sum -= d * d;",
    ): "a lower bound that is no number leaves out nothing: slower, and no more",
    (
        "core/sim/calls/python_functions.hpp",
        "return std::fabs(t - near) <= 1e-15 * std::fabs(t) + 1e-16 ? near : t;",
        "return std::fabs(t - near) < 1e-15 * std::fabs(t) + 1e-16 ? near : t;",
    ): "a difference that is on the bound to the last bit",
    (
        "core/sim/calls/user_calls.hpp",
        "if (!restored || !now) return -1;",
        "if (!restored && !now) return -1;",
    ): "neither fails: they set and read attributes that are there",
    (
        "core/sim/load.hpp",
        "const double above = x < limits[0] ? limits[0] : x;",
        "const double above = x <= limits[0] ? limits[0] : x;",
    ): "the larger of two equal numbers is either",
    (
        "core/include/soacraft/contact/mesh_touch.hpp",
        "if (touch.contact[0].gap < bound) bound = touch.contact[0].gap, nearest_triangle = i, x.n = touch.n;",
        "if (touch.contact[0].gap <= bound) bound = touch.contact[0].gap, nearest_triangle = i, x.n = touch.n;",
    ): "of two triangles that are equally near, either is the way out",
    (
        "core/include/soacraft/loops/linear/row_space.hpp",
        "if (norm[i] > zero * zero * most) order[rows++] = i;",
        "if (norm[i] >= zero * zero * most) order[rows++] = i;",
    ): "a row that is rounding to the last bit is judged again by its pivot",
    (
        "core/include/soacraft/workspace.hpp",
        "if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;",
        "if (!(n >= (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;",
    ): "a square of a length that is on the bound to the last bit",
    (
        "core/include/soacraft/contact/epa.hpp",
        "if (x.error > 1e-6 * cores_.size && begin(start, false)) {",
        "if (x.error > 1e-6 * cores_.size || begin(start, false)) {",
    ): "grown once more from another tetrahedron: the better of two good answers",
    (
        "core/dispatch.cpp",
        "if (b.runs && std::strcmp(b.rigid->name, name) == 0) {",
        "if (b.runs || std::strcmp(b.rigid->name, name) == 0) {",
    ): "kernels are chosen in an interpreter of their own, before a model is compiled: it loads the installed build",
    (
        "core/dispatch.cpp",
        "if (b.runs && std::strcmp(b.rigid->name, name) == 0) {",
        "if (b.runs && std::strcmp(b.rigid->name, name) != 0) {",
    ): "kernels are chosen in an interpreter of their own, before a model is compiled: it loads the installed build",
    (
        "core/rigid/coordinate_kernels.cpp",
        "return bad[0] + bad[1] + bad[2] + bad[3] == 0.0;",
        "return bad[0] + bad[1] - bad[2] + bad[3] == 0.0;",
    ): "0 or NaN, whatever its sign",
    (
        "core/rigid/coordinate_kernels.cpp",
        "return bad[0] + bad[1] + bad[2] + bad[3] == 0.0;",
        "return bad[0] + bad[1] + bad[2] - bad[3] == 0.0;",
    ): "0 or NaN, whatever its sign",
    (
        "core/include/soacraft/loops/left_out.hpp",
        "return 0.5 + (x - std::floor(x));",
        "return 0.5 + (x + std::floor(x));",
    ): "other numbers between bounds, which no small sum cancels either",
    (
        "core/include/soacraft/loops/left_out.hpp",
        "const double x = 0.6180339887498949 * static_cast<double>(k + 1);",
        "const double x = 0.6180339887498949 * static_cast<double>(k - 1);",
    ): "the same numbers from another place on",
    (
        "core/include/soacraft/contact/solvers/node_factor.hpp",
        "if (std::fabs(A[i * m + c]) > std::fabs(A[best * m + c])) best = i;",
        "if (std::fabs(A[i * m + c]) >= std::fabs(A[best * m + c])) best = i;",
    ): "of two equal pivots either will do",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "trial[at(block.row + i)] = (seed >> 63) != 0 ? 1 : -1;",
        "trial[at(block.row + i)] = (seed >> 63) == 0 ? 1 : -1;",
    ): "a vector and its negative have parts of one size in the null space",
    (
        "core/contact/distance_call.cpp",
        "return answerable(*shape[0], *shape[1]) && (count < 0 || (count > 0 && count <= LARGE / SPOT));",
        "return answerable(*shape[0], *shape[1]) && (count < 0 || (count > 0 && count < LARGE / SPOT));",
    ): "so many pairs of poses, and no more: Python asks for the memory first and gives the same numbers",
    (
        "core/contact/distance_call.cpp",
        "const bool one = said.count < 0;",
        "const bool one = said.count <= 0;",
    ): "a batch of none was left to Python before",
    (
        "core/contact/pair_query.hpp",
        "if (x.distance > NEAR * c.size && norm(x.b - x.a) - x.distance > BOX_ENOUGH * c.size)",
        "if (x.distance > NEAR * c.size && norm(x.b - x.a) - x.distance >= BOX_ENOUGH * c.size)",
    ): "points as far apart as the bound to the last bit: either pair of points will do",
    (
        "core/contact/pair_query.hpp",
        "if (x.distance > NEAR * c.size && norm(x.b - x.a) - x.distance > BOX_ENOUGH * c.size)",
        "if (x.distance >= NEAR * c.size && norm(x.b - x.a) - x.distance > BOX_ENOUGH * c.size)",
    ): "a distance that is on the bound to the last bit",
    (
        "core/contact/pair_query.hpp",
        "job_.by_pose = by_size == 0, job_.mirrored = by_size > 0, job_.within = within;",
        "job_.by_pose = by_size == 0, job_.mirrored = by_size >= 0, job_.within = within;",
    ): "of equal shapes the poses tell which comes first, whichever was named first",
    (
        "core/contact/pair_query.hpp",
        "lanes_ = a.kind != b.kind ? has_lanes(a.kind > b.kind ? a : b, a.kind > b.kind ? b : a) : has_lanes(a, b);",
        "lanes_ = a.kind != b.kind ? has_lanes(a.kind >= b.kind ? a : b, a.kind > b.kind ? b : a) : has_lanes(a, b);",
    ): "kinds that differ are not equal",
    (
        "core/contact/pair_query.hpp",
        "lanes_ = a.kind != b.kind ? has_lanes(a.kind > b.kind ? a : b, a.kind > b.kind ? b : a) : has_lanes(a, b);",
        "lanes_ = a.kind != b.kind ? has_lanes(a.kind > b.kind ? a : b, a.kind >= b.kind ? b : a) : has_lanes(a, b);",
    ): "kinds that differ are not equal",
    (
        "core/dispatch.cpp",
        'const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && '
        '__builtin_cpu_supports("bmi2");',
        'const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") || '
        '__builtin_cpu_supports("bmi2");',
    ): "not in the portable build; and it takes a processor that has one of the three and not the others",
    (
        "core/dispatch.cpp",
        "if (b.runs && std::strcmp(b.rigid->name, name) == 0) {",
        "if (!(b.runs && std::strcmp(b.rigid->name, name) == 0)) {",
    ): "kernels are chosen in an interpreter of their own, before a model is compiled: it loads the installed build",
    (
        "core/include/soacraft/contact/boxes.hpp",
        "const double enough = BOX_ENOUGH * (c.size + x.distance);",
        "const double enough = BOX_ENOUGH * (c.size - x.distance);",
    ): "boxes far apart are left to the general search, which ends at the same points: slower",
    (
        "core/include/soacraft/contact/dynamics/tree_rows.hpp",
        "of.w += T(arm_[at(limb)]) * of.v;",
        "of.w -= T(arm_[at(limb)]) * of.v;",
    ): "a bound on rounding; rows that rounding alone moves are told by their scale too",
    (
        "core/include/soacraft/contact/dynamics/tree_rows.hpp",
        "of.w += absolute(y[i]) * T(size[i].W.w), of.v += absolute(y[i]) * T(size[i].W.v);",
        "of.w += absolute(y[i]) * T(size[i].W.v), of.v += absolute(y[i]) * T(size[i].W.v);",
    ): "a bound on rounding; rows that rounding alone moves are told by their scale too",
    (
        f"{LOOPS}/embedding/inverse_embedding.hpp",
        "return residual_of(w, acting).closures <= w.plan.tolerances.closed;",
        "return residual_of(w, acting).closures < w.plan.tolerances.closed;",
    ): "a residual that is on the bound to the last bit",
    (
        f"{LOOPS}/motion.hpp",
        "if (s.free || s.nd == 0) {",
        "if (s.free && s.nd == 0) {",
    ): "a group without rows has no dependent dofs; one with rows and no dependent dofs has nothing to compare",
    (
        f"{RIGID}/drivers/rollout.hpp",
        "if (!(dot(w, w) <= LARGEST_TURN * LARGEST_TURN)) {",
        "if (!(dot(w, w) < LARGEST_TURN * LARGEST_TURN)) {",
    ): "a turn that is on the bound to the last bit",
    (
        "core/sim/chart.hpp",
        "return !(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] <= LARGEST_TURN * LARGEST_TURN);",
        "return !(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] < LARGEST_TURN * LARGEST_TURN);",
    ): "a turn that is on the bound to the last bit",
    (
        "core/loops/binding.cpp",
        "good = best_kernels().solve(m.plan, memory, m.method, s, {vdot.data(), rest.data(), rest.data() + "
        "m.forces(), nullptr});",
        "good = best_kernels().solve(m.plan, memory, m.method, s, {vdot.data(), rest.data(), rest.data() - "
        "m.forces(), nullptr});",
    ): "two residuals of a loop for benchmarks, which nobody reads",
    (
        "core/loops/derivatives_binding.cpp",
        "if (!rigid::finite(x.vdot[i], nv * nv) || !rigid::finite(x.forces[i], forces * nv)) return false;",
        "if (!rigid::finite(x.vdot[i], nv * nv) && !rigid::finite(x.forces[i], forces * nv)) return false;",
    ): "inertias whose forces overflow are left to Python before: the compliance of their rows is no pivot",
    (
        "core/rigid/rollout.hpp",
        "const bool single = task.count == 1;",
        "const bool single = task.count != 1;",
    ): "states one by one instead of in packs, and the other way round: the same numbers",
    (
        "core/rigid/rollout.hpp",
        "threads = threads < 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;",
        "threads = threads < 1 ? 1 : threads > packs ? packs : threads >= MOST_THREADS ? MOST_THREADS : threads;",
    ): "the smaller of two equal numbers is either",
    (
        "core/rigid/rollout.hpp",
        "threads = threads < 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;",
        "threads = threads < 1 ? 1 : threads >= packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;",
    ): "the smaller of two equal numbers is either",
    (
        "core/rigid/rollout.hpp",
        "threads = threads < 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;",
        "threads = threads <= 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;",
    ): "1 is 1",
    (
        "core/sim/contact/contact_search.hpp",
        "const int least = x <= y && x <= z ? 0 : y <= z ? 1 : 2;",
        "const int least = x <= y && x <= z ? 0 : y < z ? 1 : 2;",
    ): "of two components that are equal either gives tangents, and cones are round",
    (
        "core/contact/scene.hpp",
        "if (std::isfinite(around[at(k)].low[i]))",
        "if (!(std::isfinite(around[at(k)].low[i])))",
    ): "another axis of the sweep: more pairs are looked at, the same are found",
    (
        "core/contact/scene.hpp",
        "if (s.kind == PLANE) return {{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};",
        "if (s.kind != PLANE) return {{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};",
    ): "boxes without end are never apart: all pairs are looked at, the same are found",
    (
        "core/include/soacraft/contact/cylinders.hpp",
        "const double turning = e.x * y.y - e.y * y.x;",
        "const double turning = e.x * y.z - e.y * y.x;",
    ): "a slope that is wrong costs steps within the bracket; what is answered is checked, and else left to GJK",
    (
        "core/include/soacraft/contact/cylinders.hpp",
        "if (across > r_) slope += e.x * e.x + e.y * e.y - scale * turning * turning / across2;",
        "if (!(across > r_)) slope += e.x * e.x + e.y * e.y - scale * turning * turning / across2;",
    ): "a slope that is wrong costs steps within the bracket; what is answered is checked, and else left to GJK",
    (
        "core/include/soacraft/contact/cylinders.hpp",
        "if (!(distance > SHORT * c_.size)) return false;",
        "if (!(distance >= SHORT * c_.size)) return false;",
    ): "a bound on real numbers",
    (
        "core/sim/methods.hpp",
        "if (m_.is_tree() || m_.prescribes() || tableau_.adaptive()) {",
        "if (!(m_.is_tree() || m_.prescribes() || tableau_.adaptive())) {",
    ): "stages next to the closures are taken where they are as good as those on them; a tree has none",
    (
        "core/sim/mechanism.hpp",
        "return rigid::finite(x, nq + nv);",
        "return rigid::finite(x, nq - nv);",
    ): "what is not finite is not projected: it stays open, and Python looks",
    (
        "core/include/soacraft/contact/solvers/sparse_rows.hpp",
        "if (!solve_block(block, A, WIDEST, mine, alone, next)) return false;",
        "if (!(!solve_block(block, A, WIDEST, mine, alone, next))) return false;",
    ): "no sweep is taken: Newton's method, which begins elsewhere then, ends at the same forces",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "if (!sweep(x, own.data(), p, y.data(), i % 2 == 1)) break;",
        "if (!sweep(x, own.data(), p, y.data(), i % 2 != 1)) break;",
    ): "sweeps begin at the other end: Newton's method ends at the same forces",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "if (!direction(x, p)) return false;",
        "if (!(!direction(x, p))) return false;",
    ): "steps that need not lower |F| follow, and arrive as well",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "if (!improve(x, p, residual)) break;",
        "if (!(!improve(x, p, residual))) break;",
    ): "steps that need not lower |F| follow, and arrive as well",
    (
        "core/include/soacraft/contact/solvers/softened.hpp",
        "if (factor > SHORTEST) return false;",
        "if (factor >= SHORTEST) return false;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/contact/solvers/softened.hpp",
        "else if (residual < 1e-3 * wanted || !std::isfinite(residual)) break;",
        "else if (residual <= 1e-3 * wanted || !std::isfinite(residual)) break;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/contact/solvers/softened.hpp",
        "seed = seed * 6364136223846793005u + 1442695040888963407u;",
        "seed = seed * 6364136223846793005u - 1442695040888963407u;",
    ): "other weights, as good as these",
    (
        "core/include/soacraft/contact/solvers/newton.hpp",
        "else if (norm(F.data(), n) < (1 - ENOUGH) * before) lower = true, lambda *= 0.1;",
        "else if (norm(F.data(), n) <= (1 - ENOUGH) * before) lower = true, lambda *= 0.1;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/contact/solvers/fixed_point.hpp",
        "if (residual < least) least = residual, std::copy(trial.begin(), trial.end(), p);",
        "if (residual <= least) least = residual, std::copy(trial.begin(), trial.end(), p);",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "if (judge(whole, p) <= wanted) return;",
        "if (judge(whole, p) < wanted) return;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/contact/solvers/sparse_solver.hpp",
        "else if (residual < 1e-3 * wanted || !std::isfinite(residual)) break;",
        "else if (residual <= 1e-3 * wanted || !std::isfinite(residual)) break;",
    ): "a bound on real numbers",
    (
        "core/sim/methods.hpp",
        "since = change < 0.5 * best ? 0 : since + 1;",
        "since = change <= 0.5 * best ? 0 : since + 1;",
    ): "a bound on real numbers; a change of nothing ends the rounds",
    (
        "core/include/soacraft/kinematics/level_damping.hpp",
        "bent = found < bent ? found : bent;",
        "bent = found <= bent ? found : bent;",
    ): "the same where they are equal",
    (
        "core/include/soacraft/kinematics/level_ties.hpp",
        "if (!(square > squared(least))) return;",
        "if (!(square >= squared(least))) return;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/kinematics/level_damping.hpp",
        "return asked > 0.0 ? std::sqrt(unmet / asked) : 0.0;",
        "return asked >= 0.0 ? std::sqrt(unmet / asked) : 0.0;",
    ): "a level that asks for nothing is not damped",
    (
        "core/include/soacraft/kinematics/level_damping.hpp",
        "if (!(bent > 0.0) || bent <= 0.25 * all) return;",
        "if (!(bent > 0.0) || bent < 0.25 * all) return;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/kinematics/levels.hpp",
        "if (!last && turned_ && rank_ > seen) tie_kept(seen);",
        "if (!last && turned_ || rank_ > seen) tie_kept(seen);",
    ): "rows that are none, or that no level comes after",
    (
        "core/include/soacraft/kinematics/level_ties.hpp",
        "if (!(size > 0.0)) return;",
        "if (!(size >= 0.0)) return;",
    ): "what does not push is pushed by nothing",
    (
        "core/include/soacraft/kinematics/level_ties.hpp",
        "if (!(std::fabs(T[c * wc + d]) > t_.nothing * most)) T[c * wc + d] = 0.0;",
        "if (!(std::fabs(T[c * wc + d]) >= t_.nothing * most)) T[c * wc + d] = 0.0;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/kinematics/speed_limits.hpp",
        "if (up < HUGE_VAL) {",
        "if (up <= HUGE_VAL) {",
    ): "an infinite room gives the largest speed too",
    (
        "core/include/soacraft/kinematics/speed_limits.hpp",
        "high = up >= 0.0 ? (most < fastest ? most : fastest) : (most > -fastest ? most : -fastest);",
        "high = up > 0.0 ? (most < fastest ? most : fastest) : (most > -fastest ? most : -fastest);",
    ): "both are zero at a limit",
    (
        "core/include/soacraft/kinematics/symmetric.hpp",
        "if (std::fabs(e_[m]) <= ROUNDING * (std::fabs(d_[m]) + std::fabs(d_[m + 1]))) break;",
        "if (std::fabs(e_[m]) < ROUNDING * (std::fabs(d_[m]) + std::fabs(d_[m + 1]))) break;",
    ): "a bound on real numbers; zeros stay zeros",
    (
        "core/include/soacraft/kinematics/velocity.hpp",
        "if (call.closures.count > 0) {",
        "if (call.closures.count >= 0) {",
    ): "no closures do nothing",
    (
        "core/include/soacraft/kinematics/velocity.hpp",
        "call.missed_kept[r] = off > 0.0 ? off : 0.0;",
        "call.missed_kept[r] = off >= 0.0 ? off : 0.0;",
    ): "both are zero",
    (
        "core/include/soacraft/kinematics/level_program.hpp",
        "if (!(total > 0.0 && total < HUGE_VAL)) return false;",
        "if (!(total >= 0.0 && total < HUGE_VAL)) return false;",
    ): "a level that sees nothing moves nothing",
    (
        "core/include/soacraft/interrupt.hpp",
        "if ((round & 15) == 0) check();",
        "if (!((round & 15) == 0)) check();",
    ): "how often it asks",
    (
        "core/include/soacraft/interrupt.hpp",
        "if ((round & 15) == 0) check();",
        "if ((round & 15) != 0) check();",
    ): "how often it asks",
    (
        "core/include/soacraft/interrupt.hpp",
        "if (threads <= 1) return work(0);",
        "if (threads < 1) return work(0);",
    ): "a team of one is the thread itself",
    (
        "core/include/soacraft/interrupt.hpp",
        "if (std::chrono::steady_clock::now() - start < SHORT) length *= 2;",
        "if (std::chrono::steady_clock::now() - start <= SHORT) length *= 2;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/interrupt.hpp",
        "if (now - last_ < PERIOD) return false;",
        "if (now - last_ <= PERIOD) return false;",
    ): "a bound on real numbers",
    (
        "core/include/soacraft/interrupt.hpp",
        "all = work(first, next) && all;",
        "all = work(first, next) || all;",
    ): "results that are not finite are looked for again",
    (
        "core/sim/setting_reader.hpp",
        "if (solver.outdated() || mover.outdated()) return false;",
        "if (solver.outdated() && mover.outdated()) return false;",
    ): "both are of one model, and know of its changes at once",
    (
        "core/sim/binding.cpp",
        "if (value && trace) PyException_SetTraceback(value, trace);",
        "if (value || trace) PyException_SetTraceback(value, trace);",
    ): "what was raised has both",
    (
        "core/sim/lanes.hpp",
        "return next != last && *next < end ? *next : end;",
        "return next != last && *next <= end ? *next : end;",
    ): "both are the end",
    (
        "core/sim/methods.hpp",
        "if (!lifted(t, taken() - (springs < 0 ? 0.0 : std::fmax(work_[at(springs)], 0.0)), moved)) return false;",
        "if (!lifted(t, taken() - (springs <= 0 ? 0.0 : std::fmax(work_[at(springs)], 0.0)), moved)) return false;",
    ): "the row of stored forces comes before that of springs",
}

#: Files of the core without an entry in the ledger: the reason.
NO_ENTRY: dict[str, str] = {
    "core/include/soacraft/arm.hpp": "no part of the module: robot/whole_body/test_cpp.py has it in a program",
    "core/include/soacraft/whole_body.hpp": "no part of the module: robot/whole_body/test_cpp.py has it in a program",
    "core/include/soacraft/flexible/across.hpp": "those tried so far do not compile, or change nothing",
    "core/include/soacraft/flexible/derivatives.hpp": "no campaign yet",
    "core/include/soacraft/loops/linear/modal_factor.hpp": "no campaign yet",
    "core/include/soacraft/loops/plan.hpp": "no campaign yet",
    "core/include/soacraft/loops/rows/flexible_limbs.hpp": "no campaign yet",
    "core/include/soacraft/reject.hpp": "its one mutant does not compile",
    "core/sim/contact/contact_tables.hpp": "no campaign yet",
}
