// Messages over a socket between the compile half and a worker process: their length, then their bytes.
#pragma once

#include <string>

namespace intarsia::halide {

/// Waits until everything is sent. False if the other side is gone; no signal is raised.
bool send_message(int socket, const std::string& message);

/// Assembles messages from what has arrived.
class MessageReader {
 public:
  enum class State { incomplete, complete, closed };
  /// Takes what the socket has: waits for something if the socket blocks. Complete: `message` holds one; at
  /// most one is in flight at a time.
  State read(int socket, std::string& message);

 private:
  std::string received_;
};

}  // namespace intarsia::halide
