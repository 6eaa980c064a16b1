// C API of the peers, of comparing their results with ours, and of the checks that measuring makes on the
// machine.
#include <thread>

#include "api/external_tensor.h"
#include "api/give_text.h"
#include "api/handles.h"
#include "api/peers.h"
#include "api/read_request.h"
#include "api/struct_sizes.h"
#include "include/intarsia/intarsia_compile.h"
#include "measure/cpu_contention.h"
#include "measure/report_difference.h"

struct intarsia_peer {
  intarsia::OpenPeer open;
  std::vector<intarsia::NamedValue> outputs;  // outputs of the last run in lane 0
};

namespace intarsia::api {
namespace {

Status open(const intarsia_peer_request& given, intarsia_peer** peer) {
  const intarsia_peer_request from = TRY(read_struct(given, "the peer request"));
  if (from.runtime == nullptr || from.model == nullptr)
    return fail("want a runtime and a model to open in it");
  if (from.threads < 1) return fail("--threads {}: want at least 1", from.threads);
  PeerRequest request;
  request.runtime = from.runtime;
  request.configuration = from.configuration == nullptr ? "" : from.configuration;
  request.model_path = from.model;
  request.threads = from.threads;
  request.inputs = TRY(read_inputs(from.inputs, from.input_count));
  request.signature = from.signature == nullptr ? "" : from.signature;
  request.op_libraries = TRY(read_strings(from.op_libraries, "--op-library"));
  const std::string precision = from.precision == nullptr ? "f32" : from.precision;
  if (precision != "f32" && precision != "f16" && precision != "bf16")
    return fail("precision '{}': want f32, f16 or bf16", precision);
  request.rounds_to_bf16 = precision == "bf16";
  OpenPeer opened = TRY(open_peer(request));  // opened first, so that an error leaks no memory
  *peer = new intarsia_peer{std::move(opened), {}};
  return {};
}

Status run_lane(intarsia_peer& peer, size_t lane) {
  if (lane >= peer.open.lanes.size()) return fail("lane {} of {}", lane, peer.open.lanes.size());
  if (lane == 0) peer.outputs.clear();
  return peer.open.lanes[lane]();
}

Status take_outputs(intarsia_peer& peer) {
  if (peer.outputs.empty()) peer.outputs = TRY(peer.open.outputs());
  return {};
}

Status give_output(intarsia_peer& peer, size_t i, intarsia_tensor* to) {
  if (to == nullptr) return fail("no struct to fill in");
  TRY(check_sizes("output", to, 1));
  TRY(take_outputs(peer));
  if (i >= peer.outputs.size()) return fail("output {} of {}", i, peer.outputs.size());
  const NamedValue& value = peer.outputs[i];
  TRY(fill_struct(to, {.name = value.name.c_str(), .kind = INTARSIA_TENSOR}));
  return write_output({value.name, value.tensor.view(), value.tensor.owner()}, nullptr, nullptr, *to);
}

Status compare(const intarsia_tensor* actual, const intarsia_tensor* reference, double rtol, double atol,
               int32_t* ok, char** report) {
  const std::vector<NamedValue> a = TRY(read_inputs(actual, 1)), b = TRY(read_inputs(reference, 1));
  Tolerance tolerance;
  if (rtol >= 0) tolerance.rtol = rtol, tolerance.widens = false;
  if (atol >= 0) tolerance.atol = atol;
  const Difference difference = compare_tensors(a[0].tensor.view(), b[0].tensor.view(), tolerance);
  if (ok != nullptr) *ok = difference.ok ? 1 : 0;
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  give_text(report_difference(b[0].name, difference).dump(2, ' ', false, replace), report);
  return {};
}

}  // namespace
}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_peer_open(const intarsia_peer_request* request, intarsia_peer** peer) {
  return guarded([&]() -> Status {
    if (request == nullptr || peer == nullptr) return fail("intarsia_peer_open got a null pointer");
    return open(*request, peer);
  });
}

int32_t intarsia_has_free_cores(int32_t threads) {
  if (threads > static_cast<int32_t>(std::thread::hardware_concurrency())) return 0;
  bool are_free = false;
  const Status asked = caught([&]() -> Status {
    intarsia::ThreadTeam team(intarsia::ThreadPool::of(intarsia::CoreSet::of_this_thread()), threads);
    const intarsia::ThreadTeam::Busy busy(&team);
    are_free = intarsia::has_free_cores(team);
    return {};
  });
  return asked && are_free ? 1 : 0;
}

const char* intarsia_peer_version(const intarsia_peer* peer) {
  return peer == nullptr ? "" : peer->open.version.c_str();
}

intarsia_error* intarsia_peer_run(intarsia_peer* peer) {
  return guarded([&]() -> Status {
    if (peer == nullptr) return fail("intarsia_peer_run got a null pointer");
    return run_lane(*peer, 0);
  });
}

intarsia_error* intarsia_peer_run_lane(intarsia_peer* peer, size_t lane) {
  return guarded([&]() -> Status {
    if (peer == nullptr) return fail("intarsia_peer_run_lane got a null pointer");
    return run_lane(*peer, lane);
  });
}

size_t intarsia_peer_lane_count(const intarsia_peer* peer) {
  return peer == nullptr ? 0 : peer->open.lanes.size();
}

intarsia_error* intarsia_peer_output_count(intarsia_peer* peer, size_t* count) {
  return guarded([&]() -> Status {
    if (peer == nullptr || count == nullptr) return fail("intarsia_peer_output_count got a null pointer");
    TRY(take_outputs(*peer));
    *count = peer->outputs.size();
    return {};
  });
}

intarsia_error* intarsia_peer_output(intarsia_peer* peer, size_t i, intarsia_tensor* output) {
  return guarded([&]() -> Status {
    if (peer == nullptr) return fail("intarsia_peer_output got a null pointer");
    return give_output(*peer, i, output);
  });
}

void intarsia_peer_close(intarsia_peer* peer) { delete peer; }

intarsia_error* intarsia_compare(const intarsia_tensor* actual, const intarsia_tensor* reference, double rtol,
                                 double atol, int32_t* ok, char** report) {
  return guarded([&]() -> Status { return compare(actual, reference, rtol, atol, ok, report); });
}
