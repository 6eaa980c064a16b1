#include "runtime/profile_session.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>

#include "base/clock.h"
#include "runtime/allocate_value.h"
#include "runtime/find_function.h"
#include "runtime/kernel_notes.h"

namespace intarsia {
namespace {

constexpr int64_t default_nanoseconds = 1'000'000'000;
constexpr size_t fewest_runs = 5, most_runs = 200;
constexpr size_t most_ops_in_name = 4;

/// Times of one thing, by run.
struct Series {
  std::string name, device;
  std::vector<int64_t> nanoseconds;

  void add(size_t run, int64_t time) {
    nanoseconds.resize(std::max(nanoseconds.size(), run + 1));
    nanoseconds[run] += time;
  }
  int64_t mean(std::span<const size_t> runs) const {
    int64_t sum = 0;
    for (size_t run : runs) sum += run < nanoseconds.size() ? nanoseconds[run] : 0;
    return sum / static_cast<int64_t>(runs.size());
  }
};

struct RegionSeries {
  Series whole;
  std::vector<Series> kernels;  // ordered as they run
  size_t next = 0;              // next kernel of the current run
};

/// Collects the events of runs, from several threads.
class Recorder {
 public:
  explicit Recorder(size_t regions) : regions_(regions) {}

  void begin_run(size_t run) {
    run_ = run;
    for (RegionSeries& region : regions_) region.next = 0;
  }

  void add(const TraceEvent& event) {
    if (event.kind == "bodies") return;  // the regions in it have times of their own
    const std::lock_guard lock(mutex_);
    series_of(event).add(run_, event.end_ns - event.begin_ns);
  }

  const std::vector<RegionSeries>& regions() const { return regions_; }
  const std::vector<Series>& copies() const { return copies_; }

 private:
  Series& series_of(const TraceEvent& event) {
    if (event.region < 0) return copy_of(event);
    RegionSeries& region = regions_[static_cast<size_t>(event.region)];
    if (event.kind == "region") {
      region.next = 0;  // a loop may run it again
      return named(region.whole, event);
    }
    if (region.next == region.kernels.size()) region.kernels.emplace_back();
    return named(region.kernels[region.next++], event);
  }

  Series& copy_of(const TraceEvent& event) {
    const auto known = std::ranges::find(copies_, event.name, &Series::name);
    return known != copies_.end() ? *known : named(copies_.emplace_back(), event);
  }

  static Series& named(Series& series, const TraceEvent& event) {
    if (series.nanoseconds.empty()) {
      series.name = event.name;
      series.device = event.device;
    }
    return series;
  }

  std::mutex mutex_;
  std::vector<RegionSeries> regions_;
  std::vector<Series> copies_;
  size_t run_ = 0;
};

/// Runs a function with memory for its outputs.
class Runner {
 public:
  Runner(Session& session, const fbs::FunctionT& function, std::span<const NamedTensor> inputs)
      : session_(session), function_(function), inputs_(inputs), outputs_(function.outputs.size()) {
    for (uint32_t id : function.outputs) memory_.push_back(allocate_value(*function.values[id]));
  }

  /// Runs the function; returns the nanoseconds that it took.
  Result<int64_t> run() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const TensorView tensor = memory_[i] ? memory_[i]->view() : TensorView{};
      outputs_[i] = {function_.values[function_.outputs[i]]->name, tensor, nullptr};
    }
    const int64_t begin = clock_nanoseconds();
    TRY(session_.run(function_.name, inputs_, outputs_));
    return clock_nanoseconds() - begin;
  }

 private:
  Session& session_;
  const fbs::FunctionT& function_;
  std::span<const NamedTensor> inputs_;
  std::vector<NamedTensor> outputs_;
  std::vector<std::optional<Tensor>> memory_;  // nullopt: the run allocates it
};

/// Gives a session back the trace that it had.
class TraceKept {
 public:
  explicit TraceKept(Session& session) : session_(session), trace_(session.trace()) {}
  ~TraceKept() { session_.set_trace(trace_); }
  TraceKept(const TraceKept&) = delete;
  TraceKept& operator=(const TraceKept&) = delete;

 private:
  Session& session_;
  TraceCallback trace_;
};

/// Returns the faster half of the runs.
std::vector<size_t> choose_runs(const std::vector<int64_t>& nanoseconds) {
  std::vector<size_t> runs(nanoseconds.size());
  std::iota(runs.begin(), runs.end(), 0);
  std::ranges::stable_sort(runs, {}, [&](size_t run) { return nanoseconds[run]; });
  runs.resize((runs.size() + 1) / 2);
  return runs;
}

/// Checks for a product of a framework: "Conv", "FusedConv", "MatMul", ...
bool is_product(std::string_view label) {
  const std::string_view op = label.substr(label.rfind(' ') + 1);
  return std::ranges::any_of(std::array{"Conv", "Gemm", "MatMul"},
                             [&](const char* name) { return op.find(name) != std::string_view::npos; });
}

