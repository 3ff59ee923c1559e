// Running softmax as one software pipeline over all query tiles of a PE.
//
// On machines like the default one the vector unit limits, so it must never wait. While it works on the scores of one step,
// the matrix unit makes those of the next and multiplies the last ones with V. A step is a few blocks of keys with one update
// of the result. What the order below takes care of:
//   the products Q·Kᵀ of the next step come before the products P·V of this one, two blocks ahead;
//   the shift of a block comes before the exponentials of the block before it: these need not wait for it;
//   the update of the result follows the first exponentials of a step: the last product of the step before is done by then;
//   small operations stand together, because an operand is fetched while one other operation computes, not two;
//   row sums are settled a step late, and a tile is finished in the first step of the next one.
//
// With few blocks of keys, of few queries, the way from the last key to the result counts. Then a step is one block with a
// product of its own, scores are made three blocks ahead, and results are added up a block late. With many blocks that would
// be too many small operations: each waits for the TCM's port until the matrix unit has fetched an operand.
#include "nn/attention_program.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace kernbench::nn {
namespace {

using tl::Tile;

constexpr double kUnseen = -30000;  // added to the score of a key that a query does not see; f16 holds it
constexpr std::size_t kAhead = 3;   // blocks by which scores are ahead, one by one

/// Some blocks of keys of one query tile.
struct TileStep {
  const QueryTile* tile = nullptr;
  std::vector<KeyBlock> blocks;
  bool begins = false, ends = false;  // the tile
};

std::vector<TileStep> steps_of(const AttentionWork& work) {
  std::vector<TileStep> steps;
  for (const auto& tile : work.tiles) {
    const auto n = static_cast<std::ptrdiff_t>(tile.blocks.size());
    const auto together = work.one_by_one ? 1 : work.blocks;
    const auto parts = (n + together - 1) / together;
    for (std::ptrdiff_t i = 0; i < parts; ++i)  // alike, because a short step is a slow one
      steps.push_back({&tile,
                       {tile.blocks.begin() + i * n / parts, tile.blocks.begin() + (i + 1) * n / parts},
                       i == 0,
                       i + 1 == parts});
  }
  return steps;
}

/// The operand blocks of all steps in order, each loaded some blocks before it is needed.
class BlockStream {
 public:
  using Load = std::function<Tile(const QueryTile&, const KeyBlock&)>;
  BlockStream(const std::vector<TileStep>& steps, std::size_t ahead, Load load)
      : ahead_(ahead), load_(std::move(load)) {
    for (const auto& step : steps)
      for (const auto& block : step.blocks) blocks_.push_back({step.tile, &block});
  }

  Tile next() {
    while (loaded_.size() <= ahead_ && loads_ < blocks_.size()) {
      loaded_.push_back(load_(*blocks_[loads_].first, *blocks_[loads_].second));
      ++loads_;
    }
    const Tile tile = loaded_.front();
    loaded_.pop_front();
    return tile;
  }

 private:
  const std::size_t ahead_;
  Load load_;
  std::size_t loads_ = 0;
  std::vector<std::pair<const QueryTile*, const KeyBlock*>> blocks_;
  std::deque<Tile> loaded_;
};

class AttentionProgram {
 public:
  AttentionProgram(tl::Context& tl, const AttentionWork& work)
      : tl_(tl),
        work_(work),
        steps_(steps_of(work)),
        keys_(steps_, work.loads_ahead,
              [&](const QueryTile& t, const KeyBlock& b) { return load_block(work_.k_at, t, b); }),
        values_(steps_, work.loads_ahead,
                [&](const QueryTile& t, const KeyBlock& b) { return load_block(work_.v_at, t, b); }) {}

  void record() {
    if (steps_.empty()) return;
    if (work_.one_by_one) return record_one_by_one();
    if (work_.sums_by_matrix) ones_ = tl_.full({work_.block, 1}, 1, work_.dtype);
    for (std::size_t i = 0; i < steps_[0].blocks.size(); ++i) multiply_keys(0, i);
    update_reference(0);
    for (std::size_t n = 0; n < steps_.size(); ++n) record_step(n);
    finish_tile();
  }

 private:
  std::int64_t rows(const QueryTile& t) const { return work_.group * t.positions; }
  std::size_t count(std::size_t n) const { return n < steps_.size() ? steps_[n].blocks.size() : 0; }

  Tile load_block(const std::function<tl::Ptr(std::int64_t, std::int64_t)>& at, const QueryTile& t,
                  const KeyBlock& b) {
    return tl_.load(at(t.pair, b.first), {b.keys, work_.d}, work_.dtype);
  }

