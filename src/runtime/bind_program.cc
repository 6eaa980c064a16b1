#include "runtime/bind_program.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/core_set.h"
#include "device/plugin/device.h"
#include "program/print_program.h"
#include "runtime/find_function.h"
#include "runtime/region_text.h"

namespace intarsia {
namespace {

/// Finds the stage that is asked for; null if whole functions are.
Result<const fbs::StageT*> find_stage(const fbs::ProgramT& program, const BindOptions& options) {
  if (!options.stage) return nullptr;
  const StageChoice& wanted = *options.stage;
  const fbs::FunctionT& function = *program.functions[TRY(find_function(program, wanted.function))];
  const auto& stages = function.stages;
  if (wanted.stage >= stages.size())
    return fail(
        "no stage {} of function '{}', which has {}: compile the model with --objective throughput for "
        "stages",
        wanted.stage, function.name, stages.size());
  const fbs::StageT& stage = *stages[wanted.stage];
  if (wanted.executor >= stage.executors.size())
    return fail("no executor {} of stage {}, which has {}", wanted.executor, wanted.stage,
                stage.executors.size());
  return &stage;
}

/// Chooses a device for each slot, by name.
Result<std::vector<std::string>> choose_devices(const fbs::ProgramT& program, const BindOptions& options,
                                                const fbs::StageT* stage) {
  std::vector<std::string> names, slots;
  for (const auto& slot : program.slots) {
    names.push_back(slot->device);
    slots.push_back(slot->name);
  }
  if (stage != nullptr) names[stage->slot] = stage->executors[options.stage->executor];
  std::set<std::string> bound;
  for (const auto& [slot, device] : options.devices) {
    const size_t at = static_cast<size_t>(std::ranges::find(slots, slot) - slots.begin());
    if (at == slots.size())
      return fail("no slot '{}' to bind; the program has: {}", slot, fmt::join(slots, ", "));
    if (!bound.insert(slot).second) return fail("slot '{}' is bound twice", slot);
    names[at] = device;
  }
  for (size_t at = 0; at < names.size(); ++at) {
    if (names[at].ends_with(declared_setting))
      return fail("slot '{}' cannot be bound to '{}', which computes nothing", slots[at], names[at]);
    if (options.may_stand_in) names[at] = timed_device(names[at]);
  }
  return names;
}

Result<std::shared_ptr<Executor>> open_executor(const fbs::SlotT& slot, const std::string& name) {
  std::shared_ptr<Executor> executor = TRY(with_context(make_device(name), "slot '{}'", slot.name));
  if (executor->kind() == slot.kind) return executor;
  return fail(
      "slot '{}' was compiled for a device of kind {}, but '{}' is a {}: bind another device or compile "
      "again",
      slot.name, slot.kind, name, executor->kind());
}

/// Returns the names of nodes, by region.
std::vector<std::vector<std::string>> source_nodes(const fbs::ProgramT& program) {
  std::vector<std::vector<std::string>> names(program.regions.size());
  for (const auto& node : program.nodes) {
    if (node->region < names.size() && !node->name.empty()) names[node->region].push_back(node->name);
  }
  return names;
}

bool has_lost_device(const BoundProgram& program) {
  return std::ranges::any_of(program.executors,
                             [](const auto& executor) { return executor != nullptr && executor->is_lost(); });
}

std::vector<uint32_t> slots_in(const fbs::ProgramT& program, uint32_t space) {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i]->space == space) slots.push_back(i);
  }
  return slots;
}

/// Checks that values and workspaces are aligned as a device bound to the space wants.
Status check_alignment(const fbs::ProgramT& program, const fbs::FunctionT& function, uint32_t space,
                       size_t alignment) {
  if (alignment <= tail_alignment) return {};
  uint64_t bits = 0;  // union of the bits of all offsets
  for (const auto& value : function.values)
    if (value->storage == fbs::Storage::arena && value->space == space) bits |= value->offset;
  for (const auto& step : function.steps) {
    const bool runs_there = step->kind == fbs::StepKind::run &&
                            program.slots[program.regions[step->region]->slot]->space == space;
    if (runs_there) bits |= step->workspace_offset;
    for (const auto& body : step->bodies) TRY(check_alignment(program, *body, space, alignment));
  }
  for (const auto& alternative : function.alternatives)
    TRY(check_alignment(program, *alternative, space, alignment));
  for (const auto& one : function.specializations) TRY(check_alignment(program, *one, space, alignment));
  for (const auto& stage : function.stages) TRY(check_alignment(program, *stage->function, space, alignment));
  if (bits % alignment == 0) return {};
  return fail(
      ErrorKind::version,
      "it wants values at multiples of {} bytes, where the program does not have them: compile it again",
      alignment);
}

