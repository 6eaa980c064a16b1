// Tiles of nearly equal size along an axis of open extent.
#pragma once

#include <Halide.h>

#include <cstdint>
#include <functional>
#include <string>

namespace intarsia::halide {

/// Axis of open extent that tiles of `most` elements or one less cover exactly: as few tiles as possible,
/// whose sizes differ by at most one. The code of a kernel covers a part of the axis with tiles of one size;
/// it runs for the larger tiles, then for the smaller ones.
struct EvenTiles {
  /// Takes tiles of at most `widest` elements, and at most widest_even_tile.
  EvenTiles(Halide::Expr extent, int64_t widest);

  Halide::Expr extent;
  int64_t most = 1;
  Halide::Param<int> first{"even_first"}, count{"even_count"};  // part of the axis, in elements
  Halide::Param<int> tile{"even_tile"};                         // elements of a tile, 1 to `most`

  /// Makes `out` compute a part of its axis. Calls `schedule` with the variant for each size of a tile.
  void for_each(Halide::Func out, const Halide::Var& axis,
                const std::function<void(Halide::Stage, int64_t)>& schedule) const;
  /// Checks whether there may be several tiles of that size; smaller ones are the only one of their axis.
  bool may_be_many(int64_t size) const { return 2 * size >= most; }
};

/// Rows of the widest tile: each size is a variant of the code, and tiles of more rows are hardly faster.
inline constexpr int64_t widest_even_tile = 14;

/// Returns the elements of the larger tiles that cover an axis as EvenTiles do.
Halide::Expr tile_of(const Halide::Expr& extent, int64_t most);

/// Calls `schedule` with the variant of `func` for each size, from `most` to 1, that `tile` may have.
void for_each_tile(Halide::Func func, const Halide::Expr& tile, int64_t most,
                   const std::function<void(Halide::Stage, int64_t)>& schedule);

/// Replaces the function named `kernel` of the module by one without the parameters of `tiles`, which calls
/// it for all of the axis.
void call_for_even_tiles(Halide::Module& module, const std::string& kernel, const EvenTiles& tiles);

}  // namespace intarsia::halide
