// Part of the C API for pools of sessions.
#include <algorithm>
#include <condition_variable>

#include "api/handles.h"
#include "api/read_bind_options.h"
#include "api/session_handle.h"
#include "api/struct_sizes.h"
#include "base/core_set.h"

using namespace intarsia;
using namespace intarsia::api;

struct intarsia_pool {
  std::shared_ptr<const LoadedProgram> program;
  BindOptions options;
  size_t max_sessions = 0, max_idle = 0;

  mutable std::mutex mutex;
  std::condition_variable changed;  // a session became idle, or no longer exists
  std::vector<std::unique_ptr<intarsia_session>> idle;
  size_t sessions = 0;
};

namespace intarsia::api {
namespace {

/// Session of a pool for one run.
class PooledSession {
 public:
  static Result<PooledSession> take(intarsia_pool& pool) {
    PooledSession taken(pool, wait_for_one(pool));
    if (taken.session_ == nullptr) taken.session_ = TRY(open_session(pool.program, pool.options));
    return taken;
  }
  PooledSession(PooledSession&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), session_(std::move(other.session_)) {}
  ~PooledSession() {
    if (pool_ == nullptr) return;
    std::unique_lock lock(pool_->mutex);
    if (is_kept_ && pool_->idle.size() < pool_->max_idle) {
      pool_->idle.push_back(std::move(session_));
    } else {
      --pool_->sessions;
    }
    lock.unlock();
    pool_->changed.notify_one();
  }
  intarsia_session& operator*() const { return *session_; }
  /// Lets the pool have the session for later runs, unless it has enough of them.
  void keep() { is_kept_ = true; }

 private:
  PooledSession(intarsia_pool& pool, std::unique_ptr<intarsia_session> session)
      : pool_(&pool), session_(std::move(session)) {}

  /// Returns an idle session, or null for one that is counted and has to be opened.
  static std::unique_ptr<intarsia_session> wait_for_one(intarsia_pool& pool) {
    std::unique_lock lock(pool.mutex);
    pool.changed.wait(lock, [&] {
      return !pool.idle.empty() || pool.max_sessions == 0 || pool.sessions < pool.max_sessions;
    });
    if (pool.idle.empty()) {
      pool.idle.reserve(++pool.sessions);  // so that giving one back allocates nothing
      return nullptr;
    }
    std::unique_ptr<intarsia_session> session = std::move(pool.idle.back());
    pool.idle.pop_back();
    return session;
  }

  intarsia_pool* pool_;
  std::unique_ptr<intarsia_session> session_;
  bool is_kept_ = false;
};

}  // namespace
}  // namespace intarsia::api

intarsia_error* intarsia_program_pool(const intarsia_program* program, const intarsia_pool_options* options,
                                      intarsia_pool** pool) {
  return guarded([&]() -> Status {
    if (program == nullptr || pool == nullptr) return fail("intarsia_program_pool got a null pointer");
    intarsia_pool_options given{};
    if (options != nullptr) given = TRY(read_struct(*options, "the pool's options"));
    auto made = std::make_unique<intarsia_pool>();
    made->program = program->loaded;
    made->options = TRY(read_bind_options(given.bind));
    made->max_sessions = given.max_sessions;
    const auto cores = static_cast<size_t>(std::max(CoreSet::of_this_thread().size(), 1));
    made->max_idle = given.max_idle > 0 ? given.max_idle : cores;
    *pool = made.release();
    return {};
  });
}

void intarsia_pool_release(intarsia_pool* pool) { delete pool; }

intarsia_error* intarsia_pool_run(intarsia_pool* pool, const char* function, const intarsia_tensor* inputs,
                                  size_t input_count, intarsia_tensor* outputs, size_t output_count) {
  return guarded([&]() -> Status {
    if (pool == nullptr) return fail("the pool is a null pointer");
    PooledSession session = TRY(PooledSession::take(*pool));
    Status ran = run_session(*session, function == nullptr ? "" : function, inputs, input_count, outputs,
                             output_count);
    if (ran || ran.error().kind != ErrorKind::device_lost) session.keep();
    return ran;
  });
}

intarsia_error* intarsia_pool_describe(const intarsia_pool* pool, intarsia_pool_info* info) {
  return guarded([&]() -> Status {
    if (pool == nullptr) return fail("the pool is a null pointer");
    const std::lock_guard lock(pool->mutex);
    return fill_struct(info,
                       {.struct_size = sizeof(*info), .sessions = pool->sessions, .idle = pool->idle.size()});
  });
}
