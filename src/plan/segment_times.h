// What stretches of a graph took inside the regions of a plan that ran.
#pragma once

#include "plan/plan.h"

namespace intarsia {

/// A new number invalidates times of segments that were kept: they are divided in another way.
inline constexpr int segment_times_version = 4;

/// The nodes of each segment, ascending.
using Segments = std::vector<std::vector<NodeId>>;
/// `segment_of`: by node the first of its segment (find_segments).
Segments list_segments(const std::vector<uint32_t>& segment_of);

/// About what a segment takes on one core, in nanoseconds, by its arithmetic and its traffic.
double estimate_time(const Graph& graph, const std::vector<NodeId>& segment);

/// The region that has all nodes of a segment; nothing when several share it.
std::optional<uint32_t> region_of_segment(const Partition& partition, const std::vector<NodeId>& segment);

/// Nanoseconds by segment. A region's time is divided among its segments by those of its kernels, each of
/// which has the name of one of its nodes or values; one with another name (a framework inserted it) belongs
/// to the kernel before it. A segment with work for which no kernel is named shares the time of the one
/// before it (at the beginning: behind it), by estimates of their work: it was computed there, or its kernel
/// has another name. What ran between kernels is spread over all. `never` of a segment that is in
/// several regions, or whose region reported no kernel while it has other segments, too.
///
/// A segment that seems to take less than it can, by `least` (nanoseconds by segment), is in truth computed
/// in kernels of other names: it takes the least, and the region's other segments share what they have above
/// theirs.
std::vector<int64_t> segment_times(const Graph& graph, const Partition& partition, const PlanTimes& times,
                                   const Segments& segments, const std::vector<double>& least);

}  // namespace intarsia
