// Times of a model's parts on each target, from the plans that ran.
#pragma once

#include <functional>

#include "plan/costs/plan_timer.h"
#include "plan/segment_costs.h"

namespace intarsia {

/// Function that returns the cost of a copy between the memories of two slots.
using TimeLink = std::function<Result<LinkCost>(const DeviceSlot& from, const DeviceSlot& to)>;

/// Returns the times of all segments, whose division follows from the targets that ran them, and of the links
/// between the memories that were used. Among executors that are equal (the same code on as many cores of one
/// memory) one was timed; the others take as long, but for nodes that `placed` keeps where they are. Error:
/// something cannot be measured.
Result<SegmentCosts> price_segments(const PlanningProblem& problem, const std::vector<const Plan*>& plans,
                                    const Placement& placed, PlanTimer& timer, const TimeLink& time_link);

/// Corrects `costs` and the timer's table where regions of a plan that ran took 10% more or less than `costs`
/// says of their segments: these get the times that they took in it, there and on equal executors. A part of
/// a backend's plan has the times of its kernels' names, which may be wrong. Returns false if nothing
/// changed, or the plan did not run just now.
bool correct_prices(const PlanningProblem& problem, const Plan& plan, PlanTimer& timer, SegmentCosts& costs);

/// Checks whether something that the plan has on one executor could be on an equal one.
bool can_work_side_by_side(const PlanningProblem& problem, const Plan& plan);

}  // namespace intarsia
