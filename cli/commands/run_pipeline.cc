#include "cli/commands/run_pipeline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <intarsia/intarsia_pipeline.hpp>
#include <optional>

#include "cli/commands/push_frame.h"
#include "cli/inputs/frame_source.h"
#include "cli/inputs/inputs.h"
#include "cli/results/outputs.h"
#include "cli/results/pipeline_page.h"
#include "cli/results/pipeline_trace.h"
#include "cli/system/files.h"
#include "cli/text/wrap_text.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// Results of the frames.
struct Frames {
  std::vector<double> latencies_ms;  // latencies of frames that worked
  size_t errors = 0, dropped = 0;
  std::string first_error;
  std::optional<intarsia::PoppedFrame> last;  // last frame that worked
  double seconds = 0, cpu_seconds = 0;
};

/// Run of a source's frames through a pipeline.
class FrameRun {
 public:
  /// Function that makes an entry of a frame that worked.
  using Write = std::function<Json(const std::string& name, const intarsia::PoppedFrame& frame)>;
  FrameRun(intarsia::Pipeline& pipeline, const FrameSource& source, double rate)
      : pipeline_(pipeline), source_(source), rate_(rate) {
    for (const intarsia::Argument& output : pipeline.outputs()) outputs_.push_back(output.name);
  }

  const std::vector<std::string>& outputs() const { return outputs_; }

  Frames run(size_t count, const Write& write) {
    const double cpu_before = cpu_seconds_of_process();
    start_ = Clock::now();
    while (popped_ < count) {
      const bool is_full = !push_those_due(count);
      const bool waits_for_time = pushed_ < count && !is_full;
      pop(waits_for_time ? due() - Clock::now() : std::chrono::nanoseconds::max(), write);
    }
    frames_.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    frames_.cpu_seconds = cpu_seconds_of_process() - cpu_before;
    return std::move(frames_);
  }
  /// Returns {"frame","source","outputs","latency_ms","error"} for each frame.
  Json take_results() { return std::move(results_); }

 private:
  /// Returns when the next frame is to be pushed.
  Clock::time_point due() const {
    if (rate_ <= 0) return start_;
    return start_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(static_cast<double>(pushed_) / rate_));
  }

  /// Pushes the frames that are due; returns false if one has no room.
  bool push_those_due(size_t count) {
    while (pushed_ < count && Clock::now() >= due()) {
      if (!next_) next_ = source_.at(pushed_);
      if (!try_push_frame(pipeline_, next_->inputs, next_->owner)) return false;
      names_.push_back(next_->name);
      next_.reset();
      ++pushed_;
    }
    return true;
  }

  void pop(std::chrono::nanoseconds wait, const Write& write) {
    try {
      std::optional<intarsia::PoppedFrame> frame = pipeline_.pop_for(outputs_, wait);
      if (!frame) return;
      frames_.latencies_ms.push_back(milliseconds(frame->latency));
      add_result(write(names_.front(), *frame), frames_.latencies_ms.back(), nullptr);
      frames_.last = std::move(frame);
    } catch (const intarsia::FrameError& error) {
      const bool is_dropped = error.kind() == INTARSIA_ERROR_DROPPED;
      if (is_dropped) ++frames_.dropped;
      if (!is_dropped && frames_.errors++ == 0) frames_.first_error = error.what();
      add_result(Json::array(), nullptr, error.what());
    }
    names_.pop_front();
    ++popped_;
  }

  void add_result(Json outputs, Json latency, Json error) {
    if (!source_.size()) return;
    results_.push_back({{"frame", popped_},
                        {"source", names_.front()},
                        {"outputs", std::move(outputs)},
                        {"latency_ms", std::move(latency)},
                        {"error", std::move(error)}});
  }

  intarsia::Pipeline& pipeline_;
  const FrameSource& source_;
  const double rate_;  // frames per second; 0: as fast as they are taken
  std::vector<std::string> outputs_;
  Clock::time_point start_;
  size_t pushed_ = 0, popped_ = 0;
  std::optional<SourceFrame> next_;
  std::deque<std::string> names_;  // names of frames that are inside
  Frames frames_;
  Json results_ = Json::array();
};

/// Returns [[from, to, count]] in milliseconds; the last may have no end.
Json describe_times(const std::vector<intarsia::TimeBucket>& buckets) {
  Json times = Json::array();
  for (const intarsia::TimeBucket& bucket : buckets) {
    const bool has_end = bucket.to < std::chrono::nanoseconds::max();
    times.push_back(
        {milliseconds(bucket.from), has_end ? Json(milliseconds(bucket.to)) : Json(nullptr), bucket.count});
  }
  return times;
}

