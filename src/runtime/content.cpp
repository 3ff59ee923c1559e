#include "runtime/content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/number.hpp"
#include "data/tiles.hpp"
#include "kernbench/error.hpp"

namespace kernbench::runtime {

namespace {

/// Row by row from `fill` to the places of the rows.
void scatter_rows(const Torch::RowBytes& fill, const Chunks& chunks, std::span<std::byte> out) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(chunks.array_row));
  for (std::int64_t row = 0; row < chunks.bytes / chunks.array_row; ++row) {
    fill(row, buffer);
    for (const Chunk& c : chunks.list) {
      const std::int64_t in_chunk = row - c.in_array / chunks.array_row;
      if (in_chunk < 0 || in_chunk >= c.rows) continue;
      std::memcpy(out.data() + c.in_buffer + in_chunk * c.row_bytes,
                  buffer.data() + c.in_array % chunks.array_row, static_cast<std::size_t>(c.row_bytes));
    }
  }
}

/// The element again and again, twice as much each time.
void repeat(std::span<const std::byte> element, std::span<std::byte> out) {
  std::ranges::copy(element, out.begin());
  for (std::size_t done = element.size(); done < out.size();) {
    const std::size_t n = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), n);
    done += n;
  }
}

}  // namespace

Engine::Fill array_content(NdArray array) {
  const auto keeps = static_cast<std::int64_t>(array.bytes().size());
  const auto kept = std::make_shared<const NdArray>(std::move(array));
  return {[kept](const Chunks& chunks, std::span<std::byte> out) { scatter(chunks, kept->bytes(), out); },
          keeps,
          {},
          kept};
}

Engine::Fill value_content(DType dtype, double value, std::string_view tensor) {
  if (!fits(dtype, value))
    throw InputError({"tensor.value", fmt::format("tensor '{}'", tensor),
                      fmt::format("the number {} is no {}", value, to_string(dtype)),
                      "integers are whole and in the range of the dtype, floats finite in it"});
  const auto made = data::scalar_content(dtype, value);
  std::vector<std::byte> element(made.get(), made.get() + itemsize(dtype));
  return {[element](const Chunks&, std::span<std::byte> out) { repeat(element, out); }, 0, element};
}

Engine::Fill row_content(Torch::RowBytes fill) {
  return {[fill = std::move(fill)](const Chunks& chunks, std::span<std::byte> out) {
    scatter_rows(fill, chunks, out);
  }};
}

}  // namespace kernbench::runtime
