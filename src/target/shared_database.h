// SQLite file in the user's cache folder that processes share. What it keeps can be made again, so losing it
// costs time, never correctness.
#pragma once

#include <memory>
#include <string>

struct sqlite3;

namespace intarsia {

/// Format of the files of one kind.
struct DatabaseFormat {
  std::string name;    // "costs": the file is costs.sqlite, else costs.3.sqlite
  int version = 1;     // kept in the file as PRAGMA user_version
  std::string schema;  // statements that make the tables, if they are absent
};

/// Database file. An object is for one thread at a time; many processes and threads may open the same file.
class SharedDatabase {
 public:
  enum class State {
    ready,
    replaced,  // the file was damaged: it was moved to *.damaged and is started over
    unusable   // no folder, no space, no permission, or locked: see error()
  };

  /// Opens `folder`/NAME.sqlite; creates it if absent. A file of another format stays, and
  /// NAME.VERSION.sqlite is opened next to it. A database that cannot be used is replaced by an empty one in
  /// memory.
  SharedDatabase(const std::string& folder, const DatabaseFormat& format, int busy_milliseconds);

  State state() const { return state_; }
  /// Returns why it is unusable; empty if there is no folder.
  const std::string& error() const { return error_; }
  /// Returns the path of the file, also of an unusable one; empty if there is no folder.
  const std::string& path() const { return path_; }

  /// Runs statements without parameters. Returns whether all succeeded.
  bool run(const char* sql);
  /// Returns the text of the last error.
  std::string last_error() const;
  sqlite3* get() const { return file_.get(); }

 private:
  enum class Opened { ready, damaged, other_format, unusable };
  Opened open(const std::string& path, const DatabaseFormat& format);
  bool open_or_replace(const DatabaseFormat& format);
  void open_in_memory(const DatabaseFormat& format);

  int busy_milliseconds_;
  State state_ = State::ready;
  std::string path_, error_;
  std::shared_ptr<sqlite3> file_;
};

}  // namespace intarsia
