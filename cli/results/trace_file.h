// A trace as a file that ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Something that took time.
struct TraceSlice {
  std::string group, row;  // rows of a group are shown together
  std::string name, category;
  int64_t begin_ns = 0, end_ns = 0;  // times of a steady clock
  std::optional<uint64_t> frame = {};
  bool has_arrow = false;  // arrows lead from the first such slice of a frame to its last
};

/// Writes JSON in the Trace Event Format; the first slice is at time 0. Slices that overlap in a row, but do
/// not nest, are shown beside each other: in a further row, "cpu:0 #2". Throws intarsia::Error.
void write_trace(const std::string& path, std::vector<TraceSlice> slices);
