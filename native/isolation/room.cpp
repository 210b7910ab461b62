// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/room.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace nodewise {
namespace {

namespace fs = std::filesystem;

// Folders that every system has and hardly any uses: the room's own folder covers one of them, for the runtime alone.
constexpr std::array kSpare{"/mnt", "/media", "/srv", "/tmp"};

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

void check(bool well, const std::string& what) {
    if (!well) {
        fail(what);
    }
}

int clone_tree(const std::string& path) {
    const int tree = open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    check(tree >= 0, "cannot show " + path + " inside");
    return tree;
}

void read_only(int tree, const std::string& path) {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY;
    check(mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes) == 0,
          "cannot make " + path + " read-only");
}

void move_to(int tree, const std::string& path) {
    check(move_mount(tree, "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0, "cannot mount onto " + path);
}

void memory_at(const std::string& path, const char* mode) {
    check(mount("nodewise", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, mode) == 0, "cannot mount memory at " + path);
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    check(static_cast<bool>(file.flush()), "cannot write " + path);
}

// Not root: root of a user namespace, in which the caller's own number is all that there is.
void become_root() {
    const uid_t user = geteuid();
    const gid_t group = getegid();
    check(unshare(CLONE_NEWUSER) == 0, "the system gives users no namespaces of their own");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
}

// The runtime makes no control groups, which would outlive it: it finds their file systems read-only.
void freeze_control_groups() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string source;
        std::string path;
        std::string kind;
        words >> source >> path >> kind;
        if (kind == "cgroup" || kind == "cgroup2") {
            check(mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0,
                  "cannot make " + path + " read-only");
        }
    }
}

bool below(const std::string& path, const std::string& folder) {
    return path == folder || path.rfind(folder + "/", 0) == 0;
}

// The place of a volume in the tree; below a folder that is memory inside it is made.
void make_place(const std::string& path, bool is_folder) {
    std::error_code there;
    if (fs::exists(path, there)) {
        return;
    }
    if (is_folder) {
        fs::create_directories(path);
    } else {
        fs::create_directories(fs::path(path).parent_path());
        write_file(path, "");
    }
}

}  // namespace

Room::Room(const Spec& spec) {
    if (geteuid() != 0) {
        become_root();
    }
    check(unshare(CLONE_NEWNS) == 0, "the system gives this process no mounts of its own");
    // nothing that is mounted from here on is seen outside, and nothing from outside comes in
    check(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "cannot keep mounts apart");
    const auto spare =
        std::find_if(kSpare.begin(), kSpare.end(), [](const char* path) { return fs::is_directory(path); });
    errno = ENOENT;
    check(spare != kSpare.end(), "there is no folder to mount onto");
    scratch_ = *spare;
    tree_ = clone_tree("/");
    read_only(tree_, "/");
    // by its name: what it was started as belongs to the mounts of before
    self_ = clone_tree(fs::read_symlink("/proc/self/exe").string());
    read_only(self_, "nodewise-isolate");
    for (const Volume& volume : spec.volumes) {
        volumes_.push_back(clone_tree(volume.path));
        if (!volume.writable) {
            read_only(volumes_.back(), volume.path);
        }
    }
    check(unshare(CLONE_NEWPID) == 0, "the system gives this process no numbers of processes of its own");
}

Room::~Room() {
    for (const int tree : {tree_, self_}) {
        close(tree);
    }
    for (const int tree : volumes_) {
        close(tree);
    }
}

void Room::furnish(const Spec& spec) {
    check(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0, "cannot mount /proc");
    freeze_control_groups();
    for (const std::string& path : spec.hidden) {
        umount2(path.c_str(), MNT_DETACH);
    }
    memory_at(scratch_, "mode=700");
    fs::create_directory(scratch_ + "/state");
    fs::create_directory(root());
    move_to(tree_, root());
    // what programs expect to be able to write is memory; sockets below /run are no way out
    for (const auto& [path, mode] : {std::pair{"/tmp", "mode=1777"}, std::pair{"/run", "mode=755"}}) {
        if (fs::is_directory(root() + path)) {
            memory_at(root() + path, mode);
        }
    }
    fs::create_directories(shared());
    write_file(shared() + "/report", "");
    const std::string self = shared() + "/isolate";
    write_file(self, "");
    move_to(self_, self);
    for (std::size_t i = 0; i < spec.volumes.size(); ++i) {
        const std::string place = root() + spec.volumes[i].path;
        struct stat about{};
        fstat(volumes_[i], &about);
        if (below(spec.volumes[i].path, "/tmp") || below(spec.volumes[i].path, "/run")) {
            make_place(place, S_ISDIR(about.st_mode));
        }
        move_to(volumes_[i], place);
    }
}

}  // namespace nodewise
