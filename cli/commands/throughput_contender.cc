#include "cli/commands/throughput_contender.h"

#include <algorithm>
#include <cmath>

#include "cli/commands/frame_stream.h"

namespace {

/// Serves {"open": work}, and {"frames": N} with the times of N frames.
Json serve_frames(const std::string& runtime, std::unique_ptr<FrameStream>& stream, const Json& request) {
  if (request.contains("frames")) {
    const StreamTimes times = stream->run(request["frames"]);
    const std::vector<double> latencies = sorted(times.latencies_ms);
    const auto count = static_cast<double>(latencies.size());
    return {{"frames", latencies.size()},
            {"frames_per_second", count / times.seconds},
            {"latency_ms",
             {{"p50", percentile(latencies, 0.5)},
              {"p90", percentile(latencies, 0.9)},
              {"p99", percentile(latencies, 0.99)}}},
            {"cpu_ms_per_frame", 1e3 * times.cpu_seconds / count}};
  }
  const Json& work = request["open"];
  stream.reset();  // frees cores and memory first
  stream = open_stream(runtime, work);
  stream->run(stream->lanes());
  return {{"version", stream->version()},
          {"stages", stream->stages()},
          {"lanes", stream->lanes()},
          {"outputs", write_outputs(stream->outputs(), work["folder"])}};
}

}  // namespace

ThroughputContender::ThroughputContender(const std::string& runtime, double round_seconds)
    : Contender(runtime, "",
                [runtime, stream = std::make_shared<std::unique_ptr<FrameStream>>()](const Json& request) {
                  return serve_frames(runtime, *stream, request);
                }),
      round_seconds_(round_seconds) {}

void ThroughputContender::prepare_rounds(const Json& opened) {
  stages_ = opened["stages"];
  lanes_ = opened["lanes"];
  const bool is_whole = stages_.size() == 1;
  set_configuration(stages_.is_null() ? "throughput" : is_whole ? "replicas" : "stages");
  constexpr size_t min_turns = 4;
  const double rate = ask({{"frames", min_turns * lanes_}})["frames_per_second"];
  const double turns = std::ceil(rate * round_seconds_ / static_cast<double>(lanes_));
  frames_per_round_ = lanes_ * std::max(min_turns, static_cast<size_t>(turns));
}

void ThroughputContender::add_round(const Json& answer, double) {
  if (best_.is_null() || answer["frames_per_second"] > best_["frames_per_second"]) best_ = answer;
}

Json ThroughputContender::report() const {
  Json report = describe();
  report.update({{"stages", stages_}, {"lanes", lanes_}});
  report.update(best_);
  report["peak_rss_mb"] = peak_rss_mb();
  return report;
}
