// The lock that keeps two sweeps from working in one folder.
#pragma once

#include <string>

namespace kernbench::sweep {

/// Held for the life of this object and never longer than the process lives: forked processes do not inherit the lock, so a
/// folder is free at the instant at which the process that held it is dead, even while its workers still live.
class FolderLock {
 public:
  /// Locks the file `.lock` of the folder, which is made if it does not exist. InputError (`sweep.folder`) if another sweep, of
  /// this or of another process, holds it, or if the file cannot be opened or locked.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace kernbench::sweep
