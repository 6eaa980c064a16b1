#include "base/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/threads/fork_count.h"

namespace intarsia {
namespace {

/// Time that a worker spins for a loop: longer than the serial kernels between two parallel ones, but not
/// much longer, as spinning burns a core.
constexpr int64_t worker_spin_nanoseconds = 100'000;

/// Pools of the process. A child of fork() lacks its parent's threads, so it starts with no pools.
struct Registry {
  std::mutex mutex;
  std::map<CoreSet, std::weak_ptr<ThreadPool>> pools;

  Registry() {
    pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                   [] {
                     get().pools.clear();
                     get().mutex.unlock();
                   });
  }
  /// Returns the registry, which is never destroyed, as sessions in static objects may outlive it.
  static Registry& get() {
    static Registry& registry = *new Registry;
    return registry;
  }
};

}  // namespace

/// Number of busy callers, and of workers that these could use. Callers that were busy at the same time still
/// count for a while: they are about to return, and a worker that took their core would have to be waited
/// for.
class Demand {
 public:
  void add(int workers) { packed_.fetch_add(one_caller + workers, std::memory_order_relaxed); }
  void remove(int workers) {
    const int64_t callers = packed_.fetch_sub(one_caller + workers, std::memory_order_relaxed) / one_caller;
    if (callers < 2) return;
    recent_callers_.store(callers, std::memory_order_relaxed);
    crowded_until_.store(clock_nanoseconds() + return_nanoseconds, std::memory_order_relaxed);
  }
  /// Returns how many of `threads` the callers leave to workers.
  int room(int threads) const {
    return threads - static_cast<int>(callers(packed_.load(std::memory_order_relaxed)));
  }
  /// Returns the number of workers that should be awake.
  int workers(int threads) const {
    const int64_t now = packed_.load(std::memory_order_relaxed);
    return static_cast<int>(std::clamp<int64_t>(threads - callers(now), 0, now % one_caller));
  }

 private:
  static constexpr int64_t one_caller = int64_t{1} << 32;
  static constexpr int64_t return_nanoseconds = 1'000'000;

  int64_t callers(int64_t packed) const {
    const int64_t busy = packed / one_caller, until = crowded_until_.load(std::memory_order_relaxed);
    if (until == 0 || busy >= 2) return busy;
    if (until < clock_nanoseconds()) {
      crowded_until_.store(0, std::memory_order_relaxed);
      return busy;
    }
    return std::max(busy, recent_callers_.load(std::memory_order_relaxed));
  }

  std::atomic<int64_t> packed_{0};
  std::atomic<int64_t> recent_callers_{0};
  mutable std::atomic<int64_t> crowded_until_{0};
};

/// Implementation of the pool. Workers look at the loops of all teams whenever a team starts one, which
/// raises `epoch_`. As many workers as are in demand are woken, lowest numbers first; workers in excess of
/// the cores that busy callers leave sleep. Lock order: `mutex_` alone.
class ThreadPool::Impl {
 public:
  Impl(CoreSet cores, int threads);
  ~Impl();

  const CoreSet& cores() const { return cores_; }
  int threads() const { return threads_; }
  int workers() const { return worker_count_.load(); }
  bool is_of_parent() const { return forks_ != fork_count(); }

  ParallelLoop* add_team(int size);
  void remove_team(ParallelLoop* loop, int size);
  Demand& demand() { return demand_; }
  int run(ParallelLoop& loop, int tasks, ParallelLoop::Body body, void* data);
  void park() { parked_.store(true, std::memory_order_relaxed); }

 private:
  bool may_help(const Worker& worker) const { return worker.number <= demand_.room(threads_); }
  void start_workers(int count);
  void work(Worker& worker);
  void help(Worker& worker);
  uint32_t wait_for_loop(Worker& worker, uint32_t seen);
  void sleep_until_loop(Worker& worker, uint32_t seen);
  void stay_away(const Worker& worker);
  void wake(int workers);

