// Run half: the chip's memory, its queue, and its computations. There is no chip: a thread simulates it.
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "toy_npu.h"

namespace toy_npu {
namespace {

/// Work in progress; its result is the reason of a failure, empty on success.
using Event = std::future<std::string>;

/// Makes a handle from a number; used as an address it leads nowhere.
template <typename Number>
void* handle_of(Number number) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(number));
}

/// Chip: its memory, and a thread that does the enqueued work in order.
class Device {
 public:
  explicit Device(size_t memory_bytes) : left_(memory_bytes), thread_([this] { work(); }) {}
  ~Device() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stops_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void* allocate(size_t bytes) {
    const std::lock_guard<std::mutex> lock(memory_mutex_);
    if (bytes > left_) throw std::bad_alloc();
    memory_[++last_].resize(bytes);
    left_ -= bytes;
    return handle_of(last_);
  }
  void free_memory(void* handle) {
    const std::lock_guard<std::mutex> lock(memory_mutex_);
    const auto found = memory_.find(reinterpret_cast<uintptr_t>(handle));
    left_ += found->second.size();
    memory_.erase(found);
  }

  /// Returns the address of a range of memory, for the chip's thread. Throws if the range exceeds the memory.
  char* bytes(void* handle, size_t offset, size_t size) {
    const std::lock_guard<std::mutex> lock(memory_mutex_);
    const auto found = memory_.find(reinterpret_cast<uintptr_t>(handle));
    if (found == memory_.end()) throw std::runtime_error("no such memory");
    if (offset > found->second.size() || size > found->second.size() - offset)
      throw std::runtime_error("beyond the end of the memory");
    return found->second.data() + offset;
  }

  Event* enqueue(std::function<void()> work) {
    std::packaged_task<std::string()> task([work = std::move(work)]() -> std::string {
      try {
        work();
        return "";
      } catch (const std::exception& error) {
        return error.what();
      }
    });
    auto event = std::make_unique<Event>(task.get_future());
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return event.release();
  }

