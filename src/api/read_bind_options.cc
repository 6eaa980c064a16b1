#include "api/read_bind_options.h"

#include <algorithm>
#include <thread>

#include "api/struct_sizes.h"

namespace intarsia::api {

static_assert(static_cast<int>(OnDeviceLost::alternative) == INTARSIA_ON_DEVICE_LOST_ALTERNATIVE);
static_assert(static_cast<int>(OnDeviceLost::error) == INTARSIA_ON_DEVICE_LOST_ERROR);

Result<BindOptions> read_bind_options(const intarsia_bind_options* options) {
  BindOptions bind;
  if (options == nullptr) return bind;
  const intarsia_bind_options given = TRY(read_struct(*options, "the bind options"));
  if (given.binding_count > 0 && given.bindings == nullptr)
    return fail("its {} bindings are a null pointer", given.binding_count);
  for (size_t i = 0; i < given.binding_count; ++i) {
    const intarsia_binding& binding = given.bindings[i];
    if (binding.slot == nullptr || binding.device == nullptr) return fail("binding {} has a null pointer", i);
    bind.devices.emplace_back(binding.slot, binding.device);
  }
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  if (given.threads > cores) return fail("--threads {}: this machine has {} cores", given.threads, cores);
  bind.threads = given.threads;
  if (given.on_device_lost != INTARSIA_ON_DEVICE_LOST_ALTERNATIVE &&
      given.on_device_lost != INTARSIA_ON_DEVICE_LOST_ERROR)
    return fail("on_device_lost is {}, want one of INTARSIA_ON_DEVICE_LOST_...", given.on_device_lost);
  bind.on_device_lost = static_cast<OnDeviceLost>(given.on_device_lost);
  bind.session = {given.max_arena_bytes, given.append_in_place != 0};
  return bind;
}

}  // namespace intarsia::api
