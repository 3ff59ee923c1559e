#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/new_file.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestText = 4 << 20;

[[noreturn]] void refuse_read(const char* id, const std::string& path, std::string what) {
  throw InputError({id, shown_path(path), std::move(what), "give the path of a readable file"});
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
  NewFile file(path);
  file.write(content);
  file.commit();
}

namespace {

Output& output() {
  static Output elsewhere;
  return elsewhere;
}

}  // namespace

void set_output(Output elsewhere) { output() = std::move(elsewhere); }

void write_stderr(std::string_view content) try {
  if (output().err) return output().err(content);
  std::fflush(stderr);  // what others wrote comes first
  (void)write_all(STDERR_FILENO, content);
} catch (...) {  // nobody reads it
}

void write_stdout(std::string_view content) {
  if (output().out) return output().out(content);
  std::fflush(stdout);  // what others wrote comes first
  const int error = write_all(STDOUT_FILENO, content);
  if (error == EPIPE) throw ReaderGone{};
  if (error != 0) refuse_write("standard output", error);
}

void keep_standard_streams() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)
      (void)::open("/dev/null", O_RDONLY);  // the lowest number that is free: this one
}

}  // namespace kernbench
