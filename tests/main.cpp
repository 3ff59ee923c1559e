// The `main` of every test program.
#include <gmock/gmock.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  // GoogleTest keeps the output that it captures in TEST_TMPDIR, and in /tmp where that is not set.
  if (const char* folder = ::getenv("TMPDIR")) ::setenv("TEST_TMPDIR", folder, 0);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
