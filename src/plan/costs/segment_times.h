// Times of segments of a graph inside the regions of a plan that ran.
#pragma once

#include "plan/plan.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Version of the way in which times are divided among segments: a new number invalidates kept ones.
inline constexpr int segment_times_version = 5;

/// Lists the nodes of each segment. `segment_of`: for each node, the first one of its segment
/// (find_segments).
Segments list_segments(const std::vector<uint32_t>& segment_of);

/// Estimates the time of a segment on one core, in nanoseconds, by its arithmetic and its traffic.
double estimate_time(const Graph& graph, const std::vector<NodeId>& segment);

/// Returns the least time of a segment, in nanoseconds, on cores that do that many f32 operations in one:
/// that of its products, or of writing what others read of it. A core that multiplies and adds two vectors in
/// a cycle (four operations an element) stores one (four bytes an element).
double least_time(const Graph& graph, const std::vector<NodeId>& segment, double operations_per_ns);

/// Returns the region that has all nodes of a segment; nullopt if several share it.
std::optional<uint32_t> region_of_segment(const Partition& partition, const std::vector<NodeId>& segment);

/// Returns the nanoseconds of each segment. A region's time is divided among its segments by those of its
/// kernels, each of which has the name of one of its nodes or values; one with another name (a framework
/// inserted it) belongs to the kernel before it. A segment with work for which no kernel is named shares the
/// time of the one before it (at the start: behind it), by estimates of their work: it was computed there, or
/// its kernel has another name. Time between kernels is spread over all. `never` for a segment that is in
/// several regions, or whose region reported no kernel while it has other segments, too.
///
/// A segment that seems to take less than it can, by `least` (nanoseconds by segment), is really computed in
/// kernels of other names: it takes the least, and the region's other segments share what they have above
/// theirs.
std::vector<int64_t> segment_times(const Graph& graph, const Partition& partition, const PlanTimes& times,
                                   const Segments& segments, const std::vector<double>& least);

}  // namespace intarsia
