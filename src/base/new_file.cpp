#include "base/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench {
namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  throw InputError(
      {"file.unwritable", path, fmt::format("cannot be written: {}", std::strerror(error)),
       is_full ? "free some space, or write elsewhere" : "choose a place that exists and can be written to"});
}

}  // namespace

NewFile::NewFile(const std::string& path)
    : path_(path), beside_(fmt::format("{}.{}.part", path, ::getpid())) {
  fd_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) refuse(path_, errno);
}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(beside_.c_str());
}

void NewFile::write(std::string_view content) { append_to_file(fd_, content, path_); }

void NewFile::rewrite(std::uint64_t offset, std::string_view content) {
  const auto n = ::pwrite(fd_, content.data(), content.size(), static_cast<off_t>(offset));
  if (n != static_cast<ssize_t>(content.size())) refuse(path_, n < 0 ? errno : ENOSPC);
}

void NewFile::commit() {
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed == 0 && std::rename(beside_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::unlink(beside_.c_str());
  refuse(path_, error);
}

int open_nameless_file(const std::string& folder) {
  const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  std::string name = folder + "/.kernbench-XXXXXX";  // file systems without nameless files
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) refuse(folder, errno);
  ::unlink(name.c_str());
  return fd;
}

void append_to_file(int fd, std::string_view content, const std::string& where) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(where, errno);
    content.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace kernbench
