// A file's content as memory, read when it is looked at.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace kernbench::trace {

class MappedFile {
 public:
  /// Maps an open file, which may be closed afterwards. InputError if it cannot be read.
  MappedFile(int fd, std::size_t size, const std::string& where);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_) { other.data_ = nullptr; }

  std::span<const std::byte> content() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kernbench::trace
