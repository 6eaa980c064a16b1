#include "api/read_request.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <ranges>

#include "api/all_devices.h"
#include "api/external_tensor.h"
#include "api/struct_sizes.h"
#include "base/byte_size.h"
#include "base/core_set.h"
#include "base/cpu_level.h"
#include "base/device_name.h"
#include "compile/compile_model.h"

namespace intarsia::api {

Result<std::vector<std::string>> read_strings(const intarsia_strings& from, const char* option) {
  std::vector<std::string> list;
  for (size_t i = 0; i < from.count; ++i) {
    if (from.items[i] == nullptr) return fail("{}: item {} is a null pointer", option, i);
    list.emplace_back(from.items[i]);
  }
  return list;
}

namespace {

/// Splits "a=b=c" into ("a=b", "c"): names may hold an equals sign, what follows never does.
Result<std::pair<std::string, std::string>> split(const std::string& text, const char* option,
                                                  const char* want) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return fail("{} {}: want {}", option, text, want);
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Status read_shapes(const intarsia_strings& from, CompileRequest& to) {
  for (const std::string& text : TRY(read_strings(from, "--shape"))) {
    const auto [input, shape] = TRY(split(text, "--shape", "INPUT=SIZES, as in image=1x3x224x224"));
    RequestedShape sizes = TRY(with_context(parse_requested_shape(shape), "--shape {}", text));
    if (!to.shapes.emplace(input, std::move(sizes)).second)
      return fail("--shape {}: input '{}' is given twice", text, input);
  }
  return {};
}

/// Reads the digits of a size.
std::optional<int64_t> read_size(std::string_view digits) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  const bool is_size = error == std::errc() && end == digits.data() + digits.size() && size >= 0;
  return is_size ? std::optional(size) : std::nullopt;
}

/// Reads "batch=1,8,seq=77": what has no equals sign is another size of the symbol before it.
Status read_tune_at(const intarsia_strings& from, CompileRequest& to) {
  constexpr const char* want = "SYMBOL=SIZE,..., as in batch=8 or batch=1,8,seq=77";
  for (const std::string& text : TRY(read_strings(from, "--tune-at"))) {
    size_t first = to.tune_at.size();
    for (const auto part : std::views::split(text, ',')) {
      const std::string_view item(part.begin(), part.end());
      const size_t equals = item.rfind('=');
      const bool has_symbol = equals != std::string_view::npos && equals > 0;
      const std::optional<int64_t> size = read_size(item.substr(has_symbol ? equals + 1 : 0));
      if (!size || (!has_symbol && to.tune_at.size() == first))
        return fail("--tune-at {}: want {}", text, want);
      if (!has_symbol) {
        to.tune_at.back().sizes.push_back(*size);
        continue;
      }
      const std::string symbol(item.substr(0, equals));
      if (std::ranges::find(to.tune_at, symbol, &TunedSizes::symbol) != to.tune_at.end())
        return fail("--tune-at {}: '{}' is given twice; list its sizes, as in {}=1,8", text, symbol, symbol);
      to.tune_at.push_back({symbol, {*size}});
    }
  }
  return {};
}

Status check_pass(const std::string& name, const char* option) {
  const std::vector<std::string> names = pass_names();
  if (std::ranges::find(names, name) != names.end()) return {};
  return fail("{} {}: no such pass; there are {}", option, name, fmt::join(names, ", "));
}

Status read_passes(const intarsia_compile_request& from, CompileRequest& to) {
  to.print_after = TRY(read_strings(from.print_after, "--print-after"));
  // Names with a dot are steps of backends, which compile_model() knows.
  for (const std::string& name : to.print_after)
    if (!name.contains('.')) TRY(check_pass(name, "--print-after"));
  if (from.stop_after == nullptr) return {};
  to.stop_after = from.stop_after;
  return check_pass(to.stop_after, "--stop-after");
}

/// Reads one of `words`; null is the first.
Result<std::string> read_word(const char* word, const char* option, const std::vector<std::string>& words) {
  if (word == nullptr) return words[0];
  if (std::ranges::find(words, word) != words.end()) return std::string(word);
  return fail("{} {}: want {}", option, word, fmt::join(words, " or "));
}

/// Divides the cores that the calling thread may use into sets of `threads`, each an executor of a pipeline.
/// Stages that are cut by hand get one each, or all share the processor.
std::vector<std::string> devices_for_throughput(int threads, size_t cuts) {
  std::vector<CoreSet> sets = divide_cores(CoreSet::of_this_thread(), std::max(threads, 1));
  if (sets.size() < std::max<size_t>(cuts + 1, 2)) return {"cpu"};
  if (cuts > 0) sets.resize(cuts + 1);
  std::vector<std::string> devices;
  for (const CoreSet& set : sets) devices.push_back("cpu:" + set.text());
  return devices;
}

/// Reads devices; "auto" stands for those of this machine that are not named beside it.
Status read_devices(const intarsia_strings& from, CompileRequest& to) {
  if (from.count == 0) return {};
  to.devices = TRY(read_strings(from, "--devices"));
  const auto automatic = std::ranges::find(to.devices, "auto");
  if (automatic == to.devices.end()) return {};
  auto position = to.devices.erase(automatic);
  for (const DeviceInfo* device : all_devices()) {
    if (std::ranges::find(to.devices, device->name) != to.devices.end()) continue;
    to.automatic.push_back({device->name, device->why_not_automatic});
    if (device->why_not_automatic.empty()) position = std::next(to.devices.insert(position, device->name));
  }
  return {};
}

Status read_memory_limits(const intarsia_strings& from, CompileRequest& to) {
  for (const std::string& text : TRY(read_strings(from, "--memory"))) {
    const auto [slot, size] = TRY(split(text, "--memory", "SLOT=SIZE, as in accel=64MB"));
    const uint64_t bytes = TRY(with_context(parse_byte_size(size), "--memory {}", text));
    if (std::ranges::find(to.memory_limits, slot, &MemoryLimit::slot) != to.memory_limits.end())
      return fail("--memory {}: slot '{}' is given twice", text, slot);
    to.memory_limits.push_back({slot, bytes});
  }
  return {};
}

/// Reads "auto" or a number of at least 1.
Result<std::optional<uint32_t>> read_stage_count(const char* text) {
  constexpr uint32_t most = 1024;
  if (text == nullptr || std::string_view(text) == "auto") return std::nullopt;
  const std::string_view digits = text;
  uint32_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < 1 || count > most)
    return fail("--stages {}: want auto, or a number from 1 to {}", text, most);
  return count;
}

