#include "compile/functions.h"

namespace intarsia {

std::vector<std::string> PlannedFunction::all_notes() const {
  std::vector<std::string> all = size_notes;
  const auto append = [&](const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(notes);
  if (chosen.report) append(chosen.report->notes);
  append(refused->notes());
  return all;
}

}  // namespace intarsia
