#include "backends/halide/schedule/kernel_name.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <map>

namespace intarsia::halide {

std::string name_of(const Kernel& kernel, bool checks) {
  const std::string text = fmt::format("{}{}", checks ? "checks\n" : "", kernel.text());
  const XXH128_hash_t digest = XXH3_128bits(text.data(), text.size());
  return fmt::format("intarsia_{:016x}{:016x}", digest.high64, digest.low64);
}

std::vector<ArgumentForm> argument_forms(const Kernel& kernel, const Argument& output) {
  std::vector<ArgumentForm> forms;
  const auto add = [&](const FixedArgument& argument) {
    forms.push_back({argument.dtype,
                     {argument.shape.begin(), argument.shape.end()},
                     {argument.strides.begin(), argument.strides.end()}});
  };
  for (const Argument& input : kernel.inputs) add(FixedArgument(input));
  add(FixedArgument(output));
  return forms;
}

std::vector<OpenArgumentForm> open_argument_forms(const Kernel& kernel, const Argument& output) {
  std::map<std::string, int64_t> numbers;
  for (size_t i = 0; i < kernel.symbols.size(); ++i) numbers[symbol_name(i)] = static_cast<int64_t>(i);
  const auto to_postfixes = [&](const SymbolicShape& sizes) {
    std::vector<PostfixSize> postfixes;
    for (const Dim& size : sizes)
      postfixes.push_back(to_postfix(size, [&](const std::string& symbol) { return numbers.at(symbol); }));
    return postfixes;
  };
  std::vector<OpenArgumentForm> forms;
  for (const Argument& input : kernel.inputs)
    forms.push_back({input.dtype, to_postfixes(input.shape), to_postfixes(input.strides)});
  forms.push_back({output.dtype, to_postfixes(output.shape), to_postfixes(output.strides)});
  return forms;
}

std::string symbol_ending(const Kernel& kernel, const Argument& output) {
  return !kernel.symbols.empty()
             ? symbol_ending(kernel.symbols.size(), open_argument_forms(kernel, output), kernel.isa.device)
             : symbol_ending(argument_forms(kernel, output), kernel.isa.device);
}

}  // namespace intarsia::halide