  Tile load_queries(const QueryTile& t) {
    const auto heads = tl_.load(work_.q_at(t.pair, t.first), {work_.group, t.positions, work_.d}, work_.dtype,
                                {.strides = {work_.head_stride, work_.d, 1}});
    return tl_.reshape(heads, {rows(t), work_.d});
  }

  /// The scores of block i of step n.
  void multiply_keys(std::size_t n, std::size_t i) {
    const auto& step = steps_[n];
    if (step.begins && i == 0) q_ = load_queries(*step.tile);
    tl::DotOptions options{.acc = {}, .out_dtype = work_.scores};
    if (has_unseen(*step.tile, step.blocks[i])) options.acc = bias_of(*step.tile, step.blocks[i]);
    next_scores_.push_back(tl_.dot(q_, tl_.trans(keys_.next()), options));
  }

  static bool has_unseen(const QueryTile& t, const KeyBlock& b) {
    return t.causal && b.first + b.keys > t.keys - (t.positions - 1);
  }

  /// What is added to the scores of a block. Tiles of as many positions share the bias of all keys around their last ones; a
  /// block has a part of its columns.
  Tile bias_of(const QueryTile& t, const KeyBlock& b) {
    if (!bias_ || bias_positions_ != t.positions) make_bias(t);
    const auto first = b.first - (t.keys - t.positions) + work_.block;
    return bias_.slice({tl::all, {first, first + b.keys}});
  }

  /// Columns are keys, from `block` before the first position of the tile to its last.
  void make_bias(const QueryTile& t) {
    const auto key = tl_.arange(-work_.block, t.positions);
    const auto position = tl_.expand_dims(tl_.arange(0, t.positions), 1);
    const auto bias = tl_.cast(tl_.where(key <= position, 0.0f, kUnseen), work_.scores);
    const tl::Dims heads{work_.group, t.positions, work_.block + t.positions};
    bias_ = tl_.reshape(tl_.copy(tl_.broadcast_to(tl_.expand_dims(bias, 0), heads)),
                        {rows(t), work_.block + t.positions});
    bias_positions_ = t.positions;
  }

  /// The reference of the exponents in step n, −max · scale so far, and by how much what is there shrinks.
  void update_reference(std::size_t n) {
    Tile m = work_.sums_by_matrix ? largest_of_each() : largest_at_once();
    settle_sums();
    m = m * -work_.scale;
    if (!steps_[n].begins) {
      m = tl_.minimum(reference_, m);
      shrink_ = tl_.exp2(m - reference_);
    }
    reference_ = m;
    scores_ = std::exchange(next_scores_, {});
  }

  Tile largest_of_each() {
    std::vector<Tile> maxima;
    for (const auto& s : next_scores_) maxima.push_back(tl_.max(s, 1, true));
    Tile m = maxima.front();
    for (std::size_t i = 1; i < maxima.size(); ++i) m = tl_.maximum(m, maxima[i]);
    return m;
  }

  /// Blocks of as many keys are compared before their rows are: fewer small operations.
  Tile largest_at_once() {
    Tile all = next_scores_.front(), rest;
    for (std::size_t i = 1; i < next_scores_.size(); ++i) {
      if (next_scores_[i].shape() == all.shape())
        all = tl_.maximum(all, next_scores_[i]);
      else
        rest = tl_.max(next_scores_[i], 1, true);  // the last block may be smaller
    }
    const Tile m = tl_.max(all, 1, true);
    return rest ? tl_.maximum(m, rest) : m;
  }

  void record_step(std::size_t n) {
    const Tile reference = reference_, shrink = shrink_;
    std::deque<Tile> shifted;
    auto shift_next = [&, next = std::size_t{0}]() mutable {
      if (next < count(n)) shifted.push_back(shift(scores_[next++], reference));
    };
    shift_next();
    std::size_t multiplied = 0;
    for (std::size_t i = 0; i < std::max(count(n), count(n + 1)); ++i) {
      while (multiplied < std::min(count(n + 1), i + 1 + work_.products_ahead))
        multiply_keys(n + 1, multiplied++);
      if (i >= count(n)) continue;
      shift_next();
      const Tile p = tl_.exp2(shifted.front(), {.out_dtype = work_.dtype});
      shifted.pop_front();
      if (i == 0) begin_update(steps_[n], shrink);
      add_block(p);
    }
    if (steps_[n].ends) ended_ = steps_[n].tile, ended_reference_ = reference;
    if (n + 1 < steps_.size()) update_reference(n + 1);
  }

  // ── one by one ──

  /// A block whose products are made: its part of the result comes a block late.
  struct Settled {
    Tile o, l, shrink;  // no shrink: it is the first of its tile
  };