Status read_stages(const intarsia_compile_request& from, CompileRequest& to) {
  const bool is_throughput =
      TRY(read_word(from.objective, "--objective", {"latency", "throughput"})) == "throughput";
  to.objective = is_throughput ? Objective::throughput : Objective::latency;
  to.stages = TRY(read_stage_count(from.stages));
  to.cuts = TRY(read_strings(from.cuts, "--cut"));
  const bool is_count_given = from.stages != nullptr;
  if (!is_throughput && (is_count_given || !to.cuts.empty()))
    return fail("{}: a program for latency has no stages; add --objective throughput",
                is_count_given ? fmt::format("--stages {}", from.stages) : "--cut " + to.cuts[0]);
  if (is_count_given && !to.cuts.empty())
    return fail("--stages {} and --cut {} both say how many stages there are; give one of them", from.stages,
                to.cuts[0]);
  if (from.plan != nullptr && (is_count_given || !to.cuts.empty()))
    return fail("--plan and {} both say where stages end; give one of them",
                is_count_given ? "--stages" : "--cut");
  return {};
}

constexpr int max_threads = 1024;

/// Counts the cores that the calling thread may use or, of a processor used as core sets, the largest set's.
int default_threads(const std::vector<std::string>& devices) {
  int most = 0;
  for (const std::string& device : devices) {
    const Result<DeviceName> name = DeviceName::parse(device.substr(device.rfind('=') + 1));
    if (!name || name->kind != "cpu") continue;  // errors are reported where slots are made
    most = std::max(most, name->cores ? name->cores->size() : max_threads);
  }
  const int all = CoreSet::of_this_thread().size();
  return most == 0 ? all : std::min(most, all);
}

