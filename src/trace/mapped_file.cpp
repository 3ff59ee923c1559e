#include "trace/mapped_file.hpp"

#include <sys/mman.h>

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

MappedFile::MappedFile(int fd, std::size_t size, const std::string& where) : size_(size) {
  if (size == 0) return;
  data_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data_ == MAP_FAILED) data_ = nullptr, refuse(where, std::strerror(errno));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace kernbench::trace
