#include "import/import_model.h"

#include <filesystem>

#include "base/files/file_kind.h"

#include "import/import_onnx.h"
#include "import/import_tensorflow.h"

namespace intarsia {

ModelFormat find_model_format(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return ModelFormat::saved_model;
  return std::filesystem::path(path).extension() == ".pb" ? ModelFormat::graph_def : ModelFormat::onnx;
}

std::string main_file(const std::string& path) {
  return find_model_format(path) == ModelFormat::saved_model
             ? (std::filesystem::path(path) / "saved_model.pb").string()
             : path;
}

Status check_file_kind(const std::string& path) {
  const std::optional<FileKind> kind = recognize_file(path);
  if (!kind) return {};
  if (kind->role != FileKind::Role::model)
    return fail(ErrorKind::corrupt, "model '{}': is {}, not an ONNX or TensorFlow model: {}", path,
                kind->name, kind->advice);
  const std::filesystem::path file(path);
  if (file.filename() != "saved_model.pb") return {};
  return fail(ErrorKind::corrupt, "model '{}': is a part of a SavedModel: name its folder, {}", path,
              file.has_parent_path() ? file.parent_path().string() : ".");
}

namespace {

/// Replaces a parser's error by the file's kind if it is another kind of file, where the parser's message
/// leads nowhere.
template <typename T>
Result<T> explain_failure(Result<T> result, const std::string& path) {
  if (!result) TRY(check_file_kind(path));
  return result;
}

}  // namespace

Result<std::vector<std::string>> list_functions(const std::string& path) {
  if (find_model_format(path) != ModelFormat::saved_model) return std::vector<std::string>{"main"};
  return explain_failure(
      with_kind(ErrorKind::corrupt, with_context(list_signatures(path), "model '{}'", path)), path);
}

Result<ModelBoundary> read_boundary(const std::string& path, const std::string& signature) {
  const ModelFormat format = find_model_format(path);
  if (format == ModelFormat::onnx)
    return fail(ErrorKind::invalid_argument, "model '{}' is not a TensorFlow model", path);
  Result<ModelBoundary> boundary = format == ModelFormat::graph_def
                                       ? read_graph_def_boundary(path)
                                       : read_saved_model_boundary(path, signature);
  return explain_failure(with_kind(ErrorKind::corrupt, with_context(std::move(boundary), "model '{}'", path)),
                         path);
}

namespace {

Result<Graph> import_format(ModelFormat format, const std::string& path, const ImportOptions& options) {
  switch (format) {
    case ModelFormat::onnx:
      return import_onnx(path);
    case ModelFormat::graph_def:
      return with_context(import_graph_def(path, options.source), "model '{}'", path);
    case ModelFormat::saved_model:
      break;
  }
  return with_context(import_saved_model(path, options.signature, options.source), "model '{}'", path);
}

}  // namespace

Result<Graph> import_model(const std::string& path, const ImportOptions& options) {
  const ModelFormat format = find_model_format(path);
  if (format != ModelFormat::saved_model && !options.signature.empty()) {
    return fail(ErrorKind::invalid_argument,
                "model '{}': --signature {}: only SavedModel folders have signatures", path,
                options.signature);
  }
  return explain_failure(with_kind(ErrorKind::corrupt, import_format(format, path, options)), path);
}

}  // namespace intarsia
