// SPDX-License-Identifier: Apache-2.0
// Writing from inside somebody else's program. Whatever becomes of the write, the program must not notice: no signal
// reaches it (a pipe whose reader is gone, a limit on the size of files), and no descriptor that it has closed and
// opened again as something else is written to.
#ifndef MILLPOND_SRC_CHECK_LINE_FILE_H_
#define MILLPOND_SRC_CHECK_LINE_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::check {

// files::WriteAll without SIGPIPE and SIGXFSZ. False with errno.
bool WriteQuietly(int file, std::string_view bytes);

// A file that several processes append whole lines to. Not safe from several threads.
class LineFile {
 public:
  Status Open(const std::string& path);
  bool is_open() const { return !path_.empty(); }
  // `line` with its newline. False with errno.
  bool Append(std::string_view line);

 private:
  Status OpenAgain();
  // Programs that make themselves daemons close every descriptor there is.
  bool IsStillOurs() const;

  std::string path_;
  UniqueFd file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool cut_off_ = false;  // the last line may lack its end
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_LINE_FILE_H_
