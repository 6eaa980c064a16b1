#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

// Infers Y [steps, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden]; layout 1 puts the
// batch first.
Status infer_recurrent(ShapeContext& context) {
  TRY(require_rank(context, 0, 3, 3));
  TRY(require_rank(context, 2, 3, 3));
  const SymbolicShape* x = context.shape(0);
  const SymbolicShape* r = context.shape(2);
  const bool batch_first = context.attributes().get_int("layout", 0) != 0;
  const Dim steps = x ? (*x)[batch_first ? 1 : 0] : Dim::unknown();
  const Dim batch = x ? (*x)[batch_first ? 0 : 1] : Dim::unknown();
  const bool both = context.attributes().get_string("direction", "forward") == "bidirectional";
  const Dim directions = Dim(both ? 2 : 1);
  Dim hidden = r ? (*r)[2] : Dim::unknown();
  const int64_t given = context.attributes().get_int("hidden_size", -1);
  if (!hidden.is_number() && given > 0) hidden = Dim(given);
  const DType dtype = context.dtype(0);
  context.set_output(0, dtype,
                     batch_first ? SymbolicShape{batch, steps, directions, hidden}
                                 : SymbolicShape{steps, directions, batch, hidden});
  const SymbolicShape state =
      batch_first ? SymbolicShape{batch, directions, hidden} : SymbolicShape{directions, batch, hidden};
  for (size_t i = 1; i < context.output_count(); ++i) context.set_output(i, dtype, state);
  return {};
}

}  // namespace

std::span<const OpInfo> recurrent_ops() {
  static const OpInfo recurrent_rows[] = {
      work({"GRU", "", 3, 6, 0, 2, infer_recurrent}),
      work({"LSTM", "", 3, 8, 0, 3, infer_recurrent}),
      work({"RNN", "", 3, 6, 0, 2, infer_recurrent}),
  };
  return recurrent_rows;
}

}  // namespace intarsia
