#include "cli/inputs/frame_source.h"

#include <fmt/format.h>

#include <algorithm>

namespace {

using Shape = std::vector<int64_t>;

/// Checks whether the sizes `from` match those of `to` from axis `first` on, where negative ones are open.
bool fits(const int64_t* from, const Shape& to, size_t first) {
  const auto agrees = [](int64_t got, int64_t want) { return want < 0 || got == want; };
  return std::equal(to.begin() + static_cast<std::ptrdiff_t>(first), to.end(), from, agrees);
}

/// Returns the shape of a frame in a stack of values for the input; nullopt if the tensor is not a stack.
std::optional<Shape> row_shape(const intarsia_tensor& tensor, const intarsia::Argument& input) {
  if (!input.rank_known || tensor.rank == 0) return std::nullopt;
  const int64_t* const row = tensor.shape + 1;
  if (tensor.rank == input.shape.size() + 1 && fits(row, input.shape, 0))
    return Shape(row, tensor.shape + tensor.rank);
  const bool has_rows = tensor.rank == input.shape.size() && input.shape[0] == 1 && tensor.shape[0] != 1;
  if (!has_rows || !fits(row, input.shape, 1)) return std::nullopt;
  Shape shape(tensor.shape, tensor.shape + tensor.rank);
  shape[0] = 1;
  return shape;
}

size_t row_bytes(const intarsia_tensor& tensor, const Shape& row) {
  const auto elements = static_cast<size_t>(count_elements(row));
  if (tensor.dtype == INTARSIA_STRING) return elements * sizeof(intarsia_string);
  const size_t bits = elements * static_cast<size_t>(dtype_bits(tensor.dtype));
  if (bits % 8 != 0)
    throw intarsia::Error(
        fmt::format("-i: a frame of input '{}' has {} bits: want whole bytes", tensor.name, bits));
  return bits / 8;
}

}  // namespace

FrameSource::FrameSource(const std::vector<intarsia::Argument>& inputs, const InputOptions& options)
    : inputs_(inputs), row_shapes_(std::make_shared<std::vector<std::optional<Shape>>>(inputs.size())) {
  if (!has_folder(options)) {
    read_ = input_files(options);
    values_ = std::make_shared<const InputValues>(inputs, options);
    find_rows();
    return;
  }
  folder_inputs_.emplace(options);
  folder_ = folder_inputs_->list();
  read_ = input_files(folder_inputs_->with(folder_.files[0]));
  for (const auto& file : folder_.files) read_.push_back(file.string());
  values_ = std::make_shared<const InputValues>(inputs, folder_inputs_->with(folder_.files[0]));
}

void FrameSource::find_rows() {
  size_t first = 0;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const intarsia_tensor& tensor = values_->tensors()[i];
    const std::optional<Shape>& row = (*row_shapes_)[i] = row_shape(tensor, inputs_[i]);
    if (!row) continue;
    const auto rows = static_cast<size_t>(tensor.shape[0]);
    if (rows == 0)
      throw intarsia::Error(fmt::format("-i: the array for input '{}' has no frame", tensor.name));
    if (rows_ && *rows_ != rows)
      throw intarsia::Error(fmt::format("-i: input '{}' has {} frames, '{}' {}: want equally many",
                                        inputs_[first].name, *rows_, tensor.name, rows));
    if (!rows_) first = i;
    rows_ = rows;
    row_bytes(tensor, *row);
  }
}

std::optional<size_t> FrameSource::size() const {
  return folder_inputs_ ? std::optional(folder_.files.size()) : rows_;
}

std::vector<std::string> FrameSource::files() const { return read_; }

SourceFrame FrameSource::at(size_t number) const {
  if (folder_inputs_) {
    const std::filesystem::path& file = folder_.files[number % folder_.files.size()];
    const auto values =
        number == 0 ? values_ : std::make_shared<const InputValues>(inputs_, folder_inputs_->with(file));
    return {file.filename().string(), values->tensors(), values};
  }
  if (!rows_) return {std::to_string(number), values_->tensors(), values_};
  using Kept = std::pair<decltype(values_), decltype(row_shapes_)>;
  const size_t row = number % *rows_;
  SourceFrame frame{std::to_string(row), values_->tensors(),
                    std::make_shared<const Kept>(values_, row_shapes_)};
  for (size_t i = 0; i < frame.inputs.size(); ++i) {
    const std::optional<Shape>& shape = (*row_shapes_)[i];
    if (!shape) continue;  // same for all frames
    intarsia_tensor& tensor = frame.inputs[i];
    tensor.data = static_cast<char*>(tensor.data) + row * row_bytes(tensor, *shape);
    tensor.rank = shape->size();
    tensor.shape = shape->data();
  }
  return frame;
}
