// A file that appears when it is complete: written beside its target, piece by piece, and renamed at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kernbench {

/// All members throw InputError (`file.unwritable`) when the disk is full or the place cannot be written to.
/// A new file that is not committed leaves nothing behind.
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
  const std::string path_, beside_;
  int fd_ = -1;
};

/// A nameless file in a folder, to be written and read by its descriptor; it is gone when that is closed.
int open_nameless_file(const std::string& folder);
/// Appends everything to a descriptor; `where` is for the message.
void append_to_file(int fd, std::string_view content, const std::string& where);

}  // namespace kernbench
