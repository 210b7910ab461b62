// SPDX-License-Identifier: BSD-3-Clause
#include "runner/guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "runner/children.h"

namespace nodewise {
namespace {

// What asks this process to end, and that a child did. Blocked and waited for, so that none comes between looking and
// waiting.
sigset_t ends_and_children() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGCHLD}) {
        sigaddset(&set, signal);
    }
    return set;
}

bool asked_to_end() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
           sigismember(&pending, SIGHUP) == 1 || sigismember(&pending, SIGQUIT) == 1;
}

// A process that waits until the pipe closes without a word, and then puts back. It shares neither session nor group
// with who may be killed along with the guard, and it is so far when this comes back.
pid_t start_keeper(const std::array<int, 2>& ends, const Change& change) {
    std::array<int, 2> ready{};
    if (pipe2(ready.data(), O_CLOEXEC) != 0) {
        return -1;
    }
    const pid_t keeper = fork();
    if (keeper != 0) {
        close(ready[1]);
        char word = 0;
        ssize_t got = 0;
        do {
            got = keeper > 0 ? read(ready[0], &word, 1) : 0;
        } while (got < 0 && errno == EINTR);
        close(ready[0]);
        // one that ended before it could say so puts nothing back
        return got == 1 ? keeper : -1;
    }
    setsid();
    prctl(PR_SET_NAME, kKeeper);
    close(ends[1]);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
        std::signal(signal, SIG_IGN);
    }
    const char here = 1;
    [[maybe_unused]] const ssize_t told = write(ready[1], &here, 1);
    close(ready[0]);
    close(ready[1]);
    // whoever reads the guard's output must not wait for this process
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    char word = 0;
    ssize_t got = 0;
    do {
        got = read(ends[0], &word, 1);
    } while (got < 0 && errno == EINTR);
    if (got != 1) {
        change.put_back();
    }
    _exit(0);
}

}  // namespace

int guarded(const std::function<int(int guard)>& serve, const Change& change) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    const pid_t parent = getppid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const sigset_t waited_for = ends_and_children();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &waited_for, &before);
    adopt_orphans();
    const pid_t keeper = start_keeper(ends, change);
    if (keeper < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    close(ends[0]);
    int status = 0;
    bool ended = false;
    try {
        // what the change starts holds the pipe, too: killed in the midst of it, the keeper would put back what is made
        // only afterwards
        fcntl(ends[1], F_SETFD, 0);
        change.make();
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        const pid_t guard = getpid();
        const pid_t server = asked_to_end() || getppid() != parent ? -1 : fork();
        if (server == 0) {
            // the guard may be killed, and may have been just before
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != guard) {
                _exit(128 + SIGTERM);
            }
            pthread_sigmask(SIG_SETMASK, &before, nullptr);
            close(ends[1]);
            _exit(serve(-1));
        }
        prctl(PR_SET_NAME, "nodewise-guard");
        bool going = server > 0;
        while (going) {
            pid_t one = 0;
            while (going && (one = waitpid(-1, &status, WNOHANG)) > 0) {
                ended = one == server;
                // without the keeper only this process can put back: at once
                going = one != server && one != keeper;
            }
            going = going && one == 0;
            if (going) {
                const int signal = sigwaitinfo(&waited_for, nullptr);
                going = signal == SIGCHLD || (signal < 0 && errno == EINTR);
            }
        }
    } catch (...) {
        change.put_back();
        throw;
    }
    change.put_back();
    const char done = 1;
    [[maybe_unused]] const ssize_t told = write(ends[1], &done, 1);
    end_children();
    if (!ended) {
        return 128 + SIGTERM;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int guarded(const std::function<int(int guard)>& serve) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "pipe");
    }
    adopt_orphans();
    const pid_t server = fork();
    if (server < 0) {
        throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (server == 0) {
        close(ends[1]);
        return serve(ends[0]);
    }
    // distinguishable in a list of processes, and not hit by who kills all of the server's name
    prctl(PR_SET_NAME, "nodewise-guard");
    close(ends[0]);
    // requests are the server's to read: with nobody to read them their writer learns of it; what stays open is the way
    // back, so that the engine hears of a lost server once all is cleared up
    close(STDIN_FILENO);
    int status = 0;
    pid_t ended = 0;
    do {
        ended = waitpid(-1, &status, 0);
    } while ((ended > 0 && ended != server) || (ended < 0 && errno == EINTR));
    end_children();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace nodewise
