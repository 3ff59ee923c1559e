// Files as a whole: read with a limit, written so that nobody ever sees half of one.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kernbench {

/// Reads a text file: a missing one, a folder or one over 4 MiB is an InputError (`file.…`).
std::string read_text_file(const std::string& path);

/// The whole of a `NewFile` (base/new_file.hpp): the target is either what it was or complete. What cannot be
/// written (no such folder, no permission, full disk) is an InputError (`file.unwritable`) and leaves nothing.
void write_file(const std::string& path, std::string_view content);

/// Thrown by `write_stdout` when the reader of a pipe has gone: nothing is wrong, there is nothing to say.
struct ReaderGone {};

/// Writes to standard output and flushes. InputError (`file.unwritable`) if that fails.
void write_stdout(std::string_view content);
/// Writes to standard error. What cannot be written there is dropped: a run does not end for want of a reader.
void write_stderr(std::string_view content);

/// Where these two write instead, in programs whose streams are not the process's; null: to the process's own.
struct Output {
  std::function<void(std::string_view)> out, err;
};
void set_output(Output output);

/// Fills the numbers of standard streams that are closed, so that no file we open takes their place and is written to as
/// one of them. For the beginning of a program.
void keep_standard_streams() noexcept;

}  // namespace kernbench
