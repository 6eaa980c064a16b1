#include "cli/inputs/picture_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "cli/text/print.h"
#include "cli/usage/help.h"
#include "cli/usage/usage_error.h"

namespace {

/// Layout of a picture in an input: shape without the batch, -1 where a size is open.
struct PictureLayout {
  int64_t height = -1, width = -1;
  int channels = 1;
  bool channels_last = true;
};

bool counts_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

[[noreturn]] void refuse_input(const std::string& path, const intarsia::Argument& input, const char* wanted) {
  throw intarsia::Error(fmt::format(
      "{}: a picture cannot be input '{}', which is {}: want {}; or give it as .npy", path, input.name,
      input.rank_known ? print_type(dtype_name(input.dtype), input.shape)
                       : std::string(dtype_name(input.dtype)) + "[*]",
      wanted));
}

PictureLayout find_layout(const std::string& path, const intarsia::Argument& input) {
  std::vector<int64_t> shape = input.shape;
  const auto refuse = [&] {
    refuse_input(path, input, "[1,H,W,C] or [1,C,H,W] with C = 1, 3 or 4, the same without 1, or [H,W]");
  };
  if (shape.size() == 4) {
    if (shape[0] > 1) refuse();
    shape.erase(shape.begin());
  }
  if (shape.size() == 2) return {shape[0], shape[1], 1, true};
  if (shape.size() != 3) refuse();
  // A picture that is itself 1, 3 or 4 pixels wide is rarer than channels last.
  if (counts_channels(shape[2])) return {shape[0], shape[1], static_cast<int>(shape[2]), true};
  if (!counts_channels(shape[0])) refuse();
  return {shape[1], shape[2], static_cast<int>(shape[0]), false};
}

double for_channel(const std::vector<double>& numbers, size_t channel, double otherwise) {
  if (numbers.empty()) return otherwise;
  return numbers.size() == 1 ? numbers[0] : numbers[channel];
}

void check_numbers(const char* option, const std::vector<double>& numbers, int channels) {
  if (numbers.size() > 1 && numbers.size() != static_cast<size_t>(channels))
    throw UsageError(fmt::format("{}: {} numbers, but the input has {}: want one, or one a channel", option,
                                 numbers.size(), count_of(static_cast<size_t>(channels), "channel")));
}

template <typename Element>
Array make_array(const Picture& picture, const PictureLayout& layout, const intarsia::Argument& input,
                 const PictureOptions& options) {
  const auto channels = static_cast<size_t>(picture.channels), pixels = picture.pixels.size() / channels;
  std::vector<Element> elements(picture.pixels.size());
  for (size_t channel = 0; channel < channels; ++channel) {
    const double mean = for_channel(options.mean, channel, 0), scale = for_channel(options.scale, channel, 1);
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      const size_t at = pixel * channels + channel;
      const size_t to = layout.channels_last ? at : channel * pixels + pixel;
      elements[to] = static_cast<Element>((picture.pixels[at] - mean) / scale);
    }
  }
  Array array{input.dtype, {}, std::vector<char>(elements.size() * sizeof(Element)), {}, {}};
  std::memcpy(array.bytes.data(), elements.data(), array.bytes.size());
  if (input.shape.size() == 4) array.shape.push_back(1);
  if (!layout.channels_last) array.shape.push_back(picture.channels);
  array.shape.insert(array.shape.end(), {picture.height, picture.width});
  if (layout.channels_last && input.shape.size() > 2) array.shape.push_back(picture.channels);
  return array;
}

Array make_array_of_dtype(const std::string& path, const Picture& picture, const PictureLayout& layout,
                          const intarsia::Argument& input, const PictureOptions& options) {
  const bool as_it_is = options.mean.empty() && options.scale.empty();
  switch (input.dtype) {
    case INTARSIA_F32:
      return make_array<float>(picture, layout, input, options);
    case INTARSIA_F64:
      return make_array<double>(picture, layout, input, options);
    case INTARSIA_U8:
      if (!as_it_is)
        throw UsageError(path + ": input '" + input.name + "' is u8: leave out --mean and --scale");
      return make_array<uint8_t>(picture, layout, input, options);
    default:
      refuse_input(path, input, "f32, f64 or u8");
  }
}

std::string describe_conversion(const Picture& read, const Picture& picture, const PictureLayout& layout,
                                const PictureOptions& options) {
  std::string text = fmt::format("{} {}x{}", read.format, read.width, read.height);
  if (read.width != picture.width || read.height != picture.height)
    text += fmt::format(", resized to {}x{}", picture.width, picture.height);
  text += picture.channels == 1 ? ", gray" : picture.channels == 3 ? ", RGB" : ", RGBA";
  if (picture.channels > 1) text += layout.channels_last ? ", channels last" : ", channels first";
  const auto print_numbers = [](const std::vector<double>& numbers) {
    return numbers.size() == 1 ? fmt::format("{}", numbers[0])
                               : fmt::format("[{}]", fmt::join(numbers, ", "));
  };
  std::string pixel = options.mean.empty() ? "pixel" : "pixel - " + print_numbers(options.mean);
  if (options.scale.empty()) return text + (options.mean.empty() ? ", pixels 0 to 255" : ", " + pixel);
  if (!options.mean.empty()) pixel = "(" + pixel + ")";
  return text + ", " + pixel + " / " + print_numbers(options.scale);
}

}  // namespace

void add_picture_options(CLI::App& command, PictureOptions& options) {
  command.add_flag("--resize", options.resize, "Resize pictures to the size of the model's input")
      ->group(help_group::pictures);
  command.add_option("--mean", options.mean, "Of pictures: subtracted from each pixel, which is 0 to 255")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("X|R,G,B")
      ->group(help_group::pictures);
  command
      .add_option("--scale", options.scale,
                  "Of pictures: what the difference is divided by, for 0 to 1 by 255")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return std::strtod(text.c_str(), nullptr) == 0 ? "want a number that is not 0" : "";
          },
          ""))
      ->type_name("X|R,G,B")
      ->group(help_group::pictures);
}

Array read_picture_tensor(const std::string& path, const intarsia::Argument& input,
                          const PictureOptions& options, std::string& conversion) {
  const PictureLayout layout = find_layout(path, input);
  check_numbers("--mean", options.mean, layout.channels);
  check_numbers("--scale", options.scale, layout.channels);
  const Picture read = read_picture(path, layout.channels);
  const int64_t width = layout.width < 0 ? read.width : layout.width;
  const int64_t height = layout.height < 0 ? read.height : layout.height;
  const bool fits = read.width == width && read.height == height;
  constexpr int64_t most = 1 << 16;  // pixels of a side, so that a resized picture fits into memory
  if (width < 1 || height < 1 || width > most || height > most)
    refuse_input(path, input, "sides of 1 to 65536 pixels");
  if (!fits && !options.resize)
    throw intarsia::Error(fmt::format(
        "{}: has {}x{} pixels, but input '{}' is {}: want {}x{}; or pass --resize", path, read.width,
        read.height, input.name, print_type(dtype_name(input.dtype), input.shape), width, height));
  const Picture picture =
      fits ? read : resize_picture(read, static_cast<int>(width), static_cast<int>(height));
  conversion = describe_conversion(read, picture, layout, options);
  return make_array_of_dtype(path, picture, layout, input, options);
}
