#include "backends/halide/emit/message_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace intarsia::halide {

bool send_message(int socket, const std::string& message) {
  const uint64_t size = message.size();
  const std::string bytes = std::string(text_of_value(size)) + message;
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = send(socket, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

MessageReader::State MessageReader::read(int socket, std::string& message) {
  std::array<char, 1 << 16> buffer;
  const ssize_t got = recv(socket, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return State::incomplete;
  if (got <= 0) return State::closed;
  received_.append(buffer.data(), static_cast<size_t>(got));
  uint64_t size = 0;
  if (received_.size() < sizeof(size)) return State::incomplete;
  std::memcpy(&size, received_.data(), sizeof(size));
  if (received_.size() < sizeof(size) + size) return State::incomplete;
  message = received_.substr(sizeof(size), size);
  received_.erase(0, sizeof(size) + size);
  return State::complete;
}

}  // namespace intarsia::halide
