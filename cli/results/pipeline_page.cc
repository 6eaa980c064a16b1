#include "cli/results/pipeline_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace {

constexpr const char* style = R"(
:root { color-scheme: light dark; --page: #fff; --panel: #f6f8fa; --text: #1f2328; --muted: #57606a; --rule: #d0d7de; --tone: 78%; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1318; --panel: #181d24; --text: #e8edf2; --muted: #a3adb8; --rule: #353c45; --tone: 32%; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 90rem; padding: 1.25rem clamp(0.75rem, 3vw, 2.5rem) 3rem; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 2rem 0 0.5rem; font-size: 1.15rem; }
.muted { color: var(--muted); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.row { margin: 0.6rem 0; }
.lane { position: relative; height: 2rem; background: var(--panel); border: 1px solid var(--rule); border-radius: 3px; overflow: hidden; }
.lane i { position: absolute; top: 0; bottom: 0; min-width: 1px; font: 11px/2rem system-ui, sans-serif; text-align: center; overflow: hidden;
  border-right: 1px solid var(--page); background: hsl(var(--hue) 60% var(--tone)); color: var(--text); }
.axis { display: flex; justify-content: space-between; font-size: 0.85rem; }
)";

std::string escape(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

/// Frames whose slices are shown, and when the first starts and the last ends.
struct Window {
  uint64_t first = 0, last = 0;
  int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
};

/// Chooses frames from the middle of the run, where the pipeline is full.
Window choose_window(const std::vector<StageSlice>& slices, uint64_t frames) {
  constexpr uint64_t shown = 24;
  const uint64_t first = frames > shown ? (frames - shown) / 2 : 0;
  Window window{first, std::min(first + shown, frames) - 1};
  for (const StageSlice& slice : slices) {
    if (slice.frame < window.first || slice.frame > window.last) continue;
    window.begin_ns = std::min(window.begin_ns, slice.begin_ns);
    window.end_ns = std::max(window.end_ns, slice.end_ns);
  }
  return window;
}

/// Prints a lane per replica, in the order of the stages.
std::string print_lanes(const Json& stages, const PipelineTrace& trace, const Window& window) {
  std::map<std::string, std::string> boxes;
  const auto all = static_cast<double>(std::max<int64_t>(window.end_ns - window.begin_ns, 1));
  for (const StageSlice& slice : trace.slices()) {
    if (slice.frame < window.first || slice.frame > window.last) continue;
    const auto length = static_cast<double>(slice.end_ns - slice.begin_ns);
    const double left = 100 * static_cast<double>(slice.begin_ns - window.begin_ns) / all;
    boxes[slice.row] +=
        fmt::format("<i style=\"left:{:.3f}%;width:{:.3f}%;--hue:{}\" title=\"frame {}: {:.3f} ms\">{}</i>",
                    left, 100 * length / all, slice.frame * 47 % 360, slice.frame, length / 1e6, slice.frame);
  }
  std::string text;
  for (const Json& stage : stages) {
    for (uint32_t replica = 0; replica < stage["replicas"].get<uint32_t>(); ++replica) {
      const std::string row = row_name(stage["name"], replica);
      text +=
          fmt::format("<div class=\"row\">{}<div class=\"lane\">{}</div></div>\n", escape(row), boxes[row]);
    }
  }
  return text +
         fmt::format("<div class=\"axis muted\"><span>0 ms</span><span>{:.3f} ms</span></div>\n", all / 1e6);
}

std::string print_table(const Json& report) {
  std::string text =
      "<table><tr><th>stage</th><th>replicas</th><th>ms a frame</th><th>busy</th><th>waits for frames</th>"
      "<th>waits for room</th></tr>\n";
  const double ms = 1e3 * report["seconds"].get<double>();
  for (const Json& stage : report["stages"]) {
    const double replicas = stage["replicas"], of = ms * replicas;
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.0f}%</td><td>{:.0f}%</td><td>{:.0f}%</td></tr>\n",
        escape(stage["name"]), stage["replicas"].get<int>(),
        stage["busy_ms"].get<double>() / std::max(stage["frames"].get<double>(), 1.0),
        100 * stage["busy_ms"].get<double>() / of, 100 * stage["waiting_ms"].get<double>() / of,
        100 * stage["blocked_ms"].get<double>() / of);
  }
  return text + "</table>\n";
}

std::string print_summary(const Json& report) {
  std::string text =
      fmt::format("{} frames in {:.3f} s: <b>{:.1f} frames/s</b>, {:.3f} ms of processor time a frame",
                  report["frames"].get<uint64_t>(), report["seconds"].get<double>(),
                  report["frames_per_second"].get<double>(), report["cpu_ms_per_frame"].get<double>());
  if (const Json& latency = report["latency_ms"]; !latency.is_null())
    text += fmt::format("; latency {:.3f} ms median, {:.3f} ms p95", latency["median"].get<double>(),
                        latency["p95"].get<double>());
  if (report["errors"].get<uint64_t>() > 0)
    text += fmt::format("; {} failed: {}", report["errors"].get<uint64_t>(), escape(report["first_error"]));
  return text + ".";
}

}  // namespace

std::string make_pipeline_page(const Json& report, const PipelineTrace& trace) {
  const std::string title = escape(report["pipeline"]);
  const Window window = choose_window(trace.slices(), report["frames"]);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{0}</title>\n"
      "<style>{1}</style></head><body>\n<h1>{0}</h1>\n<p>{2}</p>\n"
      "<h2>Stages</h2>\n<div class=\"scroll\">{3}</div>\n"
      "<h2>Frames {4} to {5}</h2>\n<p class=\"muted\">A box is a frame in a stage, a color is a "
      "frame.</p>\n{6}</body></html>\n",
      title, style, print_summary(report), print_table(report), window.first, window.last,
      print_lanes(report["stages"], trace, window));
}
