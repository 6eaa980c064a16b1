#include "import/match_rnn_cell.h"

#include <algorithm>

#include "tensorflow/attributes.h"

namespace intarsia {
namespace {

bool is_swapped(const Term& product) {
  return tensorflow::get_bool(product.node->attributes, "transpose_a", false) ||
         tensorflow::get_bool(product.node->attributes, "transpose_b", false);
}

bool is_product(const Term& term) { return term.is_op("MatMul") && !is_swapped(term); }

/// Matches output `gate` of a Split into `parts` along the last axis; returns what is split.
Term split_of(const FunctionMatcher& body, const Term& part, int64_t parts, const std::string& gate) {
  if (!part.is_op("Split") || part.output != "output:" + gate ||
      part.node->attributes.get_int("num_split", 0) != parts)
    return {};
  const std::optional<int64_t> axis = body.integer(body.input(part, 0));
  return axis == 1 || axis == -1 ? body.input(part, 1) : Term{};
}

/// Columns of a matrix, up to `end` or to the last one (end = -1).
struct Columns {
  Term matrix;
  int64_t begin = 0, end = 0;
};

Columns read_columns(const FunctionMatcher& body, const Term& term) {
  if (!term.is_op("StridedSlice")) return {};
  const auto begin = body.integers(body.input(term, 1)), end = body.integers(body.input(term, 2)),
             step = body.integers(body.input(term, 3));
  const Attributes& a = term.node->attributes;
  if (!begin || !end || !step || begin->size() != 2 || end->size() != 2 ||
      *step != std::vector<int64_t>{1, 1})
    return {};
  if ((a.get_int("begin_mask", 0) & 1) == 0 || (a.get_int("end_mask", 0) & 1) == 0 ||
      a.get_int("shrink_axis_mask", 0) != 0 || a.get_int("new_axis_mask", 0) != 0 ||
      a.get_int("ellipsis_mask", 0) != 0) {
    return {};
  }
  const bool from_start = (a.get_int("begin_mask", 0) & 2) != 0, to_end = (a.get_int("end_mask", 0) & 2) != 0;
  return {body.input(term, 0), from_start ? 0 : (*begin)[1], to_end ? -1 : (*end)[1]};
}

/// Part of the match that all cells have in common: lists of inputs and outputs, and products by two kernels.
class CellMatcher {
 protected:
  explicit CellMatcher(const FunctionMatcher& body) : body_(body) {}

  /// Finds the result that is the list with the new h written to it.
  bool find_list() {
    for (size_t i = 0; i < body_.result_count(); ++i) {
      const Term write = body_.result(i);
      if (!write.is_op("TensorListSetItem") || body_.input(write, 0).argument != static_cast<int>(i))
        continue;
      cell_.list = static_cast<int>(i);
      const Term index = body_.input(write, 1);
      cell_.time = index.argument;
      cell_.last_only = body_.integer(index) == 0;
      new_h_ = body_.input(write, 2);
    }
    for (size_t i = 0; i < body_.result_count(); ++i) {
      if (body_.result(i) == new_h_) cell_.h = static_cast<int>(i);
    }
    return cell_.list >= 0 && cell_.h >= 0 && (cell_.time >= 0 || cell_.last_only);
  }

  bool is_h(const Term& term) const { return term.argument == cell_.h; }

  /// Matches TensorListGetItem(elements, time, shape).
  bool match_input(const Term& x) {
    if (!x.is_op("TensorListGetItem")) return false;
    cell_.elements = body_.input(x, 0).argument;
    const int time = body_.input(x, 1).argument;
    if (cell_.time < 0) cell_.time = time;
    return cell_.elements >= 0 && time == cell_.time;
  }

  /// Matches x W.
  bool match_input_product(const Term& term) {
    cell_.kernel = body_.input(term, 1).argument;
    return is_product(term) && match_input(body_.input(term, 0));
  }

  /// Matches x W and h R, in any order.
  bool match_products(const Term& a, const Term& b) {
    const bool h_first = is_h(body_.input(a, 0));
    const Term& of_h = h_first ? a : b;
    cell_.recurrent_kernel = body_.input(of_h, 1).argument;
    return is_product(of_h) && is_h(body_.input(of_h, 0)) && match_input_product(h_first ? b : a);
  }

  bool is_invariant(int argument) const {
    return argument >= 0 && static_cast<size_t>(argument) < body_.result_count() &&
           body_.result(static_cast<size_t>(argument)).argument == argument;
  }

  bool is_consistent() const {
    const std::vector<int> counters = find_counters(body_);
    return is_invariant(cell_.kernel) && is_invariant(cell_.recurrent_kernel) &&
           is_invariant(cell_.elements) && (cell_.bias < 0 || is_invariant(cell_.bias)) &&
           std::ranges::find(counters, cell_.time) != counters.end();
  }

  const FunctionMatcher& body_;
  CellMatch cell_;
  Term new_h_;
};

class LstmMatcher : private CellMatcher {
 public:
  explicit LstmMatcher(const FunctionMatcher& body) : CellMatcher(body) {}

