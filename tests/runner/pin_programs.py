# SPDX-License-Identifier: BSD-3-Clause
"""Programs in C and C++ that make threads in each way there is, for the tests of the preload library."""

#: Says for each thread what it may use when its first line runs; by what means threads are made is the first argument.
SOURCE = """
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
static std::mutex lock;
static void show(const char* who, long number) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    std::string text;
    for (int p = 0; p < 1024; ++p) if (CPU_ISSET(p, &set)) text += " " + std::to_string(p);
    std::lock_guard held(lock);
    std::printf("%s %ld:%s\\n", who, number, text.c_str());
    std::fflush(stdout);
}
static void* run(void* number) { show("thread", reinterpret_cast<long>(number)); return nullptr; }
static int run11(void* number) { show("thread", reinterpret_cast<long>(number)); return 3; }
static void make(long number, const pthread_attr_t* attributes = nullptr) {
    pthread_t made;
    if (pthread_create(&made, attributes, run, reinterpret_cast<void*>(number)) != 0) std::abort();
    pthread_join(made, nullptr);
}
int main(int, char** words) {
    const std::string how = words[1];
    show("main", 0);
    if (how == "pthread") for (long i = 1; i <= 3; ++i) make(i);
    if (how == "std") for (long i = 1; i <= 3; ++i) std::thread(run, reinterpret_cast<void*>(i)).join();
    if (how == "c11") for (long i = 1; i <= 3; ++i) {
        thrd_t made; int status = 0;
        if (thrd_create(&made, run11, reinterpret_cast<void*>(i)) != thrd_success) std::abort();
        thrd_join(made, &status);
        if (status != 3) std::abort();
    }
    if (how == "dlsym") {
        auto create = reinterpret_cast<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
            dlsym(RTLD_DEFAULT, "pthread_create"));
        pthread_t made;
        create(&made, nullptr, run, reinterpret_cast<void*>(1L));
        pthread_join(made, nullptr);
    }
    if (how == "own") {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(std::atoi(words[2]), &set);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        make(1, &attributes);
        make(2);
    }
    if (how == "many") {
        std::vector<std::thread> makers;
        for (int m = 0; m < 8; ++m) makers.emplace_back([m] {
            std::vector<std::thread> made;
            for (long i = 0; i < 25; ++i) made.emplace_back(run, reinterpret_cast<void*>(m * 100L + i));
            for (auto& t : made) t.join();
        });
        for (auto& t : makers) t.join();
    }
    if (how == "fork") {
        make(1);
        std::fflush(stdout);
        if (fork() == 0) { show("child", 0); make(1); _exit(0); }
        wait(nullptr);
        show("main", 0);
    }
    if (how == "shell") { make(1); std::fflush(stdout); return system("grep Cpus_allowed_list /proc/self/status"); }
}
"""

#: A library whose constructor waits for a thread that makes threads itself, by both functions.
CONSTRUCTED = """
#include <pthread.h>
#include <threads.h>
static void* inner(void* p) { return p; }
static int inner11(void* p) { return p != NULL; }
static void* outer(void* p) {
    pthread_t made; thrd_t made11;
    if (thrd_create(&made11, inner11, NULL) == thrd_success) thrd_join(made11, NULL);
    if (pthread_create(&made, NULL, inner, NULL) == 0) pthread_join(made, NULL);
    return p;
}
__attribute__((constructor)) static void begin(void) {
    pthread_t made;
    if (pthread_create(&made, NULL, outer, NULL) == 0) pthread_join(made, NULL);
}
int constructed(void) { return 5; }
"""

