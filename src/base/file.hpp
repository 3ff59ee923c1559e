// Files as a whole: read with a limit, written so that nobody ever sees half of one.
#pragma once

#include <string>
#include <string_view>

namespace kernbench {

/// Reads a text file: a missing one, a folder or one over 4 MiB is an InputError (`file.…`).
std::string read_text_file(const std::string& path);

/// Writes beside the target and renames, so that the target is either what it was or complete. Links are
/// followed, permissions of an existing file kept; a device or pipe is written directly. What cannot be
/// written (no such folder, no permission, full disk) is an InputError (`file.unwritable`) and leaves
/// nothing.
void write_file(const std::string& path, std::string_view content);

/// Throws what `write_file` would throw for a place that cannot be written, before the work that leads there.
/// Changes nothing.
void check_writable(const std::string& path);

/// Thrown by `write_stdout` when the reader of a pipe has gone: nothing is wrong, there is nothing to say.
struct ReaderGone {};

/// Writes to standard output and flushes. InputError (`file.unwritable`) if that fails.
void write_stdout(std::string_view content);

}  // namespace kernbench
