// Random graphs over open sizes, written node by node as text. Everything follows from the generator's seed.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace intarsia::test {

/// Value of a graph that is being written.
struct Written {
  std::string name;
  DType dtype = DType::f32;
  SymbolicShape shape;
  bool is_exact = true;  // whether no rounding depends on the order of operations

  size_t rank() const { return shape.size(); }
  bool is_number(size_t axis) const { return shape[axis].is_number(); }
};

/// Input of a graph that is being written.
struct WrittenInput {
  std::string name;
  DType dtype = DType::f32;
  SymbolicShape shape;
  std::optional<Dim> limit;  // elements are less than this, and at least 0; nullopt: any
};

using Sizes = std::map<std::string, Dim>;

class OpenGraphWriter {
 public:
  /// Says why a graph is refused; empty if it is not.
  using Judge = std::function<std::string(const Graph&)>;

  OpenGraphWriter(std::mt19937& random, Judge judge);

  /// Writes a graph of `nodes` operators, some of which take several nodes.
  void write(int64_t nodes);

  /// Returns the graph's text, with open sizes, or with those given.
  std::string text(const Sizes& sizes = {}) const;
  const std::vector<WrittenInput>& inputs() const { return inputs_; }
  const std::vector<std::string>& symbols() const { return symbols_; }
  /// Returns how often the judge refused an operator, by the operator and the reason.
  const std::map<std::string, int>& refusals() const { return refusals_; }

  // What follows is for the operators, which choose by the same generator.
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t least, int64_t most) { return least + below(most - least + 1); }
  bool chance(int64_t percent) { return below(100) < percent; }
  template <typename T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  int version() const { return version_; }
  Dim random_size();
  std::vector<int64_t> random_order(size_t count);
  /// Returns a value of this type: one that exists, or a new input.
  std::string value(DType dtype, const SymbolicShape& shape);
  std::string input(DType dtype, const SymbolicShape& shape, const std::optional<Dim>& limit = {});
  std::string weights(const Shape& shape);
  std::string ints(const std::vector<int64_t>& numbers);
  std::string scalar(int64_t number);
  std::string floats(const std::vector<float>& numbers);
  /// Writes a node "Op(%x) {...}" of some outputs, and returns the names of these.
  std::vector<std::string> nodes(const std::string& call, int outputs);
  std::string node(const std::string& call) { return nodes(call, 1)[0]; }
  /// Writes the size of an axis as i64[1].
  std::string size_of(const Written& x, int64_t axis);

 private:
  std::string fresh(const char* prefix) { return fmt::format("%{}{}", prefix, names_++); }
  void make_inputs();
  bool try_operator();
  std::string commit();
  const Written& random_value();

  std::mt19937& random_;
  Judge judge_;
  int version_ = 17;
  int names_ = 0;
  std::vector<std::string> symbols_, outputs_;
  std::vector<WrittenInput> inputs_;
  std::string body_;
  std::vector<Written> pool_;
  std::map<std::string, int> refusals_;
};

/// Operator that the writer tries on a value. `write` returns false where the value is not of its kind.
struct RandomOperator {
  const char* name;
  int weight;  // how often it is tried, relative to others
  bool (*write)(OpenGraphWriter& g, const Written& x);
};

std::span<const RandomOperator> random_movements();
std::span<const RandomOperator> random_computations();
std::span<const RandomOperator> random_windows();
std::span<const RandomOperator> random_selections();

inline std::string list(const std::vector<int64_t>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

}  // namespace intarsia::test
