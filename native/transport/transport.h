/* SPDX-License-Identifier: BSD-3-Clause
 * Messages between threads, processes and machines: one interface, with a transport beneath it that the address names.
 *
 * An endpoint belongs to one thread at a time, and to the process that opened it. A message is 0 bytes to 2 GiB; it
 * arrives whole, once, and in the order in which its sender sent it, or its peer is reported as lost. Timeouts are
 * nanoseconds: NWT_FOREVER waits, 0 looks once. A call that returns other than NWT_OK has changed nothing but where it
 * says so; nwt_explain() says what was wrong.
 */
#ifndef NODEWISE_TRANSPORT_H
#define NODEWISE_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NWT_API __attribute__((visibility("default")))
#define NWT_FOREVER ((int64_t)-1)
#define NWT_MAX_SIZE ((uint64_t)1 << 31) /* bytes of a message */
#define NWT_MAX_PARTS 1024               /* parts of a message */
#define NWT_MAX_TOPIC 4096               /* bytes of what is subscribed to */

#define NWT_NO_RMA ((uint32_t)-1)

enum nwt_status {
    NWT_OK = 0,
    NWT_TIMED_OUT = 1, /* nothing was sent, nothing was received */
    NWT_INVALID = 2,   /* an argument, or a call at the wrong time */
    NWT_ADDRESS_TAKEN = 3,
    NWT_REFUSED = 4,   /* the other side is another user's, another version, or of a pattern that does not fit */
    NWT_PEER_LOST = 5, /* a peer has died, closed with messages unread, or written nonsense; the others go on */
    NWT_FORKED = 6,    /* the endpoint is the parent process's */
    NWT_INTERRUPTED = 7,
    NWT_TOO_SMALL = 8, /* the buffer is smaller than the message, which stays to be received; its size is told */
    NWT_SYSTEM = 9,    /* no memory, no descriptors, … */
    NWT_MISSING = 10   /* this build is without what the address needs; the package that brings it is named */
};

/* Many may push to one that pulls; of several that pull from one that pushes, each gets the next message in turn.
 *
 * What is published goes to each that subscribes to a beginning of it (of its first part), and to no one where nobody
 * does. What is to become of one that is too slow, `full` says. nwt_wait_peers of who publishes waits for those that
 * have subscribed to something.
 *
 * A request goes to one that replies, in turn; nwt_receive then has its reply. One request is out at a time: the next
 * one gives up the one before, whose reply is dropped should it come late. nwt_send of who replies answers the request
 * that was received last. */
enum nwt_pattern { NWT_PUSH = 1, NWT_PULL = 2, NWT_PUBLISH = 3, NWT_SUBSCRIBE = 4, NWT_REQUEST = 5, NWT_REPLY = 6 };

/* Who publishes and meets a subscriber without room: NWT_DROP leaves it out, and both sides count that (nwt_count);
 * NWT_WAIT waits until all have room. */
enum nwt_full { NWT_DROP = 0, NWT_WAIT = 1 };

/* How an endpoint waits: NWT_BLOCK spins first, then sleeps; NWT_SPIN never sleeps. */
enum nwt_waiting { NWT_BLOCK = 0, NWT_SPIN = 1 };

typedef struct nwt_endpoint nwt_endpoint;

typedef struct nwt_options {
    uint32_t size; /* sizeof(nwt_options) */
    int32_t pattern;
    /* shm://NAME: processes of one user; inproc://NAME: threads of one process; tcp://HOST:PORT and ipc://NAME, by
     * ZeroMQ: other machines, and processes of one user; ofi+tcp://HOST:PORT, ofi+verbs://HOST:PORT and ofi+shm://NAME,
     * by libfabric: the same, verbs by remote memory access. HOST may be * and PORT 0 where it binds (nwt_address). */
    const char* address;
    int32_t bind; /* 1: others connect to it; 0: it connects, and again where its peer is gone */
    int32_t waiting;
    uint32_t slots;    /* messages and pieces of messages on the way to one peer, a power of two; 0: 8192 */
    uint64_t capacity; /* bytes on the way to one peer, a power of two; 0: 4 MiB */
    /* Asked now and then during a wait; other than 0 ends it with NWT_INTERRUPTED. May be NULL. */
    int (*interrupted)(void* context);
    void* context;
    int32_t full; /* of who publishes */
    /* Of ofi+…: from so many bytes on they are written into the other side's memory, and less is sent as a message;
     * NWT_NO_RMA: all is sent. 0: as is good for the provider. */
    uint32_t rma_from;
} nwt_options;

typedef struct nwt_part {
    const void* data;
    uint64_t size;
} nwt_part;

/* A message in the transport's memory, to be read there and given back. */
typedef struct nwt_view {
    const void* data;
    uint64_t size;
    uint64_t peer;
    uint64_t ticket;
} nwt_view;

/* What the last NWT_PEER_LOST was about. */
typedef struct nwt_loss {
    int64_t pid;       /* 0: not known */
    uint64_t messages; /* sent to it, not confirmed */
} nwt_loss;

