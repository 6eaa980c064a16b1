#include "backends/halide/build/even_tiles.h"

#include <algorithm>
#include <map>

namespace intarsia::halide {
namespace {

using Halide::Expr;
using Halide::Internal::Call;
using Halide::Internal::LoweredArgument;
using Halide::Internal::LoweredFunc;
using Halide::Internal::Stmt;
using Halide::Internal::Variable;

Expr count_tiles(const Expr& extent, int64_t most) {
  const int limit = static_cast<int>(most);
  return Halide::max((extent + limit - 1) / limit, 1);
}

/// Returns the calls of `part`, which covers a part of the axis: first the one with the larger tiles, then
/// the one with the smaller tiles, if there are any.
Stmt call_for_both(const LoweredFunc& part, const EvenTiles& tiles) {
  using namespace Halide::Internal;
  const Expr extent = tiles.extent, count = count_tiles(extent, tiles.most),
             larger = tile_of(extent, tiles.most);
  const Expr in_larger = (extent - count * (larger - 1)) * larger;
  const Expr call_number = Variable::make(Halide::Int(32), "call_number"), is_first = call_number == 0;
  const Expr elements = Halide::select(is_first, in_larger, extent - in_larger);
  const std::map<std::string, Expr> parameters{{tiles.first.name(), Halide::select(is_first, 0, in_larger)},
                                               {tiles.count.name(), elements},
                                               {tiles.tile.name(), larger - call_number}};
  std::vector<Expr> passed;
  for (const LoweredArgument& argument : part.args) {
    if (const auto known = parameters.find(argument.name); known != parameters.end())
      passed.push_back(known->second);
    else if (argument.is_buffer())
      passed.push_back(Variable::make(Halide::type_of<halide_buffer_t*>(), argument.name + ".buffer"));
    else
      passed.push_back(Variable::make(argument.type, argument.name));
  }
  const Expr call = Call::make(Halide::Int(32), part.name, passed, Call::Extern);
  const Expr error = Variable::make(Halide::Int(32), "error");
  const Stmt checked = LetStmt::make("error", call, AssertStmt::make(error == 0, error));
  return For::make("call_number", 0, 2, ForType::Serial, Halide::Partition::Never, Halide::DeviceAPI::None,
                   IfThenElse::make(elements > 0, checked));
}

}  // namespace

Expr tile_of(const Expr& extent, int64_t most) {
  const Expr count = count_tiles(extent, most);
  return (extent + count - 1) / count;
}

void for_each_tile(Halide::Func func, const Expr& tile, int64_t most,
                   const std::function<void(Halide::Stage, int64_t)>& schedule) {
  for (int64_t size = most; size > 1; --size) schedule(func.specialize(tile == static_cast<int>(size)), size);
  schedule(func, 1);
}

EvenTiles::EvenTiles(Expr extent, int64_t widest)
    : extent(std::move(extent)), most(std::min(widest, widest_even_tile)) {}

void EvenTiles::for_each(Halide::Func out, const Halide::Var& axis,
                         const std::function<void(Halide::Stage, int64_t)>& schedule) const {
  out.bound(axis, first, count);
  for_each_tile(out, tile, most, schedule);
}

void call_for_even_tiles(Halide::Module& module, const std::string& kernel, const EvenTiles& tiles) {
  LoweredFunc& part = *std::ranges::find(module.functions(), kernel, &LoweredFunc::name);
  LoweredFunc all = part;
  part.name = kernel + "_part";
  part.linkage = Halide::LinkageType::Internal;
  std::erase_if(all.args, [&](const LoweredArgument& argument) {
    return argument.name == tiles.first.name() || argument.name == tiles.count.name() ||
           argument.name == tiles.tile.name();
  });
  all.body = call_for_both(part, tiles);
  module.append(all);
}

}  // namespace intarsia::halide
