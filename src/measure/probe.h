// How fast this machine is now.
#pragma once

#include <cstdint>

namespace intarsia {

/// Nanoseconds of a small fixed computation: arithmetic in which each step needs the one before, then reads
/// from 256 KiB, each from where the one before says. Both wait instead of competing for a core's units, so
/// that a busy neighbor on the same core matters little. The least of many short rounds; takes a few
/// milliseconds.
int64_t measure_probe();

}  // namespace intarsia