  const CoreSet cores_;
  const int threads_;
  const uint32_t forks_;  // fork_count() at construction
  std::atomic<uint32_t> epoch_{0};
  Demand demand_;
  std::atomic<bool> parked_{false}, stop_{false};
  std::atomic<ParallelLoop*> first_loop_{nullptr};
  std::unique_ptr<Worker[]> workers_;  // threads_ - 1 workers
  std::atomic<int> worker_count_{0};   // workers started
  std::mutex mutex_;
  std::condition_variable stopping_;
  // Under the mutex:
  std::deque<ParallelLoop> loops_;  // never shrinks, as workers may look at any
  std::vector<ParallelLoop*> free_loops_;
  int wanted_workers_ = 0;  // sum over all teams
  std::vector<std::thread> worker_threads_;
};

ThreadPool::Impl::Impl(CoreSet cores, int threads)
    : cores_(std::move(cores)),
      threads_(std::max(threads, 1)),
      forks_(fork_count()),
      workers_(std::make_unique<Worker[]>(static_cast<size_t>(threads_ - 1))) {}

ThreadPool::Impl::~Impl() {
  if (is_of_parent()) {
    // Threads that this process does not have can be neither joined nor destroyed.
    static_cast<void>(new std::vector<std::thread>(std::move(worker_threads_)));
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stop_.store(true);
    stopping_.notify_all();
  }
  epoch_.fetch_add(1);
  wake(workers());
  for (std::thread& thread : worker_threads_) thread.join();
}

ParallelLoop* ThreadPool::Impl::add_team(int size) {
  std::lock_guard lock(mutex_);
  start_workers(std::min(wanted_workers_ + size - 1, threads_ - 1));
  wanted_workers_ += size - 1;
  if (free_loops_.empty()) {
    ParallelLoop& loop = loops_.emplace_back(threads_);
    loop.next = first_loop_.load();
    free_loops_.push_back(&loop);
    first_loop_.store(&loop, std::memory_order_release);
  }
  ParallelLoop* loop = free_loops_.back();
  free_loops_.pop_back();
  loop->set_size(size);
  return loop;
}

void ThreadPool::Impl::remove_team(ParallelLoop* loop, int size) {
  std::lock_guard lock(mutex_);
  wanted_workers_ -= size - 1;
  free_loops_.push_back(loop);
}

/// Starts workers until there are `count`.
void ThreadPool::Impl::start_workers(int count) {
  for (int started = workers(); started < count; ++started) {
    Worker& worker = workers_[static_cast<size_t>(started)];
    worker.number = started + 1;
    worker_threads_.emplace_back([this, &worker] { work(worker); });
    worker_count_.store(started + 1);
  }
}

void ThreadPool::Impl::work(Worker& worker) {
  // If the system refuses, the worker runs where the thread that started it may.
  static_cast<void>(cores_.bind_this_thread());
  worker.thread = pthread_self();
  uint32_t seen = 0;
  while (!stop_.load()) {
    seen = wait_for_loop(worker, seen);
    help(worker);
    stay_away(worker);
  }
}

/// Takes part in all open loops.
void ThreadPool::Impl::help(Worker& worker) {
  ParallelLoop* loop = first_loop_.load(std::memory_order_acquire);
  for (; loop != nullptr && may_help(worker); loop = loop->next) loop->help(worker);
}

/// Waits until the epoch differs from `seen`, first spinning, then asleep. Returns the new epoch.
uint32_t ThreadPool::Impl::wait_for_loop(Worker& worker, uint32_t seen) {
  const int64_t until = clock_nanoseconds() + worker_spin_nanoseconds;
  for (int i = 0; !parked_.load(std::memory_order_relaxed) && may_help(worker); ++i) {
    const uint32_t now = epoch_.load(std::memory_order_acquire);
    if (now != seen) return now;
    relax();
    if (i % 64 == 63 && clock_nanoseconds() > until) break;
  }
  sleep_until_loop(worker, seen);
  return epoch_.load();
}

