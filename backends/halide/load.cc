#include "backends/halide/load.h"

#include <algorithm>

#include "backends/halide/region_executable.h"
#include "backends/halide/region_plan_generated.h"

namespace intarsia::halide {
namespace {

constexpr size_t most_dimensions = 16;
constexpr uint32_t most_workers = 1024;

using Bytes = __int128;

std::optional<HalideType> halide_type(DType dtype) {
  auto bits = static_cast<uint8_t>(dtype_bits(dtype));
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return HalideType{2, bits, 1};
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
      return HalideType{0, bits, 1};
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return HalideType{1, bits, 1};
    case DType::boolean:
      return HalideType{1, 8, 1};
    default:
      return std::nullopt;
  }
}

class Loader {
 public:
  explicit Loader(const LoadContext& context) : context_(context) {}

  Result<std::unique_ptr<Executable>> load() {
    auto bytes = reinterpret_cast<const uint8_t*>(context_.blob.data());
    flatbuffers::Verifier verifier(bytes, context_.blob.size());
    if (!verifier.VerifyBuffer<fbs::RegionPlan>(nullptr)) return fail("halide: the region's plan is damaged");
    plan_ = flatbuffers::GetRoot<fbs::RegionPlan>(bytes);
    if (plan_->version() != 2)
      return fail("halide: the region's plan has version {}, this runtime reads 2; compile again",
                  plan_->version());
    if (!plan_->input_bytes() || !plan_->output_bytes() || !plan_->symbols() || !plan_->buffers() ||
        !plan_->calls())
      return fail("halide: the region's plan is damaged");
    TRY(load_sizes());
    TRY(load_symbols());
    for (uint32_t i = 0; i < plan_->buffers()->size(); ++i) TRY(load_buffer(*plan_->buffers()->Get(i)));
    for (uint32_t i = 0; i < plan_->calls()->size(); ++i) TRY(load_call(*plan_->calls()->Get(i)));
    return std::make_unique<RegionExecutable>(std::move(region_));
  }

 private:
  Status load_sizes() {
    region_.input_bytes.assign(plan_->input_bytes()->begin(), plan_->input_bytes()->end());
    region_.output_bytes.assign(plan_->output_bytes()->begin(), plan_->output_bytes()->end());
    region_.workers = plan_->workers();
    region_.scratch_offset = plan_->scratch_offset();
    region_.scratch_bytes = plan_->scratch_bytes();
    uint64_t workspace = plan_->workspace_bytes();
    bool fits = region_.workers <= most_workers && region_.scratch_offset % 64 == 0 &&
                region_.scratch_bytes % 64 == 0 && region_.scratch_offset <= workspace &&
                (region_.workers == 0 ||
                 region_.scratch_bytes <= (workspace - region_.scratch_offset) / region_.workers);
    if (!fits) return fail("halide: the region's scratch does not fit its workspace of {} bytes", workspace);
    return {};
  }

  Status load_symbols() {
    for (uint32_t i = 0; i < plan_->symbols()->size(); ++i) {
      std::string name = plan_->symbols()->Get(i)->str();
      void* address = context_.symbol ? context_.symbol(name) : nullptr;
      if (!address) return fail("halide: the program has no kernel '{}'", name);
      kernels_.push_back(reinterpret_cast<KernelFunction>(address));
    }
    return {};
  }

  /// Bytes of what the buffer lies in, or nothing when there is no such tensor.
  std::optional<uint64_t> container_bytes(const fbs::Buffer& buffer) const {
    size_t index = buffer.index();
    switch (buffer.where()) {
      case fbs::Where::input:
        return index < region_.input_bytes.size() ? std::optional(region_.input_bytes[index]) : std::nullopt;
      case fbs::Where::output:
        return index < region_.output_bytes.size() ? std::optional(region_.output_bytes[index])
                                                   : std::nullopt;
      case fbs::Where::constant:
        return index < context_.constants.size() ? std::optional<uint64_t>(context_.constants[index].bytes())
                                                 : std::nullopt;
      case fbs::Where::workspace:
        return plan_->scratch_offset();
    }
    return std::nullopt;
  }

