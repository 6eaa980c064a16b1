#include "base/attributes.h"

#include <algorithm>
#include <bit>

namespace intarsia {
namespace {

template <typename T>
T get_or(const Attributes& attributes, std::string_view name, T otherwise) {
  const AttributeValue* value = attributes.find(name);
  const T* typed = value ? std::get_if<T>(value) : nullptr;
  return typed ? *typed : std::move(otherwise);
}

bool same_bits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

}  // namespace

bool Attributes::Entry::operator==(const Entry& other) const {
  if (name != other.name || value.index() != other.value.index()) return false;
  if (auto* number = std::get_if<float>(&value)) return same_bits(*number, std::get<float>(other.value));
  if (auto* list = std::get_if<std::vector<float>>(&value)) {
    return std::ranges::equal(*list, std::get<std::vector<float>>(other.value), same_bits);
  }
  return value == other.value;
}

void Attributes::set(std::string name, AttributeValue value) {
  auto at = std::ranges::lower_bound(entries_, name, {}, &Entry::name);
  if (at != entries_.end() && at->name == name) {
    at->value = std::move(value);
  } else {
    entries_.insert(at, Entry{std::move(name), std::move(value)});
  }
}

void Attributes::erase(std::string_view name) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.name == name; });
}

const AttributeValue* Attributes::find(std::string_view name) const {
  auto at = std::ranges::lower_bound(entries_, name, {},
                                     [](const Entry& entry) -> std::string_view { return entry.name; });
  return at != entries_.end() && at->name == name ? &at->value : nullptr;
}

int64_t Attributes::get_int(std::string_view name, int64_t otherwise) const {
  return get_or(*this, name, otherwise);
}
float Attributes::get_float(std::string_view name, float otherwise) const {
  return get_or(*this, name, otherwise);
}
std::string Attributes::get_string(std::string_view name, std::string_view otherwise) const {
  return get_or(*this, name, std::string(otherwise));
}
std::vector<int64_t> Attributes::get_ints(std::string_view name, std::vector<int64_t> otherwise) const {
  return get_or(*this, name, std::move(otherwise));
}
std::vector<float> Attributes::get_floats(std::string_view name, std::vector<float> otherwise) const {
  return get_or(*this, name, std::move(otherwise));
}
std::vector<std::string> Attributes::get_strings(std::string_view name) const {
  return get_or(*this, name, std::vector<std::string>{});
}
const Tensor* Attributes::get_tensor(std::string_view name) const {
  const AttributeValue* value = find(name);
  return value ? std::get_if<Tensor>(value) : nullptr;
}

}  // namespace intarsia
