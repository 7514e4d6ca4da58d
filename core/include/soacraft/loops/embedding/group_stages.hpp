// The order in which the dependent dofs of a group are eliminated: along the graph of its own closures, so that a group of
// many loops costs as much as its loops one by one. Made once, for one choice of dofs.
#pragma once

#include <map>
#include <set>

#include "../plan.hpp"

namespace soacraft {
namespace loops {
namespace planning {

inline std::size_t place_of(index i) { return static_cast<std::size_t>(i); }

// Rows with the dependent columns that they have: of a closure or coupling, or what a stage leaves.
struct Sheet {
    std::set<index> columns;
    index tied, stage, rows;
};

class Stages {
public:
    explicit Stages(Group& g) : g_(g), within_(g.dofs.size()) {
        const std::set<index> dependent(g.dependent.begin(), g.dependent.end());
        for (std::size_t i = 0; i < g.ties.size(); ++i) {
            Sheet sheet{{}, static_cast<index>(i), -1, g.ties[i].rows};
            for (index column : g.ties[i].columns)
                if (dependent.count(column)) sheet.columns.insert(column);
            add(std::move(sheet));
        }
        left_ = dependent;
        for (index column : left_) by_degree_.insert({degree(column), column});
    }

    void run() {
        g_.stages.clear();
        while (!left_.empty()) eliminate(by_degree_.begin()->second);
    }

private:
    Group& g_;
    std::vector<Sheet> sheets_;
    std::vector<std::set<std::size_t>> within_;  // by column: the sheets that have it
    std::set<index> left_;
    std::set<std::pair<std::size_t, index>> by_degree_;

    void add(Sheet sheet) {
        for (index column : sheet.columns) within_[place_of(column)].insert(sheets_.size());
        sheets_.push_back(std::move(sheet));
    }
    std::set<index> around(index column) const {
        std::set<index> all{column};
        for (std::size_t i : within_[place_of(column)]) all.insert(sheets_[i].columns.begin(), sheets_[i].columns.end());
        return all;
    }
    std::size_t degree(index column) const { return around(column).size(); }

    // The column and all that only its sheets have, as many as there are rows.
    void eliminate(index column) {
        const std::set<std::size_t> taken = within_[place_of(column)];
        const std::set<index> all = around(column);
        for (index each : all) by_degree_.erase({degree(each), each});
        Stage stage = {};
        for (std::size_t i : taken) stage.rows += sheets_[i].rows;
        std::vector<index> own{column}, others;
        for (index each : all) {
            if (each == column) continue;
            bool only = static_cast<index>(own.size()) < stage.rows;
            for (std::size_t i : within_[place_of(each)]) only = only && taken.count(i);
            (only ? own : others).push_back(each);
        }
        stage.own = static_cast<index>(own.size());
        const index spare = stage.rows > stage.own ? stage.rows - stage.own : 0, wide = static_cast<index>(others.size());
        stage.kept = spare < wide ? spare : wide;
        stage.columns = own;
        stage.columns.insert(stage.columns.end(), others.begin(), others.end());
        gather(stage, taken);
        for (std::size_t i : taken) {
            for (index each : sheets_[i].columns) within_[place_of(each)].erase(i);
            sheets_[i].columns.clear();
        }
        for (index each : own) left_.erase(each);
        if (!others.empty())
            add({{others.begin(), others.end()}, -1, static_cast<index>(g_.stages.size()), stage.kept});
        g_.stages.push_back(std::move(stage));
        for (index each : others) by_degree_.insert({degree(each), each});
    }

    void gather(Stage& stage, const std::set<std::size_t>& taken) {
        std::map<index, index> place;
        for (std::size_t i = 0; i < stage.columns.size(); ++i) place[stage.columns[i]] = static_cast<index>(i);
        index row = 0;
        for (std::size_t i : taken) {
            const Sheet& sheet = sheets_[i];
            Stage::From from{sheet.tied, sheet.stage, row, sheet.rows, {}};
            if (sheet.tied >= 0) {
                Tied& tied = g_.ties[place_of(sheet.tied)];
                for (std::size_t c = 0; c < tied.columns.size(); ++c)
                    if (tied.place[c] >= 0) tied.place[c] = place[tied.columns[c]];
            } else {
                const Stage& before = g_.stages[place_of(sheet.stage)];
                for (std::size_t c = place_of(before.own); c < before.columns.size(); ++c)
                    from.place.push_back(place[before.columns[c]]);
            }
            row += sheet.rows;
            stage.from.push_back(std::move(from));
        }
    }
};

}  // namespace planning

// Stages and workspaces of all groups, for dependent and independent dofs as they are.
inline void arrange_groups(Plan& plan) {
    using planning::place_of;
    index order = 0;
    const auto rest = static_cast<index>(plan.rest.size());
    plan.group_size = 0, plan.rest_size = rest * (plan.tree->nv + 2 * rest + 2);  // as RestWork takes it
    for (Group& g : plan.groups) {
        std::vector<index> among(g.dofs.size(), 0);
        for (std::size_t j = 0; j < g.independent.size(); ++j)
            among[place_of(g.independent[j])] = -1 - static_cast<index>(j);
        g.G_size = g.F_size = g.B_size = g.tau_size = g.t_size = 0;
        for (Tied& tied : g.ties) {
            tied.at = g.G_size, tied.place.clear();
            for (index column : tied.columns) tied.place.push_back(among[place_of(column)]);
            g.G_size += tied.rows * static_cast<index>(tied.columns.size());
        }
        planning::Stages(g).run();
        const auto n = static_cast<index>(g.dofs.size()), wide = static_cast<index>(g.independent.size()) + 1;
        index pivots = 0;
        for (Stage& stage : g.stages) {
            const auto columns = static_cast<index>(stage.columns.size());
            stage.F = g.F_size, stage.B = g.B_size, stage.tau = g.tau_size, stage.t = g.t_size, stage.order = pivots;
            g.F_size += stage.rows * columns, g.B_size += stage.rows * wide, g.tau_size += columns, g.t_size += stage.rows;
            pivots += stage.own;
        }
        const auto elements = static_cast<index>(g.elements.size()), ni = g.rows.empty() ? n : wide - 1;
        g.at = plan.group_size, g.order = order;
        order += n;
        plan.group_size +=  // as GroupWork takes it
            12 * ni + 6 * elements + g.G_size + g.F_size + g.B_size + 2 * g.tau_size + g.t_size + n * ni + ni * ni + 3 * n + 2 * ni +
            (g.rows.empty() ? 0 : n * wide);
    }
}

}  // namespace loops
}  // namespace soacraft
