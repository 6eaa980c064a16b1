// Regions that a plug-in's compiler refuses although their nodes are supported, and the nodes withheld from
// it afterwards.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/partition.h"
#include "plan/planning_problem.h"

namespace intarsia {

struct RefusedRegion {
  std::string target;   // "toy_npu@npu"
  size_t nodes = 0;     // nodes of the region
  size_t left_out = 0;  // nodes withheld from the target from then on
  std::string first;    // name of the first node left out
  std::string why;
};

/// Refused regions of one function. The problem's targets refer to it.
class RefusedRegions {
 public:
  RefusedRegions();
  ~RefusedRegions();
  RefusedRegions(const RefusedRegions&) = delete;
  RefusedRegions& operator=(const RefusedRegions&) = delete;

  /// Wraps the problem's plug-in targets, which then refuse the nodes that are left out.
  void guard(PlanningProblem& problem);
  /// Compiles a region of a partition; the error says why it does not compile.
  using TryRegion = std::function<Status(const Partition& partition, size_t region)>;
  /// Handles a region that did not compile. If support is lacking, leaves out the nodes that `compiles` finds
  /// at fault in a few tries; if memory is lacking, the nodes after its longest prefix that compiles. Leaves
  /// out at least one node each time, so that retries end.
  void add(const PlanningProblem& problem, const Partition& partition, size_t region, const Error& error,
           const TryRegion& compiles);
  /// Makes the plug-ins' targets support nothing.
  void leave_out_all();
  const std::vector<RefusedRegion>& all() const { return all_; }
  /// Returns other problems in plug-ins that did not end the compile.
  std::vector<std::string> notes() const;

 private:
  class Guard;
  std::vector<std::unique_ptr<Guard>> guards_;
  std::vector<RefusedRegion> all_;
};

}  // namespace intarsia
