#include "run_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <intarsia/intarsia_pipeline.hpp>
#include <optional>

#include "files.h"
#include "inputs.h"
#include "outputs.h"
#include "pipeline_page.h"
#include "pipeline_trace.h"
#include "push_frame.h"
#include "wrap_text.h"

namespace {

using Clock = std::chrono::steady_clock;

/// What came out of the frames.
struct Frames {
  std::vector<double> latencies_ms;  // of those that worked
  size_t errors = 0;
  std::string first_error;
  std::optional<intarsia::PoppedFrame> last;  // that worked
  double seconds = 0, cpu_seconds = 0;

  void pop_from(intarsia::Pipeline& pipeline, const std::vector<std::string>& outputs) {
    try {
      std::optional<intarsia::PoppedFrame> frame = pipeline.pop(outputs);
      latencies_ms.push_back(std::chrono::duration<double, std::milli>(frame->latency).count());
      last = std::move(frame);
    } catch (const intarsia::FrameError& error) {
      if (errors++ == 0) first_error = error.what();
    }
  }
};

/// Frames read the inputs in place, also those that a pipeline's end leaves behind.
using SharedInputs = std::shared_ptr<const InputValues>;

/// Pushes while there is room; else waits for a frame to leave.
Frames run_frames(intarsia::Pipeline& pipeline, const SharedInputs& inputs,
                  const std::vector<std::string>& outputs, size_t count) {
  Frames frames;
  const double cpu_before = cpu_seconds_of_process();
  const Clock::time_point start = Clock::now();
  for (size_t pushed = 0, popped = 0; popped < count; ++popped) {
    while (pushed < count && try_push_frame(pipeline, inputs->tensors(), inputs)) ++pushed;
    frames.pop_from(pipeline, outputs);
  }
  frames.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  frames.cpu_seconds = cpu_seconds_of_process() - cpu_before;
  return frames;
}

Json describe_stages(const intarsia::Pipeline& pipeline) {
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  Json stages = Json::array();
  for (const intarsia::StageStatistics& stage : pipeline.statistics())
    stages.push_back({{"name", stage.name},
                      {"replicas", stage.replicas},
                      {"frames", stage.frames},
                      {"errors", stage.errors},
                      {"busy_ms", ms(stage.busy)},
                      {"waiting_ms", ms(stage.waiting)},
                      {"blocked_ms", ms(stage.blocked)},
                      {"most_queued", stage.most_queued}});
  return stages;
}

Json describe_frames(const Frames& frames, size_t count) {
  Json report{{"frames", count},
              {"errors", frames.errors},
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

void print_report(const Json& report, const Frames& frames, const RunPipelineOptions& options) {
  std::string text, outputs;
  for (size_t i = 0; i < report["outputs"].size(); ++i)
    outputs += print_output(report["outputs"][i], frames.last->outputs[i].tensor());
  if (options.is_quiet) return print_text(options.folder.empty() ? outputs : "", 7);
  for (const Json& input : report["inputs"]) text += print_input(input);
  text += outputs + print_statistics(report["stages"]);
  if (!options.trace.empty()) text += fmt::format("trace  {}\n", options.trace);
  if (!options.html.empty()) text += fmt::format("page   {}\n", options.html);
  text += fmt::format("{}: {} in {:.3f} s, {:.1f} frames/s", report["pipeline"].get<std::string>(),
                      count_of(report["frames"].get<size_t>(), "frame"), frames.seconds,
                      report["frames_per_second"].get<double>());
  if (const Json& latency = report["latency_ms"]; !latency.is_null())
    text += fmt::format("; latency {:.3f} ms median, {:.3f} ms p95", latency["median"].get<double>(),
                        latency["p95"].get<double>());
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

}  // namespace

void run_pipeline(const RunPipelineOptions& options) {
  const std::string& what = options.file.empty() ? options.given : options.file;
  std::vector<std::string> files{what};
  for (const std::string& file : input_files(options.inputs)) files.push_back(file);
  for (const std::string& output : {options.trace, options.html})
    if (!output.empty()) check_output(output, files);
  OutputWriter writer(options.folder, files);
  PipelineTrace trace;
  intarsia::Pipeline pipeline = start(options, trace);
  const auto inputs = std::make_shared<const InputValues>(pipeline.inputs(), options.inputs);
  std::vector<std::string> outputs;
  for (const intarsia::Argument& output : pipeline.outputs()) outputs.push_back(output.name);
  const auto count = static_cast<size_t>(std::max(options.frames, 1));
  const Frames frames = run_frames(pipeline, inputs, outputs, count);
  Json report{{"pipeline", what}, {"inputs", inputs->notes()}, {"outputs", Json::array()}};
  if (frames.last)
    for (size_t i = 0; i < outputs.size(); ++i)
      report["outputs"].push_back(writer.write(outputs[i], frames.last->outputs[i].tensor()));
  report.update(describe_frames(frames, count));
  report["stages"] = describe_stages(pipeline);
  report["trace"] = options.trace.empty() ? Json(nullptr) : Json(options.trace);
  report["html"] = options.html.empty() ? Json(nullptr) : Json(options.html);
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
