// How a program of ours uses its heap.
#pragma once

namespace kernbench {

/// Asks for huge pages under the heap and keeps memory that was freed. A simulation touches tens of megabytes here and
/// there: with pages of 4 KiB the 256-rank ring spent a tenth of its time in page faults and misses of the TLB. For
/// `main` to call, first; a library must not decide this for its program. Without effect where the system has no huge
/// pages for those who ask, or the heap is not glibc's.
void prefer_huge_pages();

}  // namespace kernbench
