#include "program/read_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "program/digest.h"
#include "program/string_constant.h"
#include "program/verify_program.h"

namespace intarsia {
namespace {

struct Parts {
  std::span<const std::byte> tail;
  std::span<const std::byte> description;
  std::span<const std::byte> elf;
  uint64_t constants_bytes = 0;
  uint64_t digest = 0;
};

Result<Footer> read_footer(std::span<const std::byte> file) {
  // Version and magic stand at the very end in every format version: judged before anything else.
  Footer footer;
  constexpr size_t ending = sizeof(Footer) - offsetof(Footer, format_version);
  if (file.size() < ending) return fail("no Intarsia program, or cut off: it has {} bytes", file.size());
  std::memcpy(&footer.format_version, file.data() + file.size() - ending, ending);
  if (std::memcmp(footer.magic, program_magic, sizeof(program_magic)) != 0) {
    return fail("no Intarsia program, or cut off: its last 8 bytes are not INTARSIA");
  }
  if (footer.format_version > program_format_version) {
    return fail(
        "made by a newer Intarsia (format {}, this one reads {}): recompile the model or update Intarsia",
        footer.format_version, program_format_version);
  }
  if (footer.format_version == 0 || footer.footer_bytes != sizeof(Footer) || file.size() < sizeof(Footer)) {
    return fail("damaged: its footer does not make sense; compile the model again");
  }
  std::memcpy(&footer, file.data() + file.size() - sizeof(Footer), sizeof(Footer));
  return footer;
}

Result<Parts> find_parts(std::span<const std::byte> file) {
  const Footer footer = TRY(read_footer(file));
  for (uint64_t part :
       {footer.elf_bytes, footer.constants_bytes, footer.blobs_bytes, footer.description_bytes}) {
    if (part > file.size())
      return fail("damaged or cut off: a part of {} bytes in a file of {}", part, file.size());
  }
  const uint64_t data_bytes = footer.constants_bytes + footer.blobs_bytes;
  const uint64_t total = tail_offset(footer) + data_bytes + footer.description_bytes + sizeof(Footer);
  if (total != file.size() || footer.constants_bytes % tail_alignment != 0 ||
      data_bytes % tail_alignment != 0 || footer.description_bytes % tail_alignment != 0) {
    return fail("damaged or cut off: it has {} bytes, its parts {}; compile the model again", file.size(),
                total);
  }
  Digest digest;
  digest.add(file.first(tail_offset(footer)));
  const uint64_t after_constants = tail_offset(footer) + footer.constants_bytes;
  const uint64_t end = file.size() - sizeof(Footer) + offsetof(Footer, digest);
  digest.add(file.subspan(after_constants, end - after_constants));
  if (digest.value() != footer.digest)
    return fail("damaged: its digest does not match; compile the model again");
  const std::span<const std::byte> tail =
      file.subspan(tail_offset(footer), data_bytes + footer.description_bytes);
  return Parts{tail.first(data_bytes), tail.subspan(data_bytes), file.first(footer.elf_bytes), footer.constants_bytes, footer.digest};
}

Result<fbs::ProgramT> unpack_description(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  // A table takes 4 bytes at the least, so this many suffice for any real description.
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4);
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return fail("damaged: a description of {} bytes", bytes.size());
  flatbuffers::Verifier verifier(data, bytes.size(), 16, most_tables);
  if (!fbs::VerifyProgramBuffer(verifier)) {
    return fail("damaged: its description is not valid FlatBuffers data; compile the model again");
  }
  const fbs::Program* program = fbs::GetProgram(data);
  TRY(verify_unshared(*program, bytes.size()));
  fbs::ProgramT unpacked;
  program->UnPackTo(&unpacked);
  return unpacked;
}

/// A mapping cannot be written, but a TensorView has no const form: whoever gets constants only reads them.
Result<Tensor> make_constant(const fbs::ConstantT& constant, std::span<const std::byte> tail,
                             const std::shared_ptr<const void>& owner) {
  const std::span<const std::byte> bytes = tail.subspan(constant.offset, constant.bytes);
  const DType dtype = static_cast<DType>(constant.dtype);
  if (dtype == DType::string) return decode_strings(bytes, constant.dims);
  return Tensor(TensorView{const_cast<std::byte*>(bytes.data()), dtype, constant.dims},
                std::const_pointer_cast<void>(owner));
}

Result<MappedProgram> parse(std::span<const std::byte> file,
                            const std::shared_ptr<const ProgramFile>& owner) {
  const Parts parts = TRY(find_parts(file));
  MappedProgram program;
  program.description = TRY(unpack_description(parts.description));
  program.digest = parts.digest;
  program.elf = parts.elf;
  program.file = owner;
  TRY(with_context(verify_program(program.description, parts.constants_bytes, parts.tail.size()), "damaged"));
  for (const auto& constant : program.description.constants) {
    program.constants.push_back(TRY(with_context(make_constant(*constant, parts.tail, owner), "damaged")));
  }
  for (const auto& region : program.description.regions) {
    program.blobs.push_back(parts.tail.subspan(region->blob_offset, region->blob_bytes));
  }
  return program;
}

}  // namespace

Result<std::shared_ptr<const ProgramFile>> ProgramFile::open(const std::string& path) {
  std::shared_ptr<ProgramFile> file(new ProgramFile);
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file->descriptor_ < 0) return fail("cannot open it: {}", std::strerror(errno));
  struct stat facts = {};
  if (fstat(file->descriptor_, &facts) != 0) return fail("cannot read it: {}", std::strerror(errno));
  if (!S_ISREG(facts.st_mode))
    return fail("it is not a regular file; want a program made by 'intarsia compile'");
  const auto size = static_cast<size_t>(facts.st_size);
  if (size == 0) return file;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->descriptor_, 0);
  if (memory == MAP_FAILED) return fail("cannot map it: {}", std::strerror(errno));
  file->bytes_ = {static_cast<const std::byte*>(memory), size};
  return file;
}

ProgramFile::~ProgramFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

Result<MappedProgram> read_program(const std::string& path) {
  const auto read = [&]() -> Result<MappedProgram> {
    const std::shared_ptr<const ProgramFile> file = TRY(ProgramFile::open(path));
    MappedProgram program = TRY(parse(file->bytes(), file));
    program.path = path;
    return program;
  };
  return with_context(read(), "program '{}'", path);
}

Result<MappedProgram> parse_program(std::span<const std::byte> file) {
  INTARSIA_CHECK(reinterpret_cast<uintptr_t>(file.data()) % tail_alignment == 0);
  return parse(file, nullptr);
}

Status verify_constants(const MappedProgram& program) {
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Tensor& constant = program.constants[i];
    const bool text = constant.dtype() == DType::string;
    const uint64_t digest =
        text ? digest_bytes(encode_strings(constant.view()))
             : digest_bytes(std::span(static_cast<const std::byte*>(constant.data()), constant.bytes()));
    if (digest != program.description.constants[i]->digest) {
      return fail(
          "program '{}': constant {} ({} {}) is damaged: its digest does not match; compile the model again",
          program.path, i, dtype_name(constant.dtype()), print_shape(constant.shape()));
    }
  }
  return {};
}

}  // namespace intarsia
