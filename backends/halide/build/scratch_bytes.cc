#include "backends/halide/build/scratch_bytes.h"

#include <algorithm>

namespace intarsia::halide {
namespace {

class Measure : public Halide::Internal::IRVisitor {
 public:
  size_t most = 0;

 private:
  using Halide::Internal::IRVisitor::visit;

  void visit(const Halide::Internal::Allocate* op) override {
    size_t bytes =
        op->memory_type == Halide::MemoryType::Stack || op->memory_type == Halide::MemoryType::Register
            ? 0
            : static_cast<size_t>(std::max<int64_t>(op->constant_allocation_size(), 0)) *
                  static_cast<size_t>(op->type.bytes());
    // Halide reads up to a vector past the end; blocks start on cache lines, and a line for the host precedes
    // each.
    if (bytes > 0) bytes = (bytes + 192) / 64 * 64;
    held_ += bytes;
    most = std::max(most, held_);
    op->body.accept(this);
    held_ -= bytes;
  }

  size_t held_ = 0;
};

}  // namespace

size_t scratch_bytes(const Halide::Module& module) {
  // A parallel loop's body is a function of its own: a thread may hold the caller's blocks and the body's.
  size_t sum = 0;
  for (const Halide::Internal::LoweredFunc& function : module.functions()) {
    Measure measure;
    function.body.accept(&measure);
    sum += measure.most;
  }
  return sum;
}

}  // namespace intarsia::halide
