#include "backends/halide/functions/infer_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace intarsia::halide {
namespace {

/// Sizes that questions are asked with: powers of two, of which factors of schedules are divisors.
constexpr int64_t usual = 128, doubled = 2 * usual, ample = 4096, more_than_ample = 2 * ample;

/// Axis of an argument, both by Halide's numbers.
struct Axis {
  size_t argument = 0, number = 0;
  bool operator==(const Axis&) const = default;
  const Interval& of(const Intervals& intervals) const { return intervals[argument][number]; }
  Interval& of(Intervals& intervals) const { return intervals[argument][number]; }
};

/// What a function reads along an axis of an input.
struct Reading {
  enum class Kind : uint8_t {
    all,     // all that is there
    fixed,   // the same for all outputs
    follows  // floor(output * factor / divisor) + rest
  } kind = Kind::all;
  size_t output = 0;  // number among the open axes of outputs
  int64_t factor = 1, divisor = 1, rest = 0, min = 0;
};

bool is_within(const Interval& interval, int64_t size) { return interval.min >= 0 && interval.end() <= size; }

class SizeInference {
 public:
  explicit SizeInference(const QueriedFunction& function) : function_(function) {}

  Result<InferredSizes> infer() {
    const auto arguments = function_.arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      given_.emplace_back(static_cast<size_t>(arguments[i].dimensions), Interval{0, usual});
      for (size_t axis = 0; axis < given_[i].size(); ++axis)
        (is_output(i) ? outputs_ : inputs_).push_back({i, axis});
    }
    TRY(find_fixed_outputs());
    TRY(find_equal_outputs());
    for (size_t output = 0; output < outputs_.size(); ++output) leaders_.push_back(output);
    for (const Axis& input : inputs_)
      readings_.push_back(TRY(with_context(read(input), "{}", axis_text(input))));
    name_sizes();
    InferredSizes sizes{TRY(make_arguments()), open_};
    TRY(check(sizes));
    return sizes;
  }

 private:
  bool is_output(size_t argument) const {
    return function_.arguments()[argument].kind == ArgumentKind::output_buffer;
  }

  /// Asks with the open axes of outputs as usual, but for one that is doubled if it is given, and all axes of
  /// inputs of one size.
  Result<Intervals> ask(int64_t input_size, std::optional<size_t> longer = {}) const {
    Intervals given = given_;
    for (const Axis& input : inputs_) input.of(given) = {0, input_size};
    if (longer) outputs_[*longer].of(given).extent = doubled;
    for (const auto& [axis, same] : equal_outputs_) {
      if (longer == same) axis.of(given).extent = doubled;
    }
    return function_.query(given);
  }

  /// Finds axes of outputs that are the same whatever is asked, by a constraint, and takes them as given.
  Status find_fixed_outputs() {
    Intervals large = given_;
    for (const Axis& output : outputs_) output.of(large).extent = doubled;
    const Intervals made = TRY(ask(ample)), more = TRY(function_.query(large));
    std::vector<Axis> open;
    for (const Axis& output : outputs_) {
      output.of(given_) = output.of(made);
      if (output.of(made).extent == output.of(more).extent) continue;
      if (output.of(made).extent != usual)
        return fail(ErrorKind::unsupported, "{}: asked for {} elements, it wants to make {}",
                    axis_text(output), usual, output.of(made).extent);
      open.push_back(output);
    }
    outputs_ = std::move(open);
    return {};
  }

  /// Finds axes of outputs that are as long as others by a constraint, as those of a tuple, and sets them
  /// apart.
  Status find_equal_outputs() {
    std::vector<Axis> leaders;
    for (size_t output = 0; output < outputs_.size(); ++output) {
      const Axis& axis = outputs_[output];
      std::optional<size_t> same;
      for (size_t leader = 0; leader < output && !same; ++leader) {
        if (axis.of(TRY(ask(ample, leader))).extent == doubled) same = leader;
      }
      if (same && axis.of(TRY(ask(ample, output))).extent == usual) {
        equal_outputs_.emplace_back(axis, *same);
      } else {
        leaders.push_back(axis);
      }
    }
    for (auto& [axis, same] : equal_outputs_) {  // numbers among all outputs become those among the leaders
      const Axis& leader = outputs_[same];
      same = static_cast<size_t>(std::ranges::find(leaders, leader) - leaders.begin());
    }
    outputs_ = std::move(leaders);
    return {};
  }