  std::optional<CellMatch> match() {
    cell_.op = "LSTM";
    return find_list() && match_lstm() && is_consistent() ? std::optional(cell_) : std::nullopt;
  }

 private:
  /// Checks for a function of one gate.
  bool is_gate(const Term& term, const char* activation, const std::string& gate, const Term& gates) const {
    return term.is_op(activation) && gates.node != nullptr &&
           split_of(body_, body_.input(term, 0), 4, gate) == gates;
  }

  bool match_lstm() {
    if (!new_h_.is_op("Mul")) return false;
    const auto output = body_.operands(new_h_, "Mul", "Tanh");
    if (!output) return false;
    const Term new_c = body_.input(output->first, 0), o = output->second;
    const Term gates = split_of(body_, body_.input(o, 0), 4, "3");
    if (!is_gate(o, "Sigmoid", "3", gates) || !new_c.is_op("AddV2")) return false;
    for (size_t i = 0; i < body_.result_count(); ++i) {
      if (body_.result(i) == new_c) cell_.c = static_cast<int>(i);
    }
    const Term a = body_.input(new_c, 0), b = body_.input(new_c, 1);
    const Term old_c{cell_.c, nullptr, {}};
    const bool first = is_gate(body_.other(a, "Mul", old_c), "Sigmoid", "1", gates);
    const Term& forget = first ? a : b;
    const auto added = body_.operands(first ? b : a, "Mul", "Tanh");
    if (cell_.c < 0 || !added || !is_gate(body_.other(forget, "Mul", old_c), "Sigmoid", "1", gates) ||
        !is_gate(added->first, "Tanh", "2", gates) || !is_gate(added->second, "Sigmoid", "0", gates)) {
      return false;
    }
    Term sum = gates;
    if (sum.is_op("BiasAdd")) {
      cell_.bias = body_.input(sum, 1).argument;
      if (cell_.bias < 0) return false;
      sum = body_.input(sum, 0);
    }
    return sum.is_op("AddV2") && match_products(body_.input(sum, 0), body_.input(sum, 1));
  }
};

class GruMatcher : private CellMatcher {
 public:
  explicit GruMatcher(const FunctionMatcher& body) : CellMatcher(body) {}

  std::optional<CellMatch> match() {
    cell_.op = "GRU";
    return find_list() && match_gru() && is_consistent() ? std::optional(cell_) : std::nullopt;
  }

 private:
  /// Matches row `row` of the bias [2, 3 units]: Squeeze(Split(0, bias):row).
  bool is_bias_row(const Term& term, const std::string& row) {
    const Term part = term.is_op("Squeeze") ? body_.input(term, 0) : Term{};
    if (!part.is_op("Split") || part.output != "output:" + row ||
        part.node->attributes.get_int("num_split", 0) != 2)
      return false;
    const int bias = body_.input(part, 1).argument;
    if (body_.integer(body_.input(part, 0)) != 0 || bias < 0 || (cell_.bias >= 0 && cell_.bias != bias))
      return false;
    cell_.bias = bias;
    return true;
  }

  /// Matches columns [gate * units, (gate + 1) * units) of the three (or, reset before, two) gates of h R.
  bool is_inner(const Term& term, int64_t gate, const Term& inner) {
    const Columns columns = read_columns(body_, term);
    if (columns.matrix.node == nullptr || columns.matrix != inner) return false;
    if (gate == 0) units_ = columns.end;
    if (units_ <= 0 || columns.begin != gate * units_) return false;
    return columns.end == -1 ? gate == 2 : columns.end == (gate + 1) * units_;
  }

  /// Matches gates [first, last) of the recurrent kernel.
  bool is_kernel_part(const Term& term, int64_t first, int64_t last) {
    const Columns columns = read_columns(body_, term);
    if (columns.matrix.argument < 0 || columns.begin != first * units_ ||
        (last < 3 ? columns.end != last * units_ : columns.end != -1))
      return false;
    cell_.recurrent_kernel = columns.matrix.argument;
    return true;
  }

  /// Matches Activation(outer[gate] + inner), where `inner_of` checks the second summand.
  template <typename Inner>
  bool is_sum_gate(const Term& term, const char* activation, const std::string& gate, const Term& outer,
                   Inner inner_of) {
    const Term sum = term.is_op(activation) ? body_.input(term, 0) : Term{};
    if (!sum.is_op("AddV2")) return false;
    for (size_t side : {0u, 1u}) {
      const Term part = body_.input(sum, side);
      if (split_of(body_, part, 3, gate) == outer && outer.node != nullptr)
        return inner_of(body_.input(sum, 1 - side));
    }
    return false;
  }

