#include "bindings/tensorflow/node.h"

#include <sched.h>

#include <algorithm>

#include "bindings/tensorflow/run.h"
#include "bindings/tensorflow/status.h"
#include "bindings/tensorflow/tensorflow_string.h"

namespace intarsia::op {
namespace {

struct AttributeSize {
  int32_t count = 0, bytes = 0;  // -1: unknown, as the bytes of no strings are
};

AttributeSize attribute_size(TF_OpKernelConstruction* construction, const char* name) {
  AttributeSize size;
  Status status;
  TF_OpKernelConstruction_GetAttrSize(construction, name, &size.count, &size.bytes, status.get());
  status.check();
  return {std::max(size.count, 0), std::max(size.bytes, 0)};
}

std::string read_string(TF_OpKernelConstruction* construction, const char* name) {
  std::string text(static_cast<size_t>(attribute_size(construction, name).bytes), '\0');
  Status status;
  TF_OpKernelConstruction_GetAttrString(construction, name, text.data(), text.size(), status.get());
  status.check();
  return text;
}

std::vector<std::string> read_strings(TF_OpKernelConstruction* construction, const char* name) {
  const AttributeSize size = attribute_size(construction, name);
  const auto count = static_cast<size_t>(size.count);
  std::vector<char*> texts(count);
  std::vector<size_t> sizes(count);
  std::string storage(static_cast<size_t>(size.bytes), '\0');
  Status status;
  TF_OpKernelConstruction_GetAttrStringList(construction, name, texts.data(), sizes.data(), size.count,
                                            storage.data(), storage.size(), status.get());
  status.check();
  std::vector<std::string> strings;
  for (size_t i = 0; i < count; ++i) strings.emplace_back(texts[i], sizes[i]);
  return strings;
}

int read_threads(TF_OpKernelConstruction* construction) {
  int64_t threads = 0;
  Status status;
  TF_OpKernelConstruction_GetAttrInt64(construction, "threads", &threads, status.get());
  status.check();
  if (threads < 0 || threads > CPU_SETSIZE)
    throw Failure{Code::invalid_argument,
                  "threads is " + std::to_string(threads) + ", want a number of cores, or 0"};
  return threads == 0 ? default_threads() : static_cast<int>(threads);
}

Options read_options(TF_OpKernelConstruction* construction) {
  Options options{read_threads(construction), {}};
  for (const std::string& binding : read_strings(construction, "bindings")) {
    const size_t equals = binding.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == binding.size())
      throw Failure{Code::invalid_argument, "binding '" + binding + "', want SLOT=DEVICE"};
    options.bindings.emplace_back(binding.substr(0, equals), binding.substr(equals + 1));
  }
  return options;
}

const TensorString& string_in(const TF_Tensor* tensor) {
  return *static_cast<const TensorString*>(TF_TensorData(tensor));
}

}  // namespace

Node::Node(TF_OpKernelConstruction* construction) {
  const TF_StringView name = TF_OpKernelConstruction_GetName(construction);
  name_.assign(name.data, name.len);
  function_ = read_string(construction, "function");
  options_ = read_options(construction);
}

/// Returns the artifact if it was opened from this text, which is compared by address first: the text may be
/// a whole program, and stays where it is while text_ refers to it.
std::shared_ptr<const Artifact> Node::find_open(const TF_Tensor* text) const {
  if (artifact_ == nullptr) return nullptr;
  if (TF_TensorData(text) == TF_TensorData(text_.get())) return artifact_;
  return string_in(text).text() == string_in(text_.get()).text() ? artifact_ : nullptr;
}

std::shared_ptr<const Artifact> Node::open_artifact(TF_OpKernelContext* context) {
  TensorReference text = get_input(context, 0);
  if (TF_NumDims(text.get()) != 0)
    throw Failure{Code::invalid_argument, "input 'artifact' has rank " +
                                              std::to_string(TF_NumDims(text.get())) +
                                              ", want one string: a program's path or its bytes"};
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<const Artifact> open = find_open(text.get())) return open;
  artifact_ = Artifact::open(string_in(text.get()).text(), options_);
  text_ = std::move(text);
  return artifact_;
}

void Node::compute(TF_OpKernelContext* context) {
  const std::shared_ptr<const Artifact> artifact = open_artifact(context);
  run(*artifact, artifact->function(function_), context);
}

}  // namespace intarsia::op
