// SPDX-License-Identifier: BSD-3-Clause
// nodewise_transport._core: transport.h as Python has it. Calls let other threads run; an error is an exception.
#include "transport/transport.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

// What errors.py makes of a status.
[[noreturn]] void raise(int status, const std::string& what, const nwt_loss& loss = {}) {
    const nb::object error =
        nb::module_::import_("nodewise_transport.errors").attr("error_for")(status, what, loss.pid, loss.messages);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    throw nb::python_error();
}

// Between two sleeps: whether a signal's handler has raised, which ends the call.
int interrupted(void* /*context*/) {
    const nb::gil_scoped_acquire locked;
    return PyErr_CheckSignals() != 0 ? 1 : 0;
}

class Bytes {  // of an object with the buffer protocol, in one piece
  public:
    Bytes(nb::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0) {
            throw nb::python_error();
        }
    }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    ~Bytes() { PyBuffer_Release(&view_); }
    void* data() const { return view_.buf; }
    std::uint64_t size() const { return static_cast<std::uint64_t>(view_.len); }

  private:
    Py_buffer view_{};
};

class Endpoint;

// A part of the transport's memory, with the buffer protocol. It keeps its endpoint.
struct Memory {
    void* data = nullptr;  // null: given back
    std::uint64_t size = 0;
    bool readonly = true;
    std::uint64_t peer = 0, ticket = 0;
    Py_ssize_t exports = 0;
    nb::object endpoint;
};

class Endpoint {
  public:
    Endpoint(int pattern, const std::string& address, bool bind, bool spin, std::uint32_t slots, std::uint64_t capacity,
             bool wait_for_all, std::uint32_t rma_from) {
        nwt_options options{};
        options.size = sizeof options;
        options.pattern = pattern;
        options.address = address.c_str();
        options.bind = bind ? 1 : 0;
        options.waiting = spin ? NWT_SPIN : NWT_BLOCK;
        options.slots = slots;
        options.capacity = capacity;
        options.full = wait_for_all ? NWT_WAIT : NWT_DROP;
        options.rma_from = rma_from;
        options.interrupted = interrupted;
        int status = NWT_OK;
        {
            const nb::gil_scoped_release others;
            status = nwt_open(&options, &endpoint_);
        }
        if (status != NWT_OK) {
            raise(status, nwt_explain());
        }
    }
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    ~Endpoint() { nwt_abort(endpoint_); }

    void send(nb::handle message, std::int64_t timeout) {
        const Bytes bytes(message, false);
        call([&] { return nwt_send(endpoint_, bytes.data(), bytes.size(), timeout); });
    }

    void send_parts(const nb::list& messages, std::int64_t timeout) {
        std::vector<std::unique_ptr<Bytes>> kept;
        std::vector<nwt_part> parts;
        for (const nb::handle message : messages) {
            kept.push_back(std::make_unique<Bytes>(message, false));
            parts.push_back({.data = kept.back()->data(), .size = kept.back()->size()});
        }
        if (parts.empty()) {
            raise(NWT_INVALID, "a message has 1 to 1024 parts");
        }
        call(
            [&] { return nwt_send_parts(endpoint_, parts.data(), static_cast<std::uint32_t>(parts.size()), timeout); });
    }

    nb::bytes receive(std::int64_t timeout) {
        std::uint64_t size = 0;
        call([&] { return nwt_peek(endpoint_, &size, timeout); });
        nb::bytes message = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
        if (!message.is_valid()) {
            throw nb::python_error();
        }
        void* data = PyBytes_AsString(message.ptr());
        call([&] { return nwt_receive(endpoint_, data, size, &size, 0); });
        return message;
    }

    std::uint64_t receive_into(nb::handle buffer, std::int64_t timeout) {
        const Bytes bytes(buffer, true);
        std::uint64_t size = 0;
        call([&] { return nwt_receive(endpoint_, bytes.data(), bytes.size(), &size, timeout); });
        return size;
    }

    std::vector<std::uint64_t> parts() {
        const std::uint64_t* sizes = nullptr;
        std::uint32_t count = 0;
        call([&] { return nwt_parts(endpoint_, &sizes, &count); });
        return {sizes, sizes + count};
    }

