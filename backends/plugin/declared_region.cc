#include "backends/plugin/declared_region.h"

#include <algorithm>

#include "base/clock.h"
#include "device/sleep_until.h"

namespace intarsia::plugin {
namespace {

class DeclaredRegion : public Executable {
 public:
  explicit DeclaredRegion(std::vector<DeclaredCost> costs) : costs_(std::move(costs)) {}

  Status run(const RunContext& context) const override {
    if (std::ranges::any_of(context.outputs, &Output::dynamic))
      return fail("the size of an output is open, which a declared time does not give");
    int64_t now = clock_nanoseconds();
    std::vector<TimeSpan> spans;
    for (const DeclaredCost& cost : costs_) {
      const int64_t end = now + static_cast<int64_t>(cost.nanoseconds);
      spans.push_back({now, end});
      now = end;
    }
    sleep_until(now);
    for (size_t i = 0; context.trace != nullptr && i < costs_.size(); ++i)
      if (!costs_[i].label.empty()) (*context.trace)(costs_[i].label, spans[i].begin_ns, spans[i].end_ns);
    return {};
  }

 private:
  std::vector<DeclaredCost> costs_;
};

}  // namespace

std::unique_ptr<Executable> make_declared_region(const BlobHeader& header) {
  return std::make_unique<DeclaredRegion>(header.costs);
}

}  // namespace intarsia::plugin
