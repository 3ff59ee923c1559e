// A file that appears when it is complete: written beside its target, piece by piece, and renamed at the end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench {

/// All members throw InputError (`file.unwritable`) when the disk is full or the place cannot be written to.
/// A new file that is not committed leaves nothing behind. Links are followed, but a link that leads nowhere is refused;
/// permissions of an existing file are kept. A device, a pipe and a file that this process has been given open for
/// writing (`/dev/stdout`, the log that standard output goes to) are written directly, behind what is in them.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view content);
  /// Replaces what was written at an offset.
  void rewrite(std::uint64_t offset, std::string_view content);
  void commit();

 private:
  void open_beside();
  int close();
  int replace_target();

  const std::string path_;    // as given
  const std::string target_;  // links followed
  std::string beside_;        // empty: what is there is written directly
  mode_t permissions_ = 0;    // of the file it replaces; 0: there is none
  off_t start_ = 0;           // where it begins in a file that was there
  int fd_ = -1;
};

/// Throws what `NewFile` throws for a place that cannot be written. Changes nothing.
void check_writable(const std::string& path);

/// A nameless file in a folder, to be written and read by its descriptor; it is gone when that is closed.
int open_nameless_file(const std::string& folder);
/// Appends everything to a descriptor; `where` is for the message.
void append_to_file(int fd, std::string_view content, const std::string& where);
/// The same, but returns the error number, or 0.
int write_all(int fd, std::string_view content);
[[noreturn]] void refuse_write(const std::string& where, int error);

}  // namespace kernbench
