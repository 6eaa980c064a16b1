#include "base/files/file_kind.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/files/regular_file.h"
#include "base/utf8.h"

namespace intarsia {
namespace {

using namespace std::string_view_literals;
namespace fs = std::filesystem;
using Role = FileKind::Role;

/// First and last bytes of a file; they overlap if it is short.
struct Ends {
  std::string head, tail;
  size_t bytes = 0;

  bool has(std::string_view text) const {
    return head.find(text) != std::string::npos || tail.find(text) != std::string::npos;
  }
};

std::optional<std::string> read_part(const RegularFile& file, size_t offset, size_t bytes) {
  std::string part(bytes, '\0');
  const ssize_t count = pread(file.descriptor(), part.data(), bytes, static_cast<off_t>(offset));
  if (count < 0 || static_cast<size_t>(count) != bytes) return std::nullopt;
  return part;
}

std::optional<Ends> read_ends(const std::string& path) {
  constexpr size_t head_bytes = 4096, tail_bytes = 65536;  // tail for the directory of a ZIP archive
  const Result<RegularFile> file = RegularFile::open(path);
  if (!file) return std::nullopt;
  const size_t bytes = file->bytes(), tail = std::min(bytes, tail_bytes);
  auto first = read_part(*file, 0, std::min(bytes, head_bytes));
  auto last = read_part(*file, bytes - tail, tail);
  if (!first || !last) return std::nullopt;
  return Ends{std::move(*first), std::move(*last), bytes};
}

constexpr const char* from_pytorch =
    "load it in PyTorch and write an ONNX model with torch.onnx.export(model, args, \"model.onnx\")";
constexpr const char* from_keras =
    "load it with keras.models.load_model and write a SavedModel with model.export(\"FOLDER\")";
constexpr const char* from_source = "name the model that it was made from";
constexpr const char* not_a_model = "name a model: this may be one of its inputs";
constexpr const char* name_a_model =
    "name an ONNX model, a frozen TensorFlow graph (.pb) or the folder of a SavedModel";
constexpr const char* unpack = "unpack it and name the model in it";
constexpr const char* fetch_again = "download or write the model again";

FileKind kind_of_zip(const Ends& ends) {
  if (ends.has("model.weights.h5")) return {"a Keras model file", from_keras};
  if (ends.has("/code/") && ends.has("data.pkl"))
    return {"a TorchScript archive",
            "load it with torch.jit.load, or rather the model that it was made from, and write an ONNX model "
            "with torch.onnx.export"};
  if (ends.has("archive_format") || ends.has("serialized_exported_program"))
    return {"an exported program of PyTorch",
            "load it with torch.export.load and write an ONNX model with torch.onnx.export"};
  if (ends.has("data.pkl")) return {"a PyTorch checkpoint", from_pytorch};
  if (ends.has(".npy")) return {"a NumPy archive (.npz)", not_a_model};
  return {"a ZIP archive", unpack};
}

/// Recognizes pickles, including PyTorch files older than version 1.6, which start with a pickled number.
std::optional<FileKind> kind_of_pickle(const Ends& ends, const std::string& extension) {
  constexpr std::string_view old_pytorch = "\x8a\x0al\xfc\x9c\x46\xf9 j\xa8P\x19"sv;
  const std::string_view head = ends.head;
  const bool is_old_pytorch = head.find(old_pytorch) == 2;
  const bool is_pickle = head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
                         (is_old_pytorch || ends.tail.ends_with('.'));
  if (!is_pickle) return std::nullopt;
  if (is_old_pytorch || extension == ".pt" || extension == ".pth" || extension == ".bin")
    return FileKind{"a PyTorch checkpoint", from_pytorch};
  return FileKind{"a Python pickle", "load it in Python and export the model in it"};
}

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* name;
  const char* advice;
};

constexpr std::array magics{
    Magic{0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file, as Keras writes them (.h5)", from_keras},
    Magic{4, "TFL3"sv, "a TensorFlow Lite model",
          "name the SavedModel that it was made from, or make an ONNX model: python -m tf2onnx.convert "
          "--tflite FILE --output model.onnx"},
    Magic{4, "ORTM"sv, "a model in ONNX Runtime's own format (.ort)", from_source},
    Magic{4, "ET12"sv, "a program of ExecuTorch (.pte)", from_source},
    Magic{0, "ftrt"sv, "an engine of TensorRT", from_source},
    Magic{0, "ptrt"sv, "an engine of TensorRT", from_source},
    Magic{0, "GGUF"sv, "a GGUF file: weights without a graph",
          "export the model that it was made from to ONNX"},
    Magic{0, "\x93NUMPY"sv, "a NumPy array (.npy)", not_a_model},
    Magic{0, "\x89PNG\r\n\x1a\n"sv, "a PNG picture", not_a_model},
    Magic{0, "\xff\xd8\xff"sv, "a JPEG picture", not_a_model},
    Magic{0, "GIF8"sv, "a GIF picture", not_a_model},
    Magic{8, "WEBPVP8"sv, "a WebP picture", not_a_model},
    Magic{0, "\x1f\x8b"sv, "a gzip archive", unpack},
    Magic{0, "\x28\xb5\x2f\xfd"sv, "a Zstandard archive", unpack},
    Magic{0,
          "\xfd"
          "7zXZ"sv,
          "an xz archive", unpack},
    Magic{0, "BZh"sv, "a bzip2 archive", unpack},
    Magic{0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", unpack},
    Magic{257, "ustar"sv, "a tar archive", unpack},
    Magic{0, "version https://git-lfs.github.com"sv, "a pointer of Git LFS, not the file itself",
          "fetch the file with git lfs pull"},
};

/// Checks for an 8-byte length followed by a JSON object that fits the file.
bool is_safetensors(const Ends& ends) {
  if (ends.head.size() < 10 || ends.head[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<uint8_t>(ends.head[i]);
  return length <= ends.bytes - 8;
}

/// Checks that the first field is a version, a small number, and the second one another field of ModelProto.
bool is_onnx(std::string_view head) {
  return head.size() > 3 && head[0] == 8 && head[1] > 0 && head[1] < 32 &&
         "\x12\x1a\x22\x28\x32\x3a\x42"sv.find(head[2]) != std::string_view::npos;
}

/// Checks for a list of nodes with some common operator, as their order is up to the writer.
bool is_graph_def(std::string_view head) {
  return !head.empty() && head[0] == '\n' &&
         (head.find("Placeholder"sv) != std::string_view::npos ||
          head.find("Const"sv) != std::string_view::npos);
}

bool is_text(std::string_view head) {
  const bool is_printable = std::ranges::all_of(
      head, [](unsigned char c) { return c >= ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f'; });
  const size_t cut = std::min<size_t>(head.size(), 3);  // most bytes of a last character that was cut
  const auto is_valid = [&](size_t less) { return is_utf8(head.substr(0, head.size() - less)); };
  return is_printable &&
         (is_valid(0) || (cut > 0 && is_valid(1)) || (cut > 1 && is_valid(2)) || (cut > 2 && is_valid(3)));
}

std::optional<FileKind> kind_of_text(std::string_view head) {
  if (!is_text(head)) return std::nullopt;
  const size_t begin = head.find_first_not_of(" \t\r\n"sv);
  const std::string_view text = begin == std::string_view::npos ? ""sv : head.substr(begin);
  const auto starts = [&](std::string_view word) { return text.starts_with(word); };
  if (starts("<!DOCTYPE"sv) || starts("<!doctype"sv) || starts("<html"sv))
    return FileKind{"a web page, perhaps instead of a download", "download the file itself"};
  if (starts("<?xml"sv) && text.find("<net "sv) != std::string_view::npos)
    return FileKind{"a model of OpenVINO (IR)", from_source};
  if (starts("<"sv)) return FileKind{"an XML file", name_a_model};
  if (starts("{"sv) || starts("["sv)) return FileKind{"a JSON file", name_a_model};
  return FileKind{"a text file", name_a_model};
}

std::optional<FileKind> kind_of_name(const std::string& name) {
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (ends(".pt") || ends(".pth") || ends(".ckpt")) return FileKind{"a PyTorch checkpoint", from_pytorch};
  if (ends(".keras") || ends(".h5") || ends(".hdf5")) return FileKind{"a Keras model file", from_keras};
  if (ends(".index") || ends(".meta") || name.find(".data-0000") != std::string::npos)
    return FileKind{"a part of a TensorFlow checkpoint",
                    "restore it in TensorFlow and write a SavedModel with tf.saved_model.save"};
  if (ends(".mlmodel")) return FileKind{"a Core ML model", from_source};
  if (ends(".onnx")) return FileKind{"an ONNX model", "", Role::model};
  if (ends(".pb")) return FileKind{"a TensorFlow graph", "", Role::model};
  return std::nullopt;
}

std::optional<FileKind> kind_of_folder(const fs::path& folder) {
  std::error_code error;
  const auto has = [&](const char* name) { return fs::exists(folder / name, error); };
  if (has("saved_model.pb")) return FileKind{"a SavedModel", "", Role::model};
  if (folder.extension() == ".mlpackage") return FileKind{"a Core ML model", from_source};
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".onnx")
      return FileKind{"a folder with a model in it", "name the model itself, " + entry.path().string()};
  }
  if (has("config.json") && (has("model.safetensors") || has("pytorch_model.bin")))
    return FileKind{"a folder with weights for PyTorch", from_pytorch};
  if (has("checkpoint"))
    return FileKind{"a folder with a TensorFlow checkpoint",
                    "restore it in TensorFlow and write a SavedModel with tf.saved_model.save"};
  return FileKind{"a folder without saved_model.pb", "name the folder of a SavedModel, or a model's file"};
}

std::optional<FileKind> kind_of_bytes(const Ends& ends, const std::string& extension) {
  const std::string_view head = ends.head;
  if (head.empty()) return FileKind{"an empty file", fetch_again};
  if (head.starts_with("\x7f"
                       "ELF"sv))
    return ends.tail.ends_with("INTARSIA"sv)
               ? FileKind{"a compiled Intarsia program", "run it, or name the model that it was made from",
                          Role::program}
               : FileKind{"a library or command (ELF)", name_a_model, Role::program};
  if (head.starts_with("PK\x03\x04"sv)) return kind_of_zip(ends);
  if (const auto pickle = kind_of_pickle(ends, extension)) return pickle;
  for (const Magic& magic : magics) {
    if (head.size() >= magic.offset && head.substr(magic.offset).starts_with(magic.bytes))
      return FileKind{magic.name, magic.advice};
  }
  if (is_safetensors(ends))
    return FileKind{"a safetensors file: weights without a graph",
                    "load the weights into their model, and write that with torch.onnx.export"};
  if (is_onnx(head)) return FileKind{"an ONNX model", "", Role::model};
  if (is_graph_def(head)) return FileKind{"a TensorFlow graph", "", Role::model};
  return kind_of_text(head);
}

}  // namespace

std::optional<FileKind> recognize_file(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return kind_of_folder(path);
  const std::optional<Ends> ends = read_ends(path);
  if (!ends) return std::nullopt;
  const fs::path name = fs::path(path).filename();
  const auto kind = kind_of_bytes(*ends, name.extension().string());
  return kind ? kind : kind_of_name(name.string());
}

}  // namespace intarsia
