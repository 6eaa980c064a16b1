#include "runtime/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "runtime/open_arenas.h"
#include "runtime/specialized_function.h"

namespace intarsia {

namespace {

/// Allocates a space's arena, for whichever function runs. Unused devices, which may be lost, are not asked.
Result<Memory> allocate_arena(const BoundProgram& program, size_t space) {
  uint64_t bytes = 0;
  bool is_used = space == host_space;
  const auto add = [&](const fbs::FunctionT& function) {
    bytes = std::max(bytes, function.arena_bytes[space]);
    is_used |= std::ranges::any_of(function.values, [&](const auto& value) { return value->space == space; });
  };
  for (const BoundFunction& bound : program.functions) bound.for_each_way(add);
  if (program.spaces[space] == nullptr || (!is_used && bytes == 0)) return Memory();
  Result<Memory> memory = program.spaces[space]->allocate(bytes);
  if (!memory && memory.error().kind != ErrorKind::device_lost)
    memory.error().kind = ErrorKind::out_of_memory;
  return memory;
}

}  // namespace

Session::Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(std::shared_ptr<const BoundProgram> program, const SessionOptions& options) {
  const int threads = program->threads;
  try {
    return prepare(std::move(program), options);
  } catch (const std::system_error& error) {
    return fail(ErrorKind::io,
                "cannot start the {} threads of a session: {}; allow more threads or memory (ulimit -u, -v), "
                "or bind with fewer threads",
                threads, error.code().message());
  }
}

Result<Session> Session::prepare(std::shared_ptr<const BoundProgram> program, const SessionOptions& options) {
  Session session;
  session.program_ = std::move(program);
  const fbs::ProgramT& description = session.program_->description();
  for (size_t space = 0; space < description.spaces.size(); ++space) {
    session.arenas_.push_back(TRY(allocate_arena(*session.program_, space)));
  }
  session.open_arenas_ = std::make_unique<OpenArenas>(*session.program_, options.max_arena_bytes);
  for (const BoundFunction& bound : session.program_->functions) {
    session.functions_.push_back(
        TRY(SpecializedFunction::make(*session.program_, bound, session.arenas_, *session.open_arenas_)));
    if (options.append_in_place) session.functions_.back()->append_in_place();
  }
  return session;
}

uint64_t Session::arena_bytes() const {
  uint64_t bytes = 0;
  for (size_t space = 0; space < arenas_.size(); ++space)
    bytes += arenas_[space].bytes() + open_arenas_->of(space).bytes();
  return bytes;
}

Status Session::run(std::string_view function, std::span<const NamedTensor> inputs,
                    std::span<NamedTensor> outputs) {
  if (function.empty() && functions_.size() == 1) return functions_[0]->run(inputs, outputs);
  std::vector<std::string_view> names;
  for (const std::unique_ptr<SpecializedFunction>& one : functions_) {
    if (one->name() == function) return one->run(inputs, outputs);
  }
  for (const std::unique_ptr<SpecializedFunction>& one : functions_) names.push_back(one->name());
  return fail("no function '{}'; the program has: {}", function, fmt::join(names, ", "));
}

void Session::set_dump(const DumpHook& dump) {
  dump_ = dump;
  for (const std::unique_ptr<SpecializedFunction>& function : functions_) function->set_dump(dump);
}

void Session::set_trace(const TraceCallback& trace, bool is_profile) {
  trace_ = trace;
  for (const std::unique_ptr<SpecializedFunction>& function : functions_)
    function->set_trace(trace, is_profile);
}

}  // namespace intarsia