  /// Takes axes of several outputs as equally long, where what is read of an input is the most that any of
  /// them needs.
  Status join(const Axis& input, const std::vector<size_t>& outputs, const std::vector<Interval>& after) {
    if (outputs.size() == 1) return {};
    Intervals large = given_;
    for (const Axis& axis : inputs_) axis.of(large) = {0, ample};
    for (size_t output : outputs) outputs_[output].of(large).extent = doubled;
    const Interval all = input.of(TRY(function_.query(large)));
    if (std::ranges::count(after, all) != std::ssize(after))
      return fail(ErrorKind::unsupported, "what is read depends on several axes of the outputs");
    for (size_t output : outputs) std::ranges::replace(leaders_, leaders_[output], leaders_[outputs[0]]);
    return {};
  }

  Result<Reading> read(const Axis& input) {
    const Interval now = input.of(TRY(ask(ample)));
    if (!(input.of(TRY(ask(more_than_ample))) == now)) return Reading{};
    std::vector<size_t> followed;
    std::vector<Interval> after;
    for (size_t output = 0; output < outputs_.size(); ++output) {
      const Interval then = input.of(TRY(ask(ample, output)));
      if (then == now) continue;
      followed.push_back(output);
      after.push_back(then);
    }
    if (followed.empty()) return Reading{.kind = Reading::Kind::fixed, .rest = now.extent, .min = now.min};
    TRY(join(input, followed, after));
    return follow(input, followed[0], now, after[0]);
  }

  /// Describes a reading that grows with an axis of the outputs, from `now` to `then` where that has doubled.
  Result<Reading> follow(const Axis& input, size_t output, const Interval& now, const Interval& then) const {
    const int64_t growth = then.extent - now.extent;
    Reading reading{.kind = Reading::Kind::follows, .output = output, .min = now.min};
    if (growth <= 0 || (growth % usual != 0 && usual % growth != 0) || then.min != now.min)
      return fail(ErrorKind::unsupported, "for {} more elements of {} it reads {} more, from {} on", usual,
                  axis_text(outputs_[output]), growth, then.min);
    reading.factor = std::max<int64_t>(growth / usual, 1);
    reading.divisor = std::max<int64_t>(usual / growth, 1);
    const int64_t plain = usual * reading.factor / reading.divisor;
    reading.rest = now.extent - plain;
    // A boundary condition: it would read more, but not where no more is there.
    const bool is_limited = !is_within(now, plain) && is_within(input.of(TRY(ask(plain))), plain);
    if (is_limited) reading.rest = reading.min = 0;
    return reading;
  }

