#include "base/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

namespace fs = std::filesystem;

std::string with_links_followed(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (!error) return real.string();
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) return path;  // /dev/stdout: a pipe has no other name
  if (fs::is_symlink(fs::symlink_status(path, error)))
    throw InputError({"file.unwritable", shown_path(path), "cannot be written: this link leads nowhere",
                      "remove the link, or make the file it names"});
  return path;
}

/// What is there, if anything is; refuses folders and what must not be written.
std::optional<struct stat> existing(const std::string& target, const std::string& path) {
  struct stat found {};
  if (::stat(target.c_str(), &found) != 0) {
    if (errno != ENOENT) refuse_write(path, errno);
    return std::nullopt;
  }
  if (S_ISDIR(found.st_mode)) refuse_write(path, EISDIR);
  if (::access(target.c_str(), W_OK) != 0) refuse_write(path, errno);
  return found;
}

/// A descriptor that this process was given and that writes to this very file; -1 if there is none. To open the file
/// again would begin at its start, to replace it would take it away from whoever reads it.
int given_for_writing(const struct stat& file) {
  constexpr int kGiven = 10;  // shells hand on no more
  for (int fd = 1; fd < kGiven; ++fd) {
    struct stat mine {};
    if (::fstat(fd, &mine) != 0 || mine.st_dev != file.st_dev || mine.st_ino != file.st_ino) continue;
    const int flags = ::fcntl(fd, F_GETFL);
    const bool ours = (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;  // what we opened ourselves is closed on exec
    if (!ours && (flags & O_ACCMODE) != O_RDONLY) return fd;
  }
  return -1;
}

/// Nobody can guess it, and it is short enough beside the longest name a file may have.
std::string hidden_name() {
  std::random_device random;
  return fmt::format(".kernbench-{:08x}{:08x}.part", random(), random());
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(path), target_(with_links_followed(path)) {
  const auto found = existing(target_, path_);
  const int given = found ? given_for_writing(*found) : -1;
  if (given >= 0) {
    fd_ = ::fcntl(given, F_DUPFD_CLOEXEC, 3);
    start_ = std::max<off_t>(::lseek(fd_, 0, SEEK_CUR), 0);
  } else if (found && !S_ISREG(found->st_mode)) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    permissions_ = found ? found->st_mode & 07777 : 0;
    open_beside();
  }
  if (fd_ < 0) refuse_write(path_, errno);
}

/// Nothing that is there already is opened, be it a link that somebody laid out.
void NewFile::open_beside() {
  constexpr int kTries = 100;
  const fs::path folder = fs::path(target_).parent_path();
  for (int i = 0; i < kTries && fd_ < 0; ++i) {
    beside_ = (folder / hidden_name()).string();
    fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) return;
  }
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void NewFile::write(std::string_view content) { append_to_file(fd_, content, path_); }

void NewFile::rewrite(std::uint64_t offset, std::string_view content) {
  const auto n = ::pwrite(fd_, content.data(), content.size(), start_ + static_cast<off_t>(offset));
  if (n != static_cast<ssize_t>(content.size())) refuse_write(path_, n < 0 ? errno : ENOSPC);
}

void NewFile::commit() {
  // A rename may reach the disk before the content does: after a crash the file would be empty.
  const int synced = beside_.empty() || ::fsync(fd_) == 0 || errno == EINVAL ? 0 : errno;
  int error = close();
  if (error == 0) error = synced;
  if (beside_.empty() && error != 0) refuse_write(path_, error);
  if (beside_.empty()) return;
  if (error == 0) error = replace_target();
  if (error == 0) return;
  ::unlink(beside_.c_str());
  refuse_write(path_, error);
}

/// 0, or the error number.
int NewFile::close() {
  const int closed = ::close(fd_);
  fd_ = -1;
  return closed == 0 ? 0 : errno;
}

int NewFile::replace_target() {
  if (permissions_ != 0 && ::chmod(beside_.c_str(), permissions_) != 0) return errno;
  return std::rename(beside_.c_str(), target_.c_str()) == 0 ? 0 : errno;
}

void check_writable(const std::string& path) {
  const std::string target = with_links_followed(path);
  const auto found = existing(target, path);
  if (found && !S_ISREG(found->st_mode)) return;  // opening a pipe would wait for its reader
  const NewFile never_committed(path);
}

int open_nameless_file(const std::string& folder) {
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  std::string name = folder + "/.kernbench-XXXXXX";  // file systems without nameless files
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) refuse_write(folder, errno);
  ::unlink(name.c_str());
  return fd;
}

void append_to_file(int fd, std::string_view content, const std::string& where) {
  if (const int error = write_all(fd, content)) refuse_write(where, error);
}

int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

void refuse_write(const std::string& where, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw InputError(
      {"file.unwritable", shown_path(where), fmt::format("cannot be written: {}", std::strerror(error)),
       is_full ? "free some space, or write elsewhere" : "choose a place that exists and can be written to"});
}

}  // namespace kernbench
