#include "compile/program_source.h"

#include <cstring>

#include "base/digest.h"
#include "base/files/mapped_file.h"
#include "import/import_model.h"

namespace intarsia {

Result<bool> is_program_file(const std::string& path) {
  if (find_model_format(path) == ModelFormat::saved_model) return false;
  const MappedFile file = TRY(map_file(path));
  return file.bytes.size() >= 4 && std::memcmp(file.bytes.data(), "\177ELF", 4) == 0;
}

Result<uint64_t> digest_model(const std::string& path) {
  return digest_bytes(TRY(map_file(main_file(path))).bytes);
}

}  // namespace intarsia
