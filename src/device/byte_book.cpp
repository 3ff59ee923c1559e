#include "device/byte_book.hpp"

#include <algorithm>

namespace kernbench::device {

const Cause* ByteBook::freed(isa::CommandIndex command) const {
  const auto found = std::ranges::find(freed_, command, &Freed::command);
  return found == freed_.end() ? nullptr : &found->by;
}

void ByteBook::retire(isa::CommandIndex command, const Cause& retired) {
  const auto [first, end] = find(command);
  for (const Use* mine = first; mine != end; ++mine)
    for (const Use* later = end; later != uses_.data() + uses_.size(); ++later)
      if (conflict(mine->bytes, later->bytes)) set_free(later->command, retired);
  const auto begin = uses_.begin() + (first - uses_.data());
  uses_.erase(begin, begin + (end - first));
  std::erase_if(freed_, [&](const Freed& f) { return f.command == command; });
}

void ByteBook::set_free(isa::CommandIndex command, const Cause& by) {
  const auto found = std::ranges::find(freed_, command, &Freed::command);
  if (found != freed_.end())
    found->by = by;
  else
    freed_.push_back({command, by});
}

}  // namespace kernbench::device
