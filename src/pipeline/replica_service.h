// Service of a stage's replicas: those that failed run no frames for a while.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace intarsia {

/// Pauses until a replica that is out of service is tried again: the first, doubled after each try that
/// fails, up to the longest.
inline constexpr int64_t first_pause_ns = 100'000'000;
inline constexpr int64_t longest_pause_ns = 10'000'000'000;

struct ReplicaStatistics {
  bool is_in_service = true;
  uint64_t frames = 0;   // frames that it ran; an item counts as one
  uint64_t errors = 0;   // frames among these that failed
  uint64_t repeats = 0;  // frames among these that another replica had failed
  std::string reason;    // reason why it is or last was out of service; empty: it never was
  std::string note;      // Stage::note()
};

/// Service of the replicas of one stage, by number. The caller holds a lock.
class ReplicaService {
 public:
  explicit ReplicaService(size_t replicas) : replicas_(replicas) {}

  const ReplicaStatistics& operator[](size_t replica) const { return replicas_[replica].statistics; }
  bool is_in_service(size_t replica) const { return replicas_[replica].statistics.is_in_service; }
  size_t count_in_service() const;
  /// Returns the time of the steady clock at which a replica out of service is tried again.
  int64_t next_try_ns(size_t replica) const { return replicas_[replica].next_try_ns; }

  /// Puts a replica out of service before its first frame.
  void begin_out_of_service(size_t replica, const Error& error, int64_t now);
  void tell(size_t replica, std::string_view note);
  void succeeded(size_t replica, bool is_repeat);
  /// Counts a frame that failed. Returns true if the replica went out of service: a lost device ends its
  /// service; lack of memory and a second error in a row do so if others are in service. Errors that are the
  /// caller's fault do not.
  bool failed(size_t replica, const Error& error, bool is_repeat, int64_t now);
  /// Puts a replica back in service whose error was the frame's fault: another replica failed it, too.
  void exonerate(size_t replica);
  /// Records a new try: after a success the replica is in service, and out of it at its next error.
  void recovered(size_t replica, const Status& status, int64_t now);
  /// Returns "replica 0: ...; replica 1: ...", for replicas out of service.
  std::string reasons() const;
  /// Returns the kind of the error for which a replica last went out of service.
  ErrorKind kind() const { return kind_; }

 private:
  struct Replica {
    ReplicaStatistics statistics = {};
    int errors_in_row = 0;
    int64_t pause_ns = 0, next_try_ns = 0;
  };
  void count(Replica& replica, bool is_error, bool is_repeat);
  void end_service(Replica& replica, const Error& error, int64_t now);

  std::vector<Replica> replicas_;
  ErrorKind kind_ = ErrorKind::unknown;
};

}  // namespace intarsia