  /// From the first byte to behind the last. Sizes are below 2^31, so that the sum of 16 products stays below 2^66.
  static Bytes reach_bytes(const BufferPlan& buffer) {
    Bytes reach = 1;
    for (const HalideDimension& dimension : buffer.dimensions) reach += static_cast<Bytes>(dimension.extent - 1) * dimension.stride;
    return reach * (buffer.type.bits / 8);
  }

  /// The last place of a buffer that moves lies in its tensor; so do those between, since the first one does.
  Status check_walk(uint32_t buffer, int64_t step, uint32_t times) const {
    const BufferPlan& plan = region_.buffers[buffer];
    const Bytes last = static_cast<Bytes>(plan.offset) + static_cast<Bytes>(step) * (times - 1);
    const uint64_t container = container_bytes(*plan_->buffers()->Get(buffer)).value_or(0);
    if (last >= 0 && last + reach_bytes(plan) <= container) return {};
    return fail("halide: a buffer of the region's plan moves out of its tensor of {} bytes", container);
  }

  Status load_buffer(const fbs::Buffer& from) {
    auto dtype = static_cast<DType>(from.dtype());
    std::optional<HalideType> type = from.dtype() < dtype_count ? halide_type(dtype) : std::nullopt;
    std::optional<uint64_t> container = container_bytes(from);
    bool sized = from.extents() && from.strides() && from.extents()->size() == from.strides()->size() &&
                 from.extents()->size() <= most_dimensions;
    if (!type || !container || !sized) return fail("halide: a buffer of the region's plan is damaged");
    BufferPlan to{static_cast<BufferPlan::Where>(from.where()), from.index(), from.offset(), *type, {}};
    for (uint32_t i = 0; i < from.extents()->size(); ++i) {
      int32_t extent = from.extents()->Get(i), stride = from.strides()->Get(i);
      if (extent < 1 || stride < 0)
        return fail("halide: a buffer of the region's plan has extent {} and stride {}", extent, stride);
      to.dimensions.push_back({0, extent, stride, 0});
    }
    if (from.offset() > *container || reach_bytes(to) > *container - from.offset())
      return fail("halide: a buffer of the region's plan lies outside of its tensor of {} bytes", *container);
    if (to.where == BufferPlan::Where::constant)
      to.constant = static_cast<uint8_t*>(context_.constants[to.index].data);
    region_.buffers.push_back(std::move(to));
    return {};
  }

  Status load_call(const fbs::Call& from) {
    if (from.symbol() >= kernels_.size() || !from.buffers() || from.buffers()->size() > most_arguments)
      return fail("halide: a call of the region's plan is damaged");
    CallPlan to{kernels_[from.symbol()], {}, from.label() ? from.label()->str() : "", from.times(), {}};
    const size_t steps = from.steps() ? from.steps()->size() : 0;
    if (to.times < 1 || (steps != 0 && steps != from.buffers()->size()))
      return fail("halide: a call of the region's plan is damaged");
    for (uint32_t i = 0; i < from.buffers()->size(); ++i) {
      if (from.buffers()->Get(i) >= region_.buffers.size())
        return fail("halide: a call of the region's plan is damaged");
      to.buffers.push_back(from.buffers()->Get(i));
      if (steps == 0) continue;
      to.steps.push_back(from.steps()->Get(i));
      TRY(check_walk(to.buffers.back(), to.steps.back(), to.times));
    }
    region_.calls.push_back(std::move(to));
    return {};
  }

  const LoadContext& context_;
  const fbs::RegionPlan* plan_ = nullptr;
  std::vector<KernelFunction> kernels_;
  RegionCode region_;
};

}  // namespace

Result<std::unique_ptr<Executable>> load(const LoadContext& context) { return Loader(context).load(); }

RunBackend run_backend() { return {"halide", load}; }

}  // namespace intarsia::halide
