// What a mistyped word was meant to be.
#pragma once

#include <string>
#include <vector>

/// The name that is the beginning of `word` or begins with it, else the one with the fewest letters inserted,
/// dropped, replaced or exchanged with their neighbor, at most one in three. Empty: none is near.
///   "--ouput", {"--output", "--pin"}  =>  "--output"
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);
