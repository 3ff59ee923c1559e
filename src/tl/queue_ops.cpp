#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "tl/recorder.hpp"

namespace kernbench::tl {

Recorder::Way Recorder::find_way(std::string_view name, Side side, At at) {
  const bool sends = side == Side::send;
  const auto* op = sends ? "send" : "recv";
  if (name.empty())
    fail(at, {"direction", fmt::format("{} without a direction", op), "directions have names"});
  if (!environment_.queues) return {nullptr, builder_.direction(name)};
  const auto& queues = *environment_.queues;
  const auto goes = sends ? &Queue::sends : &Queue::receives;
  const auto found = std::ranges::find(queues, name, &Queue::direction);
  if (found != queues.end() && (*found).*goes) return {&*found, builder_.direction(name)};
  std::vector<std::string> known;
  for (const auto& q : queues)
    if (q.*goes) known.push_back(q.direction);
  const auto* problem = found == queues.end() ? "unknown direction"
                        : sends               ? "nothing can be sent in direction"
                                              : "nothing can come from direction";
  fail(at, {"direction", fmt::format("{}: {} {}", op, problem, quote(name)),
            known.empty()
                ? fmt::format("this PE is not wired to any queue to {} {}: launch with queues, and with "
                              "tensors on the PEs that the mapper picks",
                              op, sends ? "to" : "from")
                : fmt::format("this PE has {} to {} {}", join(known), op, sends ? "to" : "from")});
}

void Recorder::check_message(const Queue* queue, Bytes size, std::string_view op, At at) const {
  if (size == 0_B)
    fail(at, {"shape", fmt::format("{} of a tile of no elements", op),
              "a message has at least one byte; leave it out on both sides"});
  if (queue == nullptr || size <= queue->slot_size) return;
  fail(at, {"slot",
            fmt::format("{} {}: a tile of {} in slots of {}", op, queue->direction, to_string(size),
                        to_string(queue->slot_size)),
            "send it in pieces, or set a larger slot_size"});
}

isa::ValueId Recorder::received(const Queue* queue, std::uint32_t shape, DType dtype,
                                const RecvOptions& options, At at) {
  check_message(queue, Bytes(builder_.tables().shape_of(shape).elements() * itemsize(dtype)), "recv", at);
  if (!options.dst_addr.is_null()) {
    check_pointer(options.dst_addr, dtype, "recv to an address", at);
    return builder_.placed(dtype, shape, options.dst_addr.address());
  }
  return queue != nullptr && queue->in_slot ? builder_.tile(dtype, shape, 0) : new_tile(dtype, shape, at);
}

Op Context::send(std::string_view direction, const Tile& tile, At at) {
  auto& r = *recorder_;
  const auto given = r.tile_or_reference(tile, "send", at);
  const auto way = r.way(direction, Recorder::Side::send, at);
  r.check_message(way.queue, r.tables().bytes(given), "send", at);
  return r.op(r.append({.kind = isa::CommandKind::ipcq_send, .detail = way.direction}, {given}, at));
}

Tile Recorder::receive(std::string_view direction, const Dims& shape, DType dtype, const RecvOptions& options,
                       std::uint8_t async, At at) {
  const auto from = way(direction, Side::recv, at);
  isa::Command c{.kind = isa::CommandKind::ipcq_recv, .detail8 = async, .detail = from.direction};
  c.result = received(from.queue, shape_id(shape, "recv", at), dtype, options, at);
  if (!options.dst_addr.is_null()) {
    c.place = builder().address(options.dst_addr.address());
    c.detail8 |= static_cast<std::uint8_t>(1 + static_cast<int>(options.dst_space));
  }
  append(c, {}, at);
  return handle(c.result);
}

Tile Context::recv(std::string_view direction, const Dims& shape, DType dtype, const RecvOptions& options,
                   At at) {
  return recorder_->receive(direction, shape, dtype, options, 0, at);
}

PendingTile Context::recv_async(std::string_view direction, const Dims& shape, DType dtype,
                                const RecvOptions& options, At at) {
  return PendingTile(recorder_->receive(direction, shape, dtype, options, isa::Command::kAsync, at));
}

Tile Context::recv_any(const Dims& shape, DType dtype, At at) {
  auto& r = *recorder_;
  const auto& queues = r.environment().queues;
  if (queues && std::ranges::none_of(*queues, &Queue::receives))
    r.fail(at, {"direction", "recv_any on a PE without queues",
                "this PE is not wired to any queue to recv from"});
  const auto shape_id = r.shape_id(shape, "recv_any", at);
  isa::Command c{.kind = isa::CommandKind::ipcq_recv};
  // Which queue it will be is not known, so the tile counts unless none of them would make it count.
  const Queue* scratch = nullptr;
  if (queues) {
    for (const auto& q : *queues)
      r.check_message(&q, Bytes(r.tables().shape_of(shape_id).elements() * itemsize(dtype)), "recv_any", at);
    const auto found = std::ranges::find(*queues, false, &Queue::in_slot);
    scratch = found == queues->end() ? &queues->front() : &*found;
  }
  c.result = r.received(scratch, shape_id, dtype, {}, at);
  r.append(c, {}, at);
  return r.handle(c.result);
}

}  // namespace kernbench::tl
