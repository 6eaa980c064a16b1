#include "measure/choose_functions.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/digest.h"
#include "base/files/cache_folder.h"
#include "measure/time_programs.h"
#include "target/cost_table.h"

namespace intarsia {
namespace {

using Group = std::vector<FunctionObject>;  // objects of one name

std::vector<Group> group_by_name(std::vector<FunctionObject> objects) {
  std::vector<Group> groups;
  for (FunctionObject& object : objects) {
    const auto known =
        std::ranges::find_if(groups, [&](const Group& group) { return group.front().name == object.name; });
    if (known == groups.end()) {
      groups.push_back({std::move(object)});
    } else {
      known->push_back(std::move(object));
    }
  }
  return groups;
}

/// Makes the key of an object's time: equal objects, threads and sizes take equal time.
CostKey key_of(const FunctionObject& object, const FunctionCompiler& compiler,
               const CompileRequest& request) {
  std::vector<std::string> sizes;
  for (const TunedSizes& tuned : request.tune_at)
    sizes.push_back(fmt::format("{}={}", tuned.symbol, tuned.sizes.front()));
  return {.kind = CostKind::plan,
          .digest = content_digest(object.object),
          .backend = compiler.backend,
          .code = "function",
          .device = "cpu",
          .threads = request.threads,
          .sizes = fmt::format("{}", fmt::join(sizes, ","))};
}

/// Times a program of each object alone, in turns.
Result<std::vector<Cost>> measure(const Group& group, const FunctionCompiler& compiler,
                                  std::span<const RunBackend> backends, const CompileRequest& request,
                                  const std::function<bool()>& is_cancelled) {
  std::vector<TemporaryFile> programs;
  for (const FunctionObject& object : group) {
    programs.push_back(TRY(TemporaryFile::make("intarsia-function")));
    CompileRequest alone = request;
    alone.program_path = programs.back().path();
    TRY(export_functions(std::span(&object, 1), compiler, alone));
  }
  TimingOptions options{.threads = request.threads, .trusted = 0};
  options.may_go_on = [&] { return !is_cancelled || !is_cancelled(); };
  std::vector<Cost> costs;
  for (const Result<PlanTimes>& times : time_programs(std::move(programs), backends, options)) {
    costs.push_back(cost_measured_now(0));
    if (times) costs.back().timing = times->whole;
    costs.back().fault = times ? times->fault : times.error().message;
  }
  return costs;
}

Result<std::vector<Cost>> find_costs(const Group& group, const FunctionCompiler& compiler,
                                     std::span<const RunBackend> backends, const CompileRequest& request,
                                     CostTable& table, const std::function<bool()>& is_cancelled) {
  std::vector<CostKey> keys;
  for (const FunctionObject& object : group) keys.push_back(key_of(object, compiler, request));
  const std::map<CostKey, Cost> known = table.find(keys);
  std::vector<Cost> costs;
  for (const CostKey& key : keys) {
    if (const auto found = known.find(key); found != known.end()) costs.push_back(found->second);
  }
  if (costs.size() == keys.size()) return costs;
  costs = TRY(measure(group, compiler, backends, request, is_cancelled));
  if (is_cancelled && is_cancelled()) return fail(ErrorKind::cancelled, "cancelled");
  std::vector<std::pair<CostKey, Cost>> rows;
  for (size_t i = 0; i < keys.size(); ++i) rows.emplace_back(keys[i], costs[i]);
  table.add(rows);
  return costs;
}

}  // namespace

Result<std::vector<FunctionObject>> choose_functions(std::vector<FunctionObject> objects,
                                                     const FunctionCompiler& compiler,
                                                     std::span<const RunBackend> backends,
                                                     const CompileRequest& request,
                                                     const std::function<bool()>& is_cancelled) {
  std::optional<CostTable> table;
  std::vector<FunctionObject> chosen;
  for (Group& group : group_by_name(std::move(objects))) {
    size_t best = 0;
    if (group.size() > 1 && request.tune != Tune::off) {
      if (!table) table.emplace(cache_folder(request.cache_folder));
      const std::vector<Cost> costs =
          TRY(find_costs(group, compiler, backends, request, *table, is_cancelled));
      const auto time = [](const Cost& cost) { return cost.fault.empty() ? cost.timing.nanoseconds : never; };
      best = static_cast<size_t>(std::ranges::min_element(costs, {}, time) - costs.begin());
      if (time(costs[best]) == never)
        return fail("function '{}': none of its {} forms runs: {}", group[0].name, group.size(),
                    costs[0].fault);
    }
    chosen.push_back(std::move(group[best]));
  }
  return chosen;
}

}  // namespace intarsia
