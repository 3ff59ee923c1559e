#include "sweep/folder_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <compare>
#include <cstring>
#include <mutex>
#include <set>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::sweep {
namespace {

/// A file that a process has locked. What a forked process finds here of its parent is not its own.
struct Held {
  pid_t process;
  dev_t device;
  ino_t file;
  auto operator<=>(const Held&) const = default;
};

// A POSIX record lock belongs to a process: it does not keep two sweeps of one process apart, and closing any descriptor of the
// file gives it up. So what this process holds is recorded here, and a file that it holds is not opened again.
std::mutex mutex;
std::set<Held> held;  // guarded by `mutex`

Held as_held(const struct stat& file) { return {::getpid(), file.st_dev, file.st_ino}; }

bool is_held_by_this_process(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && held.contains(as_held(found));
}

[[noreturn]] void refuse(const std::string& path, int error) {
  throw InputError(
      {"sweep.folder", shown_path(path), std::strerror(error), "give a folder that can be written with -o"});
}

}  // namespace

FolderLock::FolderLock(const std::string& folder) {
  const std::string path = folder + "/.lock";
  const InputError taken({"sweep.folder", shown_path(folder), "another sweep works in this folder",
                          "wait for it, or give another folder with -o"});
  const std::lock_guard guard(mutex);
  if (is_held_by_this_process(path)) throw taken;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) refuse(path, errno);
  struct flock whole {};
  whole.l_type = F_WRLCK, whole.l_whence = SEEK_SET;
  struct stat opened {};
  if (::fcntl(file_, F_SETLK, &whole) != 0 || ::fstat(file_, &opened) != 0) {
    const int error = errno;
    ::close(file_);
    if (error == EACCES || error == EAGAIN) throw taken;
    refuse(path, error);
  }
  held.insert(as_held(opened));
}

FolderLock::~FolderLock() {
  const std::lock_guard guard(mutex);
  struct stat opened {};
  if (::fstat(file_, &opened) == 0) held.erase(as_held(opened));
  ::close(file_);
}

}  // namespace kernbench::sweep
