#include "api/external_tensor.h"

#include <algorithm>

#include "api/struct_sizes.h"
#include "base/bytes.h"

namespace intarsia::api {
namespace {

/// Memory of an output that the library allocated.
struct Owner {
  std::shared_ptr<void> memory;
  std::vector<Tensor> tensors;
  Shape shape;
  std::vector<intarsia_string> strings;
  std::vector<std::unique_ptr<Owner>> item_owners;
  std::vector<intarsia_tensor> items;
};

Result<TensorView> read_tensor(const intarsia_tensor& from) {
  if (from.kind != INTARSIA_TENSOR) return fail("it is not a tensor (kind {})", from.kind);
  if (from.dtype <= 0 || from.dtype >= dtype_count) return fail("unknown dtype {}", from.dtype);
  if (from.rank > 0 && from.shape == nullptr) return fail("its shape is a null pointer, rank {}", from.rank);
  TensorView view{from.data, static_cast<DType>(from.dtype), Shape(from.shape, from.shape + from.rank)};
  TRY(checked_elements(view.shape));
  return view;
}

Tensor copy_strings(const TensorView& view) {
  Tensor copy(DType::string, view.shape);
  const auto* from = static_cast<const intarsia_string*>(view.data);
  for (std::string& text : copy.as<std::string>()) {
    if (from->size > 0) text.assign(from->data, from->size);
    ++from;
  }
  return copy;
}

/// Returns a tensor in the form that backends take: strings as std::string.
Result<Tensor> read_item(const intarsia_tensor& from) {
  const TensorView view = TRY(read_tensor(from));
  if (view.data == nullptr && element_count(view.shape) > 0) return fail("it has no data");
  return view.dtype == DType::string ? copy_strings(view) : Tensor(view, nullptr);
}

Result<OpaqueParts> read_parts(const intarsia_tensor& from) {
  OpaqueParts parts;
  const intarsia_tensor* holder = &from;
  parts.is_optional = from.kind == INTARSIA_OPTIONAL;
  if (parts.is_optional && from.item_count == 0) {
    parts.is_absent = true;
    return parts;
  }
  if (from.item_count > 0 && from.items == nullptr) return fail("its items are a null pointer");
  if (parts.is_optional && from.items->kind == INTARSIA_SEQUENCE) holder = from.items;
  parts.is_sequence = holder->kind == INTARSIA_SEQUENCE;
  parts.is_map = holder->kind == INTARSIA_MAP;
  if (holder->item_count > 0) TRY(check_sizes("item", holder->items, holder->item_count));
  for (size_t i = 0; i < holder->item_count; ++i) {
    parts.tensors.push_back(TRY(with_context(read_item(element(holder->items, i)), "item {}", i)));
  }
  return parts;
}

/// Makes `to` show `tensor`, whose memory `owner` keeps alive.
void show_tensor(const TensorView& tensor, Owner& owner, intarsia_tensor& to) {
  owner.shape = tensor.shape;
  to.kind = INTARSIA_TENSOR;
  to.dtype = static_cast<int32_t>(tensor.dtype);
  to.rank = owner.shape.size();
  to.shape = owner.shape.data();
  to.data = tensor.data;
  if (tensor.dtype != DType::string) return;
  for (const std::string& text : tensor.as<std::string>())
    owner.strings.push_back({text.data(), text.size()});
  to.data = owner.strings.data();
}

void show_items(const std::vector<Tensor>& tensors, int kind, Owner& owner, intarsia_tensor& to) {
  for (const Tensor& tensor : tensors) {
    Owner& item = *owner.item_owners.emplace_back(std::make_unique<Owner>());
    show_tensor(tensor.view(), item,
                owner.items.emplace_back(intarsia_tensor{.struct_size = sizeof(intarsia_tensor)}));
  }
  to.kind = kind;
  to.dtype = INTARSIA_UNDEFINED;
  to.items = owner.items.data();
  to.item_count = owner.items.size();
}

void show_parts(const OpaqueParts& parts, Owner& owner, intarsia_tensor& to) {
  if (parts.is_optional && parts.is_sequence && !parts.is_absent) {
    Owner& inner = *owner.item_owners.emplace_back(std::make_unique<Owner>());
    intarsia_tensor& content =
        owner.items.emplace_back(intarsia_tensor{.struct_size = sizeof(intarsia_tensor)});
    show_items(parts.tensors, INTARSIA_SEQUENCE, inner, content);
    show_items({}, INTARSIA_OPTIONAL, owner, to);
    return;
  }
  show_items(parts.tensors,
             parts.is_optional ? INTARSIA_OPTIONAL
             : parts.is_map    ? INTARSIA_MAP
                               : INTARSIA_SEQUENCE,
             owner, to);
}

/// Checks whether the library allocates an output's memory.
bool wants_memory(const intarsia_tensor& output) {
  return output.data == nullptr || output.dtype == INTARSIA_STRING || output.kind != INTARSIA_TENSOR;
}

/// Lets the caller of the C API, whose output `user` is, allocate its memory.
void* allocate_output(void* user, std::string_view, const TensorView& tensor) {
  const auto& output = *static_cast<const intarsia_tensor*>(user);
  const intarsia_tensor known{.struct_size = sizeof(known),
                              .name = output.name,
                              .kind = INTARSIA_TENSOR,
                              .dtype = static_cast<int32_t>(tensor.dtype),
                              .rank = tensor.shape.size(),
                              .shape = tensor.shape.data()};
  return output.allocate(output.allocate_user, &known, tensor.bytes());
}

bool has_allocator(const intarsia_tensor& output) {
  return output.struct_size >= offsetof(intarsia_tensor, allocate_user) + sizeof(output.allocate_user) &&
         output.allocate != nullptr;
}

std::string_view encoded_type(const fbs::ValueT& value) { return as_text(std::span(value.encoded_type)); }

}  // namespace

Status check_sizes(const char* what, const intarsia_tensor* tensors, size_t count) {
  if (count > 0 && tensors == nullptr) return fail("{} {}s at a null pointer", count, what);
  for (size_t i = 0; i < count; ++i) {
    const size_t size = element(tensors, i).struct_size;
    if (size >= least_size<intarsia_tensor> && size == tensors->struct_size) continue;
    return fail("{} {} has struct_size {}, want {}: set it to sizeof(intarsia_tensor)", what, i, size,
                std::max(tensors->struct_size, least_size<intarsia_tensor>));
  }
  return {};
}

Status read_input(const intarsia_tensor& from, const RunBackend* backend, const fbs::ValueT* value,
                  NamedTensor& named, Tensor& strings) {
  if (from.name == nullptr) return fail("an input has no name");
  named.name = from.name;
  named.owner = nullptr;
  if (value != nullptr && value->dtype == 0) {
    if (backend == nullptr || backend->pack == nullptr) {
      return fail("input '{}' is a sequence, optional or map, which its backend cannot take from callers",
                  from.name);
    }
    const OpaqueParts parts = TRY(with_context(read_parts(from), "input '{}'", from.name));
    named.tensor = {};
    named.owner = TRY(with_context(backend->pack(parts, encoded_type(*value)), "input '{}'", from.name));
    return {};
  }
  if (from.kind != INTARSIA_TENSOR)
    return fail("input '{}' is not a tensor (kind {}), want one", from.name, from.kind);
  if (from.dtype == INTARSIA_STRING) {
    const Result<Tensor> copy = read_item(from);
    strings = TRY(with_context(copy, "input '{}'", from.name));
    named.tensor = strings.view();
    return {};
  }
  if (from.rank > 0 && from.shape == nullptr)
    return fail("input '{}' has a null shape, rank {}", from.name, from.rank);
  if (from.dtype < 0 || from.dtype >= dtype_count)
    return fail("input '{}' has unknown dtype {}", from.name, from.dtype);
  named.tensor.data = from.data;
  named.tensor.dtype = static_cast<DType>(from.dtype);
  named.tensor.shape.assign(from.shape, from.shape + from.rank);
  return {};
}

Result<std::vector<NamedValue>> read_inputs(const intarsia_tensor* inputs, size_t count) {
  TRY(check_sizes("input", inputs, count));
  std::vector<NamedValue> values;
  for (size_t i = 0; i < count; ++i) {
    NamedTensor named;
    Tensor strings;
    TRY(read_input(element(inputs, i), nullptr, nullptr, named, strings));
    TRY(with_context(checked_elements(named.tensor.shape), "input '{}'", named.name));
    const bool is_text = named.tensor.dtype == DType::string;
    values.push_back({std::string(named.name), is_text ? strings : Tensor(named.tensor, nullptr)});
  }
  return values;
}

Status read_output(const intarsia_tensor& from, NamedTensor& named) {
  if (from.name == nullptr) return fail("an output has no name");
  named.name = from.name;
  named.owner = nullptr;
  named.allocator = {};
  named.tensor.data = wants_memory(from) ? nullptr : from.data;
  if (named.tensor.data == nullptr) {
    if (has_allocator(from)) named.allocator = {allocate_output, const_cast<intarsia_tensor*>(&from)};
    return {};
  }
  if (from.rank > 0 && from.shape == nullptr)
    return fail("output '{}' has a null shape, rank {}", from.name, from.rank);
  if (from.dtype < 0 || from.dtype >= dtype_count)
    return fail("output '{}' has unknown dtype {}", from.name, from.dtype);
  named.tensor.dtype = static_cast<DType>(from.dtype);
  named.tensor.shape.assign(from.shape, from.shape + from.rank);
  return {};
}

Status write_output(const NamedTensor& named, const RunBackend* backend, const fbs::ValueT* value,
                    intarsia_tensor& to) {
  if (!wants_memory(to)) return {};  // the caller's own buffer, filled
  auto owner = std::make_unique<Owner>();
  owner->memory = named.owner;
  if (value != nullptr && value->dtype == 0) {
    if (backend == nullptr || backend->unpack == nullptr) {
      return fail("output '{}' is a sequence, optional or map, which its backend cannot hand to callers",
                  to.name);
    }
    OpaqueParts parts =
        TRY(with_context(backend->unpack(named.owner, encoded_type(*value)), "output '{}'", to.name));
    owner->tensors = std::move(parts.tensors);
    parts.tensors = owner->tensors;
    show_parts(parts, *owner, to);
  } else {
    show_tensor(named.tensor, *owner, to);
  }
  to.owner = owner.release();
  return {};
}

intarsia_tensor view_tensor(const std::string& name, const TensorView& tensor) {
  return {.struct_size = sizeof(intarsia_tensor),
          .name = name.c_str(),
          .kind = INTARSIA_TENSOR,
          .dtype = static_cast<int32_t>(tensor.dtype),
          .data = tensor.data,
          .rank = tensor.shape.size(),
          .shape = tensor.shape.data()};
}

void release_tensor(intarsia_tensor& tensor) {
  if (tensor.owner == nullptr) return;
  delete static_cast<Owner*>(tensor.owner);
  tensor.owner = nullptr;
  tensor.data = nullptr;
  tensor.shape = nullptr;
  tensor.rank = 0;
  tensor.items = nullptr;
  tensor.item_count = 0;
}

}  // namespace intarsia::api
