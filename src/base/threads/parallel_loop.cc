#include "base/threads/parallel_loop.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace intarsia {
namespace {

/// Time that a caller spins for workers inside: as long as the last task of a kernel may take.
constexpr int64_t caller_spin_nanoseconds = 50'000;
/// Absence of a worker whose core the system took, as a multiple of the time that its caller lost, so that
/// waiting takes at most a twentieth of the time.
constexpr int64_t absence = 20;

thread_local int seat_of_thread = -1;

/// Returns the nanoseconds that the thread has run, on any core.
int64_t cpu_nanoseconds(const Worker& worker) {
  clockid_t clock{};
  timespec time{};
  if (pthread_getcpuclockid(worker.thread, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

int TaskRange::take_first() {
  uint64_t now = ends_.load(std::memory_order_relaxed);
  while (true) {
    const int begin = static_cast<int>(now >> 32), end = static_cast<int>(static_cast<uint32_t>(now));
    if (begin >= end) return -1;
    if (ends_.compare_exchange_weak(now, pack(begin + 1, end), std::memory_order_relaxed)) return begin;
  }
}

int TaskRange::take_last() {
  uint64_t now = ends_.load(std::memory_order_relaxed);
  while (true) {
    const int begin = static_cast<int>(now >> 32), end = static_cast<int>(static_cast<uint32_t>(now));
    if (begin >= end) return -1;
    if (ends_.compare_exchange_weak(now, pack(begin, end - 1), std::memory_order_relaxed)) return end - 1;
  }
}

int ParallelLoop::current_seat() { return seat_of_thread; }

void ParallelLoop::begin(int tasks, Body body, void* data) {
  body_ = body;
  data_ = data;
  result_.store(0, std::memory_order_relaxed);
  const int64_t seats = size();
  for (int64_t seat = 0; seat < seats; ++seat)
    places_[static_cast<size_t>(seat)].tasks.set(static_cast<int>(seat * tasks / seats),
                                                 static_cast<int>((seat + 1) * tasks / seats));
  state_.fetch_add(one_generation + open);
}

int ParallelLoop::finish() {
  take_tasks(0);
  state_.fetch_sub(open, std::memory_order_acq_rel);
  wait_for_workers();
  return result_.load(std::memory_order_relaxed);
}

bool ParallelLoop::help(Worker& worker) {
  const uint64_t generation = generation_of(state_.load(std::memory_order_acquire));
  uint64_t& joined_last = places_[static_cast<size_t>(worker.number)].joined_last;
  if (generation == joined_last || !join(generation)) return false;
  joined_last = generation;
  const size_t seat = take_seat(worker);
  take_tasks(seat);
  leave(seat);
  return true;
}

/// Returns false if the loop of this generation is closed, or all its seats are taken.
bool ParallelLoop::join(uint64_t generation) {
  uint64_t now = state_.load(std::memory_order_acquire);
  const auto workers = static_cast<uint64_t>(size() - 1);
  while (generation_of(now) == generation && (now & open) != 0 && inside(now) < workers) {
    if (state_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

/// Takes the seat of the worker's number if it exists and is free, else another. Some seat is free, as there
/// are never more workers inside than seats.
size_t ParallelLoop::take_seat(Worker& worker) {
  const auto seats = static_cast<size_t>(size());
  for (size_t seat = static_cast<size_t>(worker.number);; ++seat) {
    if (seat >= seats) seat = 1;
    Worker* nobody = nullptr;
    if (places_[seat].sitting.compare_exchange_strong(nobody, &worker, std::memory_order_acq_rel))
      return seat;
  }
}

void ParallelLoop::leave(size_t seat) {
  places_[seat].sitting.store(nullptr, std::memory_order_release);
  state_.fetch_sub(1);
  if (caller_sleeps_.load()) state_.notify_all();
}

void ParallelLoop::take_tasks(size_t own) {
  seat_of_thread = static_cast<int>(own);
  for (int task = places_[own].tasks.take_first(); task >= 0; task = places_[own].tasks.take_first())
    run_task(task, own);
  const auto seats = static_cast<size_t>(size());
  for (size_t i = 1; i < seats; ++i) {
    TaskRange& other = places_[(own + i) % seats].tasks;
    for (int task = other.take_last(); task >= 0; task = other.take_last()) run_task(task, own);
  }
  seat_of_thread = -1;
}

void ParallelLoop::run_task(int task, size_t seat) {
  const int failed = body_(data_, task, static_cast<int>(seat));
  int none = 0;
  if (failed != 0) result_.compare_exchange_strong(none, failed);
}

void ParallelLoop::wait_for_workers() {
  if (inside(state_.load(std::memory_order_acquire)) == 0) return;
  const int64_t until = clock_nanoseconds() + caller_spin_nanoseconds;
  for (int i = 0; inside(state_.load(std::memory_order_acquire)) != 0; ++i) {
    relax();
    if (i % 64 == 63 && clock_nanoseconds() > until) return sleep_until_they_left();
  }
}

/// Waits asleep, which leaves the caller's core to a worker whose own core was taken.
void ParallelLoop::sleep_until_they_left() {
  const int64_t begin = clock_nanoseconds();
  for (Place& place : places_) {
    place.awaited = place.sitting.load(std::memory_order_acquire);
    if (place.awaited != nullptr) place.cpu_before = cpu_nanoseconds(*place.awaited);
  }
  caller_sleeps_.store(true);
  for (uint64_t now = state_.load(); inside(now) != 0; now = state_.load()) {
    state_.wait(now);
    judge_who_left(begin);
  }
  judge_who_left(begin);
  caller_sleeps_.store(false);
}

/// Judges workers that left: one that computed while awaited had a long task; one that did not was preempted
/// and has to stay away.
void ParallelLoop::judge_who_left(int64_t waiting_since) {
  for (Place& place : places_) {
    if (place.awaited == nullptr || place.awaited == place.sitting.load(std::memory_order_acquire)) continue;
    const int64_t now = clock_nanoseconds();
    const int64_t lost = now - waiting_since - (cpu_nanoseconds(*place.awaited) - place.cpu_before);
    if (2 * lost > now - waiting_since) place.awaited->away_until.store(now + absence * lost);
    place.awaited = nullptr;
  }
}

}  // namespace intarsia
