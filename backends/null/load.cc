#include "backends/null/load.h"

#include <charconv>
#include <string_view>

#include "base/bytes.h"

namespace intarsia {
namespace {

/// Checks that it got as many buffers as it was compiled for, and leaves the outputs as they are.
class NullExecutable : public Executable {
 public:
  NullExecutable(size_t inputs, size_t outputs) : inputs_(inputs), outputs_(outputs) {}

  Status run(const RunContext& context) const override {
    if (context.inputs.size() == inputs_ && context.outputs.size() == outputs_) return {};
    return fail("want {} inputs and {} outputs, got {} and {}", inputs_, outputs_, context.inputs.size(),
                context.outputs.size());
  }

 private:
  size_t inputs_;
  size_t outputs_;
};

/// Loads the blob "<inputs> <outputs>". A blob comes from a file: any bytes must end in an Executable or an
/// error.
Result<std::unique_ptr<Executable>> load(const LoadContext& context) {
  const std::string_view blob = as_text(context.blob);
  const char *begin = blob.data(), *end = begin + blob.size();
  size_t inputs = 0, outputs = 0;
  const auto first = std::from_chars(begin, end, inputs);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ')
    return fail("damaged blob of the null backend");
  const auto second = std::from_chars(first.ptr + 1, end, outputs);
  if (second.ec != std::errc() || second.ptr != end) return fail("damaged blob of the null backend");
  return std::make_unique<NullExecutable>(inputs, outputs);
}

}  // namespace

RunBackend null_run_backend() { return {"null", load}; }

}  // namespace intarsia
