// What ranks say in messages, short enough to be read when there are hundreds of them.
#pragma once

#include <string>
#include <vector>

namespace kernbench::dist {

/// `rank 3`, `ranks 0-62, 64-255`.
std::string ranks_text(std::vector<int> ranks);

/// What each rank says, those that say the same together.
class Said {
 public:
  struct Alike {
    std::string text;
    std::vector<int> ranks;
  };
  static constexpr std::size_t kShown = 8;

  void add(int rank, const std::string& text);
  /// In the order in which they began. Where these would be more than `kShown`, those that differ in names alone are one,
  /// with `'…'` for the names.
  std::vector<Alike> groups() const;

 private:
  std::vector<Alike> groups_;
};

}  // namespace kernbench::dist
