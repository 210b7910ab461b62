// SPDX-License-Identifier: BSD-3-Clause
#include "isolation/guest.h"

#include <fcntl.h>
#include <linux/reboot.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "isolation/guest_network.h"
#include "isolation/guest_root.h"
#include "isolation/inside.h"
#include "json/json.h"

namespace nodewise {
namespace {

void check(bool well, const std::string& what) {
    if (!well) {
        // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
        throw std::runtime_error(what + ": " + std::strerror(errno));
    }
}

void mount_at(const char* kind, const std::string& path, const char* options = "") {
    mkdir(path.c_str(), 0755);
    check(mount(kind, path.c_str(), kind, 0, options) == 0, std::string("cannot mount ") + kind + " at " + path);
}

void load_modules() {
    std::ifstream order("/modules/order");
    for (std::string name; std::getline(order, name);) {
        const int file = open(("/modules/" + name).c_str(), O_RDONLY | O_CLOEXEC);
        // one that is built into the kernel is there already
        const bool well = file >= 0 && (syscall(SYS_finit_module, file, "", 0) == 0 || errno == EEXIST);
        check(well, "cannot load the module " + name);
        close(file);
    }
}

void share(const char* tag, const std::string& path, const std::string& cache) {
    mkdir(path.c_str(), 0755);
    const std::string options = "trans=virtio,version=9p2000.L,msize=512000,cache=" + cache;
    check(mount(tag, path.c_str(), "9p", 0, options.c_str()) == 0, "cannot mount the host's " + path);
}

Json read_job() {
    std::ifstream file("/job.json");
    std::ostringstream text;
    text << file.rdbuf();
    return nodewise::parse_json(text.str(), "the job");
}

// The program's streams are files that the host passes on.
void use_streams(const std::string& folder) {
    const int in = open((folder + "/stdin").c_str(), O_RDONLY);
    const int out = open((folder + "/stdout").c_str(), O_WRONLY | O_APPEND);
    const int err = open((folder + "/stderr").c_str(), O_WRONLY | O_APPEND);
    check(in >= 0 && out >= 0 && err >= 0, "cannot open the streams");
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
}

void bind_to(const Json& processors) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const Json& number : processors.elements()) {
        CPU_SET(number.whole(), &set);
    }
    check(sched_setaffinity(0, sizeof set, &set) == 0, "cannot bind to the processors");
}

// Behind our own words, `isolate inside REPORT`.
Program program_of(const Json& job) {
    constexpr std::size_t kProgram = 3;
    Program program{job.at("args").at(kProgram).text(), ""};
    for (const Json& variable : job.at("env").elements()) {
        const std::string text = variable.text();
        program.path = text.rfind("PATH=", 0) == 0 ? text.substr(5) : program.path;
    }
    return program;
}

AskedRoot root_of(const Json& image) {
    AskedRoot root{image.at("kind").text(), image.at("options").text(), {}};
    for (const Json& one : image.at("shown").elements()) {
        root.parts.push_back({{one.at("from").text(), one.at("path").text()}, one.at("lacking").truth()});
    }
    return root;
}

dev_t file_system_of(const char* path) {
    struct stat about{};
    check(stat(path, &about) == 0, path);
    return about.st_dev;
}

// Into the report, which the host reads: whether the program is a file that is mapped.
void note_mapping(const Json& job, dev_t host) {
    check(chdir(job.at("cwd").text().c_str()) == 0, "cannot enter the working directory");
    const bool mapped = is_mapped(program_of(job), host);
    std::ofstream("/run/nodewise/report", std::ios::app) << nodewise::to_text({{"mapped", mapped}}) << "\n";
}

[[noreturn]] void become(const Json& job) {
    const std::vector<std::string> words = job.at("args").texts();
    const std::vector<std::string> variables = job.at("env").texts();
    std::vector<char*> arguments;
    std::vector<char*> environment;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execve does not write
    }
    for (const std::string& variable : variables) {
        environment.push_back(const_cast<char*>(variable.c_str()));  // NOLINT: execve does not write
    }
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    check(chdir(job.at("cwd").text().c_str()) == 0, "cannot enter the working directory");
    execve(arguments[0], arguments.data(), environment.data());
    check(false, "cannot start the program");
    _exit(127);
}

void run() {
    mount_at("devtmpfs", "/dev");
    mount_at("proc", "/proc");
    mount_at("sysfs", "/sys");
    load_modules();
    const Json job = read_job();
    share("root", "/host", "loose");
    share("wire", "/wire", "none");
    const Json network = job.at("network");
    const Json image = job.at("root");
    const dev_t host = file_system_of("/host");
    const MappedRoot root = image.is_null() ? MappedRoot{"/host", {}}
                                            : mapped_root(root_of(image), "/host", program_of(job), !network.is_null());
    for (const char* name : {"/dev", "/proc", "/sys"}) {
        check(mount(name, (root.base + name).c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0, name);
    }
    mount_at("tmpfs", root.base + "/dev/shm", "mode=1777");
    for (const Json& path : job.at("memory").elements()) {
        mount_at("tmpfs", root.base + path.text(), "mode=1777");
    }
    if (!image.is_null()) {
        show_from_host(root);
    }
    // what both sides write at once is not cached
    const std::string shared = root.base + "/run/nodewise";
    mkdir(shared.c_str(), 0755);
    check(mount("/wire", shared.c_str(), nullptr, MS_BIND, nullptr) == 0, "cannot show the streams");
    start_loopback();
    const int names = network.is_null() ? -1 : write_name_servers(network.at("names").text());
    check(chroot(root.base.c_str()) == 0 && chdir("/") == 0, "cannot enter the root");
    if (!network.is_null()) {
        start_network({network.at("address").text(), network.at("mask").text(), network.at("gateway").text()});
        show_name_servers(names);
    }
    use_streams("/run/nodewise");
    if (!image.is_null()) {
        note_mapping(job, host);
    }
    if (!job.at("processors").is_null()) {
        bind_to(job.at("processors"));
    }
    const pid_t pid = fork();
    if (pid == 0) {
        try {
            become(job);
        } catch (const std::exception& problem) {
            std::fprintf(stderr, "nodewise-isolate: %s\n", problem.what());
        }
        _exit(127);
    }
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
}

}  // namespace

void run_guest() {
    try {
        run();
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "nodewise-isolate: %s\n", problem.what());
    }
    sync();
    // the console is the program's standard error outside, where the kernel would say that it restarts
    std::ofstream("/proc/sys/kernel/printk") << 0;
    // with -no-reboot QEMU ends here; a machine without ACPI cannot be switched off
    reboot(LINUX_REBOOT_CMD_RESTART);
    for (;;) {
        pause();
    }
}

}  // namespace nodewise
