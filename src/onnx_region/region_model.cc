#include "onnx_region/region_model.h"

#include "base/flat_buffer.h"
#include "onnx_region/region_model_generated.h"

namespace intarsia {

std::string encode_region_model(std::string_view model, const std::vector<std::string>& constant_names,
                                bool rounds_to_bf16) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = add_bytes(builder, model);
  const auto names = builder.CreateVectorOfStrings(constant_names);
  fbs::FinishRegionModelBuffer(builder, fbs::CreateRegionModel(builder, bytes, names, rounds_to_bf16));
  return to_bytes(builder);
}

Result<RegionModel> decode_region_model(const LoadContext& context) {
  const TableCopy<fbs::RegionModel> blob(context.blob, fbs::RegionModelIdentifier());
  if (!blob)
    return fail("the bytes of the region are damaged or of an older version; compile the model again");
  RegionModel model{.constants = context.constants,
                    .threads = context.threads,
                    .cores = context.cores,
                    .executor = context.executor};
  model.bytes = text_of(blob->model());
  model.constant_names = to_strings(blob->constants());
  model.rounds_to_bf16 = blob->rounds_to_bf16();
  return model;
}

}  // namespace intarsia