Json describe_stages(const intarsia::Pipeline& pipeline) {
  Json stages = Json::array();
  for (const intarsia::StageStatistics& stage : pipeline.statistics()) {
    const size_t number = stages.size();
    Json replicas = Json::array();
    for (const intarsia::ReplicaStatistics& one : pipeline.replicas(number))
      replicas.push_back({{"in_service", one.in_service},
                          {"frames", one.frames},
                          {"errors", one.errors},
                          {"repeats", one.repeats},
                          {"reason", one.reason.empty() ? Json(nullptr) : Json(one.reason)},
                          {"note", one.note.empty() ? Json(nullptr) : Json(one.note)}});
    stages.push_back({{"name", stage.name},
                      {"replicas", stage.replicas},
                      {"frames", stage.frames},
                      {"errors", stage.errors},
                      {"busy_ms", milliseconds(stage.busy)},
                      {"waiting_ms", milliseconds(stage.waiting)},
                      {"blocked_ms", milliseconds(stage.blocked)},
                      {"most_queued", stage.most_queued},
                      {"dropped", stage.dropped},
                      {"run_times", describe_times(pipeline.times(INTARSIA_TIMES_RUN, number))},
                      {"wait_times", describe_times(pipeline.times(INTARSIA_TIMES_WAIT, number))},
                      {"replica_statistics", replicas}});
  }
  return stages;
}

Json describe_frames(const Frames& frames, size_t count) {
  Json report{{"frames", count},
              {"errors", frames.errors},
              {"dropped", frames.dropped},
              {"first_error", frames.first_error.empty() ? Json(nullptr) : Json(frames.first_error)},
              {"seconds", frames.seconds},
              {"frames_per_second", static_cast<double>(count) / frames.seconds},
              {"cpu_ms_per_frame", 1e3 * frames.cpu_seconds / static_cast<double>(count)},
              {"latency_ms", nullptr}};
  const std::vector<double>& latencies = frames.latencies_ms;
  if (!latencies.empty())
    report["latency_ms"] = {{"min", quantile(latencies, 0)},
                            {"median", quantile(latencies, 0.5)},
                            {"p95", quantile(latencies, 0.95)},
                            {"max", quantile(latencies, 1)}};
  return report;
}

std::string print_statistics(const Json& stages) {
  std::string text = fmt::format("{:<20} {:>8} {:>12} {:>12} {:>12}\n", "stage", "replicas", "ms a frame",
                                 "waits ms", "blocked ms");
  for (const Json& stage : stages) {
    const double frames = std::max(stage["frames"].get<double>(), 1.0);
    text +=
        fmt::format("{:<20} {:>8} {:>12.3f} {:>12.3f} {:>12.3f}\n", stage["name"].get<std::string>(),
                    stage["replicas"].get<uint32_t>(), stage["busy_ms"].get<double>() / frames,
                    stage["waiting_ms"].get<double>() / frames, stage["blocked_ms"].get<double>() / frames);
  }
  return text;
}

/// Formats lines about replicas that do not run as they were compiled to.
std::string print_replicas(const Json& stages) {
  std::string text;
  for (const Json& stage : stages) {
    for (size_t i = 0; i < stage["replica_statistics"].size(); ++i) {
      const Json& one = stage["replica_statistics"][i];
      const std::string who = fmt::format("{}, replica {}", stage["name"].get<std::string>(), i);
      if (!one["note"].is_null()) text += fmt::format("{}: {}\n", who, one["note"].get<std::string>());
      if (one["reason"].is_null()) continue;
      text += fmt::format("{} {} out of service: {}\n", who, one["in_service"].get<bool>() ? "was" : "is",
                          one["reason"].get<std::string>());
    }
  }
  return text;
}

void print_report(const Json& report, const Frames& frames, const RunPipelineOptions& options) {
  std::string text, outputs;
  for (size_t i = 0; i < report["outputs"].size(); ++i)
    outputs += print_output(report["outputs"][i], frames.last->outputs[i].tensor());
  if (options.is_quiet) return print_text(options.folder.empty() ? outputs : "", 7);
  for (const Json& input : report["inputs"]) text += print_input(input);
  if (!report["left_out"].empty())
    text += fmt::format("note   left out, since they are no inputs: {}\n",
                        fmt::join(report["left_out"].get<std::vector<std::string>>(), ", "));
  text += outputs + print_statistics(report["stages"]) + print_replicas(report["stages"]);
  if (!options.trace.empty()) text += fmt::format("trace  {}\n", options.trace);
  if (!options.html.empty()) text += fmt::format("page   {}\n", options.html);
  text += fmt::format("{}: {} in {:.3f} s, {:.1f} frames/s", report["pipeline"].get<std::string>(),
                      count_of(report["frames"].get<size_t>(), "frame"), frames.seconds,
                      report["frames_per_second"].get<double>());
  if (const Json& latency = report["latency_ms"]; !latency.is_null())
    text += fmt::format("; latency {:.3f} ms median, {:.3f} ms p95", latency["median"].get<double>(),
                        latency["p95"].get<double>());
  if (frames.dropped > 0) text += fmt::format("; {} dropped", frames.dropped);
  print_text(text + "\n", 7);
}

