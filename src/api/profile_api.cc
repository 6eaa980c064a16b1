// Part of the C API that describes profiles.
#include "api/handles.h"
#include "api/struct_sizes.h"

namespace intarsia::api {
namespace {

const char* name_of(ProfileEntry::Kind kind) {
  constexpr const char* names[] = {"kernel", "operator", "region", "copy"};
  return names[static_cast<size_t>(kind)];
}

}  // namespace

intarsia_profile* make_profile(Profile profile) {
  auto made = std::make_unique<intarsia_profile>();
  made->profile = std::move(profile);
  for (const ProfileEntry& entry : made->profile.entries) {
    auto &nodes = made->nodes.emplace_back(), &ops = made->ops.emplace_back();
    for (const ProfiledNode& node : entry.nodes) {
      nodes.push_back(node.name.c_str());
      ops.push_back(node.op.c_str());
    }
  }
  return made.release();
}

}  // namespace intarsia::api

using namespace intarsia;
using namespace intarsia::api;

intarsia_error* intarsia_profile_describe(const intarsia_profile* profile, intarsia_profile_info* info) {
  return guarded([&]() -> Status {
    if (profile == nullptr) return fail("the profile is a null pointer");
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .run_count = profile->profile.runs,
                              .run_ns = static_cast<uint64_t>(profile->profile.run_nanoseconds),
                              .entry_count = profile->profile.entries.size()});
  });
}

intarsia_error* intarsia_profile_get(const intarsia_profile* profile, size_t number,
                                     intarsia_profile_entry* info) {
  return guarded([&]() -> Status {
    if (profile == nullptr) return fail("the profile is a null pointer");
    const std::vector<ProfileEntry>& entries = profile->profile.entries;
    if (number >= entries.size()) return fail("no entry {}; the profile has {}", number, entries.size());
    const ProfileEntry& entry = entries[number];
    return fill_struct(info, {.struct_size = sizeof(*info),
                              .kind = name_of(entry.kind),
                              .name = entry.name.c_str(),
                              .target = entry.target.c_str(),
                              .time_ns = static_cast<uint64_t>(entry.nanoseconds),
                              .nodes = profile->nodes[number].data(),
                              .ops = profile->ops[number].data(),
                              .node_count = entry.nodes.size(),
                              .dtype = static_cast<int32_t>(entry.dtype),
                              .rank = entry.shape ? static_cast<int64_t>(entry.shape->size()) : -1,
                              .shape = entry.shape ? entry.shape->data() : nullptr,
                              .weights_rank = entry.weights.size(),
                              .weights_shape = entry.weights.data(),
                              .flops = entry.operations,
                              .bytes = entry.bytes,
                              .algorithm = entry.algorithm.c_str()});
  });
}

void intarsia_profile_release(intarsia_profile* profile) { delete profile; }