constexpr int threads_elsewhere = 4;  // of most boards

/// Checks what is asked for a machine of another architecture: of its devices, only processors are known
/// here.
Status check_elsewhere(const intarsia_compile_request& from, Arch arch, CompileRequest& to) {
  for (const std::string& device : TRY(read_strings(from.devices, "-d"))) {
    const std::string_view kind = device_kind(std::string_view(device).substr(device.rfind('=') + 1));
    if (kind != "cpu" && kind != "sim")
      return fail(
          "-d {}: programs for {} (--arch) run on another machine, whose devices are not known here: want "
          "cpu or sim",
          device, arch_name(arch));
  }
  if (to.objective == Objective::throughput && from.devices.count == 0)
    return fail("--arch {}: name the core sets of that machine for throughput, as in -d cpu:0-1,b=cpu:2-3",
                arch_name(arch));
  if (from.threads == 0) to.threads = threads_elsewhere;
  return {};
}

/// Reads the architecture; nullopt if none is named and no code can be generated for this machine.
Result<std::optional<Arch>> read_arch_of(const intarsia_compile_request& from) {
  if (from.arch == nullptr || *from.arch == '\0') return this_arch();
  return TRY(read_arch(from.arch));
}

/// Reads the processors. What looks at one of several takes the first that runs here.
Status read_cpu(const intarsia_compile_request& from, CompileRequest& to) {
  const std::optional<Arch> arch = TRY(read_arch_of(from));
  if (!arch) return {};
  if (arch != this_arch()) TRY(check_elsewhere(from, *arch, to));
  const std::vector<std::string> cpus = TRY(read_cpus(from.cpu == nullptr ? "native" : from.cpu, *arch));
  const auto here = std::ranges::find_if(cpus, runs_here);
  to.cpu = here == cpus.end() ? cpus.back() : *here;
  if (cpus.size() < 2) return {};
  to.cpus = cpus;
  if (from.save_plan != nullptr && *from.save_plan != '\0')
    return fail("--save-plan {}: plans for several CPUs (--cpu {}) differ; name one CPU", from.save_plan,
                from.cpu);
  return {};
}

Status read_precision(const intarsia_compile_request& from, CompileRequest& to) {
  const std::string precision = TRY(read_word(from.precision, "--precision", {"f32", "bf16", "auto", "f16"}));
  if (precision == "auto") to.precision = Precision::automatic;
  if (precision == "bf16") to.precision = Precision::bf16, to.rounds_to = DType::bf16;
  if (precision == "f16") to.precision = Precision::f16, to.rounds_to = DType::f16;
  for (const std::string& cpu : to.cpus.empty() ? std::vector{to.cpu} : to.cpus)
    if (const std::string why = why_no_products(cpu, to.rounds_to); !why.empty())
      return fail("--precision {}: {}; leave it out for products in f32, or use auto", precision, why);
  if (from.max_error != 0 && precision != "auto")
    return fail("--max-error {}: only --precision auto has a limit", from.max_error);
  if (!(from.max_error >= 0)) return fail("--max-error {}: want a positive number", from.max_error);
  if (from.max_error > 0) to.max_error = from.max_error;
  to.inputs = TRY(read_inputs(from.inputs, from.input_count));
  if (!to.inputs.empty() && to.precision == Precision::f32 && !to.plain_c)
    return fail(
        "inputs are given, but a compile runs the model only with --precision bf16, f16 or auto, or --emit "
        "c");
  return {};
}

