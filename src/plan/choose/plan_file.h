// Plan as a file that people read and edit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/choose/plan_shapes.h"
#include "plan/chosen_stage.h"
#include "plan/plan.h"

namespace intarsia {

/// Part of a function for executors of its own.
struct SavedStage {
  std::string slot;
  std::vector<std::string> executors;  // devices
  std::vector<std::string> nodes;      // node_keys
  bool operator==(const SavedStage&) const = default;
};

/// Targets, stages and order of the nodes of one function.
struct SavedPlan {
  std::optional<int64_t> measured;                           // nanoseconds of a run; nullopt if not known
  std::vector<std::pair<std::string, std::string>> targets;  // node (node_keys) and target ("halide@cpu")
  std::vector<SavedStage> stages = {};  // stages in order, with every node once; empty if not divided
  /// Nodes, each once, in the order of turns of executors that work side by side; empty if that follows from
  /// regions.
  std::vector<std::string> order = {};
  PlanShapes shapes = {};  // shapes of inputs that the plan was chosen for; none: those of a compile
};

/// Returns the key of each node: its name, with "#2" and so on behind it if an earlier node has the name,
/// too, or "#1" and so on if it is empty.
std::vector<std::string> node_keys(const Graph& graph);

SavedPlan save_plan(const PlanningProblem& problem, const Placement& placement,
                    std::optional<int64_t> measured, const std::vector<ChosenStage>& stages = {});

/// Prints JSON, by function:
///   {"intarsia_plan": 1, "functions": {"main": {"measured_ms": 6.43, "nodes": {"conv1": "halide@cpu"}}}}
/// and, for a pipeline, beside "nodes":
///   "stages": [{"slot": "cpu", "executors": ["cpu:0"], "nodes": ["conv1"]}, ...]
/// or, for executors that work side by side, "order": ["conv1", ...]; for a model that leaves sizes open,
///   "shapes": {"x": [{"size": "batch", "min": 1, "max": 32}, 3]}
std::string print_plans(const std::map<std::string, SavedPlan>& functions);

/// Parses such JSON. Errors: not JSON, or of another form; they say what and where.
Result<std::map<std::string, SavedPlan>> parse_plans(std::string_view json);

/// Writes the file whole or not at all.
Status write_plan_file(const std::string& path, const std::map<std::string, SavedPlan>& functions);

/// Reads the file. Errors: it is not there, or those of parse_plans.
Result<std::map<std::string, SavedPlan>> read_plan_file(const std::string& path);

/// Places each node where the plan says, in its stage and with its turn. Errors: a node in no stage or in
/// two; an order without a node, with one twice, or with one ahead of what it reads; a node that the plan
/// lacks, or one that the model lacks (it is of another model); an unknown target; one that cannot run its
/// node, with those that can.
Result<Placement> place_by_plan(const Graph& graph, const std::vector<PlacementTarget>& targets,
                                const SavedPlan& plan);

/// Returns the plan's stages. Errors: a slot that is not there, with those that are; an executor of another
/// kind than its slot.
Result<std::vector<ChosenStage>> stages_of_plan(const std::vector<DeviceSlot>& slots, const SavedPlan& plan);

}  // namespace intarsia
