// Entries of maps with texts as keys, as protobuf writes them: messages of a key and a value.
#pragma once

#include <string>
#include <utility>

#include "base/protobuf.h"
#include "tensorflow/fields.h"

namespace intarsia::tensorflow {

/// Reads an entry: its key and the bytes of its value. Throws protozero::exception on malformed bytes.
inline std::pair<std::string, std::string_view> read_entry(protozero::pbf_reader message) {
  std::pair<std::string, std::string_view> entry;
  while (message.next()) {
    if (message.tag() == map_entry::key)
      entry.first = message.get_string();
    else if (message.tag() == map_entry::value)
      entry.second = read_bytes(message);
    else
      message.skip();
  }
  return entry;
}

inline void write_entry(protozero::pbf_writer& out, uint32_t tag, const std::string& key,
                        std::string_view value) {
  protozero::pbf_writer entry(out, tag);
  entry.add_string(map_entry::key, key);
  entry.add_bytes(map_entry::value, value.data(), value.size());
}

}  // namespace intarsia::tensorflow
