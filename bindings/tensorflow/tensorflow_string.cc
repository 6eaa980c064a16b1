#include "bindings/tensorflow/tensorflow_string.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace intarsia::op {
namespace {

constexpr int kind_bits = 2;

template <typename Form>
Form read(const unsigned char* bytes) {
  Form form;
  std::memcpy(&form, bytes, sizeof(form));
  return form;
}

}  // namespace

std::string_view TensorString::text() const {
  switch (bytes_[0] & ((1 << kind_bits) - 1)) {
    case in_place:
      return {reinterpret_cast<const char*>(bytes_) + 1, size_t{bytes_[0]} >> kind_bits};
    case allocated: {
      const auto form = read<Allocated>(bytes_);
      return {form.data, form.size >> kind_bits};
    }
    case at_offset: {
      const auto form = read<AtOffset>(bytes_);
      return {reinterpret_cast<const char*>(bytes_) + form.offset, form.size >> kind_bits};
    }
    default: {
      const auto form = read<Elsewhere>(bytes_);
      return {form.data, form.size >> kind_bits};
    }
  }
}

void TensorString::set(std::string_view text) {
  std::memset(bytes_, 0, sizeof(bytes_));
  if (text.size() <= max_in_place) {
    bytes_[0] = static_cast<unsigned char>(text.size() << kind_bits | in_place);
    if (!text.empty()) std::memcpy(bytes_ + 1, text.data(), text.size());
    return;
  }
  auto* data = static_cast<char*>(std::malloc(text.size() + 1));
  if (data == nullptr) throw std::bad_alloc();
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = '\0';
  const Allocated form{text.size() << kind_bits | allocated, text.size(), data};
  std::memcpy(bytes_, &form, sizeof(form));
}

}  // namespace intarsia::op