/// Devices of a program's slots.
class SlotOpener {
 public:
  explicit SlotOpener(BoundProgram& bound) : bound_(bound) {
    bound.spaces.resize(description().spaces.size());
    bound.spaces[host_space] = host_memory_space();
  }

  /// Opens the slots' devices. A missing one is an error only if the caller named it, or a function needs it.
  Status open(const std::vector<std::string>& devices, const BindOptions& options) {
    for (size_t i = 0; i < devices.size(); ++i) {
      const fbs::SlotT& slot = *description().slots[i];
      Result<std::shared_ptr<Executor>> executor = open_executor(slot, devices[i]);
      const bool is_named =
          options.passed_over.empty() &&
          std::ranges::any_of(options.devices, [&](const auto& entry) { return entry.first == slot.name; });
      if (!executor && (is_named || !is_absence(executor.error()))) return tl::unexpected(executor.error());
      missing_.push_back(executor ? Status() : tl::unexpected(executor.error()));
      bound_.executors.push_back(executor ? *executor : nullptr);
      if (executor) TRY(add_space(slot, devices[i], (*executor)->space()));
    }
    for (uint32_t i = 0; i < bound_.spaces.size(); ++i) {
      if (bound_.spaces[i] == nullptr && slots_in(description(), i).empty())
        return fail(ErrorKind::corrupt, "no slot is in space '{}'", description().spaces[i]->name);
    }
    return {};
  }

  /// Returns the reason why the slot's device is missing, if it is.
  const Status& find_device(uint32_t slot) const { return missing_[slot]; }

  /// Checks that all devices of the space are there or, on the host, any of them.
  Status find_devices_in(uint32_t space) const {
    Status found;
    for (uint32_t slot : slots_in(description(), space)) {
      found = missing_[slot];
      if (found.has_value() == (space == host_space)) break;
    }
    return found;
  }

 private:
  const fbs::ProgramT& description() const { return bound_.description(); }

  Status add_space(const fbs::SlotT& slot, const std::string& device,
                   const std::shared_ptr<MemorySpace>& space) {
    std::shared_ptr<MemorySpace>& shared = bound_.spaces[slot.space];
    if (shared == nullptr) shared = space;
    if (shared != space)
      return fail("slot '{}' shares memory with another slot, but '{}' has not the memory '{}'", slot.name,
                  device, shared->name());
    for (const auto& function : description().functions)
      TRY(with_context(check_alignment(description(), *function, slot.space, space->alignment()),
                       "slot '{}': '{}'", slot.name, device));
    return {};
  }

  BoundProgram& bound_;
  std::vector<Status> missing_;  // reason why the slot's device is missing, by slot
};

/// Constants of a program, placed where they are used.
class ConstantPlacer {
 public:
  explicit ConstantPlacer(BoundProgram& bound)
      : bound_(bound), uploaded_(bound.program->description().spaces.size()) {
    bound.constants.assign(uploaded_.size(),
                           std::vector<PlacedConstant>(bound.program->file().constants.size()));
  }

  /// Begins a load, after which take_back() takes back what it placed.
  void begin() {
    placed_.clear();
    uploads_.clear();
    memory_ = bound_.memory.size();
    is_refused_ = false;
  }

  /// Places a constant: in the host's memory it stays in the mapped file; to any other it is copied once.
  Status place(uint32_t number, uint32_t constant) {
    PlacedConstant& placed = bound_.constants[number][constant];
    if (placed.place.memory != nullptr) return {};
    MemorySpace& space = *bound_.spaces[number];
    const TensorView in_file = bound_.program->file().constants[constant].view();
    Place there{in_file.data, 0};
    if (!space.is_host()) {
      if (in_file.dtype == DType::string) return fail("a constant of strings is used on '{}'", space.name());
      Result<Place> uploaded = upload(number, in_file);
      is_refused_ = !uploaded;
      there = TRY(std::move(uploaded));
      placed_.emplace_back(number, constant);
    }
    placed = {in_file, there};
    if (!space.is_host()) placed.tensor.data = space.address(there);
    return {};
  }

  void take_back() {
    for (const auto& [space, constant] : placed_) bound_.constants[space][constant] = {};
    for (const auto& [space, bytes] : uploads_) uploaded_[space].erase(bytes);
    bound_.memory.resize(memory_);
  }

  /// Returns whether a device refused the last constant that was copied to it.
  bool is_refused() const { return is_refused_; }

 private:
  using BytesOfFile = std::pair<void*, size_t>;

