#include "plan/costs/segment_times.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "graph/count_operations.h"
#include "plan/partition/is_work.h"

namespace intarsia {
namespace {

/// Returns "conv1" of "conv1: Conv Relu".
std::string_view source_name(std::string_view label) { return label.substr(0, label.rfind(": ")); }

/// Returns the segment of each node, and of what makes each value, by name.
std::unordered_map<std::string_view, size_t> number_names(const Graph& graph, const Segments& segments) {
  std::unordered_map<std::string_view, size_t> segment_of;
  for (size_t s = 0; s < segments.size(); ++s) {
    for (NodeId node : segments[s]) {
      for (ValueId output : graph.node(node).outputs) {
        if (output != no_value) segment_of[graph.value(output).name] = s;
      }
    }
  }
  for (size_t s = 0; s < segments.size(); ++s) {
    for (NodeId node : segments[s]) segment_of[graph.node(node).name] = s;
  }
  return segment_of;
}

/// Division of a time among segments of one region: those with work but without a time share that of the one
/// before them, or else behind.
class SharedTimes {
 public:
  SharedTimes(const Graph& graph, const Segments& segments, std::vector<double>& times)
      : graph_(graph), segments_(segments), times_(times) {}
  ~SharedTimes() { divide(); }
  SharedTimes(const SharedTimes&) = delete;
  SharedTimes& operator=(const SharedTimes&) = delete;

  /// Adds a segment of the region; they come in order.
  void add(size_t segment) {
    const auto has_work = [&](NodeId node) { return is_work(graph_.node(node)); };
    const bool is_timed = times_[segment] > 0;
    if (!is_timed && std::ranges::none_of(segments_[segment], has_work)) return;
    if (is_timed && has_time_) divide();
    sharing_.push_back(segment);
    has_time_ |= is_timed;
  }

 private:
  void divide() {
    double time = 0, estimates = 0;
    for (size_t segment : sharing_) {
      time += times_[segment];
      estimates += estimate_time(graph_, segments_[segment]);
    }
    for (size_t segment : sharing_)
      times_[segment] = time * estimate_time(graph_, segments_[segment]) / estimates;
    sharing_.clear();
    has_time_ = false;
  }

