#include "base/threads/pool_cores.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace intarsia {
namespace {

constexpr const char* tasks = "/proc/self/task";

std::string describe(const std::optional<CoreSet>& cores) {
  return cores ? "the cores " + cores->text() : "no cores in particular";
}

struct PinnedPool {
  std::optional<CoreSet> cores;
  std::string user;  // first user that gave a name
};

thread_local std::string pool_user;

/// Threads that have a name only to pass it on, once per nested scope.
struct NamingThreads {
  std::mutex mutex;
  std::vector<int> ids;
};

NamingThreads& naming_threads() {
  static auto& threads = *new NamingThreads;  // threads may outlive statics
  return threads;
}

/// Returns the ids of this process's threads with a matching name of their own.
std::vector<int> find_threads(bool (*is_such)(std::string_view name)) {
  std::vector<int> found;
  std::error_code error;
  NamingThreads& naming = naming_threads();
  std::lock_guard lock(naming.mutex);
  for (const auto& task : std::filesystem::directory_iterator(tasks, error)) {
    std::ifstream comm(task.path() / "comm");
    std::string line;
    if (!std::getline(comm, line) || !is_such(line)) continue;
    const std::string text = task.path().filename().string();
    int id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    if (std::ranges::find(naming.ids, id) == naming.ids.end()) found.push_back(id);
  }
  return found;
}

}  // namespace

Status pin_pool(const std::string& library, const CoreSet* cores) {
  static std::mutex mutex;
  static auto& pools = *new std::map<std::string, PinnedPool>;  // threads may outlive statics
  const std::optional<CoreSet> wanted = cores != nullptr ? std::optional(*cores) : std::nullopt;
  std::lock_guard lock(mutex);
  PinnedPool& pinned = pools.emplace(library, PinnedPool{wanted, pool_user}).first->second;
  if (pinned.cores == wanted) {
    if (pinned.user.empty()) pinned.user = pool_user;
    return {};
  }
  return fail(
      ErrorKind::busy,
      "{0} has one pool of threads in a process, which is pinned to {1}{2}, and {3} wants {4}; give all "
      "regions of {0} the same cores, or run them in two processes",
      library, describe(pinned.cores), pinned.user.empty() ? "" : " for " + pinned.user,
      pool_user.empty() ? "a region" : pool_user, describe(wanted));
}

NamesPoolUser::NamesPoolUser(std::string user) : before_(std::exchange(pool_user, std::move(user))) {}

NamesPoolUser::~NamesPoolUser() { pool_user = std::move(before_); }

NamesNewThreads::NamesNewThreads(const char* name) {
  NamingThreads& naming = naming_threads();
  std::lock_guard lock(naming.mutex);
  naming.ids.push_back(gettid());
  prctl(PR_GET_NAME, before_.data());
  prctl(PR_SET_NAME, name);
}

NamesNewThreads::~NamesNewThreads() {
  NamingThreads& naming = naming_threads();
  std::lock_guard lock(naming.mutex);
  prctl(PR_SET_NAME, before_.data());
  naming.ids.erase(std::ranges::find(naming.ids, gettid()));
}

void bind_threads(bool (*is_such)(std::string_view name), const CoreSet& cores) {
  constexpr int most_rounds = 20;
  bool found = true;
  for (int round = 0; found && round < most_rounds; ++round) {
    if (round > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    found = false;
    for (int id : find_threads(is_such))
      found |= !cores.contains(CoreSet::of_thread(id)) && cores.bind_thread(id);
  }
}

int count_threads() {
  struct stat facts = {};
  return stat(tasks, &facts) == 0 ? static_cast<int>(facts.st_nlink) - 2 : 0;
}

int count_threads(bool (*is_such)(std::string_view name)) {
  return static_cast<int>(find_threads(is_such).size());
}

}  // namespace intarsia
