// Queries and changes of subgraphs inside attributes (If, Loop, Scan bodies), which stay serialized.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace intarsia {

/// Returns the names that the subgraphs of a serialized AttributeProto read from outside, each once, in order
/// of first use. Throws protozero::exception on malformed bytes; std::length_error if nested too deeply.
std::vector<std::string> find_captured_names(std::string_view attribute);

/// Changes that inlining a function body makes in an attribute: outer names, and attributes that refer to the
/// call's.
struct SubgraphChanges {
  std::map<std::string, std::string> names;  // outer name -> new name
  std::map<std::string, std::string>
      call_attributes;  // name -> serialized AttributeProto of the call (or default)
};

/// Returns the serialized AttributeProto with the changes made in all of its subgraphs.
std::string rewrite_subgraphs(std::string_view attribute, const SubgraphChanges& changes);

/// Returns the AttributeProto under another name.
std::string rename_attribute(std::string_view attribute, std::string_view name);

}  // namespace intarsia
