#pragma once

#include <string>

namespace pex::host {

/// Whether only root and the user of this process can change which file an absolute path names, and
/// its content: by the owners and the modes of the file, and of each directory and link on the way.
/// The entries of a directory with the sticky bit belong to their owners (inode(7)). False if the
/// path cannot be followed.
bool is_trusted_path(const std::string& path);

}  // namespace pex::host