/// Sleeps until woken. Each side writes its own flag before it reads the other's, so that no new loop is
/// missed.
void ThreadPool::Impl::sleep_until_loop(Worker& worker, uint32_t seen) {
  worker.asleep.store(1);
  if (epoch_.load() == seen && !stop_.load()) worker.asleep.wait(1);
  worker.asleep.store(0);
}

void ThreadPool::Impl::stay_away(const Worker& worker) {
  const int64_t until = worker.away_until.load(std::memory_order_relaxed);
  if (until == 0) return;
  const int64_t now = clock_nanoseconds();
  if (until <= now) return;
  std::unique_lock lock(mutex_);
  stopping_.wait_for(lock, std::chrono::nanoseconds(until - now), [&] { return stop_.load(); });
}

/// Wakes the first `workers` of the started ones.
void ThreadPool::Impl::wake(int workers) {
  const int count = std::min(workers, worker_count_.load(std::memory_order_relaxed));
  for (int i = 0; i < count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    if (worker.asleep.load() == 1 && worker.asleep.exchange(0) == 1) worker.asleep.notify_one();
  }
}

int ThreadPool::Impl::run(ParallelLoop& loop, int tasks, ParallelLoop::Body body, void* data) {
  if (parked_.load(std::memory_order_relaxed)) parked_.store(false, std::memory_order_relaxed);
  loop.begin(tasks, body, data);
  epoch_.fetch_add(1);
  wake(demand_.workers(threads_));
  return loop.finish();
}

std::shared_ptr<ThreadPool> ThreadPool::of(const CoreSet& cores) {
  Registry& registry = Registry::get();
  std::lock_guard lock(registry.mutex);
  std::erase_if(registry.pools, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<ThreadPool>& known = registry.pools[cores];
  if (std::shared_ptr<ThreadPool> pool = known.lock()) return pool;
  auto pool = std::make_shared<ThreadPool>(cores, cores.size());
  known = pool;
  return pool;
}

ThreadPool::ThreadPool(CoreSet cores, int threads)
    : impl_(std::make_unique<Impl>(std::move(cores), threads)) {}
ThreadPool::~ThreadPool() = default;
const CoreSet& ThreadPool::cores() const { return impl_->cores(); }
int ThreadPool::threads() const { return impl_->threads(); }
int ThreadPool::workers() const { return impl_->workers(); }

ThreadTeam::ThreadTeam(std::shared_ptr<ThreadPool> pool, int threads)
    : pool_(std::move(pool)), size_(std::clamp(threads, 1, pool_->threads())) {
  join_pool();
}

ThreadTeam::~ThreadTeam() {
  if (loop_ != nullptr) pool_->impl_->remove_team(loop_, size_);
}

void ThreadTeam::join_pool() {
  if (size_ > 1) loop_ = pool_->impl_->add_team(size_);
}

void ThreadTeam::rejoin_after_fork() {
  pool_ = ThreadPool::of(pool_->cores());
  join_pool();
}

int ThreadTeam::parallel_for(int tasks, Body body, void* data) {
  if (loop_ == nullptr || tasks <= 1 || ParallelLoop::current_seat() >= 0) {
    const int seat = std::max(ParallelLoop::current_seat(), 0);
    int result = 0;
    for (int task = 0; task < tasks; ++task) {
      const int failed = body(data, task, seat);
      if (result == 0) result = failed;
    }
    return result;
  }
  const Busy busy(this);
  return pool_->impl_->run(*loop_, tasks, body, data);
}

void ThreadTeam::park() { pool_->impl_->park(); }

ThreadTeam::Busy::Busy(ThreadTeam* team)
    : team_(team == nullptr || team->loop_ == nullptr || team->is_busy_ ? nullptr : team) {
  if (team_ == nullptr) return;
  if (team_->pool_->impl_->is_of_parent()) team_->rejoin_after_fork();
  team_->is_busy_ = true;
  team_->pool_->impl_->demand().add(team_->size_ - 1);
}

ThreadTeam::Busy::~Busy() {
  if (team_ == nullptr) return;
  team_->pool_->impl_->demand().remove(team_->size_ - 1);
  team_->is_busy_ = false;
}

}  // namespace intarsia
