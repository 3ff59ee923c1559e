// Times of collectives, worked out by hand.
#include "dist/dist_world.hpp"

namespace kernbench::dist::latency_test {
namespace {

// Two SIPs, 256 B on cube 0, PE 0 of each. SIP 1 sends its tile to SIP 0, which adds its own and sends the sum back. From
// the start of SIP 1's program, with the figures of the device's tests:
//     2.000  the CPU starts
//     1.000  dispatch of the load
//    14.005  the load: 5 ps to the slice and back, a router of 2.5 ns each way, a burst of 8 ns, 256 B at 256 GB/s
//    59.604  TCM to TCM of the other SIP (port, three routers up and two down, UCIe, PCIe, switch and back down)
//     2.000  256 B at the 128 GB/s of PCIe
//     0.002  the announcement: port, pe_ipcq
//     2.500  the sum on SIP 0: two operands out of TCM at 512 GB/s, one vector, 0.5 ns into TCM
//     0.625  what leaves PE 0 of SIP 0 before the sum: the store of it (256 B at the port's 512 GB/s), and the credit of
//            the slot, which PCIe is busy with for 0.125 ns (16 B)
//    61.606  the same way back
//    14.005  the store
//   157.347
TEST(Latency, OfAnAllReduceBetweenTwoSipsIsTheSumOfItsSteps) {
  Torch torch(load());
  init_process_group(torch);
  std::vector<Tensor> tensors(2);
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        tensors[static_cast<std::size_t>(rank)] = torch.zeros({128}, f16, {}, "x");
        all_reduce(tensors[static_cast<std::size_t>(rank)]);  // installs the queues
      },
      2);
  torch.synchronize();
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        const Work work = all_reduce(tensors[static_cast<std::size_t>(rank)]);
        if (rank == 1) {
          EXPECT_EQ(work.trace().pe_exec, 157'347_ps);
        }
      },
      2);
}

}  // namespace
}  // namespace kernbench::dist::latency_test
