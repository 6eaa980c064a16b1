// Statuses of TensorFlow.
#pragma once

#include "bindings/tensorflow/failure.h"
#include "bindings/tensorflow/tensorflow_api.h"

namespace intarsia::op {

class Status {
 public:
  Status() : status_(TF_NewStatus()) {}
  explicit Status(const Failure& failure) : Status() {
    TF_SetStatus(status_, static_cast<int>(failure.code), failure.message.c_str());
  }
  ~Status() { TF_DeleteStatus(status_); }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  TF_Status* get() const { return status_; }
  bool is_ok() const { return TF_GetCode(status_) == 0; }
  /// Throws it as a Failure, unless it is good.
  void check() const {
    if (!is_ok()) throw Failure{static_cast<Code>(TF_GetCode(status_)), TF_Message(status_)};
  }

 private:
  TF_Status* status_;
};

}  // namespace intarsia::op
