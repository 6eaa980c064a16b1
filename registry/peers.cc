#include "api/peers.h"

#include <memory>

#include "backends/onnxruntime/opened_model.h"
#include "backends/openvino/opened_model.h"
#include "registry/tensorflow_model.h"

namespace intarsia {
namespace {

Result<OpenPeer> open_onnxruntime(const PeerRequest& request) {
  if (!request.configuration.empty())
    return fail("onnxruntime has no configuration '{}', it has only one", request.configuration);
  const ort::SessionSettings settings{.threads = request.threads, .spin = true};
  auto model = std::make_shared<ort::OpenedModel>(
      TRY(ort::OpenedModel::open(request.model_path, request.inputs, settings)));
  return OpenPeer{model->version(), [model] { return model->run(); },
                  [model] { return model->take_outputs(); }};
}

Result<openvino::Division> parse_division(const std::string& text) {
  if (text.empty() || text == "latency_hint") return openvino::Division::latency_hint;
  if (text == "one_stream") return openvino::Division::one_stream;
  return fail("openvino has no configuration '{}'; want latency_hint or one_stream", text);
}

Result<OpenPeer> open_openvino(const PeerRequest& request) {
  const openvino::ModelSettings settings{request.threads, TRY(parse_division(request.configuration))};
  auto model = std::make_shared<openvino::OpenedModel>(
      TRY(openvino::OpenedModel::open(request.model_path, request.inputs, settings)));
  return OpenPeer{model->version(), [model] { return model->run(); }, [model] { return model->outputs(); }};
}

Result<OpenPeer> open_tensorflow(const PeerRequest& request) {
  if (!request.configuration.empty())
    return fail("tensorflow has no configuration '{}', it has only one", request.configuration);
  auto model = std::make_shared<tf::OpenedModel>(TRY(open_tensorflow_model(
      request.model_path, request.signature, request.op_libraries, request.inputs, request.threads)));
  return OpenPeer{model->version(), [model] { return model->run(); },
                  [model] { return model->take_outputs(); }};
}

struct PeerEntry {
  const char* name;
  Result<OpenPeer> (*open)(const PeerRequest&);
};

constexpr PeerEntry peers[] = {
    {"onnxruntime", open_onnxruntime}, {"openvino", open_openvino}, {"tensorflow", open_tensorflow}};

}  // namespace

Result<OpenPeer> open_peer(const PeerRequest& request) {
  for (const PeerEntry& peer : peers) {
    if (request.runtime == peer.name)
      return with_context(peer.open(request), "{} in {}", request.model_path, peer.name);
  }
  return fail("no runtime '{}' to compare with; want onnxruntime, openvino or tensorflow", request.runtime);
}

}  // namespace intarsia
