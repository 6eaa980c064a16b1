#include "runtime/body_step.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/bytes.h"

namespace intarsia {
namespace {

using Bodies = std::vector<std::unique_ptr<PreparedBody>>;

/// Returns the only element of a tensor; no value that data decides is known to have one before.
template <typename T>
Result<T> read_scalar(const ValueState& value) {
  if (value.view.bytes() != sizeof(T))
    return fail("'{}' has shape {}; want one element", value.about->name, print_shape(value.view.shape));
  T element;
  std::memcpy(&element, value.view.data, sizeof(T));
  return element;
}

class BranchStep : public BodyStep {
 public:
  BranchStep(const fbs::StepT& about, std::span<ValueState> values, Bodies bodies)
      : about_(about), values_(values) {
    bodies_ = std::move(bodies);
  }

  Status run() override {
    const bool holds = TRY(read_scalar<uint8_t>(values_[about_.inputs[0]])) != 0;
    PreparedBody& body = *bodies_[holds ? 0 : 1];
    const size_t first = 1 + (holds ? 0 : bodies_[0]->inputs.size());
    for (size_t i = 0; i < body.inputs.size(); ++i) body.give(i, values_[about_.inputs[first + i]]);
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      const ValueState& value = values_[about_.outputs[i]];
      body.outputs[i].tensor = value.is_dynamic() ? TensorView{} : value.view;
    }
    TRY(body.run());
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      ValueState& value = values_[about_.outputs[i]];
      if (value.is_dynamic()) value.set(body.outputs[i].tensor, {}, std::move(body.outputs[i].owner));
    }
    return {};
  }

 private:
  const fbs::StepT& about_;
  const std::span<ValueState> values_;
};

/// Value that iterations hand on. Its memory is the output's and a second piece in turns, or, where sizes
/// depend on data, what the body makes.
class CarriedValue {
 public:
  CarriedValue(const ValueState& initial, ValueState& final, NamedTensor& from, NamedTensor& to)
      : initial_(initial), final_(final), from_(from), to_(to) {}

  /// Begins a run, whose first iteration writes to the output's memory or to the second piece.
  Status begin(bool first_to_output) {
    from_.tensor = initial_.view;
    from_.owner = initial_.owner;
    goes_to_output_ = first_to_output;
    if (final_.is_dynamic()) return {};
    if (initial_.view.shape != final_.view.shape)
      return fail("'{}' has shape {}, and '{}' {}", initial_.about->name, print_shape(initial_.view.shape),
                  final_.about->name, print_shape(final_.view.shape));
    if (second_.data() == nullptr || second_.shape() != final_.view.shape)
      second_ = Tensor(final_.view.dtype, final_.view.shape);
    return {};
  }

  void before_iteration() {
    to_.owner = nullptr;
    if (final_.is_dynamic())
      to_.tensor = TensorView{};
    else
      to_.tensor = goes_to_output_ ? final_.view : second_.view();
  }

  void after_iteration() {
    from_.tensor = to_.tensor;
    from_.owner = to_.owner;
    goes_to_output_ = !goes_to_output_;
  }

  /// Gives the last value to the output.
  void end() {
    if (final_.is_dynamic()) {
      if (from_.owner == nullptr) {  // the initial value, in memory that others use next
        const Tensor copy(from_.tensor.dtype, from_.tensor.shape);
        copy_elements(from_.tensor, copy.view());
        from_.tensor = copy.view();
        from_.owner = copy.owner();
      }
      final_.set(from_.tensor, {}, std::move(from_.owner));
    } else if (from_.tensor.data != final_.view.data) {
      copy_elements(from_.tensor, final_.view);
    }
    from_.owner = nullptr;
    to_.owner = nullptr;
  }

 private:
  const ValueState& initial_;
  ValueState& final_;
  NamedTensor &from_, &to_;  // the body's input and output
  Tensor second_;
  bool goes_to_output_ = true;
};

/// Tensor of the results of all iterations, along a new first axis. Where their number is known it is the
/// output's memory; else it grows by doubling.
class CollectedValue {
 public:
  CollectedValue(ValueState& all, NamedTensor& one, const fbs::ValueT& about)
      : all_(all), one_(one), about_(about) {}

