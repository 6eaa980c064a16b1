// Ensembles of decision trees. Every test becomes one or more of the kind "at most", and a leaf a node that
// is its own successor (routines/trees.cc).
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>

#include "backends/halide/canonicalize/canonicalize_rules.h"
#include "backends/halide/routines/tree_table.h"

namespace intarsia::halide {
namespace {

/// Tests, numbered as in the attribute nodes_modes.
enum class Test : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };

/// A node of the model, or a leaf.
struct TreeReference {
  bool is_leaf = false;
  int64_t number = 0;
};

/// Node of the model.
struct TreeTest {
  Test test = Test::less_equal;
  int64_t feature = 0;
  double split = 0;
  bool missing_is_true = false;
  TreeReference next[2];  // if false, if true
  std::vector<double> members;
};

struct Ensemble {
  std::vector<TreeTest> nodes;
  std::vector<int64_t> roots, targets;  // targets of the leaves
  std::vector<double> weights;
};

template <typename T>
std::vector<double> to_doubles(const Tensor& tensor) {
  const auto numbers = tensor.as<T>();
  return {numbers.begin(), numbers.end()};
}

Result<std::vector<double>> numbers_of(const Rewriter& r, std::string_view attribute) {
  const Tensor* tensor = r.attributes().get_tensor(attribute);
  if (tensor == nullptr) return std::vector<double>();
  if (tensor->dtype() == DType::f32) return to_doubles<float>(*tensor);
  if (tensor->dtype() == DType::f64) return to_doubles<double>(*tensor);
  if (tensor->dtype() == DType::u8) return to_doubles<uint8_t>(*tensor);
  return fail("TreeEnsemble: {} has dtype {}", attribute, dtype_name(tensor->dtype()));
}

/// Gives the sets of numbers, each ended by NaN, to the tests for members, in the order in which a walk from
/// the roots, true side first, meets them. Fails if a node is met twice.
Status walk_nodes(Ensemble& ensemble, const std::vector<double>& members) {
  auto next = members.begin();
  std::vector<bool> met(ensemble.nodes.size());
  std::vector<int64_t> open(ensemble.roots.rbegin(), ensemble.roots.rend());
  while (!open.empty()) {
    const auto number = static_cast<size_t>(open.back());
    open.pop_back();
    if (met[number]) return fail("TreeEnsemble: node {} is reached twice", number);
    met[number] = true;
    TreeTest& node = ensemble.nodes[number];
    if (node.test == Test::member) {
      const auto end = std::find_if(next, members.end(), [](double member) { return std::isnan(member); });
      node.members.assign(next, end);
      next = end == members.end() ? end : end + 1;
    }
    for (const TreeReference& to : node.next)
      if (!to.is_leaf) open.push_back(to.number);
  }
  return {};
}

Status read_nodes(const Rewriter& r, Ensemble& ensemble, int64_t features) {
  const Attributes& attributes = r.attributes();
  const std::vector<double> modes = TRY(numbers_of(r, "nodes_modes")),
                            splits = TRY(numbers_of(r, "nodes_splits"));
  const size_t count = modes.size();
  const std::vector<int64_t> feature = attributes.get_ints("nodes_featureids"),
                             missing = attributes.get_ints("nodes_missing_value_tracks_true",
                                                           std::vector<int64_t>(count, 0)),
                             next[] = {attributes.get_ints("nodes_falsenodeids"),
                                       attributes.get_ints("nodes_truenodeids")},
                             leaf[] = {attributes.get_ints("nodes_falseleafs"),
                                       attributes.get_ints("nodes_trueleafs")};
  for (size_t size : {splits.size(), feature.size(), missing.size(), next[0].size(), next[1].size(),
                      leaf[0].size(), leaf[1].size()})
    if (size != count) return fail("TreeEnsemble: attributes of {} and {} nodes", count, size);
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6) || feature[i] < 0 || feature[i] >= features)
      return fail("TreeEnsemble: node {} has mode {} and feature {}", i, modes[i], feature[i]);
    TreeTest node{
        static_cast<Test>(static_cast<int>(modes[i])), feature[i], splits[i], missing[i] != 0, {}, {}};
    for (int side : {0, 1}) {
      node.next[side] = {leaf[side][i] != 0, next[side][i]};
      const size_t limit = node.next[side].is_leaf ? ensemble.weights.size() : count;
      if (next[side][i] < 0 || static_cast<size_t>(next[side][i]) >= limit)
        return fail("TreeEnsemble: node {} goes to {} of {}", i, next[side][i], limit);
    }
    ensemble.nodes.push_back(std::move(node));
  }
  return {};
}

