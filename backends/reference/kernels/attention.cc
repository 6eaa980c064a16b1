// RotaryEmbedding; the attentions are in attention_{scaled,linear}.cc.
#include "backends/reference/kernels/attention.h"

#include "backends/reference/kernels/dispatch.h"
#include "backends/reference/kernels/kernel_families.h"

namespace intarsia::reference {
namespace {

struct RotaryShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t steps = 0;
  int64_t size = 0;     // elements of a head
  int64_t rotated = 0;  // leading elements of a head that turn
  bool packed = false;  // batch x steps x (heads * size) instead of batch x heads x steps x size
  bool by_position = false;

  int64_t offset(int64_t n, int64_t h, int64_t t) const {
    return (packed ? (n * steps + t) * heads + h : (n * heads + h) * steps + t) * size;
  }
};

Result<RotaryShape> rotary_shape(const KernelContext& context) {
  const Shape& x = context.input(0).shape;
  RotaryShape shape;
  shape.packed = x.size() == 3;
  if (x.size() != 3 && x.size() != 4) return fail("X has shape {}, want rank 3 or 4", print_shape(x));
  shape.batch = x[0];
  shape.heads = shape.packed ? context.attributes().get_int("num_heads", 0) : x[1];
  shape.steps = x[shape.packed ? 1 : 2];
  if (shape.packed && (shape.heads <= 0 || shape.heads > max_heads || x[2] % shape.heads != 0)) {
    return fail("num_heads {} does not divide {}", shape.heads, x[2]);
  }
  shape.size = shape.packed ? x[2] / shape.heads : x[3];
  shape.rotated = context.attributes().get_int("rotary_embedding_dim", 0);
  if (shape.rotated == 0) shape.rotated = shape.size;
  if (shape.rotated < 0 || shape.rotated > shape.size || shape.rotated % 2 != 0) {
    return fail("{} of {} elements of a head cannot be rotated", shape.rotated, shape.size);
  }
  shape.by_position = context.has_input(3);
  const Shape& cache = context.input(1).shape;
  TRY(require_shape(context, 2, cache));
  if (shape.by_position) {
    TRY(require_shape(context, 3, {shape.batch, shape.steps}));
    if (cache.size() != 2 || cache[1] != shape.rotated / 2)
      return fail("the caches have shape {}", print_shape(cache));
  } else {
    TRY(require_shape(context, 1, {shape.batch, shape.steps, shape.rotated / 2}));
  }
  return shape;
}

// Returns the row of the caches for each token of the batch.
Result<std::vector<int64_t>> cache_rows(const KernelContext& context, const RotaryShape& shape) {
  std::vector<int64_t> rows(static_cast<size_t>(shape.batch * shape.steps));
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  if (!shape.by_position) return rows;
  rows = TRY(context.input_ints(3));
  const int64_t limit = context.input(1).shape[0];
  for (int64_t& row : rows) {
    if (row < -limit || row >= limit) return fail("position {} is not in the caches of {} rows", row, limit);
    if (row < 0) row += limit;
  }
  return rows;
}

template <typename T>
void rotate_head(const T* in, T* out, const T* cosine, const T* sine, const RotaryShape& shape,
                 bool interleaved) {
  const int64_t half = shape.rotated / 2;
  for (int64_t k = 0; k < half; ++k) {
    const int64_t first = interleaved ? 2 * k : k;
    const int64_t second = interleaved ? 2 * k + 1 : half + k;
    const T a = in[first];
    const T b = in[second];
    out[first] = cosine[k] * a - sine[k] * b;
    out[second] = sine[k] * a + cosine[k] * b;
  }
  for (int64_t k = shape.rotated; k < shape.size; ++k) out[k] = in[k];
}

Status run_rotary_embedding(KernelContext& context) {
  for (size_t i = 0; i < 3; ++i) TRY(require_number(context, i));
  const ConstTensorView& x = context.input(0);
  const RotaryShape shape = TRY(rotary_shape(context));
  const std::vector<int64_t> rows = TRY(cache_rows(context, shape));
  const bool interleaved = context.attributes().get_int("interleaved", 0) != 0;
  const int64_t half = shape.rotated / 2;
  TensorView y = TRY(context.output(0, x.dtype, x.shape));
  return dispatch_float(x.dtype, [&]<typename T>() -> Status {
    ReadAs<T> in(x);
    ReadAs<T> cosines(context.input(1));
    ReadAs<T> sines(context.input(2));
    WriteAs<T> out(y);
    for (int64_t n = 0; n < shape.batch; ++n) {
      for (int64_t t = 0; t < shape.steps; ++t) {
        const int64_t row = rows[static_cast<size_t>(n * shape.steps + t)] * half;
        for (int64_t h = 0; h < shape.heads; ++h) {
          const int64_t at = shape.offset(n, h, t);
          rotate_head(in.data() + at, out.data() + at, cosines.data() + row, sines.data() + row, shape,
                      interleaved);
        }
      }
    }
    return {};
  });
}

}  // namespace

std::span<const KernelEntry> attention_kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries = {
        {"RotaryEmbedding", "", run_rotary_embedding},
    };
    for (auto part : {scaled_attention_kernels, linear_attention_kernels}) {
      entries.insert(entries.end(), part().begin(), part().end());
    }
    return entries;
  }();
  return all;
}

}  // namespace intarsia::reference
