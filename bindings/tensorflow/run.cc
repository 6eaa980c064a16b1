#include "bindings/tensorflow/run.h"

#include <atomic>
#include <cstdint>

#include "bindings/tensorflow/status.h"
#include "bindings/tensorflow/tensorflow_string.h"

namespace intarsia::op {
namespace {

/// Tensors that were copied between TensorFlow and a program, in this process.
std::atomic<uint64_t> copied_tensors{0}, copied_bytes{0};

void count_copy(size_t bytes) {
  copied_tensors.fetch_add(1, std::memory_order_relaxed);
  copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

constexpr size_t tensorflow_alignment = 64;  // TensorFlow copies buffers of ours that have less

using Sizes = std::vector<int64_t>;

/// Inputs in the form of the C API.
class Inputs {
 public:
  Inputs(const Function& function, TF_OpKernelContext* context) : tensors_(function.inputs.size()) {
    references_.reserve(tensors_.size());
    sizes_.resize(tensors_.size());
    strings_.resize(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) read(function.inputs[i], i, context);
  }
  const intarsia_tensor* data() const { return tensors_.data(); }
  size_t size() const { return tensors_.size(); }

 private:
  void read(const Argument& argument, size_t i, TF_OpKernelContext* context) {
    const int index = static_cast<int>(i) + 1;
    const int type = TF_InputDatatype(context, index);
    if (type != argument.type->number)
      throw Failure{Code::invalid_argument, "input '" + argument.name + "' has dtype " +
                                                data_type_name(type) + ", want " + argument.type->name};
    references_.push_back(get_input(context, index));
    const TF_Tensor* from = references_.back().get();
    for (int axis = 0; axis < TF_NumDims(from); ++axis) sizes_[i].push_back(TF_Dim(from, axis));
    intarsia_tensor& to = tensors_[i];
    to = {};
    to.struct_size = sizeof(to);
    to.name = argument.name.c_str();
    to.dtype = argument.type->dtype;
    to.data = type == string_type ? read_strings(from, strings_[i]) : TF_TensorData(from);
    to.rank = sizes_[i].size();
    to.shape = sizes_[i].data();
  }

  static void* read_strings(const TF_Tensor* from, std::vector<intarsia_string>& strings) {
    const auto* texts = static_cast<const TensorString*>(TF_TensorData(from));
    size_t bytes = 0;
    for (int64_t i = 0; i < TF_TensorElementCount(from); ++i) {
      const std::string_view text = texts[i].text();
      strings.push_back({text.data(), text.size()});
      bytes += text.size();
    }
    count_copy(bytes);
    return strings.data();
  }

  std::vector<TensorReference> references_;
  std::vector<Sizes> sizes_;
  std::vector<std::vector<intarsia_string>> strings_;
  std::vector<intarsia_tensor> tensors_;
};

/// Output whose memory TensorFlow allocates.
struct Output {
  TF_OpKernelContext* context = nullptr;
  int index = 0;
  const DataType* type = nullptr;
  TensorReference tensor = nullptr;
  Sizes sizes = {};
  std::string error = {};  // why TensorFlow did not allocate it

  void* allocate(const int64_t* shape, size_t rank, size_t bytes) {
    const Sizes wanted(shape, shape + rank);
    if (tensor != nullptr && sizes == wanted)
      return TF_TensorData(tensor.get());  // of a run that is repeated
    Status status;
    sizes = wanted;
    tensor.reset(TF_AllocateOutput(context, index, type->number, sizes.data(), static_cast<int>(rank), bytes,
                                   status.get()));
    if (!status.is_ok()) error = TF_Message(status.get());
    return status.is_ok() ? TF_TensorData(tensor.get()) : nullptr;
  }
};

/// Outputs in the form of the C API.
class Outputs {
 public:
  Outputs(const Function& function, TF_OpKernelContext* context)
      : outputs_(function.outputs.size()), tensors_(function.outputs.size()) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const Argument& argument = function.outputs[i];
      const int index = static_cast<int>(i), type = TF_ExpectedOutputDataType(context, index);
      if (type != argument.type->number)
        throw Failure{Code::invalid_argument, "output '" + argument.name + "' has dtype " +
                                                  argument.type->name + ", the op's Tout says " +
                                                  data_type_name(type)};
      outputs_[i].context = context;
      outputs_[i].index = index;
      outputs_[i].type = argument.type;
      intarsia_tensor& to = tensors_[i];
      to = {};
      to.struct_size = sizeof(to);
      to.name = argument.name.c_str();
      to.allocate = allocate;
      to.allocate_user = &outputs_[i];
    }
  }
  ~Outputs() {
    for (intarsia_tensor& tensor : tensors_) library().tensor_release(&tensor);
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  intarsia_tensor* data() { return tensors_.data(); }
  size_t size() const { return tensors_.size(); }

  /// Adds why TensorFlow refused memory to the failure of a run.
  void explain(Failure& failure) const {
    for (const Output& output : outputs_) {
      if (!output.error.empty()) failure.message += " (" + output.error + ")";
    }
  }

  /// Hands over what the run allocated: sizes that only its values tell, and strings.
  void hand_over() {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (outputs_[i].tensor != nullptr) continue;
      if (tensors_[i].dtype == INTARSIA_STRING) {
        copy_strings(tensors_[i], outputs_[i]);
      } else {
        give(tensors_[i], outputs_[i]);
      }
    }
  }