intarsia::Pipeline start(const RunPipelineOptions& options, PipelineTrace& trace) {
  intarsia::PipelineBuilder builder;
  if (options.file.empty()) {
    builder.add_stages(intarsia::Program::load(options.program), options.function);
    builder.connect_by_name();
  } else {
    builder.read(options.file);
  }
  intarsia_pipeline_options started{};
  started.struct_size = sizeof(started);
  if (!options.trace.empty() || !options.html.empty()) {
    started.trace = PipelineTrace::record;
    started.user = &trace;
    started.traces_steps = options.trace.empty() ? 0 : 1;  // the page has no rows for them
  }
  return builder.start(started);
}

/// Output files of frames: those of the last frame where all are the same, else a folder for each.
class OutputFiles {
 public:
  OutputFiles(const RunPipelineOptions& options, const FrameSource& source, std::vector<std::string> outputs,
              std::vector<std::string> read)
      : folder_(options.folder),
        read_(std::move(read)),
        outputs_(std::move(outputs)),
        is_each_(source.size().has_value()) {}

  /// Returns [{"name","dtype","shape","file"}]; empty where the last frame's outputs are enough.
  Json write_each(const std::string& name, const intarsia::PoppedFrame& frame) {
    if (!is_each_ || folder_.empty()) return Json::array();
    return write((std::filesystem::path(folder_) / names_.make(name)).string(), frame);
  }
  Json write_last(const Frames& frames) const {
    return frames.last ? write(is_each_ ? "" : folder_, *frames.last) : Json::array();
  }

 private:
  Json write(const std::string& folder, const intarsia::PoppedFrame& frame) const {
    OutputWriter writer(folder, read_);
    Json entries = Json::array();
    for (size_t i = 0; i < outputs_.size(); ++i)
      entries.push_back(writer.write(outputs_[i], frame.outputs[i].tensor()));
    return entries;
  }

  std::string folder_;
  std::vector<std::string> read_, outputs_;
  bool is_each_;
  FileNames names_;
};

/// Checks the output files before anything takes time, and creates the folder.
void check_outputs(const RunPipelineOptions& options, const std::vector<std::string>& files) {
  for (const std::string& output : {options.trace, options.html})
    if (!output.empty()) check_output(output, files);
  const OutputWriter makes_the_folder(options.folder, files);
}

std::vector<std::string> with_first(std::string first, std::vector<std::string> files) {
  files.insert(files.begin(), std::move(first));
  return files;
}

Json file_or_null(const std::string& file) { return file.empty() ? Json(nullptr) : Json(file); }

}  // namespace

void run_pipeline(const RunPipelineOptions& options) {
  const std::string& what = options.file.empty() ? options.given : options.file;
  check_outputs(options, with_first(what, input_files(options.inputs)));
  PipelineTrace trace;
  intarsia::Pipeline pipeline = start(options, trace);
  const FrameSource source(with_shapes(pipeline.inputs(), options.shapes, 0, options.inputs, true),
                           options.inputs);
  FrameRun run(pipeline, source, options.rate);
  OutputFiles files(options, source, run.outputs(), with_first(what, source.files()));
  const size_t count = options.frames > 0 ? static_cast<size_t>(options.frames) : source.size().value_or(1);
  const Frames frames = run.run(count, [&](const std::string& name, const intarsia::PoppedFrame& frame) {
    return files.write_each(name, frame);
  });
  Json report{{"pipeline", what}, {"inputs", source.notes()}, {"outputs", files.write_last(frames)}};
  report.update(describe_frames(frames, count));
  report["latency_times"] = describe_times(pipeline.times(INTARSIA_TIMES_LATENCY));
  report["results"] = run.take_results();
  report["left_out"] = source.left_out();
  report["stages"] = describe_stages(pipeline);
  report["trace"] = file_or_null(options.trace);
  report["html"] = file_or_null(options.html);
  pipeline.cancel();
  if (!options.trace.empty()) trace.write(options.trace);
  if (!options.html.empty()) write_file(options.html, {make_pipeline_page(report, trace)});
  if (options.json)
    print_json(report);
  else
    print_report(report, frames, options);
  if (frames.errors > 0)
    throw intarsia::Error(fmt::format("{} of {} failed; the first: {}", frames.errors,
                                      count_of(count, "frame"), frames.first_error));
}
