#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kernbench/error.hpp"

namespace kernbench {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestText = 4 << 20;

[[noreturn]] void refuse_read(const char* id, const std::string& path, std::string what) {
  throw InputError({id, path, std::move(what), "give the path of a readable file"});
}

[[noreturn]] void refuse_write(const std::string& path, int error) {
  const char* hint = error == ENOSPC || error == EDQUOT ? "free some space, or write elsewhere"
                                                        : "choose a place that exists and can be written to";
  throw InputError(
      {"file.unwritable", path, fmt::format("cannot be written: {}", std::strerror(error)), hint});
}

/// Writes everything; 0, or the error number.
int write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// Writes a new file of that name; 0, or the error number.
int write_new(const std::string& path, std::string_view content, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, mode);
  if (fd < 0) return errno;
  const int failed = write_all(fd, content);
  const int closed = ::close(fd) == 0 ? 0 : errno;
  return failed != 0 ? failed : closed;
}

/// Where the bytes go in the end: links followed.
std::string final_target(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

}  // namespace

std::string read_text_file(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) refuse_read("file.missing", path, "no such file");
  if (status.type() == fs::file_type::directory)
    refuse_read("file.folder", path, "this is a folder, not a file");
  if (const auto size = fs::file_size(path, error); !error && size > kLargestText)
    refuse_read("file.too-large", path, fmt::format("{} bytes; no configuration is that large", size));
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse_read("file.unreadable", path, fmt::format("cannot be read: {}", std::strerror(errno)));
  std::string text(kLargestText + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) refuse_read("file.unreadable", path, fmt::format("cannot be read: {}", std::strerror(errno)));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kLargestText)
    refuse_read("file.too-large", path, "endless; no configuration is that large");
  return text;
}

void write_file(const std::string& path, std::string_view content) {
  const std::string target = final_target(path);
  struct stat existing {};
  const bool exists = ::stat(target.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) refuse_write(path, EISDIR);
  if (exists && ::access(target.c_str(), W_OK) != 0) refuse_write(path, errno);
  if (exists && !S_ISREG(existing.st_mode)) {
    if (const int error = write_new(target, content, 0, 0)) refuse_write(path, error);
    return;
  }
  const std::string beside = fmt::format("{}.{}.part", target, ::getpid());
  int error = write_new(beside, content, O_CREAT | O_TRUNC, 0666);
  if (error == 0 && exists && ::chmod(beside.c_str(), existing.st_mode & 07777) != 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(beside.c_str());
  refuse_write(path, error);
}

void check_writable(const std::string& path) {
  const std::string target = final_target(path);
  struct stat existing {};
  const bool exists = ::stat(target.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) refuse_write(path, EISDIR);
  if (exists && ::access(target.c_str(), W_OK) != 0) refuse_write(path, errno);
  if (exists && !S_ISREG(existing.st_mode)) return;
  const std::string beside = fmt::format("{}.{}.part", target, ::getpid());
  const int error = write_new(beside, "", O_CREAT | O_TRUNC, 0666);
  ::unlink(beside.c_str());
  if (error != 0) refuse_write(path, error);
}

void write_stdout(std::string_view content) {
  std::fflush(stdout);  // what others wrote comes first
  const int error = write_all(STDOUT_FILENO, content);
  if (error == EPIPE) throw ReaderGone{};
  if (error != 0) refuse_write("standard output", error);
}

}  // namespace kernbench
