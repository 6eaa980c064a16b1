// Frames through a program or a model in a contender's own process, as many at a time as it takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/text/print.h"

/// Times of frames in the middle of a stream: from when one leaves until a given number more have left.
/// Frames that fill the stream at first, and those that keep it full until the end, do not count.
struct StreamTimes {
  double seconds = 0;
  double cpu_seconds = 0;  // processor time of the process, by getrusage
  std::vector<double> latencies_ms;
};

class FrameStream {
 public:
  virtual ~FrameStream() = default;
  virtual const std::string& version() const = 0;
  /// Returns [{"name","replicas"}] for a pipeline; null for a peer.
  virtual Json stages() const = 0;
  /// Returns how many frames may leave at about the same time: only multiples of it are timed without a bias.
  virtual size_t lanes() const = 0;
  virtual StreamTimes run(size_t frames) = 0;
  /// Returns the outputs of one frame.
  virtual std::vector<intarsia::Value> outputs() = 0;
};

/// Opens `work` (Work in contender.h, as JSON): for "intarsia" its stages or, with "devices", the whole
/// program on each of these; for others their configuration "throughput".
std::unique_ptr<FrameStream> open_stream(const std::string& runtime, const Json& work);
