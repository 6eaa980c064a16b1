#include "backends/halide/runtime/room_pool.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/tensor_view.h"

namespace intarsia::halide {

struct RoomPool::Rooms {
  struct Room {
    std::shared_ptr<void> memory;
    size_t bytes = 0;
  };

  explicit Rooms(size_t limit) : most(limit) { free.reserve(most + 1); }

  Room take(size_t bytes) {
    const std::lock_guard lock(mutex);
    const auto at = std::ranges::find_if(free, [&](const Room& room) { return room.bytes >= bytes; });
    if (at == free.end()) return {};
    Room room = std::move(*at);
    free.erase(at);
    return room;
  }

  /// Keeps a room, in place of the one that is unused for longest.
  void keep(Room room) {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(room));
    if (free.size() > most) free.erase(free.begin());
  }

  const size_t most;
  std::mutex mutex;
  std::vector<Room> free;  // unused for longest first
};

RoomPool::RoomPool(size_t most) : rooms_(std::make_shared<Rooms>(most)) {}

std::shared_ptr<void> RoomPool::take(size_t bytes) const {
  Rooms::Room room = rooms_->take(bytes);
  if (room.memory == nullptr) room = {reserve_aligned(bytes), bytes};
  if (room.memory == nullptr) return nullptr;
  void* const memory = room.memory.get();
  return {memory, [pool = std::weak_ptr(rooms_), room = std::move(room)](void*) mutable {
            if (const std::shared_ptr<Rooms> rooms = pool.lock()) rooms->keep(std::move(room));
          }};
}

}  // namespace intarsia::halide
