#include "device/opencl/space.h"

#include <algorithm>
#include <array>

#include "base/byte_size.h"
#include "base/clock.h"

namespace intarsia {
namespace {

/// Pattern that fills memory, whose size is therefore a multiple of it.
constexpr std::array<std::byte, 16> zeros{};

size_t rounded(size_t bytes) { return std::max<size_t>((bytes + 63) / 64 * 64, 64); }

}  // namespace

/// Makes the space and a first queue, so that a device that refuses one fails here, not in the first copy.
Result<std::shared_ptr<OpenclSpace>> OpenclSpace::make(const std::string& name, const OpenclDevice& device) {
  std::shared_ptr<OpenclSpace> space(new OpenclSpace(name, device));
  TRY(space->queues_.lend());
  return space;
}

template <typename Enqueue>
Status OpenclSpace::run_command(const char* function, TimeSpan* ran, const Enqueue& enqueue) {
  TRY(device_.check_process());
  const OpenclQueues::Lent queue = TRY(queues_.lend(ran != nullptr));
  const int64_t now = clock_nanoseconds();
  cl_event done = nullptr;
  TRY(device_.check(enqueue(queue.get(), &done), function));
  const cl_int code = api_.clWaitForEvents(1, &done);
  if (ran != nullptr && code == CL_SUCCESS) *ran = opencl_times(api_, done, done, now);
  api_.clReleaseEvent(done);
  return device_.check(code, function);
}

/// Returns the message; memory used by other programs is not known.
std::string OpenclSpace::no_room(uint64_t bytes) const {
  const uint64_t free = device_.memory_bytes - std::min(device_.memory_bytes, held_->load());
  const bool is_in_pieces = device_.max_bytes < std::min(bytes, free);
  const std::string piece =
      is_in_pieces ? fmt::format(", at most {} in one piece", print_byte_size(device_.max_bytes)) : "";
  return fmt::format("cannot allocate {} on {} ({} free{}): bind another device or pass --memory",
                     print_byte_size(bytes), name(), print_byte_size(free), piece);
}

Result<std::shared_ptr<OpenclMemory>> OpenclSpace::create(cl_mem_flags flags, size_t bytes) const {
  TRY(device_.check_process());
  if (bytes > device_.max_bytes) return fail(ErrorKind::out_of_memory, "{}", no_room(bytes));
  const uint64_t size = rounded(bytes), held = (flags & CL_MEM_ALLOC_HOST_PTR) != 0 ? 0 : size;
  if (held_->fetch_add(held) + held > device_.memory_bytes) {
    held_->fetch_sub(held);
    return fail(ErrorKind::out_of_memory, "{}", no_room(bytes));
  }
  cl_int code = CL_SUCCESS;
  cl_mem object = api_.clCreateBuffer(device_.context, flags, size, nullptr, &code);
  if (code == CL_SUCCESS) return std::make_shared<OpenclMemory>(api_, object, held, held_);
  held_->fetch_sub(held);
  TRY(with_context(device_.check(code, "clCreateBuffer"), "{}", no_room(bytes)));
  return nullptr;
}

Result<Memory> OpenclSpace::allocate(size_t bytes) {
  std::shared_ptr<OpenclMemory> memory = TRY(create(CL_MEM_READ_WRITE, bytes));
  Status filled = run_command("clEnqueueFillBuffer", nullptr, [&](cl_command_queue queue, cl_event* done) {
    return api_.clEnqueueFillBuffer(queue, memory->object, zeros.data(), zeros.size(), 0, rounded(bytes), 0,
                                    nullptr, done);
  });
  TRY(with_kind(ErrorKind::out_of_memory, std::move(filled)));
  return Memory(std::move(memory), bytes);
}

Result<std::shared_ptr<void>> OpenclSpace::allocate_staging(size_t bytes) {
  std::shared_ptr<OpenclMemory> memory = TRY(create(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes));
  // Memory has its own queue, as it may outlive the space.
  auto queue = std::make_shared<OpenclQueue>(TRY(OpenclQueue::make(device_)));
  cl_int code = CL_SUCCESS;
  void* mapped = api_.clEnqueueMapBuffer(queue->get(), memory->object, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                         rounded(bytes), 0, nullptr, nullptr, &code);
  TRY(device_.check(code, "clEnqueueMapBuffer"));
  return std::shared_ptr<void>(mapped, [memory, queue](void* address) {
    memory->api->clEnqueueUnmapMemObject(queue->get(), memory->object, address, 0, nullptr, nullptr);
    memory->api->clFinish(queue->get());
  });
}

Status OpenclSpace::upload(const Place& to, const void* from, size_t bytes, TimeSpan* ran) {
  count_upload(bytes);
  if (bytes == 0) return {};
  return run_command("clEnqueueWriteBuffer", ran, [&](cl_command_queue queue, cl_event* done) {
    return api_.clEnqueueWriteBuffer(queue, OpenclMemory::of(to.memory), CL_FALSE, to.offset, bytes, from, 0,
                                     nullptr, done);
  });
}

Status OpenclSpace::download(void* to, const Place& from, size_t bytes, TimeSpan* ran) {
  count_download(bytes);
  if (bytes == 0) return {};
  return run_command("clEnqueueReadBuffer", ran, [&](cl_command_queue queue, cl_event* done) {
    return api_.clEnqueueReadBuffer(queue, OpenclMemory::of(from.memory), CL_FALSE, from.offset, bytes, to, 0,
                                    nullptr, done);
  });
}

Status OpenclSpace::copy(cl_mem to, size_t to_offset, cl_mem from, size_t from_offset, size_t bytes,
                         TimeSpan* ran) {
  return run_command("clEnqueueCopyBuffer", ran, [&](cl_command_queue queue, cl_event* done) {
    return api_.clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, bytes, 0, nullptr, done);
  });
}

/// Copies within the space, by way of other memory if the ranges overlap, as OpenCL cannot copy these.
Status OpenclSpace::move(const Place& to, const Place& from, size_t bytes) {
  const bool is_there = to.memory == from.memory && to.offset == from.offset;
  if (bytes == 0 || is_there) return {};
  cl_mem source = OpenclMemory::of(from.memory), target = OpenclMemory::of(to.memory);
  const size_t distance = std::max(to.offset, from.offset) - std::min(to.offset, from.offset);
  if (source != target || distance >= bytes)
    return copy(target, to.offset, source, from.offset, bytes, nullptr);
  const std::shared_ptr<OpenclMemory> between = TRY(create(CL_MEM_READ_WRITE, bytes));
  TRY(copy(between->object, 0, source, from.offset, bytes, nullptr));
  return copy(target, to.offset, between->object, 0, bytes, nullptr);
}

bool OpenclSpace::can_copy_from(const MemorySpace& other) const {
  const auto* opencl = dynamic_cast<const OpenclSpace*>(&other);
  return opencl != nullptr && opencl->device_.context == device_.context;
}

Status OpenclSpace::copy_from(MemorySpace& other, const Place& to, const Place& from, size_t bytes,
                              TimeSpan* ran) {
  if (!can_copy_from(other)) return MemorySpace::copy_from(other, to, from, bytes, ran);
  count_direct(bytes);
  if (bytes == 0) return {};
  return copy(OpenclMemory::of(to.memory), to.offset, OpenclMemory::of(from.memory), from.offset, bytes, ran);
}

}  // namespace intarsia
