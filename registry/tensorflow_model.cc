#include "registry/tensorflow_model.h"

#include "import/import_model.h"

namespace intarsia {

Result<tf::OpenedModel> open_tensorflow_model(const std::string& path, const std::string& signature,
                                              const std::vector<std::string>& op_libraries,
                                              std::span<const NamedValue> inputs, int threads) {
  const ModelBoundary boundary = TRY(read_boundary(path, signature));
  tf::ModelLocation location{{path, boundary.tags, boundary.unrestored}, {}, {}, op_libraries};
  for (const BoundaryTensor& input : boundary.inputs) location.inputs.emplace_back(input.name, input.tensor);
  for (const BoundaryTensor& output : boundary.outputs)
    location.outputs.emplace_back(output.name, output.tensor);
  return tf::OpenedModel::open(location, inputs, threads);
}

}  // namespace intarsia
