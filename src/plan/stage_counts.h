// How many devices of each kind are in use, as one number.
#pragma once

#include "plan/stage_problem.h"

namespace intarsia {

class DeviceCounts {
 public:
  explicit DeviceCounts(const std::vector<StageDevices>& devices) {
    for (const StageDevices& kind : devices) {
      steps_.push_back(size_);
      counts_.push_back(kind.count);
      size_ *= kind.count + 1;
    }
  }

  size_t size() const { return size_; }  // of all numbers; 0: none is in use
  /// May one more of the kind be in use?
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
