// Calls of users' kernels in plain C.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "target/region_calls.h"

namespace intarsia {

/// Writes the call of a user's kernel. `inputs` and `outputs` are the addresses of its tensors, of which
/// those left out do not count; `names` has the variables of open sizes; `otherwise` is what to do if it
/// fails.
std::string write_user_call(const UserCall& call, const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs,
                            const std::map<std::string, std::string>& names, const std::string& otherwise);

}  // namespace intarsia
