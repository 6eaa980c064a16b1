// Reports in lines that fit the terminal.
#pragma once

#include <string>

/// Returns the columns of the terminal; where standard output is not one, those of COLUMNS, or 80.
size_t output_width();

/// Breaks lines that are longer than `width` between words; continuation lines are indented:
///   "  plan      all in openvino: 39.4 ms (as placed\n"
///   "            55.3 ms, all in halide 55.3 ms)\n"
/// A number stays beside its unit; a word that is too long for a line, such as a path, stays whole.
std::string wrap_lines(const std::string& text, size_t indent, size_t width);

/// Prints text on standard output, in lines of its width.
void print_text(const std::string& text, size_t indent);
