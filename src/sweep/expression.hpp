// The condition of a sweep: `M * N <= 4194304 and not K == 0`.
//
// Integers, names, `+ - * / %`, comparisons, `and or not`, brackets; precedence as in Python. Division and remainder are
// those of integers, rounded towards zero.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/yaml.hpp"

namespace kernbench::sweep {

class Expression {
 public:
  /// InputError (`sweep.where`) with `place` and what was expected.
  Expression(const std::string& text, YamlPlace place);
  ~Expression();
  Expression(Expression&&) noexcept;

  /// Whether it holds. `value` gives each name's; InputError for a division by zero or a number beyond 64 bits.
  bool holds(const std::function<std::int64_t(const std::string&)>& value) const;
  const std::set<std::string>& names() const { return names_; }

 private:
  struct Node;
  class Parser;
  std::unique_ptr<Node> root_;
  std::set<std::string> names_;
  std::string text_;
  YamlPlace place_;
};

}  // namespace kernbench::sweep
