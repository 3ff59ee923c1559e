#include "runtime/energy_charges.hpp"

#include <algorithm>
#include <array>

#include "isa/transfer.hpp"
#include "kernbench/error.hpp"

namespace kernbench::runtime {

using device::OpKind;
using isa::CommandKind;
using isa::ValueId;
using topology::NodeId;
using topology::NodeKind;

namespace {

std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) {
  return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
}

constexpr std::size_t index_of(EnergyPart part) { return static_cast<std::size_t>(part); }

Energy cost(std::int64_t price, std::int64_t amount) {
  return Energy::from_fj(static_cast<Energy::Wide>(price) * amount);
}

}  // namespace

const CommandCharge* ProgramCharges::find(isa::CommandIndex command, OpKind kind) const {
  if (command >= first_.size()) return nullptr;
  const std::size_t end = command + 1 < first_.size() ? first_[command + 1] : entries_.size();
  for (std::size_t i = first_[command]; i < end; ++i)
    if (entries_[i].kind == kind) return &entries_[i];
  return nullptr;
}

ChargeBook::ChargeBook(const topology::Machine& machine, const topology::Graph& graph,
                       topology::EnergyPrices prices)
    : graph_(graph),
      prices_(std::move(prices)),
      slice_(machine.hbm_slice().count()),
      tile_(machine.behaviour<models::MatrixFactory>("pe.pe_gemm")(machine.at("pe.pe_gemm"))->tile()) {}

/// Equal charges are kept once: most commands of a run have one that there was before.
std::uint32_t ChargeBook::number_of(const Charge& charge) {
  const auto [found, is_new] = numbers_.try_emplace(charge, static_cast<std::uint32_t>(charges_.size()));
  if (is_new) charges_.push_back(&found->first);
  return found->second;
}

std::int64_t ChargeBook::note(const topology::Price& price) {
  if (!price.given) unpriced_.insert(price.key);
  return price.fj;
}

/// Reading the memory at one end, the links between, writing the memory at the other.
const ChargeBook::PerByte& ChargeBook::price_of(NodeId from, NodeId to) {
  const auto [found, is_new] = flows_.try_emplace(std::uint64_t{from.index} << 32 | to.index);
  PerByte& price = found->second;
  if (!is_new) return price;
  const auto add_memory = [&](NodeId node, bool reads) {
    const NodeKind kind = graph_.node(node).kind;
    if (kind == NodeKind::hbm_ctrl)
      price[index_of(EnergyPart::hbm)] += note(reads ? prices_.hbm_read : prices_.hbm_write);
    if (kind == NodeKind::sram)
      price[index_of(EnergyPart::sram)] += note(reads ? prices_.sram_read : prices_.sram_write);
    if (kind == NodeKind::pe_tcm)
      price[index_of(EnergyPart::tcm)] += note(reads ? prices_.tcm_read : prices_.tcm_write);
  };
  add_memory(from, true);
  for (const topology::LinkId id : graph_.route(from, to)) {
    const topology::LinkClass kind = topology::class_of(graph_, graph_.link(id));
    if (kind == topology::LinkClass::router) price[index_of(EnergyPart::routers)] += note(prices_.router);
    if (kind == topology::LinkClass::ucie) price[index_of(EnergyPart::ucie)] += note(prices_.ucie);
    if (kind == topology::LinkClass::pcie) price[index_of(EnergyPart::pcie)] += note(prices_.pcie);
  }
  add_memory(to, false);
  return price;
}

void ChargeBook::add_link(EnergyByPart& parts, topology::LinkId link, Bytes carried) const {
  const auto add = [&](EnergyPart part, const topology::Price& price) {
    parts[index_of(part)] += cost(price.fj, carried.count());
  };
  switch (topology::class_of(graph_, graph_.link(link))) {
    case topology::LinkClass::router:
      return add(EnergyPart::routers, prices_.router);
    case topology::LinkClass::ucie:
      return add(EnergyPart::ucie, prices_.ucie);
    case topology::LinkClass::pcie:
      return add(EnergyPart::pcie, prices_.pcie);
    case topology::LinkClass::free:
      return;
  }
}

void ChargeBook::add_flow(Charge& charge, NodeId from, NodeId to, Bytes bytes) {
  if (bytes <= 0_B) return;
  const PerByte& price = price_of(from, to);
  for (std::size_t i = 0; i < price.size(); ++i)
    if (price[i] != 0) charge.parts[i] += cost(price[i], bytes.count());
}