  /// Names the axes of inputs that tell the open axes of outputs, and those that are read as a whole.
  void name_sizes() {
    sizes_.resize(outputs_.size());
    names_.resize(inputs_.size());
    const auto take = [&](const auto& is_fit) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        const Reading& reading = readings_[i];
        if (reading.kind != Reading::Kind::follows || size_at(reading.output).is_known() || !is_fit(reading))
          continue;
        const Dim size = name_size(i, std::max<int64_t>(reading.rest, 0)) - Dim(reading.rest);
        size_at(reading.output) =
            reading.divisor > 1 ? size * Dim(reading.divisor) : floor_div(size, Dim(reading.factor));
      }
    };
    take([](const Reading& reading) { return reading.factor == 1 && reading.divisor == 1; });
    take([](const Reading& reading) { return reading.divisor == 1; });
    take([](const Reading&) { return true; });
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (readings_[i].kind == Reading::Kind::all) name_size(i, 0);
    }
  }

  Dim& size_at(size_t output) { return sizes_[leaders_[output]]; }
  const Dim& size_at(size_t output) const { return sizes_[leaders_[output]]; }

  Dim name_size(size_t input, int64_t min) {
    const Axis& axis = inputs_[input];
    const std::string name = fmt::format("{}_{}", name_of(axis.argument), outermost_first(axis));
    names_[input] = name;
    open_.push_back({name, min});
    return Dim::named(name);
  }

  Dim size_of(size_t input) const {
    const Reading& reading = readings_[input];
    if (!names_[input].empty()) return Dim::named(names_[input]);
    if (reading.kind == Reading::Kind::fixed) return Dim(reading.rest);
    return floor_div(size_at(reading.output) * Dim(reading.factor), Dim(reading.divisor)) + Dim(reading.rest);
  }

  Result<std::vector<SizedArgument>> make_arguments() const {
    std::vector<SizedArgument> made;
    for (size_t i = 0; i < given_.size(); ++i)
      made.push_back(
          {name_of(i), std::vector<Dim>(given_[i].size()), std::vector<int32_t>(given_[i].size())});
    const auto set = [&](const Axis& axis, const Dim& size, int64_t min) {
      made[axis.argument].shape[outermost_first(axis)] = size;
      made[axis.argument].mins[outermost_first(axis)] = static_cast<int32_t>(min);
    };
    for (size_t i = 0; i < inputs_.size(); ++i) set(inputs_[i], size_of(i), readings_[i].min);
    for (size_t i = 0; i < given_.size(); ++i) {
      if (!is_output(i)) continue;
      for (size_t axis = 0; axis < given_[i].size(); ++axis)
        set({i, axis}, Dim(given_[i][axis].extent), given_[i][axis].min);
    }
    for (size_t output = 0; output < outputs_.size(); ++output) {
      if (!size_at(output).is_known())
        return fail(ErrorKind::unsupported,
                    "{}: no input tells its size; give it a fixed one with set_bounds",
                    axis_text(outputs_[output]));
      set(outputs_[output], size_at(output), outputs_[output].of(given_).min);
    }
    for (const auto& [axis, same] : equal_outputs_) set(axis, size_at(same), axis.of(given_).min);
    return made;
  }

  /// Asks with some numbers for the open sizes whether the inputs have what the function reads then.
  Status check(const InferredSizes& sizes) const {
    for (int64_t round = 0; round < 4; ++round) {
      std::map<std::string, Dim> numbers;
      for (const FunctionSize& size : sizes.open)
        numbers.emplace(size.name,
                        Dim(size.min + 64 + 31 * round + 17 * static_cast<int64_t>(numbers.size())));
      Intervals given = given_;
      for (size_t i = 0; i < given.size(); ++i) {
        const SizedArgument& argument = sizes.arguments[i];
        for (size_t axis = 0; axis < given[i].size(); ++axis) {
          const size_t outer = given[i].size() - 1 - axis;
          given[i][axis] = {argument.mins[outer], argument.shape[outer].substitute(numbers).number()};
        }
      }
      const Intervals accessed = TRY(function_.query(given));
      for (const std::vector<Axis>* axes : {&inputs_, &outputs_})
        for (const Axis& axis : *axes) TRY(check_axis(axis, axis.of(given), axis.of(accessed)));
    }
    return {};
  }

  Status check_axis(const Axis& axis, const Interval& given, const Interval& accessed) const {
    const bool fits = accessed.extent <= 0 || (accessed.min >= given.min && accessed.end() <= given.end());
    if (fits) return {};
    return fail(ErrorKind::unsupported,
                "{}: with elements {} to {} it accesses {} to {}: its sizes have no form that is understood",
                axis_text(axis), given.min, given.end() - 1, accessed.min, accessed.end() - 1);
  }

  size_t outermost_first(const Axis& axis) const { return given_[axis.argument].size() - 1 - axis.number; }

  /// Returns a name without what Halide appends to make names unique ("f$1").
  std::string name_of(size_t argument) const {
    const std::string name = function_.arguments()[argument].name;
    const std::string plain = name.substr(0, name.find('$'));
    size_t equal = 0;
    for (const FunctionArgument& other : function_.arguments())
      equal += std::string(other.name).substr(0, std::string(other.name).find('$')) == plain ? 1 : 0;
    return equal == 1 ? plain : name;
  }

  std::string axis_text(const Axis& axis) const {
    return fmt::format("{} '{}', axis {}", is_output(axis.argument) ? "output" : "input",
                       name_of(axis.argument), outermost_first(axis));
  }

  const QueriedFunction& function_;
  Intervals given_;                                     // of outputs: as usual, or fixed
  std::vector<Axis> inputs_, outputs_;                  // outputs: only open axes
  std::vector<std::pair<Axis, size_t>> equal_outputs_;  // open axes that are as long as one of outputs_
  std::vector<size_t> leaders_;                         // by open axis of outputs: the one whose size it has
  std::vector<Reading> readings_;                       // by axis of inputs
  std::vector<std::string> names_;                      // of axes of inputs; empty where their size follows
  std::vector<Dim> sizes_;                              // by open axis of outputs
  std::vector<FunctionSize> open_;
};

}  // namespace

Result<InferredSizes> infer_sizes(const QueriedFunction& function) { return SizeInference(function).infer(); }

}  // namespace intarsia::halide
