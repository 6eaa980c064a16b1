// What parts of a model take on each target, by the plans that ran.
#pragma once

#include <functional>

#include "plan/mix_backends.h"
#include "plan/plan_timer.h"

namespace intarsia {

/// What a copy between the memories of two slots takes.
using TimeLink = std::function<Result<LinkCost>(const DeviceSlot& from, const DeviceSlot& to)>;

/// Of all segments, whose division follows from the targets that ran them, and of the links between the
/// memories that were used. Of executors that are equal (the same code on as many cores of one memory) one
/// was timed; the others take as long, but for what `placed` holds where it is. Error: something cannot be
/// measured.
Result<SegmentCosts> price_segments(const PlanningProblem& problem, const std::vector<const Plan*>& plans,
                                    const Placement& placed, PlanTimer& timer, const TimeLink& time_link);

/// Something that the plan has on one executor could be on an equal one.
bool can_work_side_by_side(const PlanningProblem& problem, const Plan& plan);

}  // namespace intarsia
