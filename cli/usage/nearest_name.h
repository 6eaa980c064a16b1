// Likely meaning of a mistyped word.
#pragma once

#include <string>
#include <vector>

/// Returns the name with the fewest letters inserted, dropped, replaced or exchanged with their neighbor, at
/// most one in three; a prefix of `word`, or a name that starts with it, counts as one edit. Empty if none is
/// near.
///   "--ouput", {"--output", "--pin"}  =>  "--output"
std::string nearest_name(const std::string& word, const std::vector<std::string>& names);
