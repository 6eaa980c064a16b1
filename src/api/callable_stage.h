// Stages that run a function of the C API's caller.
#pragma once

#include <memory>

#include "include/intarsia/intarsia_pipeline.h"
#include "pipeline/stage.h"

namespace intarsia::api {

/// Makes a stage per thread. They share the caller's `user`, which is released with the last of them.
Result<std::vector<std::unique_ptr<Stage>>> make_callable_stages(const intarsia_stage_function& about);

/// Guard that calls intarsia_release at its end, if it is armed by then.
class Release {
 public:
  Release(intarsia_release release, void* user) : release_(release), user_(user) {}
  ~Release() {
    if (is_armed_ && release_ != nullptr) release_(user_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  void arm() { is_armed_ = true; }

 private:
  intarsia_release release_;
  void* user_;
  bool is_armed_ = false;
};

}  // namespace intarsia::api