#: Programs that are right by themselves, and end with 5; the first argument says which.
HEALTHY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void* nothing(void* p) { return p; }
static void* keeps_errno(void* p) { return errno == 0 ? p : NULL; }
static int make(const pthread_attr_t* attributes, void* (*run)(void*)) {
    pthread_t made; void* got = NULL; int here = 5;
    errno = 77;
    if (pthread_create(&made, attributes, run, &here) != 0 || errno != 77) return 1;
    pthread_join(made, &got);
    return got != &here;
}
static void* makes(void* p) { for (int i = 0; i < 20; ++i) if (make(NULL, nothing)) return NULL; return p; }
static void* forks_and_executes(void* p) {
    pid_t pid = fork();
    if (pid == 0) { execl("/bin/sh", "sh", "-c", "exit 3", NULL); _exit(1); }
    int status = 0;
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status) == 3 ? p : NULL;
}
static volatile int going = 1;
static void* goes_on_making(void* p) { while (going) if (make(NULL, nothing)) return NULL; return p; }
static pthread_barrier_t gate;
static int cleaned = 0;
static void* cannot_be_cancelled(void* p) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    cleaned = 1;
    return p;
}
static void only(int processor) {
    cpu_set_t set; CPU_ZERO(&set); CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) exit(2);
}
static int is_only(int processor) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set) == 1 && CPU_ISSET(processor, &set);
}
static int chosen;
static void* chooses(void* p) {
    only(chosen);
    sched_yield();
    pid_t pid = fork();
    if (pid == 0) _exit(is_only(chosen) ? 0 : 1);
    int status = 1;
    waitpid(pid, &status, 0);
    return status == 0 && is_only(chosen) ? p : NULL;
}
int main(int count, char** words) {
    const char* how = words[1];
    int bad = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (!strcmp(how, "dlopen")) {
        void* library = dlopen(words[2], RTLD_NOW);
        if (library == NULL) { puts(dlerror()); return 1; }
        return ((int (*)(void))dlsym(library, "constructed"))();
    }
    if (!strcmp(how, "linked")) {
        int (*found)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "constructed");
        return found == NULL ? 1 : found();
    }
    if (!strcmp(how, "thousand")) {
        static pthread_t made[1000];
        for (int i = 0; i < 1000; ++i) if (pthread_create(&made[i], NULL, nothing, NULL) != 0) return 1;
        for (int i = 0; i < 1000; ++i) pthread_join(made[i], NULL);
    }
    if (!strcmp(how, "errno")) bad = make(NULL, keeps_errno);
    if (!strcmp(how, "at once")) {
        pthread_t made[16]; void* got;
        for (int i = 0; i < 16; ++i) if (pthread_create(&made[i], NULL, makes, &made[i]) != 0) return 1;
        for (int i = 0; i < 16; ++i) { pthread_join(made[i], &got); bad |= got != &made[i]; }
    }
    if (!strcmp(how, "small stack") || !strcmp(how, "small stack makes")) {
        pthread_attr_setstacksize(&attributes, how[11] ? PTHREAD_STACK_MIN + 4096 : PTHREAD_STACK_MIN);
        bad = make(&attributes, how[11] ? makes : nothing);
    }
    if (!strcmp(how, "fork and exec")) bad = make(NULL, forks_and_executes);
    if (!strcmp(how, "fork among threads")) {
        pthread_t made[4]; void* got;
        for (int i = 0; i < 4; ++i) if (pthread_create(&made[i], NULL, goes_on_making, &made[i]) != 0) return 1;
        for (int i = 0; i < 50; ++i) {
            pid_t pid = fork();
            if (pid == 0) _exit(make(NULL, nothing) ? 1 : 0);
            int status = 1;
            waitpid(pid, &status, 0);
            bad |= status;
        }
        going = 0;
        for (int i = 0; i < 4; ++i) { pthread_join(made[i], &got); bad |= got != &made[i]; }
    }
    if (!strcmp(how, "cancelled")) {
        for (int i = 0; i < 200; ++i) {
            pthread_t made; void* got = NULL;
            cleaned = 0;
            pthread_create(&made, NULL, cannot_be_cancelled, &bad);
            pthread_cancel(made);
            pthread_join(made, &got);
            bad |= cleaned == 0 || got != &bad;
        }
    }
    if (!strcmp(how, "maker is to be cancelled")) {
        pthread_cancel(pthread_self());
        bad = pthread_create(&(pthread_t){0}, NULL, nothing, NULL);
        int old;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    }
    if (!strcmp(how, "chooses")) { chosen = atoi(words[2]); bad = make(NULL, chooses); }
    if (!strcmp(how, "main chose")) { only(atoi(words[2])); bad = make(NULL, nothing) || !is_only(atoi(words[2])); }
    if (!strcmp(how, "other user")) {
        bad = make(NULL, nothing) || setgid(65534) || setuid(65534) || make(NULL, nothing) || make(NULL, makes);
    }
    if (!strcmp(how, "no file left")) {
        while (dup(0) >= 0) {}
        bad = make(NULL, nothing);
    }
    if (!strcmp(how, "main leaves")) {
        pthread_t made;
        pthread_create(&made, NULL, makes, NULL);
        pthread_detach(made);
        usleep(1000);
    }
    return bad ? 1 : 5;
}
"""
