// In a contender's own process: frames through a program or a model, as many at a time as it takes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "print.h"

/// Of frames in the middle of a stream: from when one left until so many more have left. Those that fill it
/// before, and keep it full until then, do not count.
struct StreamTimes {
  double seconds = 0;
  double cpu_seconds = 0;  // of the process, by getrusage
  std::vector<double> latencies_ms;
};

class FrameStream {
 public:
  virtual ~FrameStream() = default;
  virtual const std::string& version() const = 0;
  /// [{"name","replicas"}] of a pipeline; null for a peer.
  virtual Json stages() const = 0;
  /// How many frames may leave at about the same time: only multiples are timed without a bias.
  virtual size_t lanes() const = 0;
  virtual StreamTimes run(size_t frames) = 0;
  /// Of one frame.
  virtual std::vector<intarsia::Value> outputs() = 0;
};

/// `work` as Work in contender.h, as JSON. Of "intarsia" its stages, or with "devices" the whole program on
/// each of these; of others their configuration "throughput".
std::unique_ptr<FrameStream> open_stream(const std::string& runtime, const Json& work);
