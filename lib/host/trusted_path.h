#pragma once

#include <string>

namespace pex::host {

/// Whether only root, and the user of this process unless its rights are those of its file
/// (has_rights_by_its_file()), can change which file an absolute path names, and
/// its content: by the owners and the modes of the file, and of each directory and link on the way.
/// In a directory of everybody with the sticky bit (inode(7)), only directories stay where they
/// are. False if the path cannot be followed, or leads through a file system of a user (fuse(4)) or
/// through a file of a process, such as /proc/1/root.
/// Access control lists are not read: the mode of a file has their mask (acl(5)).
bool is_trusted_path(const std::string& path);

}  // namespace pex::host
