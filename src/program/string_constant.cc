#include "program/string_constant.h"

#include <cstring>

#include "base/bytes.h"

namespace intarsia {

std::string encode_strings(const TensorView& strings) {
  std::string ends, characters;
  for (const std::string& text : strings.as<std::string>()) {
    characters += text;
    const uint64_t end = characters.size();
    ends += text_of_value(end);
  }
  return ends + characters;
}

Result<Tensor> decode_strings(std::span<const std::byte> bytes, const Shape& shape) {
  const uint64_t count = static_cast<uint64_t>(TRY(checked_elements(shape)));
  if (count > bytes.size() / sizeof(uint64_t)) {
    return fail("{} strings do not fit in {} bytes", count, bytes.size());
  }
  const std::span<const std::byte> characters = bytes.subspan(count * sizeof(uint64_t));
  Tensor tensor(DType::string, shape);
  uint64_t begin = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t end = 0;
    std::memcpy(&end, bytes.data() + i * sizeof(end), sizeof(end));
    if (end < begin || end > characters.size())
      return fail("string {} ends outside its {} bytes", i, characters.size());
    tensor.as<std::string>()[i] = as_text(characters.subspan(begin, end - begin));
    begin = end;
  }
  return tensor;
}

}  // namespace intarsia
