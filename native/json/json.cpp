// SPDX-License-Identifier: BSD-3-Clause
#include "json/json.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace nodewise {

namespace {

// What the engine writes, and an OCI bundle's config, have some ten levels.
constexpr int kDeepest = 50;

}  // namespace

// The one place that knows what is held.
struct Json::Library {
    using Value = nlohmann::json;

    static Json made(Value value) {
        Json json;
        json.held_ = std::make_shared<Value>(std::move(value));
        return json;
    }

    // Kept alive by the whole, and changed by nobody while that is.
    static Json part(const Json& whole, const Value& of) {
        Json json;
        json.held_ = std::shared_ptr<void>(whole.held_, const_cast<Value*>(&of));
        return json;
    }

    static Value& held(const Json& json) { return *static_cast<Value*>(json.held_.get()); }

    static const Value& read(const Json& json) {
        static const Value null;
        return json.held_ == nullptr ? null : held(json);
    }

    // To be changed: no longer shared.
    static Value& own(Json& json) {
        if (json.held_ == nullptr || json.held_.use_count() > 1) {
            json = made(read(json));
        }
        return held(json);
    }

    // To be put elsewhere: copied only where others hold it too.
    static Value taken(Json&& json) {
        if (json.held_ != nullptr && json.held_.use_count() == 1) {
            return std::move(held(json));
        }
        return read(json);
    }
};

Json::Json() = default;
Json::Json(const char* text) : Json(Library::made(text)) {}
Json::Json(const std::string& text) : Json(Library::made(text)) {}
Json::Json(const std::vector<int>& numbers) : Json(Library::made(numbers)) {}
Json::Json(const std::vector<std::uint64_t>& numbers) : Json(Library::made(numbers)) {}
Json::Json(const std::vector<std::string>& texts) : Json(Library::made(texts)) {}
Json::Json(const std::map<std::string, double>& numbers) : Json(Library::made(numbers)) {}
Json::Json(const std::map<std::string, std::uint64_t>& numbers) : Json(Library::made(numbers)) {}
Json::Json(std::initializer_list<Member> members) : Json(object()) {
    for (const Member& member : members) {
        set(member.name, std::move(member.value));
    }
}
Json Json::object() { return Library::made(Library::Value::object()); }
Json Json::array(std::initializer_list<Json> elements) {
    Json made = Library::made(Library::Value::array());
    for (const Json& element : elements) {
        made.add(element);
    }
    return made;
}

Json::~Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;

void Json::put(bool truth) { *this = Library::made(truth); }
void Json::put(std::int64_t number) { *this = Library::made(number); }
void Json::put(std::uint64_t number) { *this = Library::made(number); }
void Json::put(double number) { *this = Library::made(number); }

void Json::set(std::string_view name, Json value) {
    Library::own(*this)[std::string(name)] = Library::taken(std::move(value));
}
void Json::update(const Json& object) { Library::own(*this).update(Library::read(object)); }
void Json::add(Json value) { Library::own(*this).push_back(Library::taken(std::move(value))); }

bool Json::is_null() const { return Library::read(*this).is_null(); }
bool Json::is_unsigned() const { return Library::read(*this).is_number_unsigned(); }
std::uint64_t Json::whole() const {
    if (!is_unsigned()) {
        throw std::invalid_argument("no whole number from 0 on: " + to_text(*this));
    }
    return Library::read(*this).get<std::uint64_t>();
}
bool Json::truth() const { return Library::read(*this).get<bool>(); }
std::string Json::text() const { return Library::read(*this).get<std::string>(); }
std::vector<std::string> Json::texts() const { return Library::read(*this).get<std::vector<std::string>>(); }

bool Json::contains(std::string_view name) const { return Library::read(*this).contains(std::string(name)); }
Json Json::at(std::string_view name) const { return Library::part(*this, Library::read(*this).at(std::string(name))); }
Json Json::at(std::size_t index) const { return Library::part(*this, Library::read(*this).at(index)); }
std::vector<Json> Json::elements() const {
    std::vector<Json> found;
    const Library::Value& value = Library::read(*this);
    found.reserve(value.size());
    for (const Library::Value& one : value) {
        found.push_back(Library::part(*this, one));
    }
    return found;
}

std::string Json::value(std::string_view name, const char* other) const {
    return Library::read(*this).value(std::string(name), other);
}
bool Json::value(std::string_view name, bool other) const {
    return Library::read(*this).value(std::string(name), other);
}
int Json::value(std::string_view name, int other) const { return Library::read(*this).value(std::string(name), other); }
double Json::value(std::string_view name, double other) const {
    return Library::read(*this).value(std::string(name), other);
}
std::vector<std::string> Json::value(std::string_view name, const std::vector<std::string>& other) const {
    return Library::read(*this).value(std::string(name), other);
}
Json Json::value(std::string_view name, const Json& other) const {
    const Library::Value& value = Library::read(*this);
    return value.is_object() && !value.contains(std::string(name)) ? other : at(name);
}

Json parse_json(const std::string& text, const char* what) {
    using Value = Json::Library::Value;
    return Json::Library::made(Value::parse(text, [what](int depth, Value::parse_event_t, const Value&) {
        if (depth > kDeepest) {
            throw std::invalid_argument(std::string(what) + " is nested too deeply");
        }
        return true;
    }));
}

std::string to_text(const Json& value) {
    return Json::Library::read(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string protocol_line(const Json& object) { return "{\"nodewise\":1," + to_text(object).substr(1); }

}  // namespace nodewise