  Result<Place> upload(uint32_t number, const TensorView& tensor) {
    const BytesOfFile bytes{tensor.data, tensor.bytes()};
    if (const auto known = uploaded_[number].find(bytes); known != uploaded_[number].end())
      return known->second;
    MemorySpace& space = *bound_.spaces[number];
    Memory memory = TRY(space.allocate(tensor.bytes()));
    const Place place{memory.handle(), 0};
    TRY(space.upload(place, tensor.data, tensor.bytes()));
    bound_.memory.push_back(std::move(memory));
    uploaded_[number][bytes] = place;
    uploads_.emplace_back(number, bytes);
    return place;
  }

  BoundProgram& bound_;
  /// Places of the file's bytes in each space, so that constants with the same bytes are stored once.
  std::vector<std::map<BytesOfFile, Place>> uploaded_;
  // State since begin():
  std::vector<std::pair<uint32_t, uint32_t>> placed_;      // space and number of constants outside the host
  std::vector<std::pair<uint32_t, BytesOfFile>> uploads_;  // space and bytes of what was copied
  size_t memory_ = 0;                                      // size of BoundProgram::memory at begin()
  bool is_refused_ = false;
};

class ProgramBinder {
 public:
  ProgramBinder(BoundProgram& bound, const SlotOpener& slots)
      : bound_(bound),
        slots_(slots),
        file_(bound.program->file()),
        nodes_(source_nodes(file_.description)),
        constants_(bound) {
    bound.region_constants.resize(description().regions.size());
    bound.region_places.resize(description().regions.size());
    bound.executables.resize(description().regions.size());
  }

  /// Binds a function to the alternative of that number alone.
  Status bind(const fbs::FunctionT& function, uint32_t alternative) {
    if (alternative > function.alternatives.size())
      return fail("function '{}' has no alternative {}; it has {}", function.name, alternative,
                  function.alternatives.size());
    const fbs::FunctionT& chosen = alternative == 0 ? function : *function.alternatives[alternative - 1];
    bound_.functions.push_back({&chosen, alternative, targets_of(description(), chosen), {}});
    TRY(load(chosen));
    return bind_specializations(bound_.functions.back());
  }

  Status bind(const fbs::StageT& stage) {
    bound_.functions.push_back({stage.function.get(), 0, targets_of(description(), *stage.function), {}});
    return load(*stage.function);
  }

  /// Binds a function to the first alternative that can run here, those passed over excepted.
  Status bind(const fbs::FunctionT& function, const PassedOver& before) {
    BoundFunction& bound = bound_.functions.emplace_back();
    bound.reason = before.reason;
    Status loaded;
    for (bound.alternative = before.first;; ++bound.alternative) {
      bound.function =
          bound.alternative == 0 ? &function : function.alternatives[bound.alternative - 1].get();
      loaded = load(*bound.function);
      const bool is_last = bound.alternative >= function.alternatives.size();
      if (loaded || is_last || !(is_absence(loaded.error()) || is_refused())) break;
      take_back();
      bound.reason += (bound.reason.empty() ? "" : "; ") + loaded.error().message;
    }
    bound.targets = targets_of(description(), *bound.function);
    if (loaded) return bind_specializations(bound);
    if (loaded || bound.reason.empty()) return loaded;
    return fail(loaded.error().kind, "{}; {}", bound.reason, loaded.error().message);
  }

 private:
  const fbs::ProgramT& description() const { return file_.description; }

  /// Binds those specializations of the function that can run here.
  Status bind_specializations(BoundFunction& bound) {
    for (const auto& specialization : bound.function->specializations) {
      const Status loaded = load(*specialization);
      if (loaded) {
        bound.specializations.push_back(specialization.get());
        continue;
      }
      if (!is_absence(loaded.error()) && !is_refused()) return loaded;
      take_back();
    }
    return {};
  }

  /// Loads everything that the function uses.
  Status load(const fbs::FunctionT& function) {
    constants_.begin();
    loaded_.clear();
    is_refused_ = false;
    return load_more(function);
  }

  Status load_more(const fbs::FunctionT& function) {
    for (const auto& value : function.values) {
      TRY(slots_.find_devices_in(value->space));
      if (value->storage == fbs::Storage::constant) TRY(constants_.place(value->space, value->constant));
    }
    for (const auto& step : function.steps) {
      if (step->kind == fbs::StepKind::run && bound_.executables[step->region] == nullptr)
        TRY(load_region(step->region));
      if (has_bodies(*step)) TRY(slots_.find_device(description().regions[step->region]->slot));
      for (const auto& body : step->bodies) TRY(load_more(*body));
    }
    return {};
  }

  /// Unloads what the last load() loaded, so that a device too small for it has room for another alternative.
  void take_back() {
    for (const uint32_t region : loaded_) bound_.executables[region] = nullptr;
    constants_.take_back();
  }

  /// Returns whether a device other than the host made the last load() fail.
  bool is_refused() const { return is_refused_ || constants_.is_refused(); }

