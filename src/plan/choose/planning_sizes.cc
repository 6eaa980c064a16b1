#include "plan/choose/planning_sizes.h"

#include <fmt/ranges.h>

#include "graph/size_roles.h"

namespace intarsia {
namespace {

constexpr int64_t sequence_sizes[] = {16, 128};

/// Returns the numbers that a size is to be fastest at, but for the one that it is planned with.
std::vector<int64_t> other_numbers(const OpenSize& size, bool is_batch) {
  std::vector<int64_t> numbers = size.tuned;
  if (numbers.empty()) {
    if (!is_batch) numbers.assign(std::begin(sequence_sizes), std::end(sequence_sizes));
    if (size.range.has_end()) numbers.push_back(size.range.max);
  }
  std::vector<int64_t> others;
  for (int64_t number : numbers) {
    const bool is_known = number == size.tuned_size() || std::ranges::find(others, number) != others.end();
    if (!is_known && size.range.contains(number)) others.push_back(number);
  }
  return others;
}

}  // namespace

std::vector<PlanningSizes> planning_sizes(const Graph& graph) {
  PlanningSizes first;
  for (const OpenSize& size : graph.open_sizes) first.push_back(size.tuned_size());
  std::vector<PlanningSizes> all{first};
  const OpenSize* const batch = find_batch(graph);
  for (size_t i = 0; i < first.size(); ++i) {
    const OpenSize& size = graph.open_sizes[i];
    for (int64_t number : other_numbers(size, &size == batch)) {
      all.push_back(first);
      all.back()[i] = number;
    }
  }
  return all;
}

std::shared_ptr<const PlanningProblem> at_sizes(const PlanningProblem& problem, const PlanningSizes& sizes) {
  auto there = std::make_shared<PlanningProblem>(problem);
  for (size_t i = 0; i < sizes.size(); ++i) there->graph.open_sizes[i].planned = sizes[i];
  return there;
}

std::string print_planned_sizes(const Graph& graph, std::string_view equals, std::string_view separator) {
  std::vector<std::string> texts;
  for (const OpenSize& size : graph.open_sizes)
    texts.push_back(fmt::format("{}{}{}", size.name, equals, size.tuned_size()));
  return fmt::format("{}", fmt::join(texts, separator));
}

}  // namespace intarsia
