// How far work is that takes long: a bar that never goes back, whatever turns out to be to do.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace intarsia {

/// A bar, or a part of one. Work is counted in units of about equal time. More of it may become known while
/// it goes on: what is left of the part is divided among the units that are left, so that the bar gets slower
/// but never shorter. A handle; one without a bar shows nothing. For one thread at a time.
///
///   Progress all(show);               // 0 to 1
///   all.expect(4);
///   Progress first = all.part(3);     // 0 to 0.75
///   first.expect(1), first.did("a");  // 0.75
///   all.did("b");                     // 1
class Progress {
 public:
  /// Is told what is going on, and how much of the bar is done.
  using Show = std::function<void(const std::string& phase, double part)>;

  Progress() = default;
  explicit Progress(Show show);

  /// So many more units are known.
  void expect(double units) const;
  /// Work on this begins.
  void begin(const std::string& phase) const;
  /// So many units are done. Those that nobody expected take half of what is left.
  void did(const std::string& phase, double units = 1) const;
  /// What so many units consist of.
  Progress part(double units) const;

 private:
  struct Span;
  explicit Progress(std::shared_ptr<Span> span) : span_(std::move(span)) {}
  std::shared_ptr<Span> span_;  // null: no bar
};

}  // namespace intarsia
