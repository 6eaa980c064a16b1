#include "emit_c/write_user_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "emit_c/c_text.h"

namespace intarsia {
namespace {

std::string float_text(float number) {
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) return number < 0 ? "-INFINITY" : "INFINITY";
  return fmt::format("{:a}f", number);
}

/// Writes the fields of an attribute: its name, the number of its elements, and a list of one kind.
struct AttributeText {
  const std::string& name;

  std::string operator()(int64_t v) const { return (*this)(std::vector{v}); }
  std::string operator()(float v) const { return (*this)(std::vector{v}); }
  std::string operator()(const std::string& v) const { return (*this)(std::vector{v}); }
  std::string operator()(const std::vector<int64_t>& v) const {
    return with(v.size(), "{}, NULL, NULL", "int64_t", texts(v, c_number));
  }
  std::string operator()(const std::vector<float>& v) const {
    return with(v.size(), "NULL, {}, NULL", "float", texts(v, float_text));
  }
  std::string operator()(const std::vector<std::string>& v) const {
    return with(v.size(), "NULL, NULL, {}", "char* const", texts(v, c_string));
  }
  std::string operator()(const Tensor&) const { return with(0, "", "", {}); }
  std::string operator()(const EncodedAttribute&) const { return with(0, "", "", {}); }

  template <class Values, class Write>
  static std::vector<std::string> texts(const Values& values, Write write) {
    std::vector<std::string> made;
    for (const auto& value : values) made.push_back(write(value));
    return made;
  }

  std::string with(size_t count, const char* lists, const char* type,
                   const std::vector<std::string>& elements) const {
    if (count == 0) return fmt::format("{{{}, 0, NULL, NULL, NULL}}", c_string(name));
    const std::string list = fmt::format("(const {}[]){{{}}}", type, fmt::join(elements, ", "));
    return fmt::format("{{{}, {}, {}}}", c_string(name), count, fmt::format(fmt::runtime(lists), list));
  }
};

std::string write_attributes(const Attributes& attributes) {
  std::vector<std::string> texts;
  for (const Attributes::Entry& entry : attributes)
    texts.push_back(std::visit(AttributeText{entry.name}, entry.value));
  return fmt::format("    const intarsia_kernel_attribute attributes[] = {{\n        {}}};\n",
                     fmt::join(texts, ",\n        "));
}

/// Declares an array of tensors, which has an element more than none.
std::string write_tensors(const char* name, const std::vector<CallTensor>& tensors,
                          const std::vector<std::string>& addresses,
                          const std::map<std::string, std::string>& names) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const CallTensor& tensor = tensors[i];
    if (tensor.dtype == DType::undefined) {
      texts.emplace_back("{NULL, 0, 0, {0}}");
      continue;
    }
    std::vector<std::string> sizes;
    for (const Dim& size : tensor.extents) sizes.push_back(c_expression(size, names));
    if (sizes.empty()) sizes.emplace_back("0");
    texts.push_back(fmt::format("{{(void*)(uintptr_t)({}), {}, {}, {{{}}}}}", addresses[i],
                                static_cast<int>(tensor.dtype), tensor.extents.size(),
                                fmt::join(sizes, ", ")));
  }
  if (texts.empty()) texts.emplace_back("{NULL, 0, 0, {0}}");
  return fmt::format("    const intarsia_kernel_tensor {}[] = {{\n        {}}};\n", name,
                     fmt::join(texts, ",\n        "));
}

}  // namespace

std::string write_user_call(const UserCall& call, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs,
                            const std::map<std::string, std::string>& names, const std::string& otherwise) {
  std::string text =
      fmt::format("  /* {}: {}, a kernel of yours */\n  {{\n", c_comment(call.label), c_comment(call.op));
  if (call.attributes.size() > 0) text += write_attributes(call.attributes);
  text += fmt::format("    const intarsia_kernel_node node = {{sizeof node, {}, {}, {}, {}, {}}};\n",
                      c_string(call.op), c_string(call.domain), call.version, call.attributes.size(),
                      call.attributes.size() > 0 ? "attributes" : "NULL");
  text +=
      write_tensors("in", call.inputs, inputs, names) + write_tensors("out", call.outputs, outputs, names);
  return text + fmt::format("    if (intarsia_call_user(&node, in, {}, out, {}) != 0) {}  }}\n",
                            call.inputs.size(), call.outputs.size(), otherwise);
}

}  // namespace intarsia