Shape to_shape(const flatbuffers::Vector<int64_t>* dims) {
  return dims == nullptr ? Shape() : Shape(dims->begin(), dims->end());
}

void add_nodes(const fbs::ProgramT& program, const flatbuffers::Vector<uint32_t>* numbers,
               ProfileEntry& entry) {
  for (flatbuffers::uoffset_t i = 0; numbers != nullptr && i < numbers->size(); ++i) {
    const uint32_t number = numbers->Get(i);
    if (number < program.nodes.size())
      entry.nodes.push_back({program.nodes[number]->name, program.nodes[number]->op});
  }
}

void describe(const fbs::ProgramT& program, const fbs::KernelNote* note, ProfileEntry& entry) {
  if (note == nullptr) return;
  add_nodes(program, note->nodes(), entry);
  if (note->dtype() < dtype_count) entry.dtype = static_cast<DType>(note->dtype());
  if (!note->shape_unknown()) entry.shape = to_shape(note->dims());
  if (entry.operations == 0) {
    entry.weights = to_shape(note->weights());
    entry.operations = note->operations();
    entry.bytes = note->bytes();
  }
  if (note->algorithm() != nullptr) entry.algorithm = note->algorithm()->str();
}

/// Describes an operator that is named for what it fused: it computes the product, too.
void describe_product(const fbs::ProgramT& program, const fbs::KernelNote* product,
                      const flatbuffers::Vector<uint32_t>& fused, ProfileEntry& entry) {
  add_nodes(program, &fused, entry);
  if (product == nullptr) return;
  entry.weights = to_shape(product->weights());
  entry.operations = product->operations();
  entry.bytes = product->bytes();
}

void add_all_nodes(const fbs::ProgramT& program, const KernelNotes& notes, ProfileEntry& entry) {
  for (const auto& node : program.nodes) {
    if (node->region == static_cast<uint32_t>(entry.region)) entry.nodes.push_back({node->name, node->op});
  }
  for (size_t i = 0; i < notes.size(); ++i)
    entry.operations += notes.at(i) != nullptr ? notes.at(i)->operations() : 0;
}

/// Returns a text like "conv1: Conv Relu Conv Relu ...".
std::string print_nodes(const std::vector<ProfiledNode>& nodes) {
  if (nodes.empty()) return {};
  std::string text = nodes[0].name.empty() ? "" : nodes[0].name + ": ";
  for (size_t i = 0; i < std::min(nodes.size(), most_ops_in_name); ++i)
    text += (i > 0 ? " " : "") + nodes[i].op;
  return text + (nodes.size() > most_ops_in_name ? " ..." : "");
}

ProfileEntry make_entry(const fbs::ProgramT& program, ProfileEntry::Kind kind, size_t region) {
  const fbs::RegionT& about = *program.regions[region];
  return {.kind = kind,
          .target = fmt::format("{}@{}", about.backend, program.slots[about.slot]->name),
          .region = static_cast<int>(region)};
}

ProfileEntry make_copy(const fbs::FunctionT& function, const Series& copy, std::span<const size_t> runs) {
  ProfileEntry entry{.kind = ProfileEntry::Kind::copy,
                     .name = copy.name,
                     .target = copy.device,
                     .nanoseconds = copy.mean(runs)};
  for (const auto& step : function.steps) {
    if (step->kind != fbs::StepKind::copy) continue;
    const fbs::ValueT& value = *function.values[step->inputs[0]];
    const bool is_it = copy.name.starts_with(fmt::format("copying '{}' from ", value.name));
    if (!is_it || value.rank_unknown || value.dtype == 0) continue;
    entry.dtype = static_cast<DType>(value.dtype);
    if (std::ranges::any_of(value.dims, [](int64_t size) { return size < 0; })) continue;
    entry.shape = value.dims;
    if (entry.dtype == DType::string) continue;
    const auto elements = static_cast<size_t>(element_count(value.dims));
    entry.bytes = 2 * dtype_bytes(entry.dtype, elements);  // read and written
  }
  return entry;
}

class Profiler {
 public:
  Profiler(Session& session, const fbs::FunctionT& function, std::span<const NamedTensor> inputs)
      : session_(session),
        program_(session.program().description()),
        function_(function),
        recorder_(program_.regions.size()),
        operators_(program_.regions.size()),
        runner_(session, function, inputs) {}

  Result<Profile> profile(size_t runs) {
    const TraceKept kept(session_);
    TRY(trace_runs(runs));
    if (has_silent_regions()) TRY(profile_operators());
    chosen_ = choose_runs(whole_.nanoseconds);
    Profile profile{whole_.nanoseconds.size(), whole_.mean(chosen_), {}};
    for (size_t region = 0; region < program_.regions.size(); ++region) add_region(profile, region);
    for (const Series& copy : recorder_.copies())
      profile.entries.push_back(make_copy(function_, copy, chosen_));
    std::ranges::stable_sort(profile.entries, std::ranges::greater(), &ProfileEntry::nanoseconds);
    return profile;
  }

