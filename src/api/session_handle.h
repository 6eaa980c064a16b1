// Sessions behind the C API: what they keep between runs so that a run allocates nothing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/external_tensor.h"
#include "runtime/fallback_session.h"

namespace intarsia::api {

/// Value on a function's boundary, and the backend that reads or produces it, which packs or unpacks it if it
/// is opaque.
struct BoundaryValue {
  const fbs::ValueT* value = nullptr;
  const RunBackend* backend = nullptr;
};

struct FunctionBoundary {
  std::string name;
  std::vector<BoundaryValue> inputs;
  std::vector<BoundaryValue> outputs;

  static const BoundaryValue* find(const std::vector<BoundaryValue>& boundary, const char* name) {
    if (name == nullptr) return nullptr;
    for (const BoundaryValue& entry : boundary) {
      if (entry.value->name == name) return &entry;
    }
    return nullptr;
  }
};

}  // namespace intarsia::api

struct intarsia_session {
  intarsia::FallbackSession session;
  std::vector<intarsia::api::FunctionBoundary> functions;
  // Reused by every run, so that it allocates nothing.
  std::vector<intarsia::NamedTensor> inputs;
  std::vector<intarsia::NamedTensor> outputs;
  std::vector<intarsia::Tensor> strings;
  std::atomic_flag in_use;
  // Texts about its alternatives, kept while the session lives, which may go on with others.
  mutable std::set<std::string> texts;
  mutable std::mutex texts_mutex;

  const char* keep(const std::string& text) const {
    const std::lock_guard lock(texts_mutex);
    return texts.insert(text).first->c_str();
  }
};

namespace intarsia::api {

/// Opens a session.
Result<std::unique_ptr<intarsia_session>> open_session(const std::shared_ptr<const LoadedProgram>& program,
                                                       const BindOptions& options);

/// Reads the inputs of a function (empty: the only one) into session.inputs.
Status read_session_inputs(intarsia_session& session, std::string_view function,
                           const intarsia_tensor* inputs, size_t input_count);

/// Runs a function (empty: the only one) in a session that no other call uses.
Status run_session(intarsia_session& session, std::string_view function, const intarsia_tensor* inputs,
                   size_t input_count, intarsia_tensor* outputs, size_t output_count);

}  // namespace intarsia::api
