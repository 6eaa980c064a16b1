// Frames whose inputs are used in place.
#pragma once

#include <intarsia/intarsia_pipeline.hpp>
#include <memory>
#include <vector>

/// Pushes a frame; returns false if the queue is full. `owner` keeps the inputs' memory alive, also for
/// frames that a pipeline leaves behind at its end.
bool try_push_frame(intarsia::Pipeline& pipeline, const std::vector<intarsia_tensor>& inputs,
                    std::shared_ptr<const void> owner);

/// Returns the processor time of this process, on all cores.
double cpu_seconds_of_process();
