// Loops that add products of two factors to sums, as they are after all of Halide's passes, for passes that
// replace them by instructions which Halide does not know.
#pragma once

#include <Halide.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace intarsia::halide {

/// Throws the error that the loops have another form than the pass knows.
[[noreturn]] void refuse_loops(const std::string& why);

/// Elements of a buffer that the iterations of a nest of loops read or write.
struct Access {
  std::string buffer;
  Halide::Type type;
  Halide::Expr index;

  /// Returns the distance between the elements of two neighboring iterations.
  Halide::Expr stride(const Halide::Internal::For* loop) const;
  bool has_stride(const Halide::Internal::For* loop, int64_t elements) const;
  /// Returns the element in the first iteration of `loops`.
  Halide::Expr first(const std::vector<const Halide::Internal::For*>& loops) const;
};

/// Nest of loops around a store.
struct LoopNest {
  std::vector<const Halide::Internal::For*> loops;  // outermost first
  const Halide::Internal::Store* store = nullptr;
};

/// Replaces the loops that update `sums`, a function, by what `write` makes of them, after all of Halide's
/// passes. In the nest the values of variables are in their places.
void replace_products(Halide::Pipeline& pipeline, const std::string& sums,
                      std::function<Halide::Internal::Stmt(const LoopNest&)> write);

/// Returns the number of this place, 0 or 1, of a pair, which is an element of a function, as a factor of
/// products that a pass replaces: other code cannot compute it.
Halide::Expr number_of_pair(const Halide::Expr& pair, const Halide::Expr& place);

/// Reads the factors of a store that adds their product to what it overwrites. A factor is an element of a
/// buffer that a cast widens, or part of one (number_of_pair).
std::pair<Access, Access> read_factors(const Halide::Internal::Store* store);

int64_t extent_of(const Halide::Internal::For* loop);

}  // namespace intarsia::halide
