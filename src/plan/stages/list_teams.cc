#include "plan/stages/list_teams.h"

#include <algorithm>
#include <set>

namespace intarsia {
namespace {

/// Numbers of executors, by kind.
using Counts = std::vector<uint32_t>;

ExecutorTeam make_team(const Counts& counts) {
  ExecutorTeam team;
  for (uint32_t kind = 0; kind < counts.size(); ++kind)
    team.members.insert(team.members.end(), counts[kind], kind);
  return team;
}

class TeamLister {
 public:
  TeamLister(const std::vector<TeamCandidates>& kinds, std::optional<uint32_t> count, size_t most)
      : kinds_(kinds), count_(count), most_(most) {
    for (const TeamCandidates& kind : kinds) free_.push_back(kind.count);
  }

  /// Lists all ways; nullopt if there are more than `most`.
  std::optional<std::vector<ExecutorTeams>> list() {
    next_team(free_);
    if (found_.size() > most_) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool is_done() const { return found_.size() > most_; }

  /// Adds the next team. A team that follows one with the same first kind, `before`, is not larger, so that
  /// each list comes once.
  void next_team(const Counts& before) {
    if (count_ && teams_.size() == *count_) return found_.push_back(teams_);
    const auto first = std::ranges::find_if(free_, [](uint32_t left) { return left > 0; });
    if (first == free_.end()) {
      if (!count_ && !teams_.empty()) found_.push_back(teams_);
      return;
    }
    const auto kind = static_cast<uint32_t>(first - free_.begin());
    Counts team(free_.size());
    fill_team(kind, kind, before, team);
    if (!count_ || is_done()) return;
    const uint32_t left = std::exchange(*first, 0);
    next_team(free_);
    *first = left;
  }

  /// Fills the team with as many as possible of each kind from `kind` on, then with fewer; at least one is of
  /// the first kind.
  void fill_team(uint32_t first, uint32_t kind, const Counts& before, Counts& team) {
    if (kind == free_.size()) {
      if (before[first] > 0 && team > before) return;
      for (size_t k = 0; k < team.size(); ++k) free_[k] -= team[k];
      teams_.push_back(make_team(team));
      next_team(team);
      teams_.pop_back();
      for (size_t k = 0; k < team.size(); ++k) free_[k] += team[k];
      return;
    }
    const uint32_t most = kinds_[kind].family == kinds_[first].family ? free_[kind] : 0;
    const uint32_t least = kind == first ? 1 : 0;
    for (uint32_t some = most + 1; some-- > least && !is_done();) {
      team[kind] = some;
      fill_team(first, kind + 1, before, team);
    }
    team[kind] = 0;
  }

  const std::vector<TeamCandidates>& kinds_;
  const std::optional<uint32_t> count_;
  const size_t most_;
  Counts free_;
  ExecutorTeams teams_;
  std::vector<ExecutorTeams> found_;
};

/// Divides the executors into that many teams of about the same size, the largest first.
ExecutorTeams divide_evenly(const std::vector<uint32_t>& executors, size_t teams) {
  ExecutorTeams divided;
  auto begin = executors.begin();
  for (size_t i = 0; i < teams; ++i) {
    const size_t size = executors.size() / teams + (i < executors.size() % teams ? 1 : 0);
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    divided.push_back({{begin, end}});
    begin = end;
  }
  return divided;
}

std::vector<ExecutorTeams> list_even_teams(const std::vector<TeamCandidates>& kinds,
                                           std::optional<uint32_t> count, size_t most) {
  std::set<uint32_t> families;
  for (const TeamCandidates& kind : kinds) families.insert(kind.family);
  std::vector<ExecutorTeams> lists(1);
  for (uint32_t family : families) {
    std::vector<uint32_t> executors;
    for (uint32_t kind = 0; kind < kinds.size(); ++kind)
      if (kinds[kind].family == family) executors.insert(executors.end(), kinds[kind].count, kind);
    std::vector<ExecutorTeams> longer;
    for (const ExecutorTeams& list : lists) {
      for (size_t teams = count ? 0 : 1; teams <= executors.size(); ++teams) {
        longer.push_back(list);
        const ExecutorTeams more = divide_evenly(executors, teams);
        longer.back().insert(longer.back().end(), more.begin(), more.end());
      }
    }
    lists = std::move(longer);
  }
  std::erase_if(lists,
                [&](const ExecutorTeams& list) { return list.empty() || (count && list.size() != *count); });
  if (lists.size() > most) lists.resize(most);
  return lists;
}

}  // namespace

TeamLists list_teams(const std::vector<TeamCandidates>& kinds, std::optional<uint32_t> count, size_t most) {
  if (auto all = TeamLister(kinds, count, most).list()) return {std::move(*all), true};
  return {list_even_teams(kinds, count, most), false};
}

}  // namespace intarsia
