// Program as plain C sees it: functions with named arguments, memory at known places, and calls of kernels.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "base/architecture.h"
#include "base/tensor_view.h"
#include "emit_c/c_names.h"
#include "program/write_program.h"
#include "target/region_calls.h"

namespace intarsia {

/// Where the constants of a program in plain C are.
enum class ConstantsAs : uint8_t {
  object,  // in an object to link
  file,    // in a file that the caller maps or loads
  array    // in a source file
};

struct EmitCOptions {
  ConstantsAs constants = ConstantsAs::object;
  GivenNames names;
};

/// Values of the inputs and outputs of one run of a function.
struct RecordedRun {
  std::string function;
  std::vector<NamedValue> inputs, outputs;
};

/// Program to write as plain C. All of it outlives the writing.
struct EmittedProgram {
  const fbs::ProgramT& program;
  const ConstantLayout& constants;
  /// Null for those that cannot be emitted, and for branches and loops.
  const std::vector<std::shared_ptr<const RegionCalls>>& regions;
  const std::set<std::string>& objects;  // contents of ELF files

  bool has_threads() const { return program.threads > 1; }
  /// Returns the regions with calls.
  auto emitted_regions() const {
    return std::views::filter(regions, [](const auto& region) { return region != nullptr; });
  }
  /// Checks whether it calls kernels that its user links it with.
  bool has_user_calls() const {
    return std::ranges::any_of(emitted_regions(),
                               [](const auto& region) { return !region->user_calls.empty(); });
  }
};

/// Open size of a function.
struct CSymbol {
  std::string name, identifier;
  int64_t min = 0, max = 0;
};

/// Input or output of a function.
struct CArgument {
  uint32_t value = 0;  // number in the function
  std::string name, identifier;
  DType dtype = DType::undefined;
  SymbolicShape sizes;
  uint64_t most_bytes = 0;  // with open sizes at the ends of their ranges

  uint64_t element_bytes() const { return dtype_bytes(dtype, 1); }
};

/// Places of a region's memory in the arena of its function.
struct CWorkspace {
  uint64_t begin = 0;           // start of a workspace of one part
  std::vector<uint64_t> parts;  // starts of its parts, if there are several
  std::vector<uint64_t> rooms;  // bytes of the parts
};

struct CFlow;

/// Steps of a function, or of the body of a branch or a loop, with places in an arena.
struct CSteps {
  const fbs::FunctionT* function = nullptr;  // of the emitted program
  std::map<uint32_t, uint64_t> places;       // offsets in the arena, by value
  std::vector<CWorkspace> workspaces;        // by step
  std::vector<CFlow> flows;                  // branches and loops, by step; of others, without bodies
  uint64_t arena_bytes = 0;
  std::vector<std::pair<Dim, uint64_t>> limits;  // bytes of what has open sizes, and its room in the arena
};

/// Branch or loop. Its memory is used while its step runs.
struct CFlow {
  std::vector<CSteps> bodies;
  uint64_t begin = 0;             // start of its memory in the arena of its function
  std::vector<uint64_t> seconds;  // loop: offsets of the second piece of memory of each carried value
  uint64_t body_offset = 0;       // offset of the arena of the body that runs
};

struct CFunction {
  std::string name;
  std::string prefix;  // of its names in C: "net", or "net_encode"
  std::vector<CArgument> inputs, outputs;
  std::vector<CSymbol> symbols;
  CSteps steps;
};

struct CProgram {
  std::string prefix;  // "net"
  std::vector<CFunction> functions;
};

/// Makes the program of C. `prefix` is an identifier. Errors name what plain C cannot do or be called.
Result<CProgram> make_c_program(const EmittedProgram& emitted, const std::string& prefix,
                                const EmitCOptions& options);

}  // namespace intarsia
