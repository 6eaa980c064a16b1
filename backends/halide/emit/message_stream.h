// Messages over a socket between the compile half and a worker process: their length, then their bytes.
#pragma once

#include <string>

namespace intarsia::halide {

/// Waits until all is sent. False when the other side is gone; no signal is raised.
bool send_message(int socket, const std::string& message);

/// Puts messages together from what has arrived.
class MessageReader {
 public:
  enum class State { incomplete, complete, closed };
  /// Takes what the socket has: waits for something when it blocks. Complete: `message` holds one; there is
  /// at most one under way at a time.
  State read(int socket, std::string& message);

 private:
  std::string received_;
};

}  // namespace intarsia::halide