/// Reads how plain C is to be.
Status read_emission(const intarsia_compile_request& from, CompileRequest& to) {
  const bool is_c = TRY(read_word(from.emit, "--emit", {"so", "c"})) == "c";
  const std::vector<std::string> forms{"object", "file", "array"};
  const std::string form = TRY(read_word(from.constants, "--constants", forms));
  EmitCOptions options{static_cast<ConstantsAs>(std::ranges::find(forms, form) - forms.begin()), {}};
  for (const std::string& text : TRY(read_strings(from.c_names, "--c-name"))) {
    const auto [name, identifier] = TRY(split(text, "--c-name", "NAME=IDENTIFIER, as in image:0=image"));
    if (!options.names.emplace(name, identifier).second)
      return fail("--c-name {}: '{}' has two identifiers; give one", text, name);
  }
  TRY(check_given_names(options.names));
  if (is_c) {
    to.plain_c = std::move(options);
    return {};
  }
  if (from.constants != nullptr || !options.names.empty())
    return fail(
        "{}: an ordinary program has none; add --emit c",
        from.constants != nullptr ? "--constants " + form : "--c-name " + options.names.begin()->first);
  return {};
}

/// Checks that plain C can be as the other options want it: kernels of our compiler, and of one library of
/// the user, on one processor.
Status check_emission(const intarsia_compile_request& from, CompileRequest& to) {
  if (!to.plain_c) return {};
  if (to.objective == Objective::throughput)
    return fail("--objective throughput: plain C (--emit c) has no stages: leave it out");
  if (to.devices.size() != 1 || device_kind(to.devices[0].substr(to.devices[0].rfind('=') + 1)) != "cpu")
    return fail("-d {}: plain C (--emit c) runs on one processor: leave -d out", fmt::join(to.devices, ","));
  if (!to.cpus.empty()) return fail("--cpu {}: plain C (--emit c) is for one CPU; name one", from.cpu);
  if (to.precision != Precision::f32)
    return fail("--precision {}: plain C (--emit c) has products in f32: leave it out", from.precision);
  if (!to.also.empty()) return fail("--also: plain C (--emit c) has one plan: leave it out");
  const auto needs_runtime = [](const std::string& name) { return name != "halide" && name != "kernels"; };
  if (const auto other = std::ranges::find_if(to.backends, needs_runtime); other != to.backends.end())
    return fail(
        "--backends {}: its code needs a runtime; plain C (--emit c) consists of kernels of halide, and of "
        "yours (--kernels)",
        *other);
  if (from.kernels.count > 1)
    return fail(
        "--kernels: got {} libraries; a program in plain C (--emit c) is linked with one, as each defines "
        "intarsia_kernels: join them",
        from.kernels.count);
  to.backends = {"halide"};
  to.unsupported_remedy =
      "Plain C (--emit c) consists of kernels of halide and of yours: bring one for an operator of a domain "
      "of your own (--kernels), cut the model before others, or compile without --emit c";
  to.allow_fallback = false;
  if (from.threads == 0) to.threads = 1;
  return {};
}

