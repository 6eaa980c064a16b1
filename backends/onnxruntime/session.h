// Owning wrappers of a session of ONNX Runtime and its values.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/onnxruntime/library.h"
#include "base/core_set.h"

namespace intarsia::ort {

struct ReleaseValue {
  const Library* library = nullptr;
  void operator()(Value* value) const { library->api().release_value(value); }
};
using OwnedValue = std::unique_ptr<Value, ReleaseValue>;

/// Wraps a tensor as a value of the library on the view's own memory (no copy, the view's memory must outlive
/// it), except strings, which are copied. A run writes to outputs alone.
Result<OwnedValue> wrap_tensor(const Library& library, const ConstTensorView& tensor);

/// Returns shared ownership of a value; `keep` lives as long as it does.
std::shared_ptr<void> share_value(OwnedValue value, std::shared_ptr<const void> keep = nullptr);

/// Returns a tensor value's memory as a Tensor that keeps the value alive (no copy, except strings).
Result<Tensor> view_tensor(const Library& library, const std::shared_ptr<void>& value);

/// Copies a tensor value's strings to `to`, whose shape must be the value's.
Status copy_strings(const Library& library, const Value* value, const TensorView& to);

struct SessionSettings {
  int threads = 1;                 // threads of one run, including the caller's
  const CoreSet* cores = nullptr;  // cores of its threads; null: those of the caller's thread
  bool spin = false;     // workers wait for work without sleeping, as by the library's default: faster alone,
                         // but they take the cores from others
  bool optimize = true;  // off for sessions that only test whether the model is accepted
  std::string profile = {};  // path of the file of end_profiling, to which a time is appended; empty: no
                             // profile
  /// Initializers that the model declares as external data. Their memory must outlive the session.
  std::span<const std::string> constant_names = {};
  std::span<const ConstTensorView> constants = {};
};

/// Input or output of the model.
struct Port {
  std::string name;
  Kind kind = Kind::unknown;
};

/// Session of a model, immutable once created; any number of threads may run it.
class ModelSession {
 public:
  static Result<std::shared_ptr<const ModelSession>> from_bytes(std::string_view model,
                                                                const SessionSettings& settings);
  /// Opens a file; external data is taken from its folder.
  static Result<std::shared_ptr<const ModelSession>> from_file(const std::string& path,
                                                               const SessionSettings& settings);

  const Library& library() const { return library_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  /// Runs with one value for every input, null for an optional without a value; the library allocates an
  /// output that is null, which the caller then owns.
  Status run(std::span<const Value* const> inputs, std::span<Value*> outputs) const;

  /// Writes what runs of a session with a `profile` did, and returns the path of the file.
  Result<std::string> end_profiling() const;

  /// Returns the type of output `i`; the caller releases it.
  Result<TypeInfo*> output_type(size_t i) const;

 private:
  struct ReleaseSession {
    const Library* library;
    void operator()(Session* session) const { library->api().release_session(session); }
  };
  explicit ModelSession(const Library& library) : library_(library), session_(nullptr, {&library}) {}
  template <typename Create>
  static Result<std::shared_ptr<const ModelSession>> make(const SessionSettings& settings, Create create);
  Status add_constants(SessionOptions* options, const SessionSettings& settings);
  Status read_ports();

  const Library& library_;
  std::shared_ptr<const Environment> environment_;
  std::vector<OwnedValue> constants_;  // outlive the session
  std::unique_ptr<Session, ReleaseSession> session_;
  std::vector<Port> inputs_, outputs_;
  std::vector<const char*> input_names_, output_names_;  // names in inputs_ and outputs_
};

}  // namespace intarsia::ort
