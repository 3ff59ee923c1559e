// The source lines of two runs, matched by their text: a line that only moved in its file is the same line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/diff.hpp"

namespace kernbench::report {

class LinePairs {
 public:
  LinePairs(const SavedRun& before, const SavedRun& after);

  /// Lines that are in one run only, then those that give rise to other commands.
  std::vector<LineChange> changes() const;
  /// Whether programs have the same commands of the same lines in another order.
  bool reordered() const;
  /// What a line of the first run is called in the second; its own name if it is not there.
  std::string name_in_second(std::size_t line) const;

 private:
  /// How often each command comes, by its text and shapes.
  using Commands = std::map<std::string, std::int64_t>;
  struct Side {
    explicit Side(const SavedRun& run);
    std::vector<SavedLine> lines;
    std::vector<Commands> commands;  // by line
    std::uint64_t order = 0;         // a hash over all commands in their order
  };
  void pair_up();
  static LineChange change_of(const SavedLine& line, LineChange::Kind kind, const Commands& before,
                              const Commands& after);

  const Side before_, after_;
  std::vector<int> pair_;       // of each line of the first: that of the second, or −1
  std::vector<bool> has_pair_;  // of each line of the second
};

}  // namespace kernbench::report
