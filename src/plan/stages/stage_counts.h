// Numbers of teams in use, of all kinds, as one number.
#pragma once

#include "plan/stages/stage_problem.h"

namespace intarsia {

class TeamCounts {
 public:
  explicit TeamCounts(const std::vector<StageTeam>& teams) {
    for (const StageTeam& kind : teams) {
      steps_.push_back(size_);
      counts_.push_back(kind.count);
      size_ *= kind.count + 1;
    }
  }

  size_t size() const { return size_; }  // count of all such numbers; number 0 is that of no team in use
  /// Checks whether one more of the kind may be in use.
  bool has_more(size_t used, size_t kind) const {
    return used / steps_[kind] % (counts_[kind] + 1) < counts_[kind];
  }
  size_t one_more(size_t used, size_t kind) const { return used + steps_[kind]; }
  size_t one_less(size_t used, size_t kind) const { return used - steps_[kind]; }

 private:
  size_t size_ = 1;
  std::vector<size_t> steps_, counts_;
};

}  // namespace intarsia