 private:
  Status trace_runs(size_t runs) {
    session_.set_trace({});
    TRY(runner_.run());
    const int64_t once = std::max(TRY(runner_.run()), int64_t{1});
    if (runs == 0) {
      runs = std::clamp(static_cast<size_t>(default_nanoseconds / once), fewest_runs, most_runs);
    }
    session_.set_trace([this](const TraceEvent& event) { recorder_.add(event); });
    for (size_t run = 0; run < runs; ++run) {
      recorder_.begin_run(run);
      whole_.add(run, TRY(runner_.run()));
    }
    return {};
  }

  bool is_silent(size_t region) const {
    const RegionSeries& series = recorder_.regions()[region];
    return !series.whole.nanoseconds.empty() && series.kernels.empty();
  }
  bool has_silent_regions() const {
    for (size_t region = 0; region < program_.regions.size(); ++region) {
      if (is_silent(region)) return true;
    }
    return false;
  }

  /// Profiles operators in a separate run, within which frameworks run their regions again.
  Status profile_operators() {
    std::mutex mutex;
    const auto add = [&](const TraceEvent& event) {
      if (event.kind != "kernel") return;
      const std::lock_guard lock(mutex);
      const auto region = static_cast<size_t>(event.region);
      if (is_silent(region))
        operators_[region].push_back({std::string(event.name), event.end_ns - event.begin_ns});
    };
    session_.set_trace(add, true);
    TRY(runner_.run());
    return {};
  }

  void add_region(Profile& profile, size_t region) const {
    const RegionSeries& series = recorder_.regions()[region];
    if (series.whole.nanoseconds.empty()) return;
    if (!series.kernels.empty())
      add_kernels(profile, region);
    else if (!operators_[region].empty())
      add_operators(profile, region);
    else
      add_whole(profile, region);
  }

  void add_kernels(Profile& profile, size_t region) const {
    const KernelNotes notes(program_, region);
    const std::vector<Series>& kernels = recorder_.regions()[region].kernels;
    for (size_t i = 0; i < kernels.size(); ++i) {
      ProfileEntry entry = make_entry(program_, ProfileEntry::Kind::kernel, region);
      entry.name = kernels[i].name;
      entry.nanoseconds = kernels[i].mean(chosen_);
      describe(program_, notes.find(entry.name, i, kernels.size()), entry);
      profile.entries.push_back(std::move(entry));
    }
  }

  void add_operators(Profile& profile, size_t region) const {
    const KernelNotes notes(program_, region);
    const std::vector<OperatorTime>& operators = operators_[region];
    int64_t sum = 0;
    for (const OperatorTime& one : operators) sum += one.nanoseconds;
    const int64_t whole = recorder_.regions()[region].whole.mean(chosen_);
    const double scale = sum > whole ? static_cast<double>(whole) / static_cast<double>(sum) : 1;
    for (size_t i = 0; i < operators.size(); ++i) {
      ProfileEntry entry = make_entry(program_, ProfileEntry::Kind::op, region);
      entry.name = operators[i].label;
      entry.nanoseconds = static_cast<int64_t>(scale * static_cast<double>(operators[i].nanoseconds));
      const fbs::KernelNote* note = notes.find(entry.name, i, operators.size());
      const bool is_fused = note != nullptr && note->fused() != nullptr && note->fused()->size() > 0 &&
                            note->operations() == 0 && is_product(entry.name);
      if (is_fused) describe_product(program_, notes.of_node(note->fused()->Get(0)), *note->fused(), entry);
      describe(program_, note, entry);
      profile.entries.push_back(std::move(entry));
    }
  }

  /// Adds a region as a whole; its shape and traffic only if it is one node.
  void add_whole(Profile& profile, size_t region) const {
    const KernelNotes notes(program_, region);
    ProfileEntry entry = make_entry(program_, ProfileEntry::Kind::region, region);
    entry.nanoseconds = recorder_.regions()[region].whole.mean(chosen_);
    if (notes.size() == 1) describe(program_, notes.at(0), entry);
    if (notes.size() != 1) add_all_nodes(program_, notes, entry);
    entry.name = print_nodes(entry.nodes);
    profile.entries.push_back(std::move(entry));
  }

  Session& session_;
  const fbs::ProgramT& program_;
  const fbs::FunctionT& function_;
  Recorder recorder_;
  std::vector<std::vector<OperatorTime>> operators_;  // operators of frameworks, by region
  Runner runner_;
  Series whole_;
  std::vector<size_t> chosen_;  // runs that count
};

}  // namespace

Result<Profile> profile_session(Session& session, std::string_view function,
                                std::span<const NamedTensor> inputs, size_t runs) {
  const BoundProgram& program = session.program();
  const BoundFunction& bound = program.functions[TRY(find_function(program, function))];
  return Profiler(session, *bound.function, inputs).profile(runs);
}

}  // namespace intarsia
