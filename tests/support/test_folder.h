// Folder that tests write to.
#pragma once

#include "base/files/temporary_folder.h"

namespace intarsia::test {

/// Folder that is removed with the object.
class TestFolder : public TemporaryFolder {
 public:
  TestFolder() : TemporaryFolder(make("intarsia-test").value()) {}
};

}  // namespace intarsia::test
