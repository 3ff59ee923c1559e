// The part of HTTP/1.1 that the server speaks: one request for each connection, with a body of a known length.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "web/server.hpp"

namespace kernbench::web {

inline constexpr std::size_t kLongestHead = 16 << 10;  // bytes, of the request line and the headers
inline constexpr std::size_t kLongestBody = 1 << 20;   // bytes

struct RequestHead {
  std::string method, path;
  std::map<std::string, std::string> query;    // of several equal names the first
  std::map<std::string, std::string> headers;  // names in lower case
  std::size_t body_bytes = 0;

  /// Empty if the header is not there.
  std::string header(const std::string& name) const;
};

/// The request line and the headers, without the empty line that ends them. What the server does not accept is an
/// answer with its status and the reason instead. A body that is sent in chunks is refused (411).
std::variant<RequestHead, Response> parse_head(std::string_view text);

/// The status line and the headers of an answer with so many bytes, up to and with the empty line.
std::string head_text(const Response& response, std::size_t body_bytes);

}  // namespace kernbench::web
