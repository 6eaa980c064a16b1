#include "backends/halide/build/amx_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "backends/halide/build/product_loops.h"
#include "backends/halide/schedule/amx_schedule.h"

namespace intarsia::halide {
namespace {

using namespace Halide::Internal;
using Halide::Expr;
using Halide::Parameter;
using Halide::Type;
using Intrinsic = Halide::Internal::Call;

/// Returns a distance in bytes, of some elements.
Expr to_bytes(const Expr& distance, int of_element) {
  return simplify(Cast::make(Halide::Int(64), distance) * make_const(Halide::Int(64), of_element));
}

/// Equal tiles along the loops of an axis of the sums: along one loop, or each row of the outer one of two in
/// tiles of its own.
struct TileAxis {
  std::vector<const For*> loops;  // outermost first
  int rows = 1, tiles_of_row = 1, extent = 1;

  explicit TileAxis(std::vector<const For*> of) : loops(std::move(of)) {
    const int64_t elements = loops.empty() ? 1 : extent_of(loops.back());
    if (loops.size() > 1) rows = static_cast<int>(extent_of(loops[0]));
    tiles_of_row = static_cast<int>((elements + amx_tile - 1) / amx_tile);
    extent = static_cast<int>(elements) / tiles_of_row;
    if (extent * tiles_of_row != elements) refuse_loops("tiles differ");
  }

  int tiles() const { return rows * tiles_of_row; }

  /// Returns the distance between neighboring elements of a tile.
  Expr stride(const Access& access) const { return loops.empty() ? Expr(0) : access.stride(loops.back()); }

  /// Returns the distance of a tile from the first.
  Expr offset(const Access& access, int tile) const {
    const Expr of_row = loops.size() > 1 ? access.stride(loops[0]) * (tile / tiles_of_row) : Expr(0);
    return of_row + stride(access) * (tile % tiles_of_row * extent);
  }
};

/// Writes the statements for a nest of loops.
class TileWriter {
 public:
  TileWriter(const LoopNest& nest, const std::string& sums)
      : nest_(nest), name_(sums + ".amx"), sum_{sums, nest.store->value.type(), nest.store->index} {
    if (nest.loops.size() < 3) refuse_loops("loops are missing");
    neighbors_ = nest.loops.back();
    steps_ = nest.loops[nest.loops.size() - 2];
    columns_ = nest.loops[nest.loops.size() - 3];
    std::tie(a_, b_) = read_factors(nest.store);
    if (b_.has_stride(columns_, 0)) std::swap(a_, b_);
    for (size_t i = 0; i + 3 < nest.loops.size(); ++i)
      (sum_.has_stride(nest.loops[i], 0) ? others_ : rows_).push_back(nest.loops[i]);
    check_layout();
  }

  Stmt write() const {
    const TileAxis rows(rows_), columns({columns_});
    const auto tile = [&](int row, int column) { return fmt::format("{}_{}_{}", name_, row, column); };
    std::vector<Stmt> zeros, stores;
    for (int row = 0; row < rows.tiles(); ++row)
      for (int column = 0; column < columns.tiles(); ++column) {
        zeros.push_back(write_tile(tile(row, column), call("tile_zero", shape(rows, columns))));
        stores.push_back(store_tile(tile(row, column), rows, columns, row, column));
      }
    Stmt all = Block::make({Block::make(zeros), multiply(rows, columns, tile), Block::make(stores)});
    for (int row = 0; row < rows.tiles(); ++row)
      for (int column = 0; column < columns.tiles(); ++column)
        all = Allocate::make(tile(row, column), sum_.type, Halide::MemoryType::AMXTile, {elements},
                             const_true(), all);
    return all;
  }

 private:
  static constexpr int elements = amx_tile * amx_tile, tile_bytes = 4 * elements;

  Type tile_type() const { return sum_.type.with_lanes(elements); }
  static Expr every() { return Ramp::make(0, 1, elements); }
  Expr call(const std::string& what, const std::vector<Expr>& arguments) const {
    return Intrinsic::make(tile_type(), what, arguments, Intrinsic::CallType::Intrinsic);
  }
  static std::vector<Expr> shape(const TileAxis& rows, const TileAxis& columns) {
    return {Cast::make(Halide::Int(16), rows.extent), Cast::make(Halide::Int(16), columns.extent * 4)};
  }

  Expr read_tile(const std::string& tile) const {
    return Load::make(tile_type(), tile, every(), Halide::Buffer<>(), Parameter(), const_true(elements),
                      ModulusRemainder());
  }
  static Stmt write_tile(const std::string& tile, const Expr& value) {
    return Store::make(tile, value, every(), Parameter(), const_true(elements), ModulusRemainder());
  }

