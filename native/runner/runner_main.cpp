// SPDX-License-Identifier: BSD-3-Clause
// nodewise-runner: starts and measures commands for the engine, one at a time. It is a program of its own so that it is
// small (a child's peak memory counts its parent's until exec), has no interpreter next to a run, and outlives its
// engine's death just long enough to end what is running. A guard above it does that where it is killed itself. Frames
// on standard input and output: four bytes of length, little-endian, then JSON.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "runner/capture.h"
#include "runner/conditions.h"
#include "runner/counters.h"
#include "runner/energy.h"
#include "runner/guard.h"
#include "runner/process.h"
#include "runner/request.h"
#include "runner/waiting.h"

namespace {

using nodewise::Json;

bool read_all(int descriptor, char* to, std::size_t count) {
    while (count > 0) {
        const ssize_t got = read(descriptor, to, count);
        if (got <= 0) {
            if (got < 0 && errno == EINTR) {
                continue;
            }
            return false;
        }
        to += got;
        count -= static_cast<std::size_t>(got);
    }
    return true;
}

bool write_all(int descriptor, const char* from, std::size_t count) {
    while (count > 0) {
        const ssize_t put = write(descriptor, from, count);
        if (put < 0) {
            if (errno == EINTR) {
                continue;
            }
            return false;
        }
        from += put;
        count -= static_cast<std::size_t>(put);
    }
    return true;
}

bool read_frame(std::string& frame) {
    std::uint32_t length = 0;
    if (!read_all(STDIN_FILENO, reinterpret_cast<char*>(&length), sizeof length) || length > nodewise::kLongestFrame) {
        return false;
    }
    frame.resize(length);
    return read_all(STDIN_FILENO, frame.data(), length);
}

bool write_frame(const std::string& frame) {
    const auto length = static_cast<std::uint32_t>(frame.size());
    // in one piece, which wakes the reader once
    std::string whole(sizeof length, '\0');
    std::memcpy(whole.data(), &length, sizeof length);
    whole += frame;
    return write_all(STDOUT_FILENO, whole.data(), whole.size());
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

constexpr double kWorthTelling_s = 1e-3;

// Processor time of this process, which reads what the program prints.
double own_seconds() {
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    return seconds(own.ru_utime) + seconds(own.ru_stime);
}

Json describe_usage(const rusage& usage) {
    return {{"user_s", seconds(usage.ru_utime)},      {"system_s", seconds(usage.ru_stime)},
            {"peak_bytes", usage.ru_maxrss * 1024},   {"minor_faults", usage.ru_minflt},
            {"major_faults", usage.ru_majflt},        {"context_switches", usage.ru_nvcsw},
            {"involuntary_switches", usage.ru_nivcsw}};
}

Json describe_stream(const nodewise::Capture& stream) {
    return {{"text", stream.text()},
            {"total", stream.total()},
            {"protocol", stream.protocol_lines()},
            {"dropped", stream.protocol_dropped()},
            {"misplaced", stream.misplaced()}};
}

class Server {
  public:
    Server(int guard, const std::string& root) : conditions_(root), energy_(root), process_(STDIN_FILENO, guard) {
        if (energy_.there()) {
            process_.look_after(nodewise::Energy::kLook_s, [this](int) {
                energy_.look();
                return nodewise::Energy::kLook_s;
            });
        }
        process_.look_after(nodewise::Waiting::kFirst_s, [this](int pid) { return waiting_.look(pid); });
        process_.at_end([this](int pid) { waiting_.end(pid); });
    }

    Json answer(const nodewise::Request& request) {
        const nodewise::Job& job = request.job;
        const std::vector<int>& domain = request.domain;
        keep_answer(request);
        const double ready_before = conditions_.ready();
        const nodewise::Reading before = conditions_.read(job.mask, domain);
        waiting_.start();
        energy_.start();
        counters_.start();
        const double read_before = own_seconds();
        const nodewise::Outcome outcome = process_.run(job, out_, err_);
        const double read = own_seconds() - read_before;
        if (!outcome.failed_step.empty()) {
            return {{"failed_step", outcome.failed_step},
                    {"failed_errno", outcome.failed_errno},
                    {"message", std::strerror(outcome.failed_errno)}};  // NOLINT(concurrency-mt-unsafe): one thread
        }
        const std::map<std::string, double> counted = counters_.stop();
        const std::map<std::string, double> used = energy_.stop();
        Json conditions = nodewise::difference(before, conditions_.read(job.mask, domain));
        conditions.update(used);
        conditions.set("load_average", conditions_.load_average());
        conditions.set("processors", conditions_.processors(job.mask));
        conditions.set("ready", (ready_before + conditions_.ready()) / 2);
        Json usage = describe_usage(outcome.usage);
        usage.update(counted);
        usage.update(waiting_.stop());
        if (read > kWorthTelling_s) {
            usage.set("read_s", read);
        }
        if (outcome.left.processor_s > 0) {
            usage.set("left_s", outcome.left.processor_s);
        }
        add_frequency(job, outcome.usage, counted, conditions);
        Json reply = {{"wall_s", outcome.wall_s},
                      {"started_at", outcome.started_at},
                      {"exit_code", outcome.exit_code},
                      {"signal", outcome.signal},
                      {"timed_out", outcome.timed_out},
                      {"cancelled", outcome.cancelled},
                      {"by_terminal", outcome.by_terminal},
                      {"stopped", outcome.stopped},
                      {"left_behind", outcome.left.names},
                      {"rebound", outcome.rebound},
                      {"usage", usage},
                      {"conditions", conditions},
                      {"counters_missing", counters_.hardware_missing()},
                      {"energy_missing", energy_.missing()},
                      {"energy_remedy", energy_.remedy()},
                      {"out", describe_stream(out_)},
                      {"err", describe_stream(err_)}};
        if (request.answer_file >= 0) {
            std::array<char, 17> digits{};
            std::snprintf(digits.data(), digits.size(), "%016" PRIx64, out_.answer_digest());
            reply.set("answer", {{"digest", digits.data()}, {"bytes", out_.answer_bytes()}});
        }
        return reply;
    }

  private:
    // Where the engine wants to compare what is printed, it hands over a file for it when it starts us.
    void keep_answer(const nodewise::Request& request) {
        if (request.answer_file >= 0) {
            // no program is to find it open
            fcntl(request.answer_file, F_SETFD, FD_CLOEXEC);
        }
        out_.keep_answer(request.answer_file, request.answer_most);
    }

    // The clock while the program ran, by its own cycles; else what the system says of the clock now.
    void add_frequency(const nodewise::Job& job, const rusage& usage, const std::map<std::string, double>& counted,
                       Json& conditions) const {
        constexpr double kShortest_s = 0.01;
        const double ran = seconds(usage.ru_utime) + (counters_.user_only() ? 0 : seconds(usage.ru_stime));
        const auto cycles = counted.find(counted.count("cycles") > 0 ? "cycles" : "aperf");
        if (cycles != counted.end() && cycles->second > 0 && ran >= kShortest_s) {
            conditions.set("frequency_hz", cycles->second / ran);
            if (conditions_.base_frequency() > 0) {
                conditions.set("base_frequency_hz", conditions_.base_frequency());
            }
        } else if (const double hertz = conditions_.frequency(job.mask.value_or(std::vector<int>{0})); hertz > 0) {
            conditions.set("frequency_hz", hertz);
        }
    }

    nodewise::Counters counters_;
    nodewise::Conditions conditions_;
    nodewise::Energy energy_;
    nodewise::Waiting waiting_;
    nodewise::Process process_;
    nodewise::Capture out_;
    nodewise::Capture err_;
};

// Whether there is a request, or the end of them, to read; not where the guard is gone.
bool wait_for_request(int guard) {
    std::array<pollfd, 2> watched{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{guard, POLLIN, 0}};
    while (poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
    }
    return watched[1].revents == 0;
}

bool is_gone(int guard) {
    pollfd watched{guard, POLLIN, 0};
    return poll(&watched, 1, 0) > 0;
}

int serve(int guard, const std::string& root) {
    Server server(guard, root);
    std::string frame;
    while (wait_for_request(guard) && read_frame(frame)) {
        Json reply;
        try {
            const nodewise::Request request = nodewise::parse_request(frame);
            // a cancel that came after its run had ended asks for nothing
            if (request.cancel) {
                continue;
            }
            reply = server.answer(request);
            reply.set("id", request.id);
        } catch (const std::exception& problem) {
            reply = {{"failed_step", "runner"}, {"failed_errno", 0}, {"message", problem.what()}};
        }
        // the run was cut short: whoever asked for it learns that from the end of the answers
        if (is_gone(guard)) {
            return 1;
        }
        // what a program prints may be any bytes: those that are no UTF-8 are replaced
        if (!write_frame(nodewise::to_text(reply))) {
            return 1;
        }
    }
    return 0;
}

}  // namespace

int main(int count, char** words) {
    // the terminal's Ctrl-C is the engine's to handle: it cancels the run through our standard input
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    try {
        // conditions are read below a copy of a system where one is named
        const std::string root = count > 1 ? words[1] : "";
        return nodewise::guarded([&root](int guard) { return serve(guard, root); });
    } catch (const std::exception&) {
        return 70;
    }
}
