// Frames whose inputs are used in place.
#pragma once

#include <intarsia/intarsia_pipeline.hpp>
#include <memory>
#include <vector>

/// False: the queue is full. `owner` keeps the inputs' memory, also for frames that a pipeline's end leaves
/// behind.
bool try_push_frame(intarsia::Pipeline& pipeline, const std::vector<intarsia_tensor>& inputs,
                    std::shared_ptr<const void> owner);

/// Processor time of this process, on all cores.
double cpu_seconds_of_process();
