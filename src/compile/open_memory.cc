#include "compile/open_memory.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/arena_plan.h"
#include "program/open_sizes.h"
#include "program/verify_function.h"

namespace intarsia {
namespace {

/// Returns the bytes, at most the largest arena, so that sums of some of them stay in range.
uint64_t limited(uint64_t bytes) { return std::min(bytes, max_arena_bytes); }

/// Value of open size, or a workspace, alive from step `first` to step `last`.
struct Tenant {
  uint32_t space = 0;
  uint64_t bytes = 0;
  size_t first = 0, last = 0;
};

class TenantFinder {
 public:
  TenantFinder(const fbs::FunctionT& function, const fbs::FunctionT& whole)
      : function_(function), whole_(whole), symbols_(counted_symbols(whole)) {
    for (const auto& value : whole.values)
      if (!value->sizes.empty()) described_.emplace(value->name, value.get());
    outputs_.insert(function.outputs.begin(), function.outputs.end());
  }

  /// Returns the values that steps make, without those that callers get.
  std::vector<Tenant> find() const {
    std::vector<Tenant> tenants;
    std::map<uint32_t, size_t> tenant_of;
    for (size_t s = 0; s < function_.steps.size(); ++s) {
      for (uint32_t input : function_.steps[s]->inputs)
        if (const auto known = tenant_of.find(input); known != tenant_of.end())
          tenants[known->second].last = s;
      for (uint32_t output : function_.steps[s]->outputs) {
        const fbs::ValueT& value = *function_.values[output];
        const uint64_t bytes = outputs_.contains(output) ? 0 : bytes_of(value);
        if (bytes == 0) continue;
        tenant_of[output] = tenants.size();
        tenants.push_back({value.space, bytes, s, s});
      }
    }
    return tenants;
  }

 private:
  /// Returns the bytes of a value of open size; 0 for all others.
  uint64_t bytes_of(const fbs::ValueT& value) const {
    const auto dtype = static_cast<DType>(value.dtype);
    const auto described = described_.find(value.name);
    if (described == described_.end() || dtype == DType::undefined || dtype == DType::string) return 0;
    const Result<Shape> shape = shape_at(whole_, *described->second, symbols_);
    if (!shape) return max_arena_bytes;
    if (std::ranges::any_of(*shape, [](int64_t size) { return size < 0; })) return 0;
    const Result<int64_t> elements = checked_elements(*shape);
    if (!elements) return max_arena_bytes;
    return limited(round_up(dtype_bytes(dtype, static_cast<size_t>(*elements)), tail_alignment));
  }

  const fbs::FunctionT& function_;
  const fbs::FunctionT& whole_;
  const std::vector<int64_t> symbols_;
  std::map<std::string_view, const fbs::ValueT*> described_;  // values with expressions, by name
  std::set<uint32_t> outputs_;
};

}  // namespace

uint64_t open_workspace_bytes(const CompiledRegion& region, const Graph& graph) {
  if (region.open_workspace.empty()) return 0;
  const std::map<std::string, Dim> sizes = graph.counted_sizes();
  std::vector<Lifetime> buffers;
  for (const OpenWorkspace& part : region.open_workspace) {
    const Dim bytes = part.bytes.substitute(sizes);
    if (!bytes.is_known() && part.bytes.is_known()) return max_arena_bytes;  // beyond what a size may be
    if (!bytes.is_number() || bytes.number() <= 0) continue;                 // depends on data, or is empty
    buffers.push_back({limited(static_cast<uint64_t>(bytes.number())), part.first, part.last});
  }
  return limited(plan_arena(buffers).bytes);
}

std::vector<uint64_t> counted_arena_bytes(
    const fbs::FunctionT& function, const fbs::FunctionT& whole,
    const std::function<RegionWorkspace(uint32_t region)>& workspace_of) {
  std::vector<uint64_t> bytes = function.arena_bytes;
  if (whole.symbols.empty()) return bytes;
  std::vector<uint64_t> most(bytes.size(), 0);
  std::vector<Tenant> tenants = TenantFinder(function, whole).find();
  for (size_t s = 0; s < function.steps.size(); ++s) {
    if (function.steps[s]->kind != fbs::StepKind::run) continue;
    const RegionWorkspace workspace = workspace_of(function.steps[s]->region);
    if (workspace.bytes > 0) tenants.push_back({workspace.space, limited(workspace.bytes), s, s});
  }
  for (size_t s = 0; s < function.steps.size(); ++s) {
    std::vector<uint64_t> alive(bytes.size(), 0);
    for (const Tenant& tenant : tenants)
      if (tenant.first <= s && s <= tenant.last)
        alive[tenant.space] = limited(alive[tenant.space] + tenant.bytes);
    for (size_t space = 0; space < most.size(); ++space) most[space] = std::max(most[space], alive[space]);
  }
  for (size_t space = 0; space < bytes.size(); ++space) bytes[space] += most[space];
  return bytes;
}

}  // namespace intarsia
