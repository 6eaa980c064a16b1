// Messages over a socket between the compile half and a worker process: their length, then their bytes.
#pragma once

#include <string>

namespace intarsia::halide {

/// Sends a message, and waits until all of it is sent. Returns false if the other side is gone; raises no
/// signal.
bool send_message(int socket, const std::string& message);

/// Assembles messages from what has arrived.
class MessageReader {
 public:
  enum class State { incomplete, complete, closed };
  /// Takes what the socket has, and waits for something if the socket blocks. When complete, `message` holds
  /// one; at most one is in flight at a time.
  State read(int socket, std::string& message);

 private:
  std::string received_;
};

}  // namespace intarsia::halide
