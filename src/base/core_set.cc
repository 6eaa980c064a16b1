#include "base/core_set.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <thread>

namespace intarsia {
namespace {

constexpr int max_cores = 4096;  // more than any Linux has

/// Core set in the system's format, with max_cores bits.
class Mask {
 public:
  static constexpr size_t bytes() { return max_cores / 8; }
  cpu_set_t* get() { return bits_.data(); }
  void add(int core) { CPU_SET_S(static_cast<size_t>(core), bytes(), get()); }
  bool has(int core) { return CPU_ISSET_S(static_cast<size_t>(core), bytes(), get()); }

 private:
  std::array<cpu_set_t, max_cores / CPU_SETSIZE> bits_{};
};

Mask mask_of(const std::vector<int>& cores) {
  Mask mask;
  for (int core : cores) mask.add(core);
  return mask;
}

Result<int> parse_core(std::string_view text) {
  int core = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), core);
  if (error != std::errc() || end != text.data() + text.size() || core < 0 || core >= max_cores)
    return fail("'{}' is not the number of a CPU; want numbers and ranges, as in 0-1+4", text);
  return core;
}

}  // namespace

Result<CoreSet> CoreSet::parse(std::string_view text) {
  CoreSet set;
  for (size_t begin = 0; begin <= text.size();) {
    const std::string_view range = text.substr(begin, text.find('+', begin) - begin);
    begin += range.size() + 1;
    const size_t dash = range.find('-');
    const int first = TRY(parse_core(range.substr(0, dash)));
    const int last = dash == std::string_view::npos ? first : TRY(parse_core(range.substr(dash + 1)));
    if (last < first) return fail("'{}': the range ends before it begins", range);
    for (int core = first; core <= last; ++core) set.cores_.push_back(core);
  }
  std::ranges::sort(set.cores_);
  set.cores_.erase(std::ranges::unique(set.cores_).begin(), set.cores_.end());
  return set;
}

CoreSet CoreSet::of_thread(int id) {
  CoreSet set;
  Mask mask;
  if (sched_getaffinity(id, Mask::bytes(), mask.get()) == 0) {
    for (int core = 0; core < max_cores; ++core) {
      if (mask.has(core)) set.cores_.push_back(core);
    }
  } else {
    const int cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    for (int core = 0; core < cores; ++core) set.cores_.push_back(core);
  }
  return set;
}

bool CoreSet::contains(const CoreSet& other) const { return std::ranges::includes(cores_, other.cores_); }

std::string CoreSet::text() const {
  std::string text;
  for (size_t i = 0; i < cores_.size();) {
    size_t last = i;
    while (last + 1 < cores_.size() && cores_[last + 1] == cores_[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : "+", cores_[i]);
    if (last > i) text += fmt::format("-{}", cores_[last]);
    i = last + 1;
  }
  return text;
}

std::vector<CoreSet> divide_cores(const CoreSet& cores, int size) {
  std::vector<CoreSet> sets;
  for (auto first = cores.cores_.begin(); cores.cores_.end() - first >= size; first += size)
    sets.emplace_back().cores_.assign(first, first + size);
  return sets;
}

Status check_usable(const CoreSet& cores) {
  const CoreSet usable = CoreSet::of_this_thread();
  if (usable.contains(cores)) return {};
  return fail(ErrorKind::not_found, "this process may use the CPUs {}; bind to some of these", usable.text());
}

Result<CoreSet> usable_cores(std::string_view text) {
  CoreSet cores = TRY(CoreSet::parse(text));
  TRY(check_usable(cores));
  return cores;
}

bool CoreSet::bind_thread(int id) const {
  Mask mask = mask_of(cores_);
  return sched_setaffinity(id, Mask::bytes(), mask.get()) == 0;
}

Status CoreSet::bind_this_thread() const {
  if (bind_thread(0)) return {};
  return fail(ErrorKind::io, "cannot run on the CPUs {}: {}; this thread may use {}", text(),
              std::strerror(errno), of_this_thread().text());
}

BoundThread::BoundThread(const CoreSet& cores) {
  static_assert(sizeof before_ == Mask::bytes());
  auto* before = reinterpret_cast<cpu_set_t*>(before_.data());
  if (sched_getaffinity(0, Mask::bytes(), before) != 0) return;
  Mask wanted = mask_of(cores.cores_), both;
  CPU_AND_S(Mask::bytes(), both.get(), before, wanted.get());
  if (CPU_EQUAL_S(Mask::bytes(), both.get(), before)) return;
  is_changed_ = sched_setaffinity(0, Mask::bytes(), wanted.get()) == 0;
}

BoundThread::~BoundThread() {
  if (is_changed_) sched_setaffinity(0, Mask::bytes(), reinterpret_cast<cpu_set_t*>(before_.data()));
}

}  // namespace intarsia