Status read_options(const intarsia_compile_request& from, CompileRequest& to) {
  to.backends = TRY(read_strings(from.backends, "--backends"));
  TRY(read_stages(from, to));
  if (to.objective == Objective::throughput)
    to.devices = devices_for_throughput(from.threads, to.cuts.size());
  TRY(read_devices(from.devices, to));
  for (const std::string& text : TRY(read_strings(from.pins, "--pin"))) {
    const auto [pattern, target] =
        TRY(split(text, "--pin", "GLOB=BACKEND@SLOT or GLOB=@SLOT, as in 'conv*=reference@cpu'"));
    to.pins.push_back({pattern, target});
  }
  to.allow_fallback = TRY(read_word(from.fallback, "--fallback", {"auto", "none"})) == "auto";
  if (from.threads < 0 || from.threads > max_threads)
    return fail("--threads {}: want 1 to {}", from.threads, max_threads);
  to.threads = from.threads > 0 ? from.threads : default_threads(to.devices);
  TRY(read_cpu(from, to));
  to.exact_math = TRY(read_word(from.math, "--math", {"fast", "exact"})) == "exact";
  TRY(read_emission(from, to));
  TRY(read_precision(from, to));
  to.prefers_size = TRY(read_word(from.optimize, "--optimize", {"speed", "size"})) == "size";
  const std::string tune = TRY(read_word(from.tune, "--tune", {"fast", "off", "full"}));
  to.tune = tune == "off" ? Tune::off : tune == "full" ? Tune::full : Tune::fast;
  if (!(from.tune_seconds >= 0)) return fail("--tune-seconds {}: want a nonnegative time", from.tune_seconds);
  to.tune_seconds = from.tune_seconds;
  if (from.cache != nullptr) to.cache_folder = from.cache;
  const std::string prefer = TRY(read_word(from.prefer, "--prefer", {"self-contained", "fastest"}));
  to.prefer = prefer == "fastest" ? Prefer::fastest : Prefer::self_contained;
  to.also = TRY(read_strings(from.also, "--also"));
  TRY(read_memory_limits(from.memory, to));
  if (from.plan != nullptr) to.plan_path = from.plan;
  if (from.save_plan != nullptr) to.saved_plan_path = from.save_plan;
  to.strip_names = from.strip_names != 0;
  to.dry_run = from.dry_run != 0;
  return check_emission(from, to);
}

}  // namespace

Result<ReadRequest> read_request(const intarsia_compile_request& given) {
  const intarsia_compile_request from = TRY(read_struct(given, "the compile request"));
  ReadRequest to;
  if (from.model != nullptr) to.request.model_path = from.model;
  to.request.signatures = TRY(read_strings(from.signatures, "--signature"));
  to.request.op_libraries = TRY(read_strings(from.op_libraries, "--op-library"));
  if (from.program != nullptr) to.request.program_path = from.program;
  TRY(read_options(from, to.request));
  TRY(read_shapes(from.shapes, to.request));
  TRY(read_tune_at(from.tune_at, to.request));
  TRY(read_passes(from, to.request));
  to.kernels = TRY(read_strings(from.kernels, "--kernels"));
  // Libraries that the user names are used, whatever the list of backends is.
  std::vector<std::string>& backends = to.request.backends;
  if (!to.kernels.empty() && !backends.empty() && std::ranges::find(backends, "kernels") == backends.end()) {
    backends.insert(backends.begin(), "kernels");
  }
  if (from.progress != nullptr) {
    to.progress =
        Progress([progress = from.progress, user = from.user](const std::string& phase, double part) {
          constexpr int32_t total = 1000;
          progress(user, phase.c_str(), static_cast<int32_t>(part * total), total);
        });
  }
  if (from.print != nullptr) {
    to.print = [print = from.print, user = from.user](const std::string& text) { print(user, text.c_str()); };
  }
  if (from.is_cancelled != nullptr)
    to.is_cancelled = [is_cancelled = from.is_cancelled, user = from.user] {
      return is_cancelled(user) != 0;
    };
  return to;
}

Result<ReadRequest> read_one_cpu(const intarsia_compile_request& from, const char* what) {
  ReadRequest read = TRY(read_request(from));
  if (!read.request.cpus.empty())
    return fail("--cpu {}: {} are compiled for one CPU; name one", from.cpu, what);
  if (const Arch arch = TRY(resolve_cpu(read.request.cpu)).arch; arch != this_arch())
    return fail("--arch {}: {} run while they are compiled, so that they are for this machine: leave it out",
                arch_name(arch), what);
  return read;
}

}  // namespace intarsia::api
