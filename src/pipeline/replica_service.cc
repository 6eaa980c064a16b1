#include "pipeline/replica_service.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace intarsia {
namespace {

bool is_callers_fault(ErrorKind kind) {
  return kind == ErrorKind::invalid_argument || kind == ErrorKind::timed_out || kind == ErrorKind::cancelled;
}

}  // namespace

size_t ReplicaService::count_in_service() const {
  return static_cast<size_t>(
      std::ranges::count_if(replicas_, [](const Replica& one) { return one.statistics.is_in_service; }));
}

void ReplicaService::begin_out_of_service(size_t replica, const Error& error, int64_t now) {
  end_service(replicas_[replica], error, now);
}

void ReplicaService::tell(size_t replica, std::string_view note) {
  replicas_[replica].statistics.note = note;
}

void ReplicaService::count(Replica& replica, bool is_error, bool is_repeat) {
  ++replica.statistics.frames;
  replica.statistics.errors += is_error ? 1 : 0;
  replica.statistics.repeats += is_repeat ? 1 : 0;
}

void ReplicaService::succeeded(size_t replica, bool is_repeat) {
  Replica& one = replicas_[replica];
  count(one, false, is_repeat);
  one.errors_in_row = 0;
  one.pause_ns = 0;
}

bool ReplicaService::failed(size_t replica, const Error& error, bool is_repeat, int64_t now) {
  Replica& one = replicas_[replica];
  count(one, true, is_repeat);
  if (is_callers_fault(error.kind)) return false;
  ++one.errors_in_row;
  const bool is_lost = error.kind == ErrorKind::device_lost;
  const bool is_unfit = error.kind == ErrorKind::out_of_memory || one.errors_in_row > 1;
  if (!is_lost && (!is_unfit || count_in_service() < 2)) return false;
  end_service(one, error, now);
  return true;
}

void ReplicaService::end_service(Replica& replica, const Error& error, int64_t now) {
  replica.statistics.is_in_service = false;
  replica.statistics.reason = error.message;
  kind_ = error.kind;
  replica.pause_ns =
      replica.pause_ns == 0 ? first_pause_ns : std::min(2 * replica.pause_ns, longest_pause_ns);
  replica.next_try_ns = now + replica.pause_ns;
}

void ReplicaService::exonerate(size_t replica) {
  Replica& one = replicas_[replica];
  one.statistics.is_in_service = true;
  one.statistics.reason.clear();
  one.errors_in_row = 1;
  one.pause_ns = 0;
}

void ReplicaService::recovered(size_t replica, const Status& status, int64_t now) {
  Replica& one = replicas_[replica];
  if (!status) return end_service(one, status.error(), now);
  one.statistics.is_in_service = true;
  one.errors_in_row = 1;
}

std::string ReplicaService::reasons() const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < replicas_.size(); ++i)
    if (!is_in_service(i)) texts.push_back(fmt::format("replica {}: {}", i, (*this)[i].reason));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace intarsia