 private:
  void work() {
    while (true) {
      std::packaged_task<std::string()> task;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return stops_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex memory_mutex_;
  std::map<uintptr_t, std::vector<char>> memory_;
  size_t left_;  // free bytes
  uintptr_t last_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<std::string()>> tasks_;
  bool stops_ = false;
  std::thread thread_;
};

/// Loaded region.
struct Executable {
  std::vector<Instruction> instructions;
  std::vector<intarsia_plugin_buffer> constants;
};

/// Run of a region, on the chip's thread.
class Run {
 public:
  Run(Device& device, const Executable& executable, const intarsia_plugin_run& run)
      : device_(device), executable_(executable), run_(run) {}

  void operator()() {
    for (const Instruction& instruction : executable_.instructions) {
      const int64_t begin = now();
      if (instruction.op == Op::relu)
        relu(instruction);
      else
        convolve(instruction);
      if (run_.report != nullptr && instruction.node[0] != 0)
        run_.report(run_.user, instruction.node, begin, now());
    }
  }

 private:
  static int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  float* floats(const Operand& operand, int64_t elements) {
    const size_t bytes = static_cast<size_t>(elements) * sizeof(float);
    const auto number = static_cast<size_t>(operand.number);
    const auto pick = [&](const intarsia_plugin_buffer* const* list, size_t count) {
      if (number >= count) throw std::runtime_error("no such operand");
      return reinterpret_cast<float*>(device_.bytes(list[number]->memory, list[number]->offset, bytes));
    };
    switch (operand.in) {
      case In::input:
        return pick(run_.inputs, run_.input_count);
      case In::output:
        return pick(run_.outputs, run_.output_count);
      case In::constant: {
        if (number >= executable_.constants.size()) throw std::runtime_error("no such constant");
        const intarsia_plugin_buffer& constant = executable_.constants[number];
        return reinterpret_cast<float*>(device_.bytes(constant.memory, constant.offset, bytes));
      }
      default:
        return reinterpret_cast<float*>(device_.bytes(run_.workspace, run_.workspace_offset + number, bytes));
    }
  }

  void relu(const Instruction& i) {
    const float* x = floats(i.x, i.elements);
    float* y = floats(i.y, i.elements);
    for (int64_t e = 0; e < i.elements; ++e) y[e] = x[e] > 0 ? x[e] : 0;
  }

  void convolve(const Instruction& i) {
    const int64_t x_plane = i.height * i.width, y_plane = i.y_height * i.y_width;
    const int64_t of_group = i.channels / i.group;  // channels of a group
    const float* x = floats(i.x, i.batch * i.channels * x_plane);
    const float* w = floats(i.w, i.filters * of_group * i.kernel_height * i.kernel_width);
    const float* bias = i.bias.in == In::nothing ? nullptr : floats(i.bias, i.filters);
    float* y = floats(i.y, i.batch * i.filters * y_plane);
    for (int64_t n = 0; n < i.batch; ++n) {
      for (int64_t f = 0; f < i.filters; ++f) {
        float* to = y + (n * i.filters + f) * y_plane;
        std::fill_n(to, y_plane, bias == nullptr ? 0.0f : bias[f]);
        const int64_t first = f / (i.filters / i.group) * of_group;
        for (int64_t c = 0; c < of_group; ++c)
          add_plane(i, x + (n * i.channels + first + c) * x_plane,
                    w + (f * of_group + c) * i.kernel_height * i.kernel_width, to);
      }
    }
  }

  /// Adds one input channel's contribution to one filter's output.
  static void add_plane(const Instruction& i, const float* x, const float* w, float* y) {
    for (int64_t kh = 0; kh < i.kernel_height; ++kh) {
      for (int64_t kw = 0; kw < i.kernel_width; ++kw) {
        const float weight = w[kh * i.kernel_width + kw];
        for (int64_t row = 0; row < i.y_height; ++row) {
          const int64_t from = row * i.stride[0] - i.padding[0] + kh * i.dilation[0];
          if (from < 0 || from >= i.height) continue;
          add_row(i, x + from * i.width, kw * i.dilation[1] - i.padding[1], weight, y + row * i.y_width);
        }
      }
    }
  }

  static void add_row(const Instruction& i, const float* x, int64_t shift, float weight, float* y) {
    for (int64_t column = 0; column < i.y_width; ++column) {
      const int64_t from = column * i.stride[1] + shift;
      if (from >= 0 && from < i.width) y[column] += weight * x[from];
    }
  }

  Device& device_;
  const Executable& executable_;
  const intarsia_plugin_run& run_;  // lives until the run is done
};

Device& device_of(void* handle) { return *static_cast<Device*>(handle); }

size_t device_count() { return 2; }

const char* describe_device(size_t) { return "a toy NPU that convolves, a thread that pretends to be one"; }

/// Runs the body of a call, from which no exception may escape.
template <typename Body>
int32_t guarded(const intarsia_plugin_message* message, Body body) {
  try {
    body();
    return INTARSIA_PLUGIN_OK;
  } catch (const std::bad_alloc&) {
    return fail(message, "out of memory", INTARSIA_PLUGIN_OUT_OF_MEMORY);
  } catch (const std::exception& error) {
    return fail(message, error.what());
  }
}

uint64_t memory_bytes(size_t) { return uint64_t{1} << 30; }

int32_t open_device(size_t number, void** device, const intarsia_plugin_message* message) {
  return guarded(message, [&] { *device = new Device(memory_bytes(number)); });
}

const intarsia_plugin_option memory_kb = {sizeof(intarsia_plugin_option), "memory_kb",
                                          "how much of its memory the chip has, to try what is too large"};
const intarsia_plugin_option* const options[] = {&memory_kb};

int32_t open_device_with(size_t, const intarsia_plugin_setting* const* settings, size_t, void** device,
                         const intarsia_plugin_message* message) {
  char* end = nullptr;
  const char* value = settings[0]->value;
  const unsigned long kilobytes = std::strtoul(value, &end, 10);
  if (end == value || *end != 0 || kilobytes > (1u << 20))
    return fail(message, std::string("memory_kb is '") + value + "', want 0 to 1048576");
  return guarded(message, [&] { *device = new Device(kilobytes * 1024); });
}

void close_device(void* device) { delete &device_of(device); }

int32_t allocate(void* device, size_t bytes, void** memory, const intarsia_plugin_message* message) {
  return guarded(message, [&] { *memory = device_of(device).allocate(bytes); });
}

void free_memory(void* device, void* memory) { device_of(device).free_memory(memory); }

int32_t upload(void* device, void* to, size_t to_offset, const void* from, size_t bytes, void** event,
               const intarsia_plugin_message* message) {
  return guarded(message, [&, &chip = device_of(device)] {
    *event = chip.enqueue([=, &chip] { std::memcpy(chip.bytes(to, to_offset, bytes), from, bytes); });
  });
}

int32_t download(void* device, void* to, void* from, size_t from_offset, size_t bytes, void** event,
                 const intarsia_plugin_message* message) {
  return guarded(message, [&, &chip = device_of(device)] {
    *event = chip.enqueue([=, &chip] { std::memcpy(to, chip.bytes(from, from_offset, bytes), bytes); });
  });
}

int32_t move(void* device, void* to, size_t to_offset, void* from, size_t from_offset, size_t bytes,
             void** event, const intarsia_plugin_message* message) {
  return guarded(message, [&, &chip = device_of(device)] {
    *event = chip.enqueue([=, &chip] {
      std::memmove(chip.bytes(to, to_offset, bytes), chip.bytes(from, from_offset, bytes), bytes);
    });
  });
}

int32_t wait(void*, void* event, const intarsia_plugin_message* message) {
  const std::string error = static_cast<Event*>(event)->get();
  return error.empty() ? INTARSIA_PLUGIN_OK : fail(message, error);
}

void release_event(void*, void* event) { delete static_cast<Event*>(event); }

/// Checks that the loops end and nothing is divided by zero. Operands are checked where they are used.
bool is_sane(const Instruction& i) {
  if (i.op == Op::relu) return i.elements >= 0;
  const int64_t sizes[] = {i.batch,        i.channels, i.height,  i.width,     i.filters,   i.kernel_height,
                           i.kernel_width, i.y_height, i.y_width, i.stride[0], i.stride[1], i.group};
  const bool has_sizes = std::all_of(std::begin(sizes), std::end(sizes),
                                     [](int64_t size) { return size > 0 && size < (1 << 16); });
  return i.op == Op::convolution && has_sizes && i.channels % i.group == 0 && i.filters % i.group == 0;
}

/// Loads a blob. Blobs come from files, so any bytes must yield an executable or an error.
int32_t load(void*, const intarsia_plugin_load* load, void** executable,
             const intarsia_plugin_message* message) {
  BlobHeader header;
  if (load->blob_bytes >= sizeof(header)) std::memcpy(&header, load->blob, sizeof(header));
  const bool is_ours = std::memcmp(header.magic, magic, sizeof(magic)) == 0;
  if (!is_ours || (load->blob_bytes - sizeof(header)) / sizeof(Instruction) != header.instructions)
    return fail(message, "the blob is damaged or of another version");
  return guarded(message, [&] {
    auto made = std::make_unique<Executable>();
    made->instructions.resize(header.instructions);
    std::memcpy(made->instructions.data(), static_cast<const char*>(load->blob) + sizeof(header),
                header.instructions * sizeof(Instruction));
    for (Instruction& instruction : made->instructions) {
      if (!is_sane(instruction)) throw std::runtime_error("the blob is damaged");
      instruction.node[sizeof(instruction.node) - 1] = 0;
    }
    for (size_t i = 0; i < load->constant_count; ++i) made->constants.push_back(*load->constants[i]);
    *executable = made.release();
  });
}

void unload(void*, void* executable) { delete static_cast<Executable*>(executable); }

int32_t run(void* device, void* executable, const intarsia_plugin_run* run, void** event,
            const intarsia_plugin_message* message) {
  return guarded(message, [&, &chip = device_of(device)] {
    *event = chip.enqueue(Run(chip, *static_cast<const Executable*>(executable), *run));
  });
}

}  // namespace

const intarsia_plugin_runtime runtime = {
    sizeof(intarsia_plugin_runtime),
    sizeof(float),
    device_count,
    describe_device,
    open_device,
    close_device,
    allocate,
    free_memory,
    upload,
    download,
    move,
    wait,
    release_event,
    load,
    unload,
    run,
    nullptr,  // shapes
    nullptr,  // copy_from
    nullptr,  // allocate_staging
    nullptr,  // free_staging
    memory_bytes,
    0,  // unified_memory
    1,  // options
    options,
    open_device_with,
};

}  // namespace toy_npu

const intarsia_plugin* intarsia_plugin_entry() {
  static const intarsia_plugin plugin = {sizeof(intarsia_plugin), INTARSIA_PLUGIN_ABI, "toy_npu", "1.0",
                                         &toy_npu::compiler,      &toy_npu::runtime};
  return &plugin;
}
