// SPDX-License-Identifier: BSD-3-Clause
// Values of JSON, and texts of it to values and back. The library behind them is seen by json.cpp alone: it takes many
// times as long to compile as what is done with it here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace nodewise {

// A value. Copies, and the parts of one, share what they hold until one of them is changed, so that a part of a long
// text is had without a copy. What asks for a value of another kind, or for a part that is not there, throws
// std::exception in words.
class Json {
  public:
    Json();  // null
    Json(std::nullptr_t) : Json() {}
    template <typename Number>
        requires std::is_arithmetic_v<Number>
    Json(Number number) : Json() {
        if constexpr (std::is_same_v<Number, bool>) {
            put(number);
        } else if constexpr (std::is_floating_point_v<Number>) {
            put(static_cast<double>(number));
        } else if constexpr (std::is_signed_v<Number>) {
            put(static_cast<std::int64_t>(number));
        } else {
            put(static_cast<std::uint64_t>(number));
        }
    }
    Json(const char* text);
    Json(const std::string& text);
    Json(const std::vector<int>& numbers);
    Json(const std::vector<std::uint64_t>& numbers);
    Json(const std::vector<std::string>& texts);
    Json(const std::map<std::string, double>& numbers);
    Json(const std::map<std::string, std::uint64_t>& numbers);
    // An object.
    struct Member;
    Json(std::initializer_list<Member> members);
    static Json object();
    static Json array(std::initializer_list<Json> elements = {});

    // Out of line: whoever makes an object would compile them for each of its members.
    ~Json();
    Json(const Json& other);
    Json(Json&& other) noexcept;
    Json& operator=(const Json& other);
    Json& operator=(Json&& other) noexcept;

    // In an object, or in null, which becomes one.
    void set(std::string_view name, Json value);
    // All members of another object, over those of the same name.
    void update(const Json& object);
    // To an array, or to null, which becomes one.
    void add(Json value);

    [[nodiscard]] bool is_null() const;
    // Whether it was read as a whole number that is not negative, which `whole` gives.
    [[nodiscard]] bool is_unsigned() const;
    [[nodiscard]] std::uint64_t whole() const;
    [[nodiscard]] bool truth() const;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::vector<std::string> texts() const;

    // Whether it is an object with such a member.
    [[nodiscard]] bool contains(std::string_view name) const;
    [[nodiscard]] Json at(std::string_view name) const;
    [[nodiscard]] Json at(std::size_t index) const;
    // Those of an array or an object; any other value is its own only one, and null has none.
    [[nodiscard]] std::vector<Json> elements() const;

    // An object's member, or `other` where it has none of that name.
    [[nodiscard]] std::string value(std::string_view name, const char* other) const;
    [[nodiscard]] bool value(std::string_view name, bool other) const;
    [[nodiscard]] int value(std::string_view name, int other) const;
    [[nodiscard]] double value(std::string_view name, double other) const;
    [[nodiscard]] std::vector<std::string> value(std::string_view name, const std::vector<std::string>& other) const;
    [[nodiscard]] Json value(std::string_view name, const Json& other) const;

  private:
    struct Library;
    friend Json parse_json(const std::string& text, const char* what);
    friend std::string to_text(const Json& value);

    void put(bool truth);
    void put(std::int64_t number);
    void put(std::uint64_t number);
    void put(double number);

    // The library's value, as part of the whole that it keeps alive; null where there is none yet.
    std::shared_ptr<void> held_;
};

struct Json::Member {
    const char* name;
    mutable Json value;  // moved out of the list, whose members are constant
};

// Throws std::exception, in words, for what is no JSON, and for more than 50 levels, where it names `what`: values are
// taken apart by recursion, and a deep one would find the end of the stack.
Json parse_json(const std::string& text, const char* what);

// In one line. Bytes that are no UTF-8, as what a program prints may have, are replaced.
std::string to_text(const Json& value);

// An object, which is not empty, as a line of the sample protocol: its version comes first, which a sorted object would
// not keep.
std::string protocol_line(const Json& object);

}  // namespace nodewise
