// Ways to divide executors into teams, each of which runs one stage of a pipeline.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace intarsia {

/// Executors that take a stage's frames in turns.
struct ExecutorTeam {
  std::vector<uint32_t> members;  // kinds of its executors, ascending
  auto operator<=>(const ExecutorTeam&) const = default;
};

using ExecutorTeams = std::vector<ExecutorTeam>;

/// Executors of one kind.
struct TeamCandidates {
  uint32_t count = 1;
  uint32_t family = 0;  // family whose executors can take each other's frames
};

struct TeamLists {
  std::vector<ExecutorTeams> lists;
  bool is_complete = true;  // whether there are no others
};

/// Lists all ways, larger teams first, if there are at most `most`; else each family in teams of about the
/// same size. `count`: the exact number of teams, which may leave executors out.
///   two of a kind:  {{0, 0}}, {{0}, {0}}
///   two kinds of a family, one each:  {{0, 1}}, {{0}, {1}}
TeamLists list_teams(const std::vector<TeamCandidates>& kinds, std::optional<uint32_t> count, size_t most);

}  // namespace intarsia
