#include "api/give_text.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace intarsia::api {

void give_text(const std::string& text, char** to) {
  if (to == nullptr) return;
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *to = copy;
}

}  // namespace intarsia::api