  /// Checks that rows of tiles lie as the instructions read and write them.
  void check_layout() const {
    const int64_t dot = extent_of(neighbors_);
    if (rows_.size() > 2) refuse_loops("pixels lie along three axes");
    if (extent_of(steps_) != amx_tile || dot * a_.type.bytes() != 4)
      refuse_loops("the depth does not fill tiles");
    if (!a_.has_stride(neighbors_, 1) || !a_.has_stride(steps_, dot) || !a_.has_stride(columns_, 0))
      refuse_loops("rows of the first factor are not dense");
    if (!b_.has_stride(neighbors_, 1) || !b_.has_stride(columns_, dot) ||
        !std::ranges::all_of(rows_, [&](const For* loop) { return b_.has_stride(loop, 0); }))
      refuse_loops("rows of the second factor are not dense");
    if (!sum_.has_stride(columns_, 1)) refuse_loops("rows of sums are not dense");
  }

  Stmt store_tile(const std::string& tile, const TileAxis& rows, const TileAxis& columns, int row,
                  int column) const {
    const Expr at = sum_.first(nest_.loops) + rows.offset(sum_, row) + columns.offset(sum_, column);
    std::vector<Expr> arguments = shape(rows, columns);
    arguments.insert(arguments.end(), {Variable::make(Halide::Handle(), sum_.buffer), to_bytes(at, 4),
                                       to_bytes(rows.stride(sum_), 4), read_tile(tile)});
    return Evaluate::make(
        Intrinsic::make(Halide::Int(32), "tile_store", arguments, Intrinsic::CallType::Intrinsic));
  }

  /// Returns the loops over the reduction, without those of a tile.
  Stmt multiply(const TileAxis& rows, const TileAxis& columns, const auto& tile) const {
    std::vector<const For*> inner{neighbors_, steps_, columns_};
    inner.insert(inner.end(), rows_.begin(), rows_.end());
    const Expr a_at = a_.first(inner), b_at = b_.first(inner);
    const auto variable = [&](const Access& of, const char* factor, int i) {
      return Variable::make(of.type.with_lanes(tile_bytes / of.type.bytes()),
                            fmt::format("{}_{}{}", name_, factor, i));
    };
    std::vector<Stmt> products;
    for (int j = 0; j < columns.tiles(); ++j) {
      std::vector<Stmt> of_column;
      for (int i = 0; i < rows.tiles(); ++i)
        of_column.push_back(write_tile(
            tile(i, j),
            call("tile_matmul", {rows.extent, 4 * columns.extent, 4 * amx_tile, read_tile(tile(i, j)),
                                 variable(a_, "a", i), variable(b_, "b", j)})));
      const Expr loaded =
          load_tile(b_, amx_tile, columns.extent, b_at + columns.offset(b_, j), b_.stride(steps_));
      products.push_back(LetStmt::make(fmt::format("{}_b{}", name_, j), loaded, Block::make(of_column)));
    }
    Stmt body = Block::make(products);
    for (int i = 0; i < rows.tiles(); ++i)
      body = LetStmt::make(fmt::format("{}_a{}", name_, i),
                           load_tile(a_, rows.extent, amx_tile, a_at + rows.offset(a_, i), rows.stride(a_)),
                           body);
    for (size_t i = others_.size(); i-- > 0;)
      body = For::make(others_[i]->name, others_[i]->min, others_[i]->extent, ForType::Serial,
                       Halide::Partition::Auto, Halide::DeviceAPI::None, body);
    return body;
  }

  /// Returns a tile of a factor: rows of some elements of 4 bytes.
  static Expr load_tile(const Access& from, int rows, int columns, const Expr& at, const Expr& stride) {
    const int size = from.type.bytes();
    return Intrinsic::make(from.type.with_lanes(tile_bytes / size), "tile_load",
                           {rows, 4 * columns, Variable::make(Halide::Handle(), from.buffer),
                            to_bytes(at, size), to_bytes(stride, size)},
                           Intrinsic::CallType::Intrinsic);
  }

  const LoopNest& nest_;
  std::string name_;
  Access sum_, a_, b_;  // rows of a, columns of b
  const For *neighbors_, *steps_, *columns_;
  std::vector<const For*> rows_, others_;  // others: of the reduction
};

/// Rounds an f32 to bf16, to nearest even. Returns the bits of an f32 whose lower half is zero.
Expr rounded_bits(const Expr& x) {
  const Type bits_type = Halide::UInt(32);
  const Expr bits = Halide::reinterpret(bits_type, x);
  const Expr is_odd = (bits >> 16) & make_const(bits_type, 1);
  const Expr rounded = (bits + is_odd + make_const(bits_type, 0x7fff)) & make_const(bits_type, 0xffff0000);
  const Expr is_nan = (bits & make_const(bits_type, 0x7fffffff)) > make_const(bits_type, 0x7f800000);
  return Halide::select(is_nan, make_const(bits_type, 0x7fc00000), rounded);
}

}  // namespace

Expr pack_pair(const Expr& first, const Expr& second) {
  return (rounded_bits(first) >> 16) | rounded_bits(second);
}

void multiply_on_amx(Halide::Pipeline& pipeline, const std::string& sums) {
  replace_products(pipeline, sums, [=](const LoopNest& nest) { return TileWriter(nest, sums).write(); });
}

}  // namespace intarsia::halide