  const Graph& graph_;
  const Segments& segments_;
  std::vector<double>& times_;
  std::vector<size_t> sharing_;
  bool has_time_ = false;
};

void share_times(const Graph& graph, const Partition& partition, const Segments& segments,
                 std::vector<double>& times) {
  std::map<uint32_t, SharedTimes> by_region;
  for (size_t s = 0; s < segments.size(); ++s) {
    const std::optional<uint32_t> region = region_of_segment(partition, segments[s]);
    if (region) by_region.try_emplace(*region, graph, segments, times).first->second.add(s);
  }
}

/// Sums of what the segments of a region take less, and more, than the least.
struct Balance {
  double lacking = 0, spare = 0;
};

/// Raises segments to the least that they can take. A region that takes less as a whole stays as it is: the
/// bound does not hold there.
void raise_to_least(const Partition& partition, const Segments& segments, const std::vector<double>& least,
                    std::vector<int64_t>& times) {
  std::map<uint32_t, Balance> balances;
  const auto for_each = [&](auto act) {
    for (size_t s = 0; s < segments.size(); ++s) {
      const std::optional<uint32_t> region = region_of_segment(partition, segments[s]);
      if (region && times[s] != never) act(s, balances[*region], static_cast<double>(times[s]) - least[s]);
    }
  };
  for_each([](size_t, Balance& balance, double above) {
    (above < 0 ? balance.lacking : balance.spare) += std::abs(above);
  });
  for_each([&](size_t s, const Balance& balance, double above) {
    if (balance.lacking == 0 || balance.lacking > balance.spare) return;
    const double left = 1 - balance.lacking / balance.spare;
    times[s] = std::max(std::llround(least[s] + std::max(above, 0.0) * left), 1LL);
  });
}

/// Checks whether the operator computes elements; others may leave their inputs where they are.
bool computes_elements(const Node& node) {
  constexpr std::array computed{"Add",  "AveragePool", "Clip",    "Conv",   "ConvTranspose", "Div", "Gelu",
                                "Gemm", "GRU",         "LSTM",    "MatMul", "MaxPool",       "Mul", "Relu",
                                "RNN",  "Sigmoid",     "Softmax", "Sub",    "Tanh"};
  return node.domain.empty() && std::ranges::find(computed, node.op) != computed.end();
}

}  // namespace

double least_time(const Graph& graph, const std::vector<NodeId>& segment, double operations_per_ns) {
  uint64_t operations = 0, bytes = 0;
  for (NodeId node : segment) operations += count_least_operations(graph, graph.node(node));
  const Node& last = graph.node(segment.back());  // others read what it makes
  for (ValueId output : last.outputs)
    if (output != no_value && computes_elements(last)) bytes += graph.planned_bytes(output).value_or(0);
  return static_cast<double>(std::max(operations, bytes)) / operations_per_ns;
}

double estimate_time(const Graph& graph, const std::vector<NodeId>& segment) {
  constexpr double operations_per_ns = 50, bytes_per_ns = 20;
  double sum = 1;
  for (NodeId node : segment) {
    sum += static_cast<double>(count_operations(graph, graph.node(node))) / operations_per_ns;
    sum += static_cast<double>(count_bytes(graph, graph.node(node))) / bytes_per_ns;
  }
  return sum;
}

Segments list_segments(const std::vector<uint32_t>& segment_of) {
  Segments segments;
  for (uint32_t i = 0; i < segment_of.size(); ++i) {
    if (segment_of[i] == i) segments.emplace_back();
    segments.back().push_back(NodeId{i});
  }
  return segments;
}

std::optional<uint32_t> region_of_segment(const Partition& partition, const std::vector<NodeId>& segment) {
  const uint32_t region = partition.region_of[index(segment[0])];
  const bool is_whole =
      std::ranges::all_of(segment, [&](NodeId node) { return partition.region_of[index(node)] == region; });
  return is_whole ? std::optional(region) : std::nullopt;
}

std::vector<int64_t> segment_times(const Graph& graph, const Partition& partition, const PlanTimes& times,
                                   const Segments& segments, const std::vector<double>& least) {
  const std::unordered_map<std::string_view, size_t> segment_of = number_names(graph, segments);
  std::vector<double> kernels(segments.size(), 0), all_kernels(partition.regions.size(), 0);
  std::vector<size_t> latest(partition.regions.size(),
                             segments.size());  // segment of a known kernel, by region
  for (const KernelTime& kernel : times.kernels) {
    if (const auto known = segment_of.find(source_name(kernel.label)); known != segment_of.end())
      latest[kernel.region] = known->second;
    if (latest[kernel.region] == segments.size()) continue;
    kernels[latest[kernel.region]] += static_cast<double>(kernel.nanoseconds);
    all_kernels[kernel.region] += static_cast<double>(kernel.nanoseconds);
  }
  share_times(graph, partition, segments, kernels);
  std::vector<int64_t> result;
  for (size_t s = 0; s < segments.size(); ++s) {
    const std::optional<uint32_t> region = region_of_segment(partition, segments[s]);
    const int64_t whole = region ? times.regions[*region].nanoseconds : never;
    const bool is_alone = region && partition.regions[*region].nodes.size() == segments[s].size();
    if (whole == never || is_alone)
      result.push_back(whole);
    else if (all_kernels[*region] == 0)
      result.push_back(never);
    else
      result.push_back(
          std::max(std::llround(static_cast<double>(whole) * kernels[s] / all_kernels[*region]), 1LL));
  }
  raise_to_least(partition, segments, least, result);
  return result;
}

}  // namespace intarsia
