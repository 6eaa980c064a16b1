// Effects of TensorFlow's nodes beyond their results.
#pragma once

#include <map>
#include <string>

#include "tensorflow/saved_model_source.h"

namespace intarsia {

/// Finder of nodes that must run even if nothing needs their results, such as Assert, or a loop with one.
class EffectFinder {
 public:
  /// Refers to its arguments, which outlive it.
  EffectFinder(const std::map<std::string, tensorflow::FunctionDef>& functions,
               const TensorFlowSource& source)
      : functions_(functions), source_(source) {}

  /// Checks a node; an operator that is not known has effects. Reads of variables and tables have none.
  Result<bool> has_effects(const tensorflow::NodeDef& node);

 private:
  Result<bool> function_has_effects(const std::string& name);

  const std::map<std::string, tensorflow::FunctionDef>& functions_;
  const TensorFlowSource& source_;
  std::map<std::string, bool> known_;  // of functions
};

}  // namespace intarsia
