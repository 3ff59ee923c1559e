#include "trace/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernbench/error.hpp"

namespace kernbench::trace {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw InputError(
      {"file.unreadable", where, fmt::format("cannot be read: {}", why), "give the path of a readable file"});
}

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) refuse(path, std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) refuse(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse(path, "this is not a regular file");
  return {fd, static_cast<std::size_t>(status.st_size), path};
}

MappedFile::MappedFile(int fd, std::size_t size, const std::string& where) : size_(size) {
  if (size == 0) return;
  data_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data_ == MAP_FAILED) data_ = nullptr, refuse(where, std::strerror(errno));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace kernbench::trace
