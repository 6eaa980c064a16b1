#include <algorithm>
#include <map>

#include "backends/reference/kernels/move.h"
#include "backends/reference/kernels/text.h"

namespace intarsia::reference {
namespace {

using Gram = std::vector<std::string>;

struct Vocabulary {
  std::map<Gram, size_t> grams;  // number of each gram, in the order of the pool
  std::vector<int64_t> columns;  // column of the output for each gram
  std::vector<float> weights;
  int64_t width = 0;
  int64_t shortest = 1, longest = 1, skips = 0;
  bool count = true;  // counts occurrences, else only whether there is one
  bool weigh = false;
};

/// Returns integers and strings alike as text.
Result<Gram> words_of(const ConstTensorView& view) {
  if (view.dtype == DType::string) return Gram(view.as<std::string>().begin(), view.as<std::string>().end());
  if (view.dtype != DType::i32 && view.dtype != DType::i64) return unsupported(view.dtype);
  Gram words;
  for (int64_t value : ReadAs<int64_t>(view)) words.push_back(std::to_string(value));
  return words;
}

Gram pool_words(const Attributes& attributes) {
  if (attributes.has("pool_strings")) return attributes.get_strings("pool_strings");
  Gram words;
  for (int64_t value : attributes.get_ints("pool_int64s")) words.push_back(std::to_string(value));
  return words;
}

/// Reads the grams. ngram_counts[n - 1] is where those of n words start in the pool. Longer ones never match.
Status read_grams(const Attributes& attributes, Vocabulary& vocabulary) {
  const Gram pool = pool_words(attributes);
  const std::vector<int64_t> starts = attributes.get_ints("ngram_counts");
  const auto total = static_cast<int64_t>(pool.size());
  size_t number = 0;
  for (size_t n = 1; n <= starts.size(); ++n) {
    const int64_t start = starts[n - 1];
    const int64_t end = n < starts.size() ? starts[n] : total;
    const auto length = static_cast<int64_t>(n);
    if (start < 0 || end < start || end > total || (end - start) % length != 0) {
      return fail("ngram_counts {} for a pool of {}", print_shape(starts), total);
    }
    for (int64_t at = start; at < end; at += length) {
      vocabulary.grams.emplace(Gram(pool.begin() + at, pool.begin() + at + length), number++);
    }
  }
  vocabulary.longest = std::min(vocabulary.longest, static_cast<int64_t>(starts.size()));
  if (number != vocabulary.columns.size()) {
    return fail("{} grams for {} ngram_indexes", number, vocabulary.columns.size());
  }
  return {};
}

Result<Vocabulary> read_vocabulary(const Attributes& attributes) {
  Vocabulary vocabulary;
  vocabulary.columns = attributes.get_ints("ngram_indexes");
  vocabulary.weights = attributes.get_floats("weights");
  vocabulary.shortest = attributes.get_int("min_gram_length", 1);
  vocabulary.longest = attributes.get_int("max_gram_length", 1);
  vocabulary.skips = attributes.get_int("max_skip_count", 0);
  const std::string mode = attributes.get_string("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return fail("mode is '{}'", mode);
  vocabulary.count = mode != "IDF";
  vocabulary.weigh = mode != "TF" && !vocabulary.weights.empty();
  for (int64_t column : vocabulary.columns) {
    if (column < 0 || column > (1 << 30)) return fail("ngram index {}", column);
    vocabulary.width = std::max(vocabulary.width, column + 1);
  }
  if (vocabulary.weigh && vocabulary.weights.size() != vocabulary.columns.size()) {
    return fail("{} weights for {} grams", vocabulary.weights.size(), vocabulary.columns.size());
  }
  if (vocabulary.shortest < 1 || vocabulary.longest < vocabulary.shortest || vocabulary.skips < 0) {
    return fail("grams of {} to {} words with {} skips", vocabulary.shortest, vocabulary.longest,
                vocabulary.skips);
  }
  TRY(read_grams(attributes, vocabulary));
  return vocabulary;
}

/// Counts the grams of the vocabulary in one row: words 1 + skip apart, single words once only.
void count_grams(const Vocabulary& vocabulary, std::span<const std::string> words, float* row) {
  std::vector<int64_t> counts(vocabulary.columns.size(), 0);
  const auto size = static_cast<int64_t>(words.size());
  for (int64_t step = 1; step <= std::min(vocabulary.skips, size) + 1; ++step) {
    for (int64_t start = 0; start < size; ++start) {
      Gram gram;
      for (int64_t n = 1, at = start; n <= vocabulary.longest && at < size; ++n, at += step) {
        gram.push_back(words[static_cast<size_t>(at)]);
        if (n < vocabulary.shortest || (n == 1 && step > 1)) continue;
        const auto found = vocabulary.grams.find(gram);
        if (found != vocabulary.grams.end()) ++counts[found->second];
      }
    }
  }
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto count = static_cast<float>(vocabulary.count ? counts[i] : counts[i] > 0);
    row[vocabulary.columns[i]] += count * (vocabulary.weigh ? vocabulary.weights[i] : 1.0F);
  }
}

}  // namespace

Status tfidf_vectorizer(KernelContext& context) {
  TRY(require_inputs(context, 1));
  const ConstTensorView& x = context.input(0);
  if (x.shape.empty() || x.shape.size() > 2)
    return fail("input 0 has shape {}, want C or NxC", print_shape(x.shape));
  const Vocabulary vocabulary = TRY(read_vocabulary(context.attributes()));
  const Gram words = TRY(words_of(x));
  Shape shape = x.shape;
  shape.back() = vocabulary.width;
  TRY(checked_elements(shape));
  const TensorView y = TRY(context.output(0, DType::f32, shape));
  std::ranges::fill(y.as<float>(), 0.0F);
  const auto length = static_cast<size_t>(x.shape.back());
  const size_t rows = x.shape.size() == 2 ? static_cast<size_t>(x.shape[0]) : 1;
  for (size_t row = 0; row < rows && vocabulary.width > 0; ++row) {
    count_grams(vocabulary, std::span(words).subspan(row * length, length),
                y.as<float>().data() + static_cast<int64_t>(row) * vocabulary.width);
  }
  return {};
}

}  // namespace intarsia::reference