  void begin() {
    rows_ = {};
    is_known_ = !all_.is_dynamic();
    if (is_known_) set_row(all_.view);
  }

  Status before_iteration(int64_t number) {
    one_.owner = nullptr;
    if (!all_.is_dynamic() && number >= all_.view.shape[0])
      return fail("'{}' is for {} iterations, and there are more", all_.about->name, all_.view.shape[0]);
    if (!is_known_) {
      one_.tensor = {};
      return {};
    }
    if (all_.is_dynamic() && number == rows_.shape()[0]) grow(number);
    one_.tensor.dtype = row_.dtype;
    one_.tensor.shape = row_.shape;
    one_.tensor.data = static_cast<std::byte*>(base()) + static_cast<size_t>(number) * row_.bytes();
    return {};
  }

  void after_iteration() {
    if (is_known_) return;
    row_ = {nullptr, one_.tensor.dtype, one_.tensor.shape};
    grow(0);
    std::memcpy(rows_.data(), one_.tensor.data, row_.bytes());
    is_known_ = true;
  }

  Status end(int64_t iterations) {
    one_.owner = nullptr;
    if (!all_.is_dynamic()) {
      if (all_.view.shape[0] == iterations) return {};
      return fail("'{}' is for {} iterations, and there are {}", all_.about->name, all_.view.shape[0],
                  iterations);
    }
    if (!is_known_) set_empty_row();
    Shape shape = row_.shape;
    shape.insert(shape.begin(), iterations);
    if (rows_.data() == nullptr) rows_ = Tensor(row_.dtype, shape);
    all_.set({rows_.data(), row_.dtype, shape}, {}, rows_.owner());
    rows_ = {};
    return {};
  }

 private:
  void* base() const { return all_.is_dynamic() ? rows_.data() : all_.view.data; }

  void set_row(const TensorView& all) {
    row_ = {nullptr, all.dtype, Shape(all.shape.begin() + 1, all.shape.end())};
  }

  /// Sets the shape of a result that no iteration made: sizes that only data decides are 0.
  void set_empty_row() {
    row_ = {nullptr, static_cast<DType>(about_.dtype), about_.dims};
    for (int64_t& size : row_.shape) size = std::max<int64_t>(size, 0);
  }

  void grow(int64_t filled) {
    constexpr int64_t fewest = 8;
    Shape shape = row_.shape;
    shape.insert(shape.begin(), std::max(2 * filled, fewest));
    Tensor more(row_.dtype, shape);
    if (filled > 0) std::memcpy(more.data(), rows_.data(), static_cast<size_t>(filled) * row_.bytes());
    rows_ = std::move(more);
  }

  ValueState& all_;
  NamedTensor& one_;
  const fbs::ValueT& about_;  // the body's value
  TensorView row_;            // dtype and shape of one result
  Tensor rows_;               // results so far, where their number is not known
  bool is_known_ = false;     // whether row_ is
};

class LoopStep : public BodyStep {
 public:
  LoopStep(const fbs::StepT& about, std::span<ValueState> values, Bodies bodies)
      : about_(about), values_(values), limits_(limits_of_loop(about)) {
    bodies_ = std::move(bodies);
    const fbs::FunctionT& function = *about.bodies[0];
    const size_t checks = about.checks_condition;
    PreparedBody& one = body();
    for (size_t i = 0; i < about.outputs.size(); ++i) {
      ValueState& output = values[about.outputs[i]];
      NamedTensor& made = one.outputs[checks + i];
      if (i < about.carried)
        carried_.emplace_back(value(i), output, one.inputs[1 + i], made);
      else
        collected_.emplace_back(output, made, *function.values[function.outputs[checks + i]]);
    }
    one.inputs[0].tensor = {&iteration_, DType::i64, function.values[function.inputs[0]]->dims};
    if (about.checks_condition)
      one.outputs[0].tensor = {&goes_on_, DType::boolean, function.values[function.outputs[0]]->dims};
  }

  Status run() override {
    const int64_t trips = TRY(most_iterations());
    goes_on_ = about_.has_condition ? TRY(read_scalar<uint8_t>(values_[about_.inputs[limits_ - 1]])) : 1;
    TRY(begin(trips));
    for (iteration_ = 0; iteration_ < trips && goes_on_ != 0; ++iteration_) TRY(iterate());
    for (CarriedValue& value : carried_) value.end();
    for (CollectedValue& value : collected_) TRY(value.end(iteration_));
    return {};
  }

