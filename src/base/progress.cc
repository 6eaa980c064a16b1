#include "base/progress.h"

#include <algorithm>

namespace intarsia {

struct Progress::Span {
  std::shared_ptr<const Show> show;
  double at = 0, end = 1;  // position and end in the bar
  double left = 0;         // remaining units

  void advance(double units) {
    const bool expected = units <= left;
    at += (end - at) * (expected ? units / left : left > 0 ? 1 : 0.5);
    left = expected ? left - units : 0;
  }
};

Progress::Progress(Show show) {
  if (show) span_ = std::make_shared<Span>(Span{std::make_shared<const Show>(std::move(show))});
}

void Progress::expect(double units) const {
  if (span_) span_->left += units;
}

void Progress::begin(const std::string& phase) const {
  if (span_) (*span_->show)(phase, span_->at);
}

void Progress::did(const std::string& phase, double units) const {
  if (!span_ || units <= 0) return;
  span_->advance(units);
  begin(phase);
}

Progress Progress::part(double units) const {
  if (!span_ || units <= 0) return {};
  auto part = std::make_shared<Span>(Span{span_->show, span_->at});
  span_->advance(units);
  part->end = span_->at;
  return Progress(std::move(part));
}

}  // namespace intarsia