Result<Ensemble> read_ensemble(const Rewriter& r, int64_t features, int64_t targets) {
  Ensemble ensemble{{},
                    r.attributes().get_ints("tree_roots"),
                    r.attributes().get_ints("leaf_targetids"),
                    TRY(numbers_of(r, "leaf_weights"))};
  const auto are_below = [](const std::vector<int64_t>& numbers, int64_t limit) {
    return std::ranges::all_of(numbers, [=](int64_t number) { return number >= 0 && number < limit; });
  };
  TRY(read_nodes(r, ensemble, features));
  if (ensemble.targets.size() != ensemble.weights.size() || !are_below(ensemble.targets, targets) ||
      ensemble.roots.empty() || !are_below(ensemble.roots, std::ssize(ensemble.nodes)))
    return fail("TreeEnsemble: {} roots of {} nodes, {} targets of {} weights", ensemble.roots.size(),
                ensemble.nodes.size(), ensemble.targets.size(), ensemble.weights.size());
  TRY(walk_nodes(ensemble, TRY(numbers_of(r, "membership_values"))));
  return ensemble;
}

/// Nodes as the kernel has them, each tree's in one place, level after level.
template <typename T>
class TreeWriter {
 public:
  explicit TreeWriter(const Ensemble& ensemble) : ensemble_(ensemble) {
    for (int64_t root : ensemble.roots) write_tree(root);
  }

  Tensor splits() const { return to_tensor<T>(splits_, std::is_same_v<T, float> ? DType::f32 : DType::f64); }

  Tensor table() const {
    const bool has_missing = std::ranges::find(missing_, 1) != missing_.end();
    std::vector<int32_t> all{to_i32(roots_.size()), to_i32(splits_.size()), to_i32(ensemble_.weights.size()),
                             int32_t{has_missing}};
    const auto add = [&](const std::vector<int32_t>& numbers) {
      all.insert(all.end(), numbers.begin(), numbers.end());
    };
    add(features_), add(next_), add(leaves_);
    if (has_missing) add(missing_);
    add(roots_), add(depths_);
    for (size_t leaf = 0; leaf <= ensemble_.weights.size(); ++leaf) all.push_back(to_i32(leaf));
    for (int64_t target : ensemble_.targets) all.push_back(static_cast<int32_t>(target));
    return to_tensor<int32_t>(all, DType::i32);
  }

  Tensor weights() const {
    return to_tensor<T>(std::vector<T>(ensemble_.weights.begin(), ensemble_.weights.end()),
                        std::is_same_v<T, float> ? DType::f32 : DType::f64);
  }

 private:
  struct Open {
    TreeReference from;
    size_t to;
    int32_t level;
  };

  static int32_t to_i32(size_t number) { return static_cast<int32_t>(number); }

  template <typename Number>
  static Tensor to_tensor(const std::vector<Number>& numbers, DType dtype) {
    Tensor tensor(dtype, {std::ssize(numbers)});
    std::ranges::copy(numbers, tensor.as<Number>().begin());
    return tensor;
  }

  /// Returns the greatest number that is less; NaN, than which nothing is at most, if there is none.
  static T below(T number) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    return number == -infinity ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(number, -infinity);
  }

  void write_tree(int64_t root) {
    roots_.push_back(to_i32(splits_.size()));
    depths_.push_back(0);
    add({false, root}, 0);
    for (; !open_.empty(); open_.pop_front()) {
      const Open next = open_.front();
      if (next.from.is_leaf)
        leaves_[next.to] = static_cast<int32_t>(next.from.number);
      else
        write_test(ensemble_.nodes[static_cast<size_t>(next.from.number)], next.to, next.level);
    }
  }

  /// Adds a node, a leaf until it is written as another one, and returns its number.
  size_t add_node(int32_t level) {
    const size_t number = splits_.size();
    splits_.push_back(std::numeric_limits<T>::quiet_NaN());
    features_.push_back(0);
    next_.insert(next_.end(), 2, to_i32(number));
    leaves_.push_back(0);
    missing_.push_back(0);
    depths_.back() = std::max(depths_.back(), level);
    return number;
  }

  size_t add(const TreeReference& from, int32_t level) {
    open_.push_back({from, add_node(level), level});
    return open_.back().to;
  }

  void set(size_t at, int64_t feature, T split, size_t if_greater, size_t if_at_most, bool missing) {
    features_[at] = static_cast<int32_t>(feature);
    splits_[at] = split;
    next_[2 * at] = to_i32(if_greater);
    next_[2 * at + 1] = to_i32(if_at_most);
    missing_[at] = int32_t{missing};
  }

  void write_test(const TreeTest& node, size_t at, int32_t level) {
    const bool is_equality = node.test >= Test::equal;
    const auto tests =
        static_cast<int32_t>(node.test == Test::member ? std::max<size_t>(node.members.size(), 1) : 1);
    const int32_t next = level + (is_equality ? 2 * tests : 1);
    const size_t no = add(node.next[0], next), yes = add(node.next[1], next);
    const auto split = static_cast<T>(node.split);
    const bool missing = node.missing_is_true;
    switch (node.test) {
      case Test::less_equal:
        return set(at, node.feature, split, no, yes, missing);
      case Test::less:
        return set(at, node.feature, below(split), no, yes, missing);
      case Test::greater:  // of swapped sides: NaN goes to what is now the second
        return set(at, node.feature, split, yes, no, !missing);
      case Test::greater_equal:
        return set(at, node.feature, below(split), yes, no, !missing);
      case Test::equal:
        return write_equality(at, node.feature, split, no, yes, missing, level);
      case Test::not_equal:
        return write_equality(at, node.feature, split, yes, no, false, level);
      case Test::member:
        return write_members(node, at, no, yes, level);
    }
  }

  /// Writes a test for a number: what is at most the number goes on to whether it is at most the one below.
  void write_equality(size_t at, int64_t feature, T split, size_t no, size_t yes, bool missing,
                      int32_t level) {
    const size_t second = add_node(level + 1);
    set(at, feature, split, no, second, missing);
    set(second, feature, below(split), yes, no, false);
  }

  void write_members(const TreeTest& node, size_t at, size_t no, size_t yes, int32_t level) {
    if (node.members.empty())
      return set(at, node.feature, std::numeric_limits<T>::quiet_NaN(), no, yes, node.missing_is_true);
    for (size_t i = 0; i < node.members.size(); ++i, level += 2) {
      const bool is_last = i + 1 == node.members.size();
      const size_t otherwise = is_last ? no : add_node(level + 2);
      write_equality(at, node.feature, static_cast<T>(node.members[i]), otherwise, yes, node.missing_is_true,
                     level);
      at = otherwise;
    }
  }

  const Ensemble& ensemble_;
  std::vector<T> splits_;
  std::vector<int32_t> features_, next_, leaves_, missing_, roots_, depths_;
  std::deque<Open> open_;
};