 private:
  PreparedBody& body() { return *bodies_[0]; }
  /// Returns an outer value after the limits.
  const ValueState& value(size_t number) const { return values_[about_.inputs[limits_ + number]]; }

  Result<int64_t> most_iterations() const {
    int64_t most = std::numeric_limits<int64_t>::max();
    if (about_.has_trip_count) most = TRY(read_scalar<int64_t>(values_[about_.inputs[0]]));
    for (size_t i = 0; i < about_.scanned; ++i) {
      const ValueState& scanned = value(about_.carried + i);
      if (scanned.view.shape.empty() || (i > 0 && scanned.view.shape[0] != most))
        return fail("'{}' has shape {}, and others have {} elements to scan", scanned.about->name,
                    print_shape(scanned.view.shape), most);
      most = scanned.view.shape[0];
    }
    return most;
  }

  Status begin(int64_t trips) {
    // The last iteration writes to the output if nothing but the number of iterations ends the loop.
    const bool first_to_output = about_.checks_condition || trips % 2 != 0;
    for (CarriedValue& value : carried_) TRY(value.begin(first_to_output));
    for (CollectedValue& value : collected_) value.begin();
    for (size_t i = about_.carried; limits_ + i < about_.inputs.size(); ++i) body().give(1 + i, value(i));
    for (size_t i = about_.carried; i < size_t{about_.carried} + about_.scanned; ++i) {
      Shape& shape = body().inputs[1 + i].tensor.shape;
      shape.erase(shape.begin());
    }
    return {};
  }

  Status iterate() {
    for (size_t i = about_.carried; i < size_t{about_.carried} + about_.scanned; ++i) {
      TensorView& element = body().inputs[1 + i].tensor;
      element.data =
          static_cast<std::byte*>(value(i).view.data) + static_cast<size_t>(iteration_) * element.bytes();
    }
    for (CarriedValue& value : carried_) value.before_iteration();
    for (CollectedValue& value : collected_) TRY(value.before_iteration(iteration_));
    TRY(with_context(body().run(), "iteration {}", iteration_));
    for (CarriedValue& value : carried_) value.after_iteration();
    for (CollectedValue& value : collected_) value.after_iteration();
    return {};
  }

  const fbs::StepT& about_;
  const std::span<ValueState> values_;
  const size_t limits_;  // number of inputs that limit iterations
  std::vector<CarriedValue> carried_;
  std::vector<CollectedValue> collected_;
  int64_t iteration_ = 0;
  uint8_t goes_on_ = 1;
};

}  // namespace

Result<std::unique_ptr<PreparedBody>> PreparedBody::make(const BoundProgram& program,
                                                         const fbs::FunctionT& body,
                                                         const ThreadTeams& teams) {
  std::unique_ptr<PreparedBody> made(new PreparedBody(program));
  made->arenas_.resize(program.spaces.size());
  made->arenas_[host_space] = TRY(program.spaces[host_space]->allocate(body.arena_bytes[host_space]));
  made->prepared_ = TRY(PreparedFunction::make(program, body, made->arenas_, made->open_arenas_, teams));
  for (uint32_t id : body.inputs) made->inputs.push_back({body.values[id]->name, {}, nullptr});
  for (uint32_t id : body.outputs) made->outputs.push_back({body.values[id]->name, {}, nullptr});
  return made;
}

void PreparedBody::give(size_t input, const ValueState& value) {
  inputs[input].tensor = value.view;
  inputs[input].owner = value.owner;
}

Result<std::unique_ptr<BodyStep>> prepare_body_step(const BoundProgram& program, const fbs::StepT& step,
                                                    std::span<ValueState> values, const ThreadTeams& teams) {
  Bodies bodies;
  for (const auto& body : step.bodies) bodies.push_back(TRY(PreparedBody::make(program, *body, teams)));
  if (step.kind == fbs::StepKind::branch)
    return std::make_unique<BranchStep>(step, values, std::move(bodies));
  return std::make_unique<LoopStep>(step, values, std::move(bodies));
}

}  // namespace intarsia
