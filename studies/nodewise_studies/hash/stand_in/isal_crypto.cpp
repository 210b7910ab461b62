// SPDX-License-Identifier: BSD-3-Clause
// Stands in for isa-l_crypto where the tests run, which no package has: its interface and the manners of its managers,
// with this study's own portable digests. It shows that the peer asks rightly, and nothing about the library's speed.
//
// A manager keeps what it is given until its lanes are full, and then, or when it is flushed, hands back the one that
// came last. What breaks the rules is handed back with an error. REFUSE makes it hand back everything so.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "../engine.h"

namespace hash {
std::vector<Engine> instruction_engines(Function) { return {}; }
std::vector<Engine> lane_engines(Function) { return {}; }
}  // namespace hash

namespace {

enum Flag : int { kUpdate = 0, kFirst = 1, kLast = 2 };
enum Status : int { kProcessing = 1, kComplete = 4 };
enum Wrong : int { kInvalidFlags = -1, kAlreadyProcessing = -2, kAlreadyCompleted = -3 };

constexpr std::uint64_t kMark = 0x6d616e6167657221;
constexpr std::size_t kLanes = 5;

template <class Word, int words, class Length>
struct Job {  // NOLINT(clang-analyzer-optin.performance.Padding): as the library has it
    std::uint8_t* buffer;
    Length length;
    alignas(64) Word result_digest[words];
    int status;
    void* user_data;
};

template <class Word, int words, class Length, int block>
struct Context {
    Job<Word, words, Length> job;
    int status;
    int error;
    std::uint64_t total_length;
    const void* incoming_buffer;
    std::uint32_t incoming_buffer_length;
    std::uint8_t partial_block_buffer[2 * block];
    std::uint32_t partial_block_buffer_length;
    void* user_data;
};

template <class Ctx>
struct Manager {
    std::uint64_t mark;
    std::size_t count;
    Ctx* lanes[kLanes];
    int last[kLanes];
    std::string* texts[kLanes];
};

template <hash::Function function, class Given, class Word, int words>
struct Api {
    using Ctx = Given;
    using Mgr = Manager<Ctx>;

    static void init(Mgr* manager) { *manager = {kMark, 0, {}, {}, {}}; }

    static Ctx* refuse(Ctx* context, Wrong wrong) {
        context->error = wrong;
        return context;
    }

    static Ctx* submit(Mgr* manager, Ctx* context, const void* data, std::uint32_t size, int flags) {
#ifdef REFUSE
        return refuse(context, kInvalidFlags);
#endif
        if (manager->mark != kMark || (flags & ~(kFirst | kLast)) != 0) {
            return refuse(context, kInvalidFlags);
        }
        if ((context->status & kProcessing) != 0) {
            return refuse(context, kAlreadyProcessing);
        }
        if ((context->status & kComplete) != 0 && (flags & kFirst) == 0) {
            return refuse(context, kAlreadyCompleted);
        }
        auto* text = (flags & kFirst) != 0 ? new std::string : static_cast<std::string*>(context->job.user_data);
        text->append(static_cast<const char*>(data), size);
        context->job.user_data = text;
        context->status = kProcessing;
        const std::size_t at = manager->count++;
        manager->lanes[at] = context;
        manager->last[at] = flags & kLast;
        manager->texts[at] = text;
        return manager->count == kLanes ? finish(manager) : nullptr;
    }

    static Ctx* flush(Mgr* manager) { return manager->count == 0 ? nullptr : finish(manager); }

    static Ctx* finish(Mgr* manager) {
        const std::size_t at = --manager->count;
        Ctx* context = manager->lanes[at];
        if (manager->last[at] == 0) {
            context->status = 0;
            return context;
        }
        std::string* text = manager->texts[at];
        std::uint8_t digest[hash::kLongestDigest];
        const hash::Job one{reinterpret_cast<const std::uint8_t*>(text->data()), text->size(), digest};
        static const hash::Plan plan = hash::make_plan(function, hash::plain_engines(function));
        hash::hash_jobs(plan, &one, 1);
        for (int w = 0; w < words; ++w) {
            Word word = 0;
            for (std::size_t i = 0; i < sizeof(Word); ++i) {
                const std::size_t from = hash::shape(function).big_endian ? i : sizeof(Word) - 1 - i;
                word = static_cast<Word>(word << 8 | digest[static_cast<std::size_t>(w) * sizeof(Word) + from]);
            }
            context->job.result_digest[w] = word;
        }
        delete text;
        context->status = kComplete;
        return context;
    }
};

using hash::Function;
using Md5 = Api<Function::md5, Context<std::uint32_t, 4, std::uint32_t, 64>, std::uint32_t, 4>;
using Sha1 = Api<Function::sha1, Context<std::uint32_t, 5, std::uint32_t, 64>, std::uint32_t, 5>;
using Sha256 = Api<Function::sha256, Context<std::uint32_t, 8, std::uint64_t, 64>, std::uint32_t, 8>;
using Sha512 = Api<Function::sha512, Context<std::uint64_t, 8, std::uint64_t, 128>, std::uint64_t, 8>;

}  // namespace

// The names with a status where WITH_STATUS is defined, else the older ones.
// clang-format off
#ifdef WITH_STATUS
#define INTERFACE(T, name)                                                                             \
    extern "C" int isal_##name##_ctx_mgr_init(T::Mgr* m) { T::init(m); return 0; }                     \
    extern "C" int isal_##name##_ctx_mgr_submit(T::Mgr* m, T::Ctx* c, T::Ctx** done, const void* data, \
                                                std::uint32_t size, int flags) {                       \
        *done = T::submit(m, c, data, size, flags); return 0; }                                        \
    extern "C" int isal_##name##_ctx_mgr_flush(T::Mgr* m, T::Ctx** done) { *done = T::flush(m); return 0; }
#else
#define INTERFACE(T, name)                                                                             \
    extern "C" void name##_ctx_mgr_init(T::Mgr* m) { T::init(m); }                                     \
    extern "C" T::Ctx* name##_ctx_mgr_submit(T::Mgr* m, T::Ctx* c, const void* data,                   \
                                             std::uint32_t size, int flags) {                          \
        return T::submit(m, c, data, size, flags); }                                                   \
    extern "C" T::Ctx* name##_ctx_mgr_flush(T::Mgr* m) { return T::flush(m); }
#endif
// clang-format on
INTERFACE(Md5, md5)
INTERFACE(Sha1, sha1)
INTERFACE(Sha256, sha256)
INTERFACE(Sha512, sha512)
