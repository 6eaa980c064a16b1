#include "program/read_program.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/digest.h"
#include "base/files/file_kind.h"
#include "base/flat_buffer.h"
#include "program/string_constant.h"
#include "program/verify_program.h"

namespace intarsia {
namespace {

/// Parts of a file's bytes. The bytes that are checked are the very ones that are used.
struct Image {
  std::span<const std::byte> head;       // ELF image and zeros, up to the tail
  std::span<const std::byte> constants;  // constants, which are not read here
  std::span<const std::byte> rest;       // blobs, description, footer
};

constexpr size_t ending_bytes = sizeof(Footer) - offsetof(Footer, format_version);

/// Reads the footer. `end` is the end of the file, as long as a footer, or all of a shorter file.
Result<Footer> read_footer(std::span<const std::byte> end) {
  // Version and magic are at the very end in every format version: checked before anything else.
  Footer footer;
  if (end.size() < ending_bytes)
    return fail("not an Intarsia program, or truncated: it has {} bytes", end.size());
  std::memcpy(&footer.format_version, end.data() + end.size() - ending_bytes, ending_bytes);
  if (std::memcmp(footer.magic, program_magic, sizeof(program_magic)) != 0) {
    return fail("not an Intarsia program, or truncated: its last 8 bytes are not INTARSIA");
  }
  if (footer.format_version > 0 && footer.format_version < program_format_version) {
    return fail(ErrorKind::version,
                "made by an older Intarsia (format {}, this one reads {}): compile the model again",
                footer.format_version, program_format_version);
  }
  if (footer.format_version > program_format_version) {
    return fail(
        ErrorKind::version,
        "made by a newer Intarsia (format {}, this one reads {}): recompile the model or update Intarsia",
        footer.format_version, program_format_version);
  }
  if (footer.format_version == 0 || footer.footer_bytes != sizeof(Footer) || end.size() < sizeof(Footer)) {
    return fail("damaged: its footer does not make sense; compile the model again");
  }
  std::memcpy(&footer, end.data(), sizeof(Footer));
  return footer;
}

uint64_t rest_offset(const Footer& footer) { return tail_offset(footer) + footer.constants_bytes; }

Status check_sizes(const Footer& footer, uint64_t file_bytes) {
  for (uint64_t part :
       {footer.elf_bytes, footer.constants_bytes, footer.blobs_bytes, footer.description_bytes}) {
    if (part > file_bytes)
      return fail("damaged or truncated: a part of {} bytes in a file of {}", part, file_bytes);
  }
  const uint64_t total = rest_offset(footer) + footer.blobs_bytes + footer.description_bytes + sizeof(Footer);
  if (total != file_bytes || footer.constants_bytes % tail_alignment != 0 ||
      footer.blobs_bytes % tail_alignment != 0 || footer.description_bytes % tail_alignment != 0) {
    return fail("damaged or truncated: it has {} bytes, its parts {}; compile the model again", file_bytes,
                total);
  }
  return {};
}

Status check_digest(const Footer& footer, const Image& image) {
  Digest digest;
  digest.add(image.head);
  digest.add(image.rest.first(image.rest.size() - sizeof(Footer) + offsetof(Footer, digest)));
  if (digest.value() != footer.digest)
    return fail("damaged: its digest does not match; compile the model again");
  return {};
}

Result<fbs::ProgramT> unpack_description(std::span<const std::byte> bytes) {
  // A table takes at least 4 bytes, so this many suffice for any real description.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4);
  const fbs::Program* program = find_table<fbs::Program>(bytes, nullptr, {16, max_tables});
  if (program == nullptr)
    return fail("damaged: its description is not valid FlatBuffers data; compile the model again");
  TRY(verify_unshared(*program, bytes.size()));
  fbs::ProgramT unpacked;
  program->UnPackTo(&unpacked);
  return unpacked;
}

Result<Tensor> make_constant(const fbs::ConstantT& constant, std::span<const std::byte> constants,
                             const std::shared_ptr<const void>& owner) {
  const std::span<const std::byte> bytes = constants.subspan(constant.offset, constant.bytes);
  const DType dtype = static_cast<DType>(constant.dtype);
  if (dtype == DType::string) return decode_strings(bytes, constant.dims);
  return Tensor(ConstTensorView{bytes.data(), dtype, constant.dims}, owner);
}

Result<MappedProgram> parse(const Footer& footer, const Image& image,
                            const std::shared_ptr<const ProgramFile>& owner) {
  TRY(check_digest(footer, image));
  MappedProgram program;
  fbs::ProgramT all =
      TRY(unpack_description(image.rest.subspan(footer.blobs_bytes, footer.description_bytes)));
  program.bytes = rest_offset(footer) + image.rest.size();
  program.digest = footer.digest;
  program.elf = image.head.first(footer.elf_bytes);
  program.file = owner;
  TRY(with_context(verify_program(all, footer.constants_bytes, footer.constants_bytes + footer.blobs_bytes),
                   "damaged"));
  program.variants = list_variants(all);
  program.variant_bytes = bytes_of_others(all, footer.elf_bytes);
  program.description = take_variant(std::move(all));
  if (!program.variants.empty() && !program.variants[0].is_taken)
    program.elf = image.rest.subspan(program.description.elf_offset - footer.constants_bytes,
                                     program.description.elf_bytes);
  for (const auto& constant : program.description.constants) {
    program.constants.push_back(
        TRY(with_context(make_constant(*constant, image.constants, owner), "damaged")));
  }
  for (const auto& region : program.description.regions) {
    program.blobs.push_back(
        image.rest.subspan(region->blob_offset - footer.constants_bytes, region->blob_bytes));
  }
  return program;
}

Result<MappedProgram> parse_file(const std::shared_ptr<const ProgramFile>& file) {
  const size_t size = file->bytes().size();
  const size_t end_bytes = std::min(size, sizeof(Footer));
  const std::shared_ptr<const std::byte> end = TRY(file->copy(size - end_bytes, end_bytes));
  const Footer footer = TRY(read_footer({end.get(), end_bytes}));
  TRY(check_sizes(footer, size));
  const auto head_bytes = static_cast<size_t>(tail_offset(footer)),
             rest_bytes = static_cast<size_t>(size - rest_offset(footer));
  const std::shared_ptr<const std::byte> head = TRY(file->copy(0, head_bytes));
  const std::shared_ptr<const std::byte> rest = TRY(file->copy(rest_offset(footer), rest_bytes));
  const Image image{{head.get(), head_bytes},
                    file->bytes().subspan(head_bytes, footer.constants_bytes),
                    {rest.get(), rest_bytes}};
  MappedProgram program = TRY(parse(footer, image, file));
  program.elf_owner = head;
  program.blobs_owner = rest;
  return program;
}

bool is_same_time(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Replaces the error for a file that is not a program by what the file is instead.
template <typename T>
Result<T> explain_failure(Result<T> program, const std::string& path) {
  if (program) return program;
  const std::optional<FileKind> kind = recognize_file(path);
  if (!kind || kind->role == FileKind::Role::program) return program;
  return fail(ErrorKind::corrupt, "is {}, not a compiled program: {}", kind->name,
              kind->role == FileKind::Role::model ? "compile it first, and name what that writes"
                                                  : "name what `intarsia compile` wrote");
}

}  // namespace

Result<std::shared_ptr<const ProgramFile>> ProgramFile::open(const std::string& path) {
  const auto open_and_map = [&]() -> Result<std::shared_ptr<const ProgramFile>> {
    std::shared_ptr<ProgramFile> file =
        TRY(map(path, TRY(with_context(RegularFile::open(path), "cannot open it"))));
    file->folder_ = std::filesystem::absolute(path).parent_path().string();
    return file;
  };
  return with_kind(ErrorKind::corrupt,
                   with_context(explain_failure<std::shared_ptr<const ProgramFile>>(open_and_map(), path),
                                "program '{}'", path));
}

Result<std::shared_ptr<const ProgramFile>> ProgramFile::of_bytes(std::span<const std::byte> bytes) {
  RegularFile file = TRY(with_context(RegularFile::of_bytes(bytes, "intarsia"),
                                      "cannot keep a program of {} bytes in memory", bytes.size()));
  return TRY(map(fmt::format("{} bytes in memory", bytes.size()), std::move(file)));
}

Result<std::shared_ptr<ProgramFile>> ProgramFile::map(std::string name, RegularFile opened) {
  std::shared_ptr<ProgramFile> file(new ProgramFile(std::move(name), std::move(opened)));
  struct stat facts = {};
  if (fstat(file->file_.descriptor(), &facts) != 0)
    return fail(kind_of_errno(errno), "cannot read it: {}", std::strerror(errno));
  file->identity_ = {facts.st_dev, facts.st_ino};
  file->changed_ = facts.st_mtim;
  const auto size = static_cast<size_t>(facts.st_size);
  if (size == 0) return file;
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->file_.descriptor(), 0);
  if (memory == MAP_FAILED) return fail(kind_of_errno(errno), "cannot map it: {}", std::strerror(errno));
  file->mapping_ = memory;
  file->bytes_ = {static_cast<const std::byte*>(memory), size};
  return file;
}

ProgramFile::~ProgramFile() {
  if (mapping_ != nullptr) munmap(mapping_, bytes_.size());
}

Result<std::shared_ptr<std::byte>> ProgramFile::copy(uint64_t offset, size_t bytes) const {
  const std::shared_ptr<void> memory = allocate_aligned(bytes);
  if (memory == nullptr) return fail(ErrorKind::out_of_memory, "cannot allocate {} bytes for it", bytes);
  std::shared_ptr<std::byte> copy(memory, static_cast<std::byte*>(memory.get()));
  for (size_t done = 0; done < bytes;) {
    const ssize_t count =
        pread(file_.descriptor(), copy.get() + done, bytes - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(kind_of_errno(errno), "cannot read it: {}", std::strerror(errno));
    if (count == 0)
      return fail("it was truncated while it was read; write programs elsewhere and rename them");
    done += static_cast<size_t>(count);
  }
  return copy;
}

Status ProgramFile::check_unchanged() const {
  struct stat facts = {};
  if (fstat(file_.descriptor(), &facts) != 0)
    return fail(kind_of_errno(errno), "cannot stat it: {}", std::strerror(errno));
  if (is_same_time(facts.st_mtim, changed_) && static_cast<size_t>(facts.st_size) == bytes_.size()) return {};
  return fail(
      ErrorKind::corrupt,
      "the file was changed in place after it was loaded (it had {} bytes, now it has {}): load it again, "
      "and replace programs by renaming another file to their name",
      bytes_.size(), facts.st_size);
}

bool ProgramFile::is_same_file(const ProgramFile& other) const {
  return identity_ == other.identity_ && is_same_time(changed_, other.changed_) &&
         bytes_.size() == other.bytes_.size();
}

Result<MappedProgram> read_program(const std::string& path) {
  return read_program(TRY(ProgramFile::open(path)));
}

Result<MappedProgram> read_program(const std::shared_ptr<const ProgramFile>& file) {
  const auto read = [&]() -> Result<MappedProgram> {
    MappedProgram program = TRY(explain_failure(parse_file(file), file->name()));
    program.path = file->name();
    return program;
  };
  return with_kind(ErrorKind::corrupt, with_context(read(), "program '{}'", file->name()));
}

std::optional<uint64_t> told_digest(std::span<const std::byte> file) {
  const Result<Footer> footer = read_footer(file.last(std::min(file.size(), sizeof(Footer))));
  return footer ? std::optional(footer->digest) : std::nullopt;
}

Result<MappedProgram> parse_program(std::span<const std::byte> file) {
  INTARSIA_CHECK(is_aligned(file.data(), tail_alignment));
  const Footer footer = TRY(read_footer(file.last(std::min(file.size(), sizeof(Footer)))));
  TRY(check_sizes(footer, file.size()));
  const Image image{file.first(tail_offset(footer)),
                    file.subspan(tail_offset(footer), footer.constants_bytes),
                    file.subspan(rest_offset(footer))};
  return parse(footer, image, nullptr);
}

Status verify_constants(const MappedProgram& program) {
  if (program.file != nullptr)
    TRY(with_context(program.file->check_unchanged(), "program '{}'", program.path));
  for (size_t i = 0; i < program.constants.size(); ++i) {
    const Tensor& constant = program.constants[i];
    const bool text = constant.dtype() == DType::string;
    const uint64_t digest =
        text ? digest_bytes(encode_strings(constant.view()))
             : digest_bytes(std::span(static_cast<const std::byte*>(constant.data()), constant.bytes()));
    if (digest != program.description.constants[i]->digest) {
      return fail(
          ErrorKind::corrupt,
          "program '{}': constant {} ({} {}) is damaged: its digest does not match; compile the model again",
          program.path, i, dtype_name(constant.dtype()), print_shape(constant.shape()));
    }
  }
  return {};
}

}  // namespace intarsia