NodeId ChargeBook::memory_at(address::PhysAddr address) const {
  const address::DecodedAddr at = address::decode(address);
  if (at.resource == address::Resource::Hbm)
    return graph_.hbm_ctrl({at.sip, at.cube, static_cast<int>(at.offset.count() / slice_)});
  if (at.resource == address::Resource::Sram) return graph_.sram(at.in_cube());
  return graph_.pe(at.at_pe(), NodeKind::pe_tcm);
}

NodeId ChargeBook::slot_memory(const device::QueueRules& rules, PeCoord pe) const {
  switch (rules.memory) {
    case address::MemorySpace::Hbm:
      return graph_.hbm_ctrl(pe);
    case address::MemorySpace::Sram:
      return graph_.sram(pe.in_cube());
    case address::MemorySpace::Tcm:
      return graph_.pe(pe, NodeKind::pe_tcm);
  }
  KB_ASSERT(false, "slots in an unknown memory");
}

void ChargeBook::add_host(Charge& charge, address::PhysAddr memory, Bytes bytes, bool writes) {
  const NodeId there = memory_at(memory);
  writes ? add_flow(charge, graph_.host(), there, bytes) : add_flow(charge, there, graph_.host(), bytes);
}

/// Goes through one program.
class ChargeBook::Counter {
 public:
  Counter(ChargeBook& book, const isa::Program& program, const FindMemory& find_memory,
          const device::WiringPtr& wiring)
      : book_(book),
        program_(program),
        find_memory_(find_memory),
        wiring_(wiring),
        tcm_(book.graph_.pe(program.pe(), NodeKind::pe_tcm)) {}

  ProgramCharges count() {
    for (const isa::Command& command : program_.commands()) {
      out_.begin_command();
      add(command);
    }
    return std::move(out_);
  }

 private:
  void put(OpKind kind, const Charge& charge, std::int64_t amount = 0) {
    if (charge == Charge()) return;
    out_.add({kind, book_.number_of(charge), static_cast<std::uint64_t>(amount)});
  }

  void add(const isa::Command& command) {
    switch (command.kind) {
      case CommandKind::dma_read:
        return put(OpKind::dma_read, transfer(command, true));
      case CommandKind::dma_write:
        return put(OpKind::dma_write, transfer(command, false));
      case CommandKind::atomic:
        put(OpKind::dma_read, transfer(command, true));
        return put(OpKind::dma_write, transfer(command, false));
      case CommandKind::load_scalar: {
        Charge charge;
        move(charge, program_.address(command), itemsize(program_.scalar_dtype(command)), 1, true);
        return put(OpKind::load_scalar, charge);
      }
      case CommandKind::gemm:
        return put(OpKind::gemm, product(command));
      case CommandKind::math:
        return put(OpKind::math, vector(command));
      case CommandKind::composite:
        return add_composite(program_.composite(command));
      case CommandKind::ipcq_send:
        return add_send(command);
      case CommandKind::ipcq_recv:
        return add_receive(command);
      case CommandKind::wait:
      case CommandKind::fence:
        return;
    }
  }

  /// `times` transfers of the same bytes. What is not mapped is left out: running it will say what is wrong.
  void move(Charge& charge, std::uint64_t address, std::int64_t bytes, std::int64_t times, bool reads) {
    if (bytes <= 0 || !find_memory_(program_.pe(), address::VirtAddr(address), Bytes(bytes), pieces_)) return;
    for (const address::PhysPiece& piece : pieces_) flow(charge, piece.begin, piece.size * times, reads);
  }

  void flow(Charge& charge, address::PhysAddr at, Bytes bytes, bool reads) {
    const NodeId memory = book_.memory_at(at);
    reads ? book_.add_flow(charge, memory, tcm_, bytes) : book_.add_flow(charge, tcm_, memory, bytes);
  }