  void record_one_by_one() {
    for (std::size_t n = 0; n < std::min(kAhead, steps_.size()); ++n) multiply_keys(n, 0);
    refer_next(0);
    for (std::size_t n = 0; n < steps_.size(); ++n) {
      if (n + kAhead < steps_.size()) multiply_keys(n + kAhead, 0);
      const Tile reference = reference_, shrink = shrink_;
      const Tile shifted = shift(scores_.front(), reference);
      scores_.erase(scores_.begin());
      const Tile p = tl_.exp2(shifted, {.out_dtype = work_.dtype});
      if (n + 1 < steps_.size()) refer_next(n + 1);
      settle_block();
      settled_ = {tl_.dot(p, values_.next()), tl_.sum(p, 1, true, {.out_dtype = DType::f32}), shrink};
      if (!steps_[n].ends) continue;
      settle_block();
      work_.finish(*steps_[n].tile, {reference, l_, o_});
    }
  }

  /// The reference of step n, and by how much what is there shrinks.
  void refer_next(std::size_t n) {
    scores_.push_back(next_scores_.front());
    next_scores_.erase(next_scores_.begin());
    Tile m = tl_.max(scores_.back(), 1, true) * -work_.scale;
    shrink_ = {};
    if (!steps_[n].begins) {
      m = tl_.minimum(reference_, m);
      shrink_ = tl_.exp2(m - reference_);
    }
    reference_ = m;
  }

  void settle_block() {
    if (!settled_) return;
    const auto& [o, l, shrink] = *settled_;
    o_ = shrink ? tl_.fma(o_, shrink, o) : o;
    l_ = shrink ? tl_.fma(l_, shrink, l) : l;
    settled_.reset();
  }

  Tile shift(const Tile& s, const Tile& reference) { return tl_.fma(s, work_.scale, reference); }

  void begin_update(const TileStep& step, const Tile& shrink) {
    if (step.begins) {
      finish_tile();
      o_ = l_ = {};
    } else {
      o_ = o_ * shrink;
    }
    settled_shrink_ = step.begins ? Tile() : shrink;
    step_l_ = {};
  }

  void add_block(const Tile& p) {
    const Tile v = values_.next();
    o_ = tl_.dot(p, v, {.acc = o_});
    if (work_.sums_by_matrix) {
      step_l_ = tl_.dot(p, ones_.slice({{0, v.shape()[0]}, tl::all}), {.acc = step_l_});
    } else {
      add_weights(p);
    }
  }

  /// Weights of a step are added up before their rows are.
  void add_weights(const Tile& p) {
    if (!step_p_)
      step_p_ = p;
    else if (step_p_.shape() == p.shape())
      step_p_ = tl_.add(step_p_, p, {.out_dtype = DType::f32});
    else
      step_l_ = tl_.sum(p, 1, true, {.out_dtype = DType::f32});
  }

  void sum_weights() {
    if (!step_p_) return;
    const auto sum = tl_.sum(step_p_, 1, true, {.out_dtype = DType::f32});
    step_l_ = step_l_ ? step_l_ + sum : sum;
    step_p_ = {};
  }

  /// Row sums are taken a step late: the matrix unit has them by then.
  void settle_sums() {
    sum_weights();
    if (late_l_) l_ = late_shrink_ ? tl_.fma(l_, late_shrink_, late_l_) : late_l_;
    late_l_ = step_l_, late_shrink_ = settled_shrink_;
    step_l_ = {};
  }

  /// The tile that has ended, if there is one.
  void finish_tile() {
    if (!ended_) return;
    while (late_l_ || step_l_ || step_p_) settle_sums();
    work_.finish(*ended_, {ended_reference_, l_, o_});
    ended_ = nullptr;
  }

  tl::Context& tl_;
  const AttentionWork& work_;
  const std::vector<TileStep> steps_;
  BlockStream keys_, values_;
  Tile ones_, q_, bias_;
  std::int64_t bias_positions_ = 0;
  std::vector<Tile> scores_, next_scores_;
  Tile reference_, shrink_;           // of the step that comes
  Tile o_, l_;                        // of the tile so far
  Tile step_l_, settled_shrink_;      // row sums of this step, and the factor of those before
  Tile step_p_;                       // weights of this step whose rows are not summed yet
  Tile late_l_, late_shrink_;         // the same of the step before
  const QueryTile* ended_ = nullptr;  // not finished yet
  Tile ended_reference_;
  std::optional<Settled> settled_;  // one by one
};

}  // namespace

void record_attention(tl::Context& tl, const AttentionWork& work) { AttentionProgram(tl, work).record(); }

}  // namespace kernbench::nn
