#include "graph/op_families.h"
#include "graph/shape_rules.h"

namespace intarsia {
namespace {

// Returns size / heads; unknown if it does not divide (the kernel reports that).
Dim head_size(const Dim& size, int64_t heads) {
  const Dim result = heads > 0 ? floor_div(size, heads) : Dim::unknown();
  return size.is_number() && result * heads != size ? Dim::unknown() : result;
}

Dim positive_dim(int64_t value) { return value > 0 ? Dim(value) : Dim::unknown(); }

// Axes of a tensor that is batch x heads x steps x size or batch x steps x (heads * size).
struct Heads {
  Dim batch, heads, steps, size;
};

Heads split_heads(const SymbolicShape& shape, int64_t heads) {
  if (shape.size() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  return {shape[0], positive_dim(heads), shape[1], head_size(shape[2], heads)};
}

// Infers Y, present_key, present_value and the scores; the last three always have rank 4.
Status infer_attention(ShapeContext& context) {
  for (size_t i = 0; i < 3; ++i) TRY(require_rank(context, i, 3, 4));
  const SymbolicShape* q = context.shape(0);
  const SymbolicShape* k = context.shape(1);
  const SymbolicShape* v = context.shape(2);
  context.set_output(0, context.dtype(0));
  context.set_output(1, context.dtype(1), unknown_dims(4));
  context.set_output(2, context.dtype(2), unknown_dims(4));
  context.set_output(3, context.dtype(0), unknown_dims(4));
  if (q == nullptr || k == nullptr || v == nullptr) return {};
  const int64_t q_heads = context.attributes().get_int("q_num_heads", 0);
  const int64_t kv_heads = context.attributes().get_int("kv_num_heads", 0);
  const Heads query = split_heads(*q, q_heads);
  const Heads key = split_heads(*k, kv_heads);
  const Heads value = split_heads(*v, kv_heads);
  Dim total = key.steps;
  if (context.has_input(4)) {
    const SymbolicShape* past = context.shape(4);
    total = past != nullptr && past->size() == 4 ? (*past)[2] + key.steps : Dim::unknown();
  }
  context.set_output(0, context.dtype(0),
                     q->size() == 4 ? SymbolicShape{query.batch, query.heads, query.steps, value.size}
                                    : SymbolicShape{query.batch, query.steps, query.heads * value.size});
  context.set_output(1, context.dtype(1), SymbolicShape{key.batch, key.heads, total, key.size});
  context.set_output(2, context.dtype(2), SymbolicShape{value.batch, value.heads, total, value.size});
  context.set_output(3, context.dtype(0), SymbolicShape{query.batch, query.heads, query.steps, total});
  return {};
}

Status infer_linear_attention(ShapeContext& context) {
  for (size_t i = 0; i < 3; ++i) TRY(require_rank(context, i, 3, 3));
  const int64_t q_heads = context.attributes().get_int("q_num_heads", 0);
  const int64_t kv_heads = context.attributes().get_int("kv_num_heads", 0);
  const SymbolicShape q = input_shape(context, 0).value_or(unknown_dims(3));
  const SymbolicShape v = input_shape(context, 2).value_or(unknown_dims(3));
  const Dim v_size = head_size(v[2], kv_heads);
  context.set_output(0, context.dtype(0), SymbolicShape{q[0], q[1], positive_dim(q_heads) * v_size});
  context.set_output(1, context.has_input(3) ? context.dtype(3) : context.dtype(0),
                     SymbolicShape{q[0], positive_dim(kv_heads), head_size(q[2], q_heads), v_size});
  return {};
}

}  // namespace

std::span<const OpInfo> attention_ops() {
  static const OpInfo attention_rows[] = {
      work({"Attention", "", 3, 7, 1, 4, infer_attention}),
      work({"FlexAttention", "ai.onnx.preview", 3, 3, 1, 1, infer_attention}),
      work({"LinearAttention", "", 3, 6, 1, 2, infer_linear_attention}),
      work({"RotaryEmbedding", "", 3, 4, 1, 1, same_as_input}),
  };
  return attention_rows;
}

}  // namespace intarsia
