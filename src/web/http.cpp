#include "web/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parse.hpp"

namespace kernbench::web {
namespace {

constexpr std::size_t kLongestTarget = 4 << 10;  // bytes, of an address

Response refused(int status, const char* what) { return error_response(status, "web.request", what); }

Response not_understood() { return refused(400, "this is not an HTTP request that can be understood"); }

/// Letters, digits and the signs that HTTP allows in methods and in names of headers.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return c > ' ' && c < 0x7F &&
           std::string_view("()<>@,;:\\\"/[]?={}").find(static_cast<char>(c)) == std::string_view::npos;
  });
}

bool is_control(unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7F; }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// The text up to a separator, which is taken off `rest` with it; the whole of `rest` if the separator is not in it.
std::string_view take(std::string_view& rest, std::string_view separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view part = rest.substr(0, at);
  rest.remove_prefix(at == rest.npos ? rest.size() : at + separator.size());
  return part;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// `%2F` is `/`; in a query `+` is a space. Nothing if a `%` is not followed by two digits.
std::optional<std::string> decoded(std::string_view text, bool in_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && in_query) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return {};
      out += static_cast<char>(16 * high + low);
      i += 2;
    }
  }
  return out;
}

bool read_query(std::string_view text, std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    std::string_view part = take(text, "&");
    const auto name = decoded(take(part, "="), true), value = decoded(part, true);
    if (!name || !value) return false;
    query.emplace(*name, *value);
  }
  return true;
}

/// `/report?runs=1,2`. Nothing if it is accepted.
std::optional<Response> read_target(std::string_view target, RequestHead& head) {
  if (target.size() > kLongestTarget) return refused(414, "the address is too long");
  if (!target.starts_with('/')) return not_understood();
  const auto path = decoded(take(target, "?"), false);
  if (!path || !read_query(target, head.query)) return not_understood();
  head.path = *path;
  return {};
}

std::optional<Response> read_headers(std::string_view lines, RequestHead& head) {
  while (!lines.empty()) {
    std::string_view value = take(lines, "\r\n");
    const std::string name = lower(take(value, ":"));
    if (!is_token(name) || std::ranges::any_of(value, is_control)) return not_understood();
    if (!head.headers.emplace(name, trimmed(value)).second && (name == "host" || name == "content-length"))
      return not_understood();
  }
  return {};
}

std::optional<Response> read_length(RequestHead& head) {
  if (!head.header("transfer-encoding").empty())
    return refused(411, "a body needs its length before it (Content-Length); chunks are not accepted");
  const std::string text = head.header("content-length");
  if (text.empty()) return {};
  if (text.find_first_not_of("0123456789") != text.npos) return not_understood();
  const auto bytes = parse_whole<std::size_t>(text);
  if (!bytes || *bytes > kLongestBody) return refused(413, "the request is longer than 1 MiB");
  head.body_bytes = *bytes;
  return {};
}

const char* phrase(int status) {
  static constexpr std::pair<int, const char*> kPhrases[] = {{200, "OK"},
                                                             {202, "Accepted"},
                                                             {400, "Bad Request"},
                                                             {403, "Forbidden"},
                                                             {404, "Not Found"},
                                                             {405, "Method Not Allowed"},
                                                             {408, "Request Timeout"},
                                                             {411, "Length Required"},
                                                             {413, "Content Too Large"},
                                                             {414, "URI Too Long"},
                                                             {415, "Unsupported Media Type"},
                                                             {422, "Unprocessable Content"},
                                                             {429, "Too Many Requests"},
                                                             {431, "Request Header Fields Too Large"},
                                                             {500, "Internal Server Error"},
                                                             {503, "Service Unavailable"}};
  for (const auto& [number, text] : kPhrases)
    if (number == status) return text;
  return "Error";
}

}  // namespace

std::string RequestHead::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::variant<RequestHead, Response> parse_head(std::string_view text) {
  RequestHead head;
  std::string_view line = take(text, "\r\n");
  const std::string_view method = take(line, " "), target = take(line, " ");
  if (!is_token(method) || (line != "HTTP/1.1" && line != "HTTP/1.0")) return not_understood();
  head.method = method;
  if (auto refusal = read_target(target, head)) return *std::move(refusal);
  if (auto refusal = read_headers(text, head)) return *std::move(refusal);
  if (auto refusal = read_length(head)) return *std::move(refusal);
  if (head.method != "GET" && head.method != "POST")
    return refused(405, "the server answers GET and POST alone");
  return head;
}

std::string head_text(const Response& response, std::size_t body_bytes) {
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cache-Control: no-store\r\n",
      response.status, phrase(response.status), response.type, body_bytes);
  if (!response.filename.empty())
    text += fmt::format("Content-Disposition: attachment; filename=\"{}\"\r\n", response.filename);
  return text + "\r\n";
}

}  // namespace kernbench::web
