// SPDX-License-Identifier: BSD-3-Clause
#include "runner/guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "runner/children.h"

namespace nodewise {

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
