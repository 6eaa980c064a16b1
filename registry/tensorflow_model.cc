#include "registry/tensorflow_model.h"

#include "import/import_model.h"

namespace intarsia {

Result<tf::OpenedModel> open_tensorflow_model(const std::string& path, const std::string& signature,
                                              const std::vector<std::string>& op_libraries,
                                              std::span<const NamedValue> inputs, int threads) {
  const ModelBorder border = TRY(read_border(path, signature));
  tf::ModelLocation location{{path, border.tags, border.unrestored}, {}, {}, op_libraries};
  for (const BorderTensor& input : border.inputs) location.inputs.emplace_back(input.name, input.tensor);
  for (const BorderTensor& output : border.outputs) location.outputs.emplace_back(output.name, output.tensor);
  return tf::OpenedModel::open(location, inputs, threads);
}

}  // namespace intarsia