NWT_API int nwt_open(const nwt_options* options, nwt_endpoint** endpoint);

/* Waits for a peer with room. A timeout, here and of receiving, is how long it may take until a message begins: of one
 * that is larger than half of the room both sides work at once, and to break off in its middle would lose what follows.
 * It ends with NWT_PEER_LOST or NWT_INTERRUPTED then. */
NWT_API int nwt_send(nwt_endpoint* endpoint, const void* data, uint64_t size, int64_t timeout_ns);

/* One message of several parts, 1 to NWT_MAX_PARTS. */
NWT_API int nwt_send_parts(nwt_endpoint* endpoint, const nwt_part* parts, uint32_t count, int64_t timeout_ns);

/* The size of the next message, which stays; of all of its parts together. */
NWT_API int nwt_peek(nwt_endpoint* endpoint, uint64_t* size, int64_t timeout_ns);

/* The next message, copied into `buffer`; its parts one behind the other. */
NWT_API int nwt_receive(nwt_endpoint* endpoint, void* buffer, uint64_t room, uint64_t* size, int64_t timeout_ns);

/* The next message, where it lies; its room is the sender's again once this and all earlier ones of that sender have
 * been given back. In any order, also after the sender has gone. */
NWT_API int nwt_receive_loan(nwt_endpoint* endpoint, nwt_view* view, int64_t timeout_ns);
NWT_API int nwt_give_back(nwt_endpoint* endpoint, const nwt_view* view);

/* The sizes of the parts of the message that was received or peeked at last; one where it was not sent in parts. Good
 * until the next call. */
NWT_API int nwt_parts(nwt_endpoint* endpoint, const uint64_t** sizes, uint32_t* count);

/* `size` bytes, at most the capacity, of the transport's memory to write a message into, then to be sent or dropped.
 * One at a time. What is published goes from there to each subscriber by copy, when it is sent; where that is
 * interrupted while it waits for room the loan is still out. */
NWT_API int nwt_loan(nwt_endpoint* endpoint, uint64_t size, void** data, int64_t timeout_ns);
NWT_API int nwt_send_loan(nwt_endpoint* endpoint);
NWT_API int nwt_drop_loan(nwt_endpoint* endpoint);

/* Messages that begin with these bytes; all of them where there are none. Who connects later hears of it, too. As often
 * as it was subscribed to, it is to be unsubscribed from. */
NWT_API int nwt_subscribe(nwt_endpoint* endpoint, const void* prefix, uint64_t size);
NWT_API int nwt_unsubscribe(nwt_endpoint* endpoint, const void* prefix, uint64_t size);

/* Messages left out: by who publishes, for all its subscribers together; by who subscribes, of those meant for it. */
NWT_API int nwt_count(nwt_endpoint* endpoint, uint64_t* left_out);

/* Where it is: what was given, with the port that was found where that was 0. */
NWT_API int nwt_address(nwt_endpoint* endpoint, char* text, uint64_t room);

/* libfabric's provider that carries the messages of ofi+…, "" of other addresses. */
NWT_API int nwt_provider(nwt_endpoint* endpoint, char* text, uint64_t room);

/* A descriptor for poll(2), epoll(7) and event loops: readable while a call that does not wait (timeout 0) may have
 * something to do, until one has returned NWT_TIMED_OUT. It may be so for nothing. It is the endpoint's: not to be
 * read, written or closed. */
NWT_API int nwt_descriptor(nwt_endpoint* endpoint, int* descriptor);

enum nwt_event { NWT_READABLE = 1, NWT_WRITABLE = 2 };

typedef struct nwt_item {
    nwt_endpoint* endpoint;
    uint32_t wanted; /* of nwt_event */
    uint32_t ready;  /* what is so; an error that a call would meet is, too */
} nwt_item;

/* Waits until one of several endpoints is ready, each this thread's. `ready`: how many are. What interrupts is asked of
 * the first one's options. */
NWT_API int nwt_poll(nwt_item* items, uint32_t count, int64_t timeout_ns, uint32_t* ready);

/* Waits until so many peers are connected. */
NWT_API int nwt_wait_peers(nwt_endpoint* endpoint, uint32_t at_least, int64_t timeout_ns);

NWT_API int nwt_last_loss(const nwt_endpoint* endpoint, nwt_loss* loss);

/* Returns when each peer has received all that was sent to it. On NWT_OK, NWT_PEER_LOST and NWT_FORKED the endpoint is
 * gone; else it is open. */
NWT_API int nwt_close(nwt_endpoint* endpoint, int64_t timeout_ns);

/* Ends it at once, views and loans with it; a peer that pulls is told that this one is lost. */
NWT_API void nwt_abort(nwt_endpoint* endpoint);

/* In words, what the last call of this thread that failed met. */
NWT_API const char* nwt_explain(void);

#ifdef __cplusplus
}
#endif
#endif
