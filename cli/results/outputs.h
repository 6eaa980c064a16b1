// Outputs of run: to files, in JSON, and for people.
#pragma once

#include <intarsia/intarsia.h>

#include <string>
#include <vector>

#include "cli/inputs/inputs.h"

/// Writes outputs, and the elements of sequences one by one, and reports them in JSON.
class OutputWriter {
 public:
  /// Creates the folder. No file of `inputs` may be replaced.
  OutputWriter(std::string folder, std::vector<std::string> inputs);

  Json write(const std::string& name, const intarsia_tensor& tensor);

 private:
  std::string folder_;
  std::vector<std::string> inputs_;
  FileNames names_;
};

/// Formats a line about an entry of a report, as InputValues and OutputWriter make them.
std::string print_input(const Json& input);
std::string print_output(const Json& output, const intarsia_tensor& tensor);

/// Returns a quantile of at least one number; `share` 0.5 is the median.
double quantile(std::vector<double> numbers, double share);