    std::unique_ptr<Memory> receive_loan(std::int64_t timeout) {
        nwt_view view{};
        call([&] { return nwt_receive_loan(endpoint_, &view, timeout); });
        auto memory = std::make_unique<Memory>();
        memory->data = const_cast<void*>(view.data);  // NOLINT(cppcoreguidelines-pro-type-const-cast): it is read only
        memory->size = view.size;
        memory->peer = view.peer;
        memory->ticket = view.ticket;
        memory->endpoint = nb::find(this);
        return memory;
    }

    void give_back(Memory& memory) {
        free(memory);
        const nwt_view view{.data = memory.data, .size = memory.size, .peer = memory.peer, .ticket = memory.ticket};
        call([&] { return nwt_give_back(endpoint_, &view); });
        memory.data = nullptr;
    }

    std::unique_ptr<Memory> loan(std::uint64_t size, std::int64_t timeout) {
        void* data = nullptr;
        call([&] { return nwt_loan(endpoint_, size, &data, timeout); });
        auto memory = std::make_unique<Memory>();
        memory->data = data;
        memory->size = size;
        memory->readonly = false;
        memory->endpoint = nb::find(this);
        return memory;
    }

    void end_loan(Memory& memory, bool send) {
        free(memory);
        memory.data = nullptr;
        if (!send) {
            call([&] { return nwt_drop_loan(endpoint_); });
            return;
        }
        try {
            call([&] { return nwt_send_loan(endpoint_); });
        } catch (const nb::python_error&) {
            // where that was interrupted it is still out, and nobody can write into it any more
            const std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
            if (lock.owns_lock() && endpoint_ != nullptr) {
                nwt_drop_loan(endpoint_);
            }
            throw;
        }
    }

    void subscribe(nb::handle prefix, bool wanted) {
        const Bytes bytes(prefix, false);
        call([&] {
            return wanted ? nwt_subscribe(endpoint_, bytes.data(), bytes.size())
                          : nwt_unsubscribe(endpoint_, bytes.data(), bytes.size());
        });
    }

    std::uint64_t left_out() {
        std::uint64_t count = 0;
        call([&] { return nwt_count(endpoint_, &count); });
        return count;
    }

    std::string address() {
        std::array<char, 4096> text{};
        call([&] { return nwt_address(endpoint_, text.data(), text.size()); });
        return text.data();
    }

    std::string provider() {
        std::array<char, 256> text{};
        call([&] { return nwt_provider(endpoint_, text.data(), text.size()); });
        return text.data();
    }

    int descriptor() {
        int found = -1;
        call([&] { return nwt_descriptor(endpoint_, &found); });
        return found;
    }

    void wait_peers(std::uint32_t at_least, std::int64_t timeout) {
        call([&] { return nwt_wait_peers(endpoint_, at_least, timeout); });
    }

    void close(std::int64_t timeout) {
        call([&] {
            const int status = nwt_close(endpoint_, timeout);
            if (status == NWT_OK || status == NWT_PEER_LOST || status == NWT_FORKED) {
                endpoint_ = nullptr;
            }
            return status;
        });
    }

    void abort() {
        if (exports != 0) {
            raise(NWT_INVALID, "memoryviews of loans are still in use: release them first");
        }
        if (endpoint_ != nullptr) {
            call([&] {
                nwt_abort(std::exchange(endpoint_, nullptr));
                return NWT_OK;
            });
        }
    }

    bool closed() const { return endpoint_ == nullptr; }

    static std::vector<std::uint32_t> poll(const std::vector<std::pair<Endpoint*, std::uint32_t>>& wanted,
                                           std::int64_t timeout) {
        std::vector<nwt_item> items;
        std::vector<std::unique_lock<std::mutex>> locks;
        for (const auto& [endpoint, events] : wanted) {
            locks.push_back(endpoint->take());
            items.push_back({.endpoint = endpoint->endpoint_, .wanted = events, .ready = 0});
        }
        std::uint32_t ready = 0;
        int status = NWT_OK;
        {
            const nb::gil_scoped_release others;
            status = nwt_poll(items.data(), static_cast<std::uint32_t>(items.size()), timeout, &ready);
        }
        if (status != NWT_OK && status != NWT_TIMED_OUT) {
            fail(status, nullptr);
        }
        std::vector<std::uint32_t> found;
        found.reserve(items.size());
        for (const nwt_item& item : items) {
            found.push_back(item.ready);
        }
        return found;
    }

