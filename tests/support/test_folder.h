// Where tests write.
#pragma once

#include "base/temporary_folder.h"

namespace intarsia::test {

/// A folder that goes away with the object.
class TestFolder : public TemporaryFolder {
 public:
  TestFolder() : TemporaryFolder(make("intarsia-test").value()) {}
};

}  // namespace intarsia::test
