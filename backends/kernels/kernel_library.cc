#include "backends/kernels/kernel_library.h"

#include <dlfcn.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/files/regular_file.h"
#include "base/shape.h"

namespace intarsia::kernels {
namespace {

Status check_kernel(const intarsia_kernel* kernel) {
  if (kernel == nullptr || kernel->struct_size < sizeof(intarsia_kernel))
    return fail(ErrorKind::version, "an entry is too small: it was built for an older kernel.h");
  if (kernel->op == nullptr || kernel->domain == nullptr || kernel->infer == nullptr ||
      kernel->run == nullptr) {
    return fail("an entry lacks its op, domain, infer or run");
  }
  const std::string domain = kernel->domain;
  if (domain.empty() || domain == "ai.onnx")
    return fail("kernel '{}' is for the standard domain; give the operator a custom domain", kernel->op);
  return {};
}

/// Room for a library's message.
struct Message {
  char text[512] = {};
  intarsia_kernel_message out{text, sizeof(text)};
};

tl::unexpected<Error> kernel_error(const intarsia_kernel& kernel, Message& message, int code) {
  message.text[sizeof(message.text) - 1] = 0;
  return fail("the user's kernel {}.{} failed: {} (code {})", kernel.domain, kernel.op,
              message.text[0] ? message.text : "no message", code);
}

}  // namespace

Result<std::shared_ptr<const KernelLibrary>> KernelLibrary::open(const std::string& path) {
  // The loader would search its own folders for a name without a slash.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  TRY(with_context(check_regular_file(file), "kernel library '{}'", path));
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(ErrorKind::not_found, "kernel library '{}' cannot be loaded: {}", path, dlerror());
  auto library = std::make_shared<KernelLibrary>();
  library->path_ = path;
  library->handle_ = std::shared_ptr<void>(handle, dlclose);
  using Entry = const intarsia_kernel_library* (*)();
  const Entry entry = as_function<Entry>(dlsym(handle, "intarsia_kernels"));
  if (entry == nullptr)
    return fail("kernel library '{}' does not export intarsia_kernels (see intarsia/kernel.h)", path);
  const intarsia_kernel_library* table = entry();
  if (table == nullptr || table->struct_size < sizeof(intarsia_kernel_library) ||
      table->abi != INTARSIA_KERNEL_ABI) {
    return fail(ErrorKind::version,
                "kernel library '{}' has ABI {}, want {}: build it against this intarsia/kernel.h", path,
                table ? table->abi : 0, INTARSIA_KERNEL_ABI);
  }
  for (size_t i = 0; i < table->kernel_count; ++i) {
    TRY(with_context(check_kernel(table->kernels[i]), "kernel library '{}'", path));
    library->kernels_.push_back(table->kernels[i]);
  }
  return library;
}

const intarsia_kernel* KernelLibrary::find(const std::string& domain, const std::string& op) const {
  auto at = std::ranges::find_if(
      kernels_, [&](const intarsia_kernel* kernel) { return domain == kernel->domain && op == kernel->op; });
  return at == kernels_.end() ? nullptr : *at;
}

struct NodeDescription::Lists {
  NodeDescription& self;
  intarsia_kernel_attribute& out;

  void operator()(const int64_t& v) { out.ints = &v, out.count = 1; }
  void operator()(const float& v) { out.floats = &v, out.count = 1; }
  void operator()(const std::string& v) { texts({v.c_str()}); }
  void operator()(const std::vector<int64_t>& v) { out.ints = v.data(), out.count = v.size(); }
  void operator()(const std::vector<float>& v) { out.floats = v.data(), out.count = v.size(); }
  void operator()(const std::vector<std::string>& v) {
    std::vector<const char*> pointers;
    for (const std::string& text : v) pointers.push_back(text.c_str());
    texts(std::move(pointers));
  }
  void operator()(const Tensor&) {}
  void operator()(const EncodedAttribute&) {}

  void texts(std::vector<const char*> pointers) {
    self.texts_.push_back(std::move(pointers));
    out.strings = self.texts_.back().data();
    out.count = self.texts_.back().size();
  }
};

NodeDescription::NodeDescription(const std::string& op, const std::string& domain, int version,
                                 const Attributes& attributes) {
  for (const Attributes::Entry& entry : attributes) {
    intarsia_kernel_attribute attribute{entry.name.c_str(), 0, nullptr, nullptr, nullptr};
    std::visit(Lists{*this, attribute}, entry.value);
    attributes_.push_back(attribute);
  }
  node_ = {sizeof(node_), op.c_str(), domain.c_str(), version, attributes_.size(), attributes_.data()};
}

Result<intarsia_kernel_tensor> describe_tensor(DType dtype, const std::vector<int64_t>& sizes) {
  if (sizes.size() > INTARSIA_MAX_RANK)
    return fail("rank {} is above the {} that kernels take", sizes.size(), INTARSIA_MAX_RANK);
  if (dtype == DType::string) return fail("kernels take no strings");
  intarsia_kernel_tensor tensor{nullptr, static_cast<int32_t>(dtype), static_cast<int32_t>(sizes.size()), {}};
  std::ranges::copy(sizes, tensor.sizes);
  return tensor;
}

Status infer_outputs(const intarsia_kernel& kernel, const NodeDescription& node,
                     const std::vector<intarsia_kernel_tensor>& inputs,
                     std::vector<intarsia_kernel_tensor>& outputs) {
  Message message;
  const int code =
      kernel.infer(node.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), &message.out);
  if (code != 0) return kernel_error(kernel, message, code);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const intarsia_kernel_tensor& output = outputs[i];
    if (output.dtype < 0 || output.dtype >= dtype_count ||
        output.dtype == static_cast<int32_t>(DType::string)) {
      return fail("the user's kernel {}.{} gave output {} the unknown dtype {}", kernel.domain, kernel.op, i,
                  output.dtype);
    }
    if (output.rank < 0 || output.rank > INTARSIA_MAX_RANK) {
      return fail("the user's kernel {}.{} gave output {} the rank {}", kernel.domain, kernel.op, i,
                  output.rank);
    }
    for (int axis = 0; axis < output.rank; ++axis) {
      if (output.sizes[axis] < -1)
        return fail("the user's kernel {}.{} gave output {} the size {}", kernel.domain, kernel.op, i,
                    output.sizes[axis]);
    }
  }
  return {};
}

Status run_kernel(const intarsia_kernel& kernel, const NodeDescription& node,
                  const std::vector<intarsia_kernel_tensor>& inputs,
                  const std::vector<intarsia_kernel_tensor>& outputs) {
  Message message;
  const int code =
      kernel.run(node.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), &message.out);
  if (code != 0) return kernel_error(kernel, message, code);
  return {};
}

}  // namespace intarsia::kernels
