// A file that SQLite writes and that appears when it is complete. Until then it has no name, so that a run that is
// killed leaves nothing behind.
#pragma once

#include <sys/types.h>

#include <string>

namespace kernbench::report {

class DatabaseFile {
 public:
  /// InputError (`file.unwritable`) if the place cannot be written to.
  explicit DatabaseFile(const std::string& path);
  ~DatabaseFile();
  DatabaseFile(const DatabaseFile&) = delete;
  DatabaseFile& operator=(const DatabaseFile&) = delete;

  int fd() const { return fd_; }
  /// Gives it its name, in place of what had it. The database must be closed.
  void commit();

 private:
  mode_t existing_permissions() const;
  void open_beside();
  int link_beside();

  const std::string path_;  // as given
  std::string target_;      // links followed
  std::string beside_;      // empty: it has no name yet
  mode_t permissions_ = 0;  // of the file it replaces; 0: there is none
  int fd_ = -1;
};

}  // namespace kernbench::report
