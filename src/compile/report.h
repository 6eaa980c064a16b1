// What a compile and an explanation say: JSON (docs/json.md), text for people, a picture.
#pragma once

#include <string>

#include "compile/explanation.h"

namespace intarsia {

/// The object of `compile --json`. What was not measured is null. Of several functions it tells of the first,
/// and of all under "functions".
std::string report_compile_json(const CompileResult& result, const CompileRequest& request);

/// The object of `explain --json`. `subject` is the model's or program's path.
std::string explain_json(const Explanation& explanation, const std::string& subject);

/// Lines of at most 80 columns, where names allow that: devices, regions, copies, refused operators, times.
std::string explain_text(const Explanation& explanation, const std::string& subject);

/// "Nodes:", then a line a node.
std::string explain_nodes(const Explanation& explanation);

/// A Graphviz picture: a cluster a region, a color a target, copies as dashed edges with their bytes. Of
/// large graphs a region is one box that sums up its operators.
std::string explain_dot(const Explanation& explanation, const std::string& subject);

/// One HTML page with a picture and tables, which needs nothing else.
std::string explain_html(const Explanation& explanation, const std::string& subject);

/// "3 Conv, 2 Relu, 12 more": the operators of a region, the most frequent first, at most so many.
std::string sum_up_ops(const Explanation& explanation, size_t region, size_t most = 5);

/// "64 bytes", "1.5 KB", "12.0 MB"; "?" when unknown.
std::string print_bytes(std::optional<uint64_t> bytes);

/// "3.87 GFLOP", "120 MFLOP", "64 kFLOP".
std::string print_flops(uint64_t count);

/// "12.3 ms"; "" when unknown.
std::string print_milliseconds(std::optional<int64_t> nanoseconds);

/// ", 4.0 MB of constants and 1.5 MB of working memory (at most 8.0 MB)", as far as it is known.
std::string print_memory(const ExplainedSlot& slot);

/// "f32[1,64,?]", "f32[*]" of unknown rank.
std::string print_type(const ExplainedPort& port);

}  // namespace intarsia
