#include "sweep/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/parse.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::sweep {
namespace {

[[noreturn]] void refuse_condition(const YamlPlace& place, const std::string& text, const std::string& why) {
  throw InputError(
      {"sweep.where", place.text(), fmt::format("the condition {}: {}", quote(text), why),
       "it may have integers, names of what varies, + - * / %, comparisons, and, or, not, brackets"});
}

}  // namespace

struct Expression::Node {
  std::string op;  // empty: a number, or a name
  std::int64_t number = 0;
  std::string name;
  std::unique_ptr<Node> left, right;  // `not` and the minus of one operand have the right one alone
};

/// One function for each level of precedence.
class Expression::Parser {
 public:
  Parser(Expression& out) : out_(out), text_(out.text_) { next(); }

  std::unique_ptr<Node> parse() {
    auto node = either();
    if (!word_.empty()) fail(fmt::format("{} is not expected", quote(word_)));
    return node;
  }

 private:
  using Level = std::unique_ptr<Node> (Parser::*)();

  std::unique_ptr<Node> either() { return chain({"or"}, &Parser::both); }
  std::unique_ptr<Node> both() { return chain({"and"}, &Parser::negation); }
  std::unique_ptr<Node> negation() { return word_ == "not" ? unary("not", &Parser::negation) : comparison(); }
  std::unique_ptr<Node> comparison() {
    auto node = sum();
    for (const char* op : {"<=", ">=", "==", "!=", "<", ">"})
      if (word_ == op) {
        next();
        return binary(op, std::move(node), sum());
      }
    return node;
  }
  std::unique_ptr<Node> sum() { return chain({"+", "-"}, &Parser::product); }
  std::unique_ptr<Node> product() { return chain({"*", "/", "%"}, &Parser::sign); }
  std::unique_ptr<Node> sign() { return word_ == "-" ? unary("-", &Parser::sign) : atom(); }

  std::unique_ptr<Node> chain(const std::vector<std::string>& ops, Level inner) {
    auto node = deeper(inner);
    while (std::ranges::find(ops, word_) != ops.end()) {
      const std::string op = take();
      node = binary(op, std::move(node), deeper(inner));
    }
    return node;
  }
  std::unique_ptr<Node> unary(const char* op, Level inner) {
    next();
    return binary(op, nullptr, deeper(inner));
  }
  static std::unique_ptr<Node> binary(std::string op, std::unique_ptr<Node> left,
                                      std::unique_ptr<Node> right) {
    auto node = std::make_unique<Node>();
    node->op = std::move(op), node->left = std::move(left), node->right = std::move(right);
    return node;
  }

  /// Brackets and signs may nest; a text that nests without measure must not take the stack with it.
  std::unique_ptr<Node> deeper(Level inner) {
    constexpr int kDeepest = 1000;
    if (++depth_ > kDeepest) fail("it is nested too deep");
    auto node = (this->*inner)();
    --depth_;
    return node;
  }

  std::unique_ptr<Node> atom() {
    if (word_ == "(") {
      next();
      auto node = deeper(&Parser::either);
      if (word_ != ")") fail("a bracket is not closed");
      next();
      return node;
    }
    auto node = std::make_unique<Node>();
    if (word_.empty()) fail("something is missing at its end");
    if (std::isdigit(static_cast<unsigned char>(word_[0])) != 0)
      node->number = number();
    else if (is_name_begin(word_[0]) && word_ != "and" && word_ != "or" && word_ != "not")
      out_.names_.insert(node->name = word_);
    else
      fail(fmt::format("{} is not expected", quote(word_)));
    next();
    return node;
  }

  std::int64_t number() {
    const auto value = parse_whole<std::int64_t>(word_);
    if (!value) fail(fmt::format("{} is no integer", quote(word_)));
    return *value;
  }

  static bool is_name_begin(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  static bool is_name_part(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }
  std::string take() {
    std::string taken = word_;
    next();
    return taken;
  }
  void next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_name_part(text_[at_])) {
      while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    } else if (at_ < text_.size()) {
      const bool is_long = at_ + 1 < text_.size() && text_[at_ + 1] == '=' &&
                           std::string("<>=!").find(text_[at_]) != std::string::npos;
      at_ += is_long ? 2 : 1;
    }
    word_ = text_.substr(begin, at_ - begin);
  }
  [[noreturn]] void fail(const std::string& why) { refuse_condition(out_.place_, text_, why); }

  Expression& out_;
  const std::string& text_;
  std::size_t at_ = 0;
  std::string word_;  // the next one; empty: the end
  int depth_ = 0;
};

Expression::Expression(const std::string& text, YamlPlace place) : text_(text), place_(std::move(place)) {
  root_ = Parser(*this).parse();
}
Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;

bool Expression::holds(const std::function<std::int64_t(const std::string&)>& value) const {
  const std::function<std::int64_t(const Node&)> eval = [&](const Node& n) -> std::int64_t {
    if (n.op.empty()) return n.name.empty() ? n.number : value(n.name);
    if (n.op == "not") return eval(*n.right) == 0 ? 1 : 0;
    if (n.op == "and") return eval(*n.left) != 0 && eval(*n.right) != 0 ? 1 : 0;
    if (n.op == "or") return eval(*n.left) != 0 || eval(*n.right) != 0 ? 1 : 0;
    const std::int64_t a = n.left ? eval(*n.left) : 0, b = eval(*n.right);
    if (n.op == "==") return a == b ? 1 : 0;
    if (n.op == "!=") return a != b ? 1 : 0;
    if (n.op == "<") return a < b ? 1 : 0;
    if (n.op == "<=") return a <= b ? 1 : 0;
    if (n.op == ">") return a > b ? 1 : 0;
    if (n.op == ">=") return a >= b ? 1 : 0;
    std::int64_t out = 0;
    bool fits = true;
    if (n.op == "+") fits = !__builtin_add_overflow(a, b, &out);
    if (n.op == "-") fits = !__builtin_sub_overflow(a, b, &out);
    if (n.op == "*") fits = !__builtin_mul_overflow(a, b, &out);
    if (n.op == "/" || n.op == "%") {
      if (b == 0) refuse_condition(place_, text_, "it divides by zero");
      fits = !(a == INT64_MIN && b == -1);
      if (fits) out = n.op == "/" ? a / b : a % b;
    }
    if (!fits) refuse_condition(place_, text_, "a number in it is beyond 64 bits");
    return out;
  };
  return eval(*root_) != 0;
}

}  // namespace kernbench::sweep