template <typename T>
ValueId emit_trees(Rewriter& r, const Ensemble& ensemble, const TreeAttributes& attributes) {
  const TreeWriter<T> writer(ensemble);
  const ValueId splits = r.add_constant(writer.splits()), weights = r.add_constant(writer.weights()),
                table = r.add_constant(writer.table());
  return r.emit(CoreOp::tree_ensemble, {r.in(0), splits, weights, table}, r.dtype(r.in(0)), r.out_sizes(),
                attributes);
}

/// Returns scores after the attribute post_transform: 0 none, 1 softmax, 2 logistic, 3 softmax of those that
/// are not 0.
Result<ValueId> transformed(Rewriter& r, ValueId scores, int64_t transform) {
  if (transform == 0) return scores;
  if (transform == 2) return r.emit_elementwise(CoreOp::sigmoid, {scores});
  if (transform != 1 && transform != 3) return fail("TreeEnsemble: post_transform is {}", transform);
  const SymbolicShape rows{r.sizes(scores)[0], 1};
  const DType dtype = r.dtype(scores);
  const auto reduced = [&](CoreOp op, ValueId x) {
    return r.emit(op, {x}, dtype, rows, ReductionAttributes{{1}});
  };
  const auto is_zero = [&](ValueId x) {
    return r.emit(CoreOp::equal, {x, r.add_scalar(0, dtype)}, DType::boolean, r.sizes(x));
  };
  const ValueId shifted = r.emit_elementwise(CoreOp::sub, {scores, reduced(CoreOp::reduce_max, scores)});
  ValueId parts = r.emit_elementwise(CoreOp::exp, {shifted}, ExpAttributes{.nonpositive = true});
  if (transform == 3)
    parts = r.emit(CoreOp::where, {is_zero(scores), r.add_scalar(0, dtype), parts}, dtype, r.sizes(scores));
  ValueId sum = reduced(CoreOp::reduce_sum, parts);
  if (transform == 3) sum = r.emit(CoreOp::where, {is_zero(sum), r.add_scalar(1, dtype), sum}, dtype, rows);
  return r.emit_elementwise(CoreOp::div, {parts, sum});
}

Status tree_ensemble(Rewriter& r) {
  TRY(require_floats(r));
  const SymbolicShape& x = r.sizes(r.in(0));
  const TreeAttributes attributes{r.attributes().get_int("aggregate_function", 1)};
  if (x.size() != 2 || !x[1].is_number() || attributes.aggregate < 0 || attributes.aggregate > 3)
    return fail("TreeEnsemble of {}, aggregate_function {}", print_shape(x), attributes.aggregate);
  const Ensemble ensemble = TRY(read_ensemble(r, x[1].number(), r.attributes().get_int("n_targets", 1)));
  const ValueId scores = r.dtype(r.in(0)) == DType::f64 ? emit_trees<double>(r, ensemble, attributes)
                                                        : emit_trees<float>(r, ensemble, attributes);
  r.set_output(0, TRY(transformed(r, scores, r.attributes().get_int("post_transform", 0))));
  return {};
}

constexpr std::array tree_rule_list = std::to_array<RuleEntry>({
    {"TreeEnsemble", tree_ensemble},
});

}  // namespace

std::span<const RuleEntry> tree_rules() { return tree_rule_list; }

}  // namespace intarsia::halide
