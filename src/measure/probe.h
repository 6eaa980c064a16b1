// Probe of the machine's current speed.
#pragma once

#include <cstdint>

namespace intarsia {

/// Measures the nanoseconds of a small fixed computation: arithmetic in which each step needs the previous
/// one, then reads from 256 KiB, each from where the previous one says. Both wait instead of competing for a
/// core's units, so that a busy neighbor on the same core matters little. Returns the least of many short
/// rounds; takes a few milliseconds.
int64_t measure_probe();

}  // namespace intarsia