 private:
  static void* allocate(void* user, const intarsia_tensor* output, size_t bytes) {
    try {
      return static_cast<Output*>(user)->allocate(output->shape, output->rank, bytes);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  static void copy_strings(const intarsia_tensor& from, Output& to) {
    const auto* texts = static_cast<const intarsia_string*>(from.data);
    size_t count = 1, bytes = 0;
    for (size_t axis = 0; axis < from.rank; ++axis) count *= static_cast<size_t>(from.shape[axis]);
    auto* strings =
        static_cast<TensorString*>(to.allocate(from.shape, from.rank, count * sizeof(TensorString)));
    if (!to.error.empty()) throw Failure{Code::resource_exhausted, to.error};
    for (size_t i = 0; i < count; ++i) {
      strings[i].set({texts[i].data, texts[i].size});
      bytes += texts[i].size;
    }
    count_copy(bytes);
  }

  /// Makes the run's memory a tensor of TensorFlow, which frees it.
  static void give(intarsia_tensor& from, Output& to) {
    size_t bytes = TF_DataTypeSize(to.type->number);
    for (size_t axis = 0; axis < from.rank; ++axis) bytes *= static_cast<size_t>(from.shape[axis]);
    if (reinterpret_cast<uintptr_t>(from.data) % tensorflow_alignment != 0) count_copy(bytes);
    auto owner = std::make_unique<intarsia_tensor>(from);
    void* data = from.data;
    from.owner = nullptr;
    const auto release = [](void*, size_t, void* user) {
      const std::unique_ptr<intarsia_tensor> owned(static_cast<intarsia_tensor*>(user));
      library().tensor_release(owned.get());
    };
    intarsia_tensor* const taken = owner.release();
    const TensorReference tensor(TF_NewTensor(to.type->number, taken->shape, static_cast<int>(taken->rank),
                                              data, bytes, release, taken));
    Status status;
    if (tensor == nullptr) throw Failure{Code::internal, "TensorFlow cannot make a tensor of an output"};
    TF_SetOutput(to.context, to.index, tensor.get(), status.get());
    status.check();
  }

  std::vector<Output> outputs_;
  std::vector<intarsia_tensor> tensors_;
};

void check_counts(const Function& function, TF_OpKernelContext* context) {
  const auto check = [&](const char* what, size_t given, size_t wanted) {
    if (given != wanted)
      throw Failure{Code::invalid_argument, "the op has " + std::to_string(given) + " " + what +
                                                ", function '" + function.name + "' has " +
                                                std::to_string(wanted)};
  };
  check("inputs after the artifact", static_cast<size_t>(TF_NumInputs(context)) - 1, function.inputs.size());
  check("outputs", static_cast<size_t>(TF_NumOutputs(context)), function.outputs.size());
}

}  // namespace

TensorReference get_input(TF_OpKernelContext* context, int input) {
  TF_Tensor* tensor = nullptr;
  Status status;
  TF_GetInput(context, input, &tensor, status.get());
  status.check();
  return TensorReference(tensor);
}

void run(const Artifact& artifact, const Function& function, TF_OpKernelContext* context) {
  check_counts(function, context);
  const Inputs inputs(function, context);
  Outputs outputs(function, context);
  try {
    library().check(library().pool_run(artifact.pool(), function.name.c_str(), inputs.data(), inputs.size(),
                                       outputs.data(), outputs.size()));
  } catch (Failure& failure) {
    outputs.explain(failure);
    throw;
  }
  outputs.hand_over();
}

}  // namespace intarsia::op

/// Tells how many tensors, and bytes of them, op nodes have copied in this process.
extern "C" __attribute__((visibility("default"))) void intarsia_tensorflow_copies(uint64_t* tensors,
                                                                                  uint64_t* bytes) {
  *tensors = intarsia::op::copied_tensors.load(std::memory_order_relaxed);
  *bytes = intarsia::op::copied_bytes.load(std::memory_order_relaxed);
}