  int threads_on(uint32_t slot) const {
    const CoreSet* cores = bound_.executors[slot]->cores();
    return cores == nullptr ? bound_.threads : std::min(bound_.threads, cores->size());
  }

  Status load_region(uint32_t number) {
    const fbs::RegionT& region = *description().regions[number];
    TRY(slots_.find_device(region.slot));
    const RunBackend& backend = *TRY(bound_.program->backend(number));
    const uint32_t space = description().slots[region.slot]->space;
    std::vector<ConstTensorView>& constants = bound_.region_constants[number];
    std::vector<Place>& places = bound_.region_places[number];
    constants.clear();
    places.clear();
    for (uint32_t constant : region.constants) {
      TRY(constants_.place(space, constant));
      constants.push_back(bound_.constants[space][constant].tensor);
      places.push_back(bound_.constants[space][constant].place);
    }
    const LoadContext context{
        .blob = file_.blobs[number],
        .constants = constants,
        .symbol = [program = bound_.program.get()](const std::string& name) { return program->symbol(name); },
        .program_folder = file_.file->folder(),
        .threads = threads_on(region.slot),
        .workspace_bytes = static_cast<size_t>(region.workspace_bytes),
        .cores = bound_.executors[region.slot]->cores(),
        .executor = bound_.executors[region.slot]->name(),
        .constant_places = places};
    Result<std::unique_ptr<Executable>> loaded =
        with_kind(ErrorKind::corrupt, with_context(backend.load(context), "program '{}': {}", file_.path,
                                                   region_text(description(), number)));
    is_refused_ = !loaded && !bound_.spaces[space]->is_host();
    if (!loaded) return tl::unexpected(loaded.error());
    bound_.executables[number] =
        TRY(bound_.executors[region.slot]->adapt(std::move(*loaded), nodes_[number]));
    loaded_.push_back(number);
    return {};
  }

  BoundProgram& bound_;
  const SlotOpener& slots_;
  const MappedProgram& file_;
  const std::vector<std::vector<std::string>> nodes_;  // names, by region
  ConstantPlacer constants_;
  std::vector<uint32_t> loaded_;  // regions that the last load() loaded
  bool is_refused_ = false;       // whether a device refused the code of the last region
};

}  // namespace

bool is_absence(const Error& error) {
  return error.kind == ErrorKind::not_found || error.kind == ErrorKind::unsupported ||
         error.kind == ErrorKind::version || error.kind == ErrorKind::device_lost;
}

Result<std::shared_ptr<const BoundProgram>> bind_program(const std::shared_ptr<const LoadedProgram>& program,
                                                         const BindOptions& options) {
  TRY(with_context(program->file().file->check_unchanged(), "program '{}'", program->file().path));
  if (options.threads < 0)
    return fail("{} threads; want a positive number, or 0 for the compiled one", options.threads);
  const fbs::StageT* const stage = TRY(find_stage(program->description(), options));
  const std::vector<std::string> names = TRY(choose_devices(program->description(), options, stage));
  const auto cores = static_cast<uint32_t>(std::max(CoreSet::of_this_thread().size(), 1));
  const int compiled_for = static_cast<int>(std::clamp(program->description().threads, 1u, cores));
  const int threads = options.threads > 0 ? options.threads : compiled_for;
  const std::string which = stage != nullptr      ? fmt::format("{}", fmt::ptr(stage))
                            : options.alternative ? fmt::format("{}", *options.alternative)
                                                  : "";
  std::vector<uint32_t> first;
  for (const PassedOver& passed : options.passed_over) first.push_back(passed.first);
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}", threads, which, fmt::join(first, ","), fmt::join(names, "\n"));
  // Held while binding, so that two sessions starting at once do not load everything twice.
  std::lock_guard lock(program->bound_mutex_);
  std::erase_if(program->bound_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const BoundProgram>& known = program->bound_[key];
  if (std::shared_ptr<const BoundProgram> bound = known.lock(); bound != nullptr && !has_lost_device(*bound))
    return bound;
  auto bound = std::make_shared<BoundProgram>();
  bound->program = program;
  bound->threads = threads;
  SlotOpener slots(*bound);
  TRY(slots.open(names, options));
  ProgramBinder binder(*bound, slots);
  if (stage != nullptr) TRY(binder.bind(*stage));
  const auto& functions = program->description().functions;
  for (size_t i = 0; stage == nullptr && i < functions.size(); ++i) {
    const PassedOver before = i < options.passed_over.size() ? options.passed_over[i] : PassedOver{};
    TRY(options.alternative ? binder.bind(*functions[i], *options.alternative)
                            : binder.bind(*functions[i], before));
  }
  known = bound;
  return bound;
}

}  // namespace intarsia
