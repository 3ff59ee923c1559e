#include "base/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

std::string with_links_followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

/// The mode of what is there, if anything is; refuses folders and what must not be written.
std::optional<mode_t> existing_mode(const std::string& target, const std::string& path) {
  struct stat existing {};
  if (::stat(target.c_str(), &existing) != 0) return std::nullopt;
  if (S_ISDIR(existing.st_mode)) refuse_write(path, EISDIR);
  if (::access(target.c_str(), W_OK) != 0) refuse_write(path, errno);
  return existing.st_mode;
}

}  // namespace

NewFile::NewFile(const std::string& path) : path_(path), target_(with_links_followed(path)) {
  const auto mode = existing_mode(target_, path_);
  if (mode && !S_ISREG(*mode)) {
    fd_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    permissions_ = mode.value_or(0) & 07777;
    beside_ = fmt::format("{}.{}.part", target_, ::getpid());
    fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (fd_ < 0) refuse_write(path_, errno);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

void NewFile::write(std::string_view content) { append_to_file(fd_, content, path_); }

void NewFile::rewrite(std::uint64_t offset, std::string_view content) {
  const auto n = ::pwrite(fd_, content.data(), content.size(), static_cast<off_t>(offset));
  if (n != static_cast<ssize_t>(content.size())) refuse_write(path_, n < 0 ? errno : ENOSPC);
}

void NewFile::commit() {
  int error = close();
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
  const auto mode = existing_mode(target, path);
  if (mode && !S_ISREG(*mode)) return;  // opening a pipe would wait for its reader
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