  bool match_gru() {
    if (!new_h_.is_op("AddV2")) return false;
    const Term old_h{cell_.h, nullptr, {}};
    const Term first = body_.input(new_h_, 0), second = body_.input(new_h_, 1);
    const bool in_order = body_.other(first, "Mul", old_h).node != nullptr;
    const Term z = body_.other(in_order ? first : second, "Mul", old_h);
    const auto mixed = body_.operands(in_order ? second : first, "Mul", "Tanh");
    if (z.node == nullptr || !mixed || !mixed->second.is_op("Sub")) return false;
    if (body_.number(body_.input(mixed->second, 0)) != 1.0 || body_.input(mixed->second, 1) != z)
      return false;
    const Term sum = body_.input(z, 0);
    const Term part = body_.input(sum, 0).is_op("Split") ? body_.input(sum, 0) : body_.input(sum, 1);
    const Term slice = body_.input(sum, 0).is_op("Split") ? body_.input(sum, 1) : body_.input(sum, 0);
    const Term outer = split_of(body_, part, 3, "0"), inner = body_.input(slice, 0);
    const bool z_fits =
        is_sum_gate(z, "Sigmoid", "0", outer, [&](const Term& t) { return is_inner(t, 0, inner); });
    if (!z_fits || !outer.is_op("BiasAdd")) return false;
    const auto is_reset = [&](const Term& r) {
      return is_sum_gate(r, "Sigmoid", "1", outer, [&](const Term& t) { return is_inner(t, 1, inner); });
    };
    return inner.is_op("MatMul") ? match_reset_before(mixed->first, outer, inner, is_reset)
                                 : match_reset_after(mixed->first, outer, inner, is_reset);
  }

  /// Matches n = tanh(outer[2] + r * inner[2]), inner = h R + b1.
  template <typename IsReset>
  bool match_reset_after(const Term& candidate, const Term& outer, const Term& inner, IsReset is_reset) {
    const bool fits = is_sum_gate(candidate, "Tanh", "2", outer, [&](const Term& t) {
      const auto product = body_.operands(t, "Mul", "Sigmoid");
      return product && is_inner(product->second, 2, inner) && is_reset(product->first);
    });
    if (!fits || !inner.is_op("AddV2")) return false;
    const auto recurrent = body_.operands(inner, "AddV2", "MatMul");
    if (!recurrent || !is_bias_row(body_.input(outer, 1), "0") || !is_bias_row(recurrent->second, "1"))
      return false;
    cell_.reset_after = true;
    return match_products(body_.input(outer, 0), recurrent->first);
  }

  /// Matches n = tanh(outer[2] + (r * h) R[2]), inner = h R[0:2].
  template <typename IsReset>
  bool match_reset_before(const Term& candidate, const Term& outer, const Term& inner, IsReset is_reset) {
    const Term old_h{cell_.h, nullptr, {}};
    cell_.bias = body_.input(outer, 1).argument;
    const bool fits = is_sum_gate(candidate, "Tanh", "2", outer, [&](const Term& t) {
      return is_product(t) && is_reset(body_.other(body_.input(t, 0), "Mul", old_h)) &&
             is_kernel_part(body_.input(t, 1), 2, 3);
    });
    const int kernel = cell_.recurrent_kernel;
    return fits && cell_.bias >= 0 && is_product(inner) && is_h(body_.input(inner, 0)) &&
           is_kernel_part(body_.input(inner, 1), 0, 2) && cell_.recurrent_kernel == kernel &&
           match_input_product(body_.input(outer, 0));
  }

  int64_t units_ = 0;
};

/// Collects the conditions joined by "and".
void collect_conditions(const FunctionMatcher& condition, const Term& term, std::vector<Term>& list) {
  if (term.is_op("LogicalAnd") && list.size() < 8) {
    collect_conditions(condition, condition.input(term, 0), list);
    collect_conditions(condition, condition.input(term, 1), list);
  } else {
    list.push_back(term);
  }
}

}  // namespace

std::optional<CellMatch> match_cell(const FunctionMatcher& body) {
  const std::optional<CellMatch> lstm = LstmMatcher(body).match();
  return lstm ? lstm : GruMatcher(body).match();
}

std::vector<int> find_counters(const FunctionMatcher& body) {
  std::vector<int> counters;
  for (size_t i = 0; i < body.result_count(); ++i) {
    const Term self{static_cast<int>(i), nullptr, {}};
    if (body.integer(body.other(body.result(i), "AddV2", self)) == 1) counters.push_back(static_cast<int>(i));
  }
  return counters;
}

std::optional<std::vector<Term>> match_bounds(const FunctionMatcher& condition,
                                              const std::vector<int>& counters) {
  if (condition.result_count() != 1) return std::nullopt;
  std::vector<Term> conditions, bounds;
  collect_conditions(condition, condition.result(0), conditions);
  for (const Term& one : conditions) {
    if (!one.is_op("Less") || std::ranges::find(counters, condition.input(one, 0).argument) == counters.end())
      return std::nullopt;
    const Term bound = condition.input(one, 1);
    if (bound.argument < 0 && !condition.integer(bound)) return std::nullopt;
    bounds.push_back(bound);
  }
  return bounds;
}

}  // namespace intarsia
