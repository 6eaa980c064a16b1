// The progress of long work: a bar that never goes back, however much more work turns up.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace intarsia {

/// A bar, or a part of one. Work is counted in units of about equal time. More of it may become known on the
/// way: what is left of the part is divided among the remaining units, so that the bar slows down but never
/// moves back. A handle; one without a bar shows nothing. For one thread at a time.
///
///   Progress all(show);               // 0 to 1
///   all.expect(4);
///   Progress first = all.part(3);     // 0 to 0.75
///   first.expect(1), first.did("a");  // 0.75
///   all.did("b");                     // 1
class Progress {
 public:
  /// Called with what is being done, and how much of the bar is done.
  using Show = std::function<void(const std::string& phase, double part)>;

  Progress() = default;
  explicit Progress(Show show);

  /// This many more units are known.
  void expect(double units) const;
  /// Work on `phase` begins.
  void begin(const std::string& phase) const;
  /// This many units are done. Unexpected ones take half of what is left.
  void did(const std::string& phase, double units = 1) const;
  /// The bar for the contents of this many units.
  Progress part(double units) const;

 private:
  struct Span;
  explicit Progress(std::shared_ptr<Span> span) : span_(std::move(span)) {}
  std::shared_ptr<Span> span_;  // null: no bar
};

}  // namespace intarsia
