#include "report/database_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/new_file.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::report {
namespace {

std::string followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace

/// Those of the file that is there, if one is; refuses what cannot be replaced.
mode_t DatabaseFile::existing_permissions() const {
  struct stat existing {};
  if (::stat(target_.c_str(), &existing) != 0) return 0;
  if (S_ISDIR(existing.st_mode)) refuse_write(path_, EISDIR);
  if (!S_ISREG(existing.st_mode))
    throw InputError({"file.unwritable", shown_path(path_),
                      "a saved run cannot be written to a device or pipe", "give it the name of a file"});
  if (::access(target_.c_str(), W_OK) != 0) refuse_write(path_, errno);
  return existing.st_mode & 07777;
}

DatabaseFile::DatabaseFile(const std::string& path) : path_(path), target_(followed(path)) {
  permissions_ = existing_permissions();
  fd_ = ::open(folder_of(target_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ < 0) open_beside();
}

/// File systems without nameless files.
void DatabaseFile::open_beside() {
  beside_ = fmt::format("{}.{}.part", target_, ::getpid());
  fd_ = ::open(beside_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) refuse_write(path_, errno);
}

DatabaseFile::~DatabaseFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!beside_.empty()) ::unlink(beside_.c_str());
}

/// 0, or the error number.
int DatabaseFile::link_beside() {
  if (!beside_.empty()) return 0;
  const std::string nameless = fmt::format("/proc/self/fd/{}", fd_);
  const std::string name = fmt::format("{}.{}.part", target_, ::getpid());
  ::unlink(name.c_str());
  if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) return errno;
  beside_ = name;
  return 0;
}

void DatabaseFile::commit() {
  int error = ::fsync(fd_) == 0 ? 0 : errno;
  if (error == 0 && permissions_ != 0 && ::fchmod(fd_, permissions_) != 0) error = errno;
  if (error == 0) error = link_beside();
  if (error == 0 && std::rename(beside_.c_str(), target_.c_str()) != 0) error = errno;
  if (error != 0) refuse_write(path_, error);
  beside_.clear();
}

}  // namespace kernbench::report
