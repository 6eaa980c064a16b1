// A plan as a file that people read and edit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/chosen_stage.h"
#include "plan/plan.h"

namespace intarsia {

/// A part of a function for executors of its own.
struct SavedStage {
  std::string slot;
  std::vector<std::string> executors;  // devices
  std::vector<std::string> nodes;      // node_keys
  bool operator==(const SavedStage&) const = default;
};

/// Where the nodes of one function run.
struct SavedPlan {
  std::optional<int64_t> measured;                           // nanoseconds of a run; nothing: not known
  std::vector<std::pair<std::string, std::string>> targets;  // of each node (node_keys): "halide@cpu"
  std::vector<SavedStage> stages = {};  // in order, together with every node once; empty: it is not divided
};

/// By node its name; where that is empty or of an earlier node, too, with "#2" and so on behind it.
std::vector<std::string> node_keys(const Graph& graph);

SavedPlan save_plan(const PlanningProblem& problem, const Placement& placement,
                    std::optional<int64_t> measured, const std::vector<ChosenStage>& stages = {});

/// JSON, by function:
///   {"intarsia_plan": 1, "functions": {"main": {"measured_ms": 6.43, "nodes": {"conv1": "halide@cpu"}}}}
/// and, of a pipeline, beside "nodes":
///   "stages": [{"slot": "cpu", "executors": ["cpu:0"], "nodes": ["conv1"]}, ...]
std::string print_plans(const std::map<std::string, SavedPlan>& functions);

/// Errors: not JSON, or of another form; what and where.
Result<std::map<std::string, SavedPlan>> parse_plans(std::string_view json);

/// The file is written whole or not at all.
Status write_plan_file(const std::string& path, const std::map<std::string, SavedPlan>& functions);

/// Errors: it is not there, or those of parse_plans.
Result<std::map<std::string, SavedPlan>> read_plan_file(const std::string& path);

/// Each node goes where the plan says, and into its stage. Errors: a node in no stage or in two; a node that
/// the plan lacks, or one that the model lacks (it is of another model); an unknown target; one that cannot
/// run its node, with those that can.
Result<Placement> place_by_plan(const Graph& graph, const std::vector<PlacementTarget>& targets,
                                const SavedPlan& plan);

/// The plan's stages. Error: a slot that is not there, with those that are.
Result<std::vector<ChosenStage>> stages_of_plan(const std::vector<DeviceSlot>& slots, const SavedPlan& plan);

}  // namespace intarsia
