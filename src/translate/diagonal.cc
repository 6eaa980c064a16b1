// Main diagonals of matrices, which are the last two axes.
#include <algorithm>

#include "translate/rules.h"

namespace intarsia {
namespace {

/// Returns what is true on the main diagonal of a matrix with these numbers of rows and columns, i64 [1]
/// each.
ValueId on_diagonal(Translation& t, ValueId rows, ValueId columns) {
  return t.make("Equal", {t.unsqueeze(t.count_up(rows), {1}), t.count_up(columns)});
}

/// Fails unless the input that numbers diagonals is 0.
Status require_main_diagonal(const Translation& t, size_t k) {
  for (int64_t diagonal : TRY(t.integers(k)))
    if (diagonal != 0) return fail("of diagonal {}", diagonal);
  return {};
}

ValueId zero_of(Translation& t) {
  const bool is_boolean = t.dtype(0) == DType::boolean;
  return is_boolean ? t.cast(t.make_scalar(DType::i32, 0), DType::boolean) : t.make_scalar(t.dtype(0), 0);
}

/// Translates [..., n] to [..., n, n], zero beside the diagonal.
Status matrix_diag(Translation& t) {
  if (TRY(t.rank(0)) < 1) return fail("of a scalar");
  const ValueId size = t.size_of(t.input(0), -1);
  t.give(0, t.make("Where", {on_diagonal(t, size, size), t.unsqueeze(t.input(0), {-1}), zero_of(t)}));
  return {};
}

/// Translates the forms with a diagonal's number, the matrix's sizes and what is beside the diagonal.
Status matrix_diag_of(Translation& t) {
  TRY(require_main_diagonal(t, 1));
  const int64_t rows = TRY(t.integer(2)), columns = TRY(t.integer(3));
  const Dim size = TRY(t.sizes(0)).back();
  if ((rows != -1 && size != rows) || (columns != -1 && size != columns))
    return fail("{} x {}", rows, columns);
  const ValueId count = t.size_of(t.input(0), -1);
  t.give(0, t.make("Where", {on_diagonal(t, count, count), t.unsqueeze(t.input(0), {-1}), t.input(4)}));
  return {};
}

/// Translates [..., m, n] to its diagonal: each row's sum of what is on it.
Status matrix_diag_part(Translation& t) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  if (sizes.size() < 2 || !(is_float(t.dtype(0)) || is_integer(t.dtype(0))))
    return fail("of {}", print_shape(sizes));
  const auto rank = static_cast<int64_t>(sizes.size());
  const Dim &rows = sizes[sizes.size() - 2], &columns = sizes.back();
  ValueId x = t.input(0);
  if (rows != columns) {
    if (!rows.is_number() || !columns.is_number()) return fail("of {}", print_shape(sizes));
    x = t.slice(x, rank - 2, 0, std::min(rows.number(), columns.number()));
  }
  const ValueId kept =
      t.make("Where", {on_diagonal(t, t.size_of(x, rank - 2), t.size_of(x, -1)), x, zero_of(t)});
  t.give(0, t.make("ReduceSum", {kept, t.make_integers({rank - 1})}, {{"keepdims", int64_t{0}}}));
  return {};
}

Status matrix_diag_part_of(Translation& t) {
  TRY(require_main_diagonal(t, 1));
  return matrix_diag_part(t);
}

/// Replaces the diagonal of square matrices.
Status matrix_set_diag(Translation& t) {
  const SymbolicShape sizes = TRY(t.sizes(0));
  if (sizes.size() < 2 || sizes.back() != sizes[sizes.size() - 2]) return fail("of {}", print_shape(sizes));
  const ValueId size = t.size_of(t.input(0), -1);
  t.give(0, t.make("Where", {on_diagonal(t, size, size), t.unsqueeze(t.input(1), {-1}), t.input(0)}));
  return {};
}

Status matrix_set_diag_of(Translation& t) {
  TRY(require_main_diagonal(t, 2));
  return matrix_set_diag(t);
}

constexpr TranslationRow diagonal_rows[] = {
    {"BatchMatrixDiag", matrix_diag},          {"BatchMatrixDiagPart", matrix_diag_part},
    {"BatchMatrixSetDiag", matrix_set_diag},   {"MatrixDiag", matrix_diag},
    {"MatrixDiagPart", matrix_diag_part},      {"MatrixDiagPartV2", matrix_diag_part_of},
    {"MatrixDiagPartV3", matrix_diag_part_of}, {"MatrixDiagV2", matrix_diag_of},
    {"MatrixDiagV3", matrix_diag_of},          {"MatrixSetDiag", matrix_set_diag},
    {"MatrixSetDiagV2", matrix_set_diag_of},   {"MatrixSetDiagV3", matrix_set_diag_of},
};

}  // namespace

std::span<const TranslationRow> diagonal_translations() { return diagonal_rows; }

}  // namespace intarsia
