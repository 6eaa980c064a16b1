// Reports of a compile and an explanation: JSON (docs/json.md), text for people, a picture.
#pragma once

#include <string>

#include "report/explanation.h"

namespace intarsia {

/// Returns the object of `compile --json`. Unmeasured values are null. With several functions it describes
/// the first at the top level, and all under "functions".
std::string report_compile_json(const CompileResult& result, const CompileRequest& request);

/// Returns the object of `explain --json`. `subject` is the model's or program's path.
std::string explain_json(const Explanation& explanation, const std::string& subject);

/// Returns lines of at most 80 columns, where names allow that: devices, regions, copies, refused operators,
/// times.
std::string explain_text(const Explanation& explanation, const std::string& subject);

/// Returns "Nodes:", then one line per node.
std::string explain_nodes(const Explanation& explanation);

/// Returns a Graphviz picture: one cluster per region, one color per target, copies as dashed edges with
/// their bytes. In large graphs a region is one box that sums up its operators.
std::string explain_dot(const Explanation& explanation, const std::string& subject);

/// Returns a self-contained HTML page with a picture and tables.
std::string explain_html(const Explanation& explanation, const std::string& subject);

/// Sums up the operators of a region, most frequent first, at most `most` kinds: "3 Conv, 2 Relu, 12 more".
std::string sum_up_ops(const Explanation& explanation, size_t region, size_t most = 5);

/// Prints "64 bytes", "1.5 KB", "12.0 MB"; "?" if unknown.
std::string print_bytes(std::optional<uint64_t> bytes);

/// Prints "3.87 GFLOP", "120 MFLOP", "64 kFLOP".
std::string print_flops(uint64_t count);

/// Prints "12.3 ms"; "" if unknown.
std::string print_milliseconds(std::optional<int64_t> nanoseconds);

/// Prints ", 4.0 MB of constants and 1.5 MB of working memory (at most 8.0 MB)", as far as known.
std::string print_memory(const ExplainedSlot& slot);

/// Prints "f32[1,64,?]", or "f32[*]" if the rank is unknown.
std::string print_type(const ExplainedPort& port);
/// Prints the sizes that it may have: "1 to 32, fastest at 1, 8".
std::string print_range(const OpenSize& size);
/// Prints the sizes that the plan is for, and those that it was measured with: "batch 12 to 32, measured with
/// batch = 32".
std::string print_sizes(const ExplainedSpecialization& specialization);

}  // namespace intarsia
