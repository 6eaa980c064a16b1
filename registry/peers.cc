#include "api/peers.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "backends/onnxruntime/opened_model.h"
#include "backends/openvino/opened_model.h"
#include "backends/tensorflow/library.h"
#include "base/core_set.h"
#include "registry/tensorflow_model.h"

namespace intarsia {
namespace {

/// Name of a configuration of several runtimes.
constexpr std::string_view throughput = "throughput";

/// Divides the cores of this thread into sets of `size`; those that are left over stay free.
Result<std::vector<CoreSet>> divide_cores(int size) {
  const CoreSet all = CoreSet::of_this_thread();
  if (size > all.size()) return fail("{} threads of a run: there are {} cores", size, all.size());
  std::vector<CoreSet> sets;
  for (auto first = all.numbers().begin(); all.numbers().end() - first >= size; first += size)
    sets.push_back(TRY(CoreSet::parse(fmt::format("{}", fmt::join(first, first + size, "+")))));
  return sets;
}

/// Opens a session on each set of cores, whose threads stay there.
Result<OpenPeer> open_onnxruntime_sessions(const PeerRequest& request) {
  const std::vector<CoreSet> sets = TRY(divide_cores(request.threads));
  OpenPeer peer;
  for (const CoreSet& cores : sets) {
    const BoundThread bound(cores);  // the session's workers inherit the binding
    const ort::SessionSettings settings{.threads = request.threads, .spin = true};
    auto model = std::make_shared<ort::OpenedModel>(
        TRY(ort::OpenedModel::open(request.model_path, request.inputs, settings)));
    peer.lanes.push_back([model, cores] {
      const BoundThread on_its_cores(cores);
      return model->run();
    });
    if (peer.outputs) continue;
    peer.outputs = [model] { return model->take_outputs(); };
    peer.version = model->version();
  }
  return peer;
}

Result<OpenPeer> open_onnxruntime(const PeerRequest& request) {
  if (request.configuration == throughput) return open_onnxruntime_sessions(request);
  if (!request.configuration.empty())
    return fail("onnxruntime has no configuration '{}', only '{}'", request.configuration, throughput);
  const ort::SessionSettings settings{.threads = request.threads, .spin = true};
  auto model = std::make_shared<ort::OpenedModel>(
      TRY(ort::OpenedModel::open(request.model_path, request.inputs, settings)));
  return OpenPeer{
      model->version(), {[model] { return model->run(); }}, [model] { return model->take_outputs(); }};
}

Result<openvino::Division> parse_division(const std::string& text) {
  if (text.empty() || text == "latency_hint") return openvino::Division::latency_hint;
  if (text == "one_stream") return openvino::Division::one_stream;
  if (text == throughput) return openvino::Division::throughput_hint;
  return fail("openvino has no configuration '{}'; want latency_hint, one_stream or {}", text, throughput);
}

Result<OpenPeer> open_openvino(const PeerRequest& request) {
  const openvino::Division division = TRY(parse_division(request.configuration));
  const bool uses_all_cores = division == openvino::Division::throughput_hint;
  const openvino::ModelSettings settings{uses_all_cores ? CoreSet::of_this_thread().size() : request.threads,
                                         division, request.rounds_to_bf16};
  auto model = std::make_shared<openvino::OpenedModel>(
      TRY(openvino::OpenedModel::open(request.model_path, request.inputs, settings)));
  OpenPeer peer{model->version(), {}, [model] { return model->outputs(); }};
  for (size_t i = 0; i < model->request_count(); ++i)
    peer.lanes.push_back([model, i] { return model->run(i); });
  return peer;
}

OpenPeer make_tensorflow_peer(tf::OpenedModel opened) {
  auto model = std::make_shared<tf::OpenedModel>(std::move(opened));
  return {model->version(), {[model] { return model->run(); }}, [model] { return model->take_outputs(); }};
}

Result<OpenPeer> open_tensorflow(const PeerRequest& request) {
  if (!request.configuration.empty())
    return fail("tensorflow has no configuration '{}', it has only one", request.configuration);
  return make_tensorflow_peer(TRY(open_tensorflow_model(
      request.model_path, request.signature, request.op_libraries, request.inputs, request.threads)));
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

Result<OpenPeer> open_tensorflow_graph(const Graph& graph, const std::vector<NamedValue>& inputs,
                                       const std::vector<std::string>& op_libraries, int threads) {
  return make_tensorflow_peer(TRY(tf::OpenedModel::open_graph(graph, inputs, op_libraries, threads)));
}

Result<std::string> find_program_operator() {
  const tf::Library* library = TRY(tf::Library::get());
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(library->path()).parent_path().parent_path() / "tensorflow-plugins";
  const fs::path path = folder / "libintarsia_tensorflow.so";
  std::error_code error;
  if (!fs::exists(path, error))
    return fail(ErrorKind::not_found, "there is no '{}': install the package intarsia beside this TensorFlow",
                path.string());
  return path.string();
}

}  // namespace intarsia