    Py_ssize_t exports = 0;  // buffers of its memory that are in use

  private:
    // For the length of a call; another thread in it is an error, not damage.
    std::unique_lock<std::mutex> take() {
        std::unique_lock<std::mutex> lock(busy_, std::try_to_lock);
        if (!lock.owns_lock()) {
            raise(NWT_INVALID, "the endpoint is in use by another thread");
        }
        if (endpoint_ == nullptr) {
            raise(NWT_INVALID, "the endpoint is closed");
        }
        return lock;
    }

    [[noreturn]] static void fail(int status, const nwt_endpoint* endpoint) {
        if (PyErr_Occurred() != nullptr) {
            throw nb::python_error();  // what the handler of a signal has raised
        }
        const std::string what = nwt_explain();
        nwt_loss loss{};
        if (status == NWT_PEER_LOST && endpoint != nullptr) {
            nwt_last_loss(endpoint, &loss);
        }
        raise(status, what, loss);
    }

    template <typename Call>
    void call(Call&& made) {
        const std::unique_lock<std::mutex> lock = take();
        int status = NWT_OK;
        {
            const nb::gil_scoped_release others;
            status = made();
        }
        if (status != NWT_OK) {
            fail(status, endpoint_);
        }
    }

    static void free(const Memory& memory) {
        if (memory.exports != 0) {
            raise(NWT_INVALID, "a memoryview of the loan is still in use: release it first");
        }
        if (memory.data == nullptr) {
            raise(NWT_INVALID, "the loan has been given back");
        }
    }

    nwt_endpoint* endpoint_ = nullptr;
    std::mutex busy_;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    Memory& memory = *nb::inst_ptr<Memory>(nb::handle(self));
    if (memory.data == nullptr) {
        PyErr_SetString(PyExc_BufferError, "the loan has been given back");
        return -1;
    }
    const int status = PyBuffer_FillInfo(view, self, memory.data, static_cast<Py_ssize_t>(memory.size),
                                         memory.readonly ? 1 : 0, flags);
    if (status == 0) {
        ++memory.exports;
        ++nb::cast<Endpoint&>(memory.endpoint).exports;
    }
    return status;
}

void release_buffer(PyObject* self, Py_buffer* /*view*/) {
    Memory& memory = *nb::inst_ptr<Memory>(nb::handle(self));
    --memory.exports;
    --nb::cast<Endpoint&>(memory.endpoint).exports;
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                              {0, nullptr}};

}  // namespace

NB_MODULE(_core, module) {
    nb::class_<Memory>(module, "Memory", nb::type_slots(memory_slots));
    nb::class_<Endpoint>(module, "Endpoint")
        .def(nb::init<int, const std::string&, bool, bool, std::uint32_t, std::uint64_t, bool, std::uint32_t>())
        .def("send", &Endpoint::send)
        .def("send_parts", &Endpoint::send_parts)
        .def("receive", &Endpoint::receive)
        .def("receive_into", &Endpoint::receive_into)
        .def("parts", &Endpoint::parts)
        .def("receive_loan", &Endpoint::receive_loan)
        .def("give_back", &Endpoint::give_back)
        .def("loan", &Endpoint::loan)
        .def("end_loan", &Endpoint::end_loan)
        .def("subscribe", &Endpoint::subscribe)
        .def("left_out", &Endpoint::left_out)
        .def("address", &Endpoint::address)
        .def("provider", &Endpoint::provider)
        .def("descriptor", &Endpoint::descriptor)
        .def("wait_peers", &Endpoint::wait_peers)
        .def("close", &Endpoint::close)
        .def("abort", &Endpoint::abort)
        .def("closed", &Endpoint::closed);
    module.def("poll", &Endpoint::poll);
}
