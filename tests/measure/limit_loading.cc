// Loading of programs that may take too long, in processes that can be ended.
//
// Covers: src/measure/ limit_loading.cc
// src/base/code/ worker_process.cc
// registry/ load_worker.cc
#include "measure/limit_loading.h"

#include <gtest/gtest.h>

#include "base/code/worker_process.h"

namespace intarsia {
namespace {

TEST(LimitLoading, WhatCannotBeLoadedIsLeftToThisProcess) {
  const std::vector<Status> loaded = limit_loading({"/nowhere/a.so", "/dev/null"}, {});
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_TRUE(loaded[0] && loaded[1]);
}

TEST(LimitLoading, NothingGoesOnWhenTheTimeIsOver) {
  const std::vector<Status> loaded =
      limit_loading({"/nowhere/a.so", "/nowhere/b.so"}, {.may_go_on = [] { return false; }});
  for (const Status& one : loaded) {
    ASSERT_FALSE(one);
    EXPECT_EQ(one.error().kind, ErrorKind::cancelled);
    EXPECT_EQ(one.error().message, "given up: the time to measure is over (--tune-seconds)");
  }
}

TEST(WorkerProcess, SaysHowItEnded) {
  const auto worker = WorkerProcess::start("intarsia-load", {"/nowhere/a.so", "1", "10"}, -1);
  ASSERT_TRUE(worker) << worker.error().message;
  std::optional<WorkerEnd> end;
  while (!(end = (*worker)->find_end())) {
  }
  EXPECT_FALSE(end->is_killed() || end->is_out_of_time());
  EXPECT_TRUE(end->describe("it").starts_with("it ended with status 1: ")) << end->describe("it");
  EXPECT_NE(end->last_words.find("/nowhere/a.so"), std::string::npos) << end->last_words;
}

TEST(WorkerProcess, AProgramThatIsNotThereIsAnError) {
  const auto worker = WorkerProcess::start("intarsia-no-such", {}, -1);
  ASSERT_FALSE(worker);
  EXPECT_EQ(worker.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace intarsia
