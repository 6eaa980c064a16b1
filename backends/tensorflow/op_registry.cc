#include "backends/tensorflow/op_registry.h"

#include <algorithm>

#include "base/protobuf.h"
#include "tensorflow/attributes.h"
#include "tensorflow/fields.h"

namespace intarsia::tf {
namespace {

using namespace tensorflow;

/// Fields of KernelDef (kernel_def.proto).
namespace kernel_list {
enum : uint32_t { kernel = 1 };
}
namespace kernel_def {
enum : uint32_t { device_type = 2, constraint = 3 };
}
namespace constraint {
enum : uint32_t { name = 1, allowed_values = 2 };
}

std::string_view bytes_of(const TF_Buffer* buffer) {
  return {static_cast<const char*>(buffer->data), buffer->length};
}

}  // namespace

void OpRegistry::read_all() const {
  TF_Buffer* buffer = library_.api().all_ops();
  protozero::pbf_reader list = read_message(bytes_of(buffer));
  while (list.next()) {
    if (list.tag() != op_list::op) {
      list.skip();
      continue;
    }
    OpDef op = read_op(read_bytes(list));
    const std::string name = op.name;
    ops_.try_emplace(name, std::move(op));
  }
  library_.api().delete_buffer(buffer);
}

Result<const OpDef*> OpRegistry::find(const std::string& op) const {
  std::lock_guard lock(mutex_);
  auto at = ops_.find(op);
  if (at == ops_.end()) {
    read_all();  // needed first, and again for operators that a library has added
    at = ops_.find(op);
  }
  return at == ops_.end() ? nullptr : &at->second;
}

std::vector<std::string> OpRegistry::names() const {
  std::lock_guard lock(mutex_);
  read_all();
  std::vector<std::string> names;
  for (const auto& [name, op] : ops_) names.push_back(name);
  return names;
}

const std::vector<OpRegistry::Kernel>& OpRegistry::kernels_of(const std::string& op) const {
  std::lock_guard lock(mutex_);
  auto [at, is_new] = kernels_.try_emplace(op);
  if (!is_new) return at->second;
  CallStatus status(library_);
  TF_Buffer* buffer = library_.api().kernels_of(op.c_str(), status);
  if (!status.check() || buffer == nullptr) return at->second;
  protozero::pbf_reader list = read_message(bytes_of(buffer));
  while (list.next(kernel_list::kernel)) {
    Kernel kernel;
    std::string device;
    protozero::pbf_reader def = list.get_message();
    while (def.next()) {
      if (def.tag() == kernel_def::device_type) {
        device = def.get_string();
      } else if (def.tag() == kernel_def::constraint) {
        Attributes allowed;
        std::string name;
        protozero::pbf_reader entry = def.get_message();
        while (entry.next()) {
          if (entry.tag() == constraint::name)
            name = entry.get_string();
          else if (entry.tag() == constraint::allowed_values)
            allowed.set("types", EncodedAttribute{std::string(read_bytes(entry))});
          else
            entry.skip();
        }
        const std::vector<int32_t> types = get_types(allowed, "types");
        kernel.types[name].insert(types.begin(), types.end());
      } else {
        def.skip();
      }
    }
    if (device == "CPU" || device == "DEFAULT") at->second.push_back(std::move(kernel));
  }
  library_.api().delete_buffer(buffer);
  return at->second;
}

Support OpRegistry::has_kernel(const std::string& op, const Attributes& attributes) const {
  const std::vector<Kernel>& kernels = kernels_of(op);
  if (kernels.empty()) return Support::refused("TensorFlow has no kernel for it on the CPU");
  const auto takes = [&](const Kernel& kernel) {
    return std::ranges::all_of(kernel.types, [&](const auto& constraint) {
      const int32_t type = get_type(attributes, constraint.first);
      return type == 0 || constraint.second.contains(type);
    });
  };
  return std::ranges::any_of(kernels, takes)
             ? Support::supported()
             : Support::refused("TensorFlow has no kernel for it with these types on the CPU");
}

Result<const OpRegistry*> op_registry() {
  const Library& library = *TRY(Library::get());
  static const OpRegistry* registry = new OpRegistry(library);  // never freed, like the library
  return registry;
}

}  // namespace intarsia::tf