  Charge transfer(const isa::Command& command, bool reads) {
    Charge charge;
    const int size = itemsize(program_.value(program_.moved(command)).dtype);
    if (lies_in_one_piece(command)) {
      Bytes bytes;
      isa::for_each_segment(program_, command,
                            [&](const isa::Segment& s) { bytes += Bytes(s.elements * size); });
      flow(charge, pieces_[0].begin, bytes, reads);
      return charge;
    }
    isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
      move(charge, segment.address, segment.elements * size, 1, reads);
    });
    return charge;
  }

  /// Whether everything between the first and the last byte that a transfer touches does; the piece is in `pieces_` then.
  bool lies_in_one_piece(const isa::Command& command) {
    std::array<isa::Access, 3> touched;
    if (isa::accesses(program_, command, touched) != 1) return false;
    const Bytes span(static_cast<std::int64_t>(touched[0].end - touched[0].begin));
    return find_memory_(program_.pe(), address::VirtAddr(touched[0].begin), span, pieces_) &&
           pieces_.size() == 1;
  }

  // ── units ──

  void fetch(Charge& charge, std::int64_t bytes) {
    if (bytes == 0) return;
    const Energy energy = cost(book_.note(book_.prices_.tcm_read), bytes);
    charge.fetch += energy;
    charge.parts[index_of(EnergyPart::tcm)] += energy;
  }

  void store(Charge& charge, std::int64_t bytes) {
    if (bytes == 0) return;
    charge.parts[index_of(EnergyPart::tcm)] += cost(book_.note(book_.prices_.tcm_write), bytes);
  }

  void multiply(Charge& charge, ValueId a, ValueId b, std::int64_t macs) {
    if (macs == 0) return;
    const DType of_a = program_.value(a).dtype, of_b = program_.value(b).dtype;
    const DType wider = itemsize(of_b) > itemsize(of_a) ? of_b : of_a;
    charge.parts[index_of(EnergyPart::matrix)] +=
        cost(book_.note(book_.prices_.mac[static_cast<std::size_t>(wider)]), macs);
  }

  void compute(Charge& charge, MathOp op, std::int64_t elements) {
    if (elements == 0) return;
    charge.parts[index_of(EnergyPart::vector)] +=
        cost(book_.note(book_.prices_.vector[static_cast<std::size_t>(info(op).cost)]), elements);
  }

  Charge operands_and_result(const isa::Command& command) {
    Charge charge;
    for (const ValueId id : program_.reads(command))
      if (program_.value(id).kind != isa::ValueKind::scalar)
        fetch(charge, program_.distinct_bytes(id).count());
    store(charge, program_.bytes(command.result).count());
    return charge;
  }

  Charge product(const isa::Command& command) {
    Charge charge = operands_and_result(command);
    const auto reads = program_.reads(command);
    multiply(charge, reads[0], reads[1], program_.gemm_size(command).macs());
    return charge;
  }

  Charge vector(const isa::Command& command) {
    Charge charge = operands_and_result(command);
    compute(charge, command.op, program_.math_elements(command));
    return charge;
  }

  // ── composites: out[m, n] = a[m, k] · b[k, n] ──

  std::int64_t bytes_of(ValueId value) const {
    return program_.shape(value).elements() * itemsize(program_.value(value).dtype);
  }
  bool in_memory(ValueId value) const { return program_.value(value).kind == isa::ValueKind::reference; }

  /// a is used once for each column of tiles, b once for each row of them.
  void add_composite(const isa::CompositeSpec& spec) {
    const std::int64_t m = program_.shape(spec.a)[0], k = program_.shape(spec.a)[1],
                       n = program_.shape(spec.b)[1];
    const std::int64_t of_a = tiles_of(n, book_.tile_.n), of_b = tiles_of(m, book_.tile_.m);
    Charge in, out, gemm;
    std::int64_t read = 0;
    for (const auto& [value, times] : {std::pair(spec.a, of_a), std::pair(spec.b, of_b)}) {
      fetch(gemm, bytes_of(value) * times);
      if (!in_memory(value)) continue;
      reference(in, value, times, true);
      read += bytes_of(value) * times;
    }
    multiply(gemm, spec.a, spec.b, m * n * k);
    if (spec.step_count == 0) store(gemm, bytes_of(spec.out));
    if (in_memory(spec.out)) reference(out, spec.out, 1, false);
    put(OpKind::tile_dma_in, in, read);
    put(OpKind::tile_gemm, gemm, m * n * k);
    add_epilogue(spec, m * n, tiles_of(k, book_.tile_.k));
    put(OpKind::tile_dma_out, out, bytes_of(spec.out));
  }

  void add_epilogue(const isa::CompositeSpec& spec, std::int64_t outputs, std::int64_t k_steps) {
    Charge charge;
    std::int64_t all = 0;
    for (const isa::EpilogueStep& step : program_.epilogue(spec)) {
      const std::int64_t elements = outputs * (step.point == isa::EpiloguePoint::per_k_step ? k_steps : 1);
      all += elements;
      compute(charge, step.op, elements);
      if (step.operand != isa::kNone && program_.value(step.operand).kind != isa::ValueKind::scalar)
        fetch(charge, elements * itemsize(program_.value(step.operand).dtype));
    }
    if (spec.step_count > 0) store(charge, bytes_of(spec.out));
    put(OpKind::tile_math, charge, all);
  }

  /// All of it, `times` times. Where everything from its first byte to its last is in one memory, that is one look.
  void reference(Charge& charge, ValueId value, std::int64_t times, bool reads) {
    const int size = itemsize(program_.value(value).dtype);
    const Shape& shape = program_.shape(value);
    const isa::Strides strides = program_.layout(value).strides;
    if (shape.elements() == 0) return;
    std::int64_t span = 1;
    for (int axis = 0; axis < shape.rank(); ++axis)
      span += (shape[axis] - 1) * strides[static_cast<std::size_t>(axis)];
    if (find_memory_(program_.pe(), address::VirtAddr(program_.address(value)), Bytes(span * size),
                     pieces_) &&
        pieces_.size() == 1)
      return flow(charge, pieces_[0].begin, Bytes(bytes_of(value) * times), reads);
    isa::for_each_segment(program_, value, [&](const isa::Segment& segment) {
      move(charge, segment.address, segment.elements * size, times, reads);
    });
  }

  // ── queues ──

  const device::InstalledWiring::End* end_of(const isa::Command& command) const {
    if (!wiring_ || command.detail == isa::kNone) return nullptr;
    const std::string_view direction = program_.directions()[command.detail];
    for (const auto& end : wiring_->ends(program_.pe()))
      if (end.direction == direction) return &end;
    return nullptr;
  }

  void add_send(const isa::Command& command) {
    const auto* end = end_of(command);
    if (end == nullptr) return;
    Charge charge;
    const ValueId sent = command.read[0];
    const NodeId slot = book_.slot_memory(wiring_->rules(), end->peer);
    if (in_memory(sent))
      pass(charge, sent, slot);
    else
      book_.add_flow(charge, tcm_, slot, program_.bytes(sent));
    put(OpKind::ipcq_send, charge);
  }

  /// A reference passes the engine on its way into the slot.
  void pass(Charge& charge, ValueId sent, NodeId slot) {
    const NodeId dma = book_.graph_.pe(program_.pe(), NodeKind::pe_dma);
    const int size = itemsize(program_.value(sent).dtype);
    isa::for_each_segment(program_, sent, [&](const isa::Segment& s) {
      if (!find_memory_(program_.pe(), address::VirtAddr(s.address), Bytes(s.elements * size), pieces_))
        return;
      for (const address::PhysPiece& piece : pieces_)
        book_.add_flow(charge, book_.memory_at(piece.begin), dma, piece.size);
    });
    book_.add_flow(charge, dma, slot, program_.bytes(sent));
  }

  /// Out of its slot, unless it stays there; on to where it is to go; and the credit back to the sender, if the program
  /// says who that is.
  void add_receive(const isa::Command& command) {
    if (!wiring_) return;
    Charge charge;
    const Bytes bytes = program_.bytes(command.result);
    if (!wiring_->in_slot())
      book_.add_flow(charge, book_.slot_memory(wiring_->rules(), program_.pe()), tcm_, bytes);
    if (program_.has_destination(command)) move(charge, program_.address(command), bytes.count(), 1, false);
    if (const auto* end = end_of(command))
      book_.add_flow(charge, book_.graph_.pe(program_.pe(), NodeKind::pe_ipcq),
                     book_.graph_.pe(end->peer, NodeKind::pe_ipcq), wiring_->rules().credit_bytes);
    put(OpKind::ipcq_recv, charge);
  }

  ChargeBook& book_;
  const isa::Program& program_;
  const FindMemory& find_memory_;
  const device::WiringPtr& wiring_;
  const NodeId tcm_;
  ProgramCharges out_;
  std::vector<address::PhysPiece> pieces_;
};

ProgramCharges ChargeBook::of(const isa::Program& program, const FindMemory& find_memory,
                              const device::WiringPtr& wiring) {
  return Counter(*this, program, find_memory, wiring).count();
}

}  // namespace kernbench::runtime
