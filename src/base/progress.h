// Progress of long work: a bar that never moves back, even if more work turns up.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace intarsia {

/// Handle of a bar or of a part of one; without a bar it shows nothing. Work is counted in units of about
/// equal time. More work may become known on the way: the rest of the part is divided among the remaining
/// units, so that the bar slows down but never moves back. For one thread at a time.
///
///   Progress all(show);               // 0 to 1
///   all.expect(4);
///   Progress first = all.part(3);     // 0 to 0.75
///   first.expect(1), first.did("a");  // 0.75
///   all.did("b");                     // 1
class Progress {
 public:
  /// Callback that gets the current phase and the part of the bar that is done.
  using Show = std::function<void(const std::string& phase, double part)>;

  Progress() = default;
  explicit Progress(Show show);

  /// Adds this many units to the expected work.
  void expect(double units) const;
  /// Reports that work on `phase` starts.
  void begin(const std::string& phase) const;
  /// Reports that this many units are done. Unexpected ones take half of the rest.
  void did(const std::string& phase, double units = 1) const;
  /// Returns a bar for the contents of this many units.
  Progress part(double units) const;

 private:
  struct Span;
  explicit Progress(std::shared_ptr<Span> span) : span_(std::move(span)) {}
  std::shared_ptr<Span> span_;  // null if there is no bar
};

}  // namespace intarsia
