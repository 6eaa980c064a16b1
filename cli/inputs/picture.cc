#include "cli/inputs/picture.h"

#include <fmt/format.h>
#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <intarsia/intarsia.hpp>
#include <memory>

#include "cli/system/files.h"
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop

namespace {

const std::string png_begin("\x89PNG\r\n\x1a\n", 8), jpeg_begin("\xff\xd8\xff", 3);

bool begins(const std::vector<char>& file, const std::string& begin) {
  return file.size() >= begin.size() && std::memcmp(file.data(), begin.data(), begin.size()) == 0;
}

[[noreturn]] void refuse_picture(const std::string& path, const char* format, const std::string& why) {
  throw intarsia::Error(fmt::format("{}: cannot be read as a {}: {}", path, format, why));
}

/// Allocates a picture of limited size: a damaged header must not allocate what the machine lacks.
Picture make_picture(const std::string& path, const char* format, uint64_t width, uint64_t height,
                     int channels) {
  constexpr uint64_t most = uint64_t{1} << 28;  // pixels
  if (width == 0 || height == 0 || height > most / width)
    refuse_picture(path, format, fmt::format("{}x{} pixels, want 1 to {} in all", width, height, most));
  Picture picture{static_cast<int>(width), static_cast<int>(height), channels, {}, format};
  picture.pixels.resize(width * height * static_cast<uint64_t>(channels));
  return picture;
}

Picture read_png(const std::string& path, const std::vector<char>& file, int channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, void (*)(png_image*)> freed(&image, png_image_free);
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0)
    refuse_picture(path, "PNG", image.message);
  Picture picture = make_picture(path, "PNG", image.width, image.height, channels);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  const png_color white{255, 255, 255};  // background of transparent pixels
  if (png_image_finish_read(&image, &white, picture.pixels.data(), 0, nullptr) == 0)
    refuse_picture(path, "PNG", image.message);
  return picture;
}

Picture read_jpeg(const std::string& path, const std::vector<char>& file, int channels) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  if (decoder == nullptr) throw std::bad_alloc();
  const auto* data = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, sampling = 0, colors = 0;
  const auto fail = [&] { refuse_picture(path, "JPEG", tjGetErrorStr2(decoder.get())); };
  if (tjDecompressHeader3(decoder.get(), data, file.size(), &width, &height, &sampling, &colors) != 0) fail();
  Picture picture =
      make_picture(path, "JPEG", static_cast<uint64_t>(width), static_cast<uint64_t>(height), channels);
  const int format = channels == 1 ? TJPF_GRAY : channels == 3 ? TJPF_RGB : TJPF_RGBA;
  if (tjDecompress2(decoder.get(), data, file.size(), picture.pixels.data(), width, 0, height, format, 0) !=
      0)
    fail();
  return picture;
}

}  // namespace

bool is_picture(const std::string& path) {
  const std::vector<char> file = read_file(path, png_begin.size());
  const std::string suffix = std::filesystem::path(path).extension().string();
  return begins(file, png_begin) || begins(file, jpeg_begin) || suffix == ".png" || suffix == ".jpg" ||
         suffix == ".jpeg";
}

Picture read_picture(const std::string& path, int channels) {
  const std::vector<char> file = read_file(path);
  if (begins(file, jpeg_begin)) return read_jpeg(path, file, channels);
  if (begins(file, png_begin)) return read_png(path, file, channels);
  throw intarsia::Error(path + ": holds neither a PNG nor a JPEG, as its name says; the file is damaged");
}

Picture resize_picture(const Picture& picture, int width, int height) {
  Picture resized{width, height, picture.channels, {}, picture.format};
  resized.pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height) *
                        static_cast<size_t>(picture.channels));
  const int alpha = picture.channels == 4 ? 3 : STBIR_ALPHA_CHANNEL_NONE;
  if (stbir_resize_uint8_generic(picture.pixels.data(), picture.width, picture.height, 0,
                                 resized.pixels.data(), width, height, 0, picture.channels, alpha, 0,
                                 STBIR_EDGE_CLAMP, STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR,
                                 nullptr) == 0)
    throw std::bad_alloc();
  return resized;
}
