#include "backends/halide/build/dot_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "backends/halide/build/product_loops.h"

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Intrinsic = Halide::Internal::Call;

constexpr int dot = 4;              // products that an instruction sums
constexpr size_t loops_inside = 3;  // loops of the reduction that a function has

Expr to_int64(const Expr& x) { return simplify(Cast::make(Halide::Int(64), x)); }

/// Writes the call for a nest of loops, within those loops of the reduction that the function does not have.
class CallWriter {
 public:
  CallWriter(const LoopNest& nest, const std::string& sums, int vector_bytes)
      : vector_bytes_(vector_bytes), sum_{sums, nest.store->value.type(), nest.store->index} {
    std::tie(input_, weights_) = read_factors(nest.store);
    if (input_.type != Halide::UInt(8)) std::swap(input_, weights_);
    if (nest.loops.empty()) refuse_loops("none is over the neighbors of a dot product");
    neighbors_ = nest.loops.back();
    for (const For* loop : std::span(nest.loops).first(nest.loops.size() - 1)) sort(loop);
    check_layout();
  }

  /// Writes the call: of buffers, each with the first element and the distance of pixels in elements, then of
  /// loops, each with the number of iterations and the distances in the input and in weights.
  Stmt write() const {
    const int64_t lanes = vector_bytes_ / 4;
    const int64_t pixels = pixels_ == nullptr ? 1 : extent_of(pixels_);
    const auto inner = std::span(reduction_).last(std::min(reduction_.size(), loops_inside));
    std::vector<const For*> inside(inner.begin(), inner.end());
    inside.insert(inside.end(), {neighbors_, channels_});
    if (pixels_ != nullptr) inside.push_back(pixels_);

    std::vector<Expr> arguments;
    for (const Access& access : {input_, weights_, sum_})
      arguments.insert(arguments.end(), {Variable::make(Halide::Handle(), access.buffer),
                                         to_int64(access.first(inside)), stride(access, pixels_)});
    for (size_t i = 0; i < loops_inside; ++i) {
      const For* loop = i < inner.size() ? inner[inner.size() - 1 - i] : nullptr;
      arguments.push_back(loop == nullptr ? make_const(Halide::Int(64), 1) : to_int64(loop->extent));
      arguments.insert(arguments.end(), {stride(input_, loop), stride(weights_, loop)});
    }
    const std::string name =
        fmt::format("intarsia_dot_tile_{}_{}x{}", 8 * vector_bytes_, pixels, extent_of(channels_) / lanes);
    Stmt all = Evaluate::make(Intrinsic::make(Halide::Int(32), name, arguments, Intrinsic::Extern));
    for (size_t i = reduction_.size() - inner.size(); i-- > 0;)
      all = For::make(reduction_[i]->name, reduction_[i]->min, reduction_[i]->extent, ForType::Serial,
                      Halide::Partition::Auto, Halide::DeviceAPI::None, all);
    return all;
  }

 private:
  /// Finds out what a loop is over. Loops of one iteration are not there.
  void sort(const For* loop) {
    if (sum_.has_stride(loop, 0))
      reduction_.push_back(loop);
    else if (input_.has_stride(loop, 0) && channels_ == nullptr)
      channels_ = loop;
    else if (weights_.has_stride(loop, 0) && pixels_ == nullptr)
      pixels_ = loop;
    else
      refuse_loops("pixels lie along two axes");
  }

  void check_layout() const {
    if (input_.type != Halide::UInt(8) || weights_.type != Halide::Int(8)) refuse_loops("not u8 by i8");
    if (extent_of(neighbors_) != dot || !input_.has_stride(neighbors_, 1) ||
        !weights_.has_stride(neighbors_, 1) || !sum_.has_stride(neighbors_, 0))
      refuse_loops("neighbors of a dot product are not side by side");
    if (channels_ == nullptr || extent_of(channels_) % (vector_bytes_ / 4) != 0 ||
        !weights_.has_stride(channels_, dot) || !sum_.has_stride(channels_, 1))
      refuse_loops("channels are not those of whole vectors");
  }

  /// Returns the distance between neighboring iterations in elements; 0 if there is no loop.
  static Expr stride(const Access& access, const For* loop) {
    return loop == nullptr ? make_const(Halide::Int(64), 0) : to_int64(access.stride(loop));
  }

  int vector_bytes_;
  Access sum_, input_, weights_;
  const For *neighbors_ = nullptr, *channels_ = nullptr, *pixels_ = nullptr;
  std::vector<const For*> reduction_;  // outermost first
};

}  // namespace

void call_dot_tiles(Halide::Pipeline& pipeline, const std::string& sums, int vector_bytes) {
  replace_products(pipeline, sums,
                   [=](const LoopNest& nest) { return CallWriter(nest, sums, vector_bytes).write(); });
}

}  // namespace intarsia::halide
