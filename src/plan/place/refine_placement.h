// Improvement of a placement by moving atoms and whole regions.
#pragma once

#include "plan/place/region_moves.h"

namespace intarsia {

/// Makes moves of find_region_moves, and with `pairs` any two of them, if the total of cost_of falls, until
/// none of them helps or no `trials` are left; it subtracts those it used. A trial is one partition. Moves
/// that do not touch are first tried together, so that a big problem needs few trials.
///   a@x b@y c@x, launches expensive  =>  a b c, all @x
std::vector<uint32_t> refine_placement(const RefinementTools& tools, std::vector<uint32_t> target_of,
                                       bool pairs, int64_t& trials);

}  // namespace intarsia
