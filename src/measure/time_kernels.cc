#include "measure/time_kernels.h"

#include <thread>

#include "base/code/loaded_code.h"
#include "compile/link_objects.h"
#include "measure/cpu_contention.h"
#include "measure/load_meter.h"
#include "program/verify_machine.h"

namespace intarsia {
namespace {

constexpr int rounds = 6;  // rounds after a warm-up round

/// Limit on how often a round is delayed or repeated because cores are taken away, and the delay.
constexpr int max_repeats = 40;
constexpr std::chrono::milliseconds pause{50};

/// Stand-in for the kernels before and after: each thread has its part of every tensor in its caches.
class AdjacentKernels {
 public:
  AdjacentKernels(ThreadTeam& team, std::byte* workspace) : team_(team), workspace_(workspace) {}

  void write(const ByteRange& range) {
    share(range, [](volatile std::byte& byte) { byte = byte; });
  }
  void read(const ByteRange& range) {
    share(range, [](volatile std::byte& byte) { static_cast<void>(static_cast<std::byte>(byte)); });
  }

 private:
  static constexpr size_t line = 64;  // bytes of a cache line

  template <typename Touch>
  void share(const ByteRange& range, Touch) {
    struct Job {
      std::byte* begin;
      size_t bytes, parts;
    } job{workspace_ + range.begin, range.end - range.begin, static_cast<size_t>(team_.size())};
    team_.parallel_for(
        team_.size(),
        [](void* data, int task, int) {
          const Job& job = *static_cast<Job*>(data);
          const auto part = static_cast<size_t>(task);
          for (size_t at = job.bytes * part / job.parts; at < job.bytes * (part + 1) / job.parts; at += line)
            Touch{}(job.begin[at]);
          return 0;
        },
        &job);
  }

  ThreadTeam& team_;
  std::byte* workspace_;
};

}  // namespace

Result<std::vector<Timing>> time_kernels(const KernelBatch& batch, const RunBackend& backend, int threads,
                                         const std::function<bool()>& is_cancelled) {
  const CompiledRegion& region = batch.region;
  const std::string library = TRY(link_objects(region.object_files, machine_arch()));
  const LoadedCode code = TRY(with_context(
      LoadedCode::load(std::as_bytes(std::span(library)), "intarsia-kernels"), "timing kernels"));
  std::vector<ConstTensorView> constants;
  for (const Tensor& constant : region.constants) constants.push_back(constant.view());
  const LoadContext load{.blob = std::as_bytes(std::span(region.blob)),
                         .constants = constants,
                         .symbol = [&](const std::string& name) { return code.symbol(name); },
                         .program_folder = {},
                         .threads = threads,
                         .workspace_bytes = region.workspace_bytes};
  const std::unique_ptr<Executable> executable = TRY(backend.load(load));
  const std::shared_ptr<void> workspace = allocate_aligned(region.workspace_bytes);
  if (workspace == nullptr)
    return fail(ErrorKind::out_of_memory, "cannot allocate {} bytes to time kernels in",
                region.workspace_bytes);

  ThreadTeam team(ThreadPool::of(CoreSet::of_this_thread()), threads);
  const ThreadTeam::Busy busy(&team);
  AdjacentKernels neighbors(team, static_cast<std::byte*>(workspace.get()));
  std::vector<int64_t> times(batch.uses.size());
  size_t next = 0;
  const auto write_inputs = [&] {
    if (threads < 2 || next == batch.uses.size()) return;
    for (const ByteRange& range : batch.uses[next].read) neighbors.write(range);
  };
  const TraceHook trace = [&](std::string_view, int64_t begin, int64_t end) {
    INTARSIA_CHECK(next < batch.uses.size());
    if (threads > 1) {
      neighbors.read(batch.uses[next].written);
      end = clock_nanoseconds();
    }
    times[next++] = end - begin;
    write_inputs();
  };
  RunContext context{
      .inputs = {}, .outputs = {}, .workspace = static_cast<std::byte*>(workspace.get()), .threads = &team};
  TRY(executable->run(context));
  context.trace = &trace;
  std::vector<std::vector<int64_t>> all_rounds(times.size());
  int repeats = 0;
  const LoadMeter meter;
  for (int round = 0; round < rounds;) {
    for (; repeats < max_repeats && !has_free_cores(team); ++repeats) {
      if (is_cancelled && is_cancelled()) break;
      std::this_thread::sleep_for(pause);
    }
    if (is_cancelled && is_cancelled()) return fail(ErrorKind::cancelled, "interrupted");
    next = 0;
    write_inputs();
    TRY(executable->run(context));
    for (size_t i = 0; i < times.size(); ++i) all_rounds[i].push_back(times[i]);
    if (repeats == max_repeats || has_free_cores(team))
      ++round;
    else
      ++repeats;
  }
  const bool is_disturbed = repeats == max_repeats || meter.is_disturbed(threads);
  std::vector<Timing> timings;
  for (std::vector<int64_t>& of_kernel : all_rounds) {
    timings.push_back(summarize_rounds(std::move(of_kernel)));
    timings.back().is_disturbed = is_disturbed;
  }
  return timings;
}

}  // namespace intarsia
