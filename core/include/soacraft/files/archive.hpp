// The bytes of a saved model or expression. Words of eight bytes, the lowest first, on every machine:
//
//     "soacraft", version, kind, how many bytes follow the header, their FNV-1a sum; then whole numbers and float64
//
// A list is its length and its entries, a text its length and its bytes, filled up to whole words. `Out` writes and `In`
// reads by the same functions `pass`, so that neither can differ from the other. `In` trusts nothing: it refuses with
// std::invalid_argument what is cut off, changed, of another kind, not finite or left over.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "../reject.hpp"

namespace soacraft {
namespace files {

constexpr std::uint64_t VERSION = 3;
enum Kind : std::uint64_t { MODEL = 1, EXPRESSION = 2 };
constexpr std::size_t HEADER = 40;                        // bytes
constexpr std::size_t MOST_BYTES = std::size_t(1) << 30;  // of a file
constexpr index MOST_LETTERS = 1024;                      // of a name

inline std::uint64_t sum_of(const char* bytes, std::size_t count) {
    std::uint64_t sum = 14695981039346656037u;
    for (std::size_t i = 0; i < count; ++i) sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 1099511628211u;
    return sum;
}

inline void put_word(std::uint64_t word, char* to) {
    for (int i = 0; i < 8; ++i) to[i] = static_cast<char>(static_cast<unsigned char>(word >> (8 * i) & 255u));
}
inline std::uint64_t word_at(const char* from) {
    std::uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
    return word;
}

class Out {
public:
    void operator()(const index& x) { word(static_cast<std::uint64_t>(x)); }
    void operator()(const int& x) { (*this)(index(x)); }
    void operator()(const double& x) {
        std::uint64_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        word(bits);
    }
    void operator()(const std::string& text) {
        (*this)(static_cast<index>(text.size()));
        std::string whole = text;
        whole.resize((text.size() + 7) / 8 * 8, '\0');
        payload_ += whole;
    }
    template <class T, std::size_t N>
    void operator()(const T (&x)[N]) {
        for (const T& one : x) (*this)(one);
    }
    template <class T>
    void operator()(const std::vector<T>& list) {
        (*this)(static_cast<index>(list.size()));
        for (T one : list) pass(*this, one);
    }

    // All of it, with its header.
    std::string file(Kind kind) const {
        std::string all("soacraft");
        for (std::uint64_t x : {VERSION, std::uint64_t(kind), std::uint64_t(payload_.size()), sum_of(payload_.data(), payload_.size())}) {
            char bytes[8];
            put_word(x, bytes);
            all.append(bytes, 8);
        }
        return all + payload_;
    }

private:
    void word(std::uint64_t x) {
        char bytes[8];
        put_word(x, bytes);
        payload_.append(bytes, 8);
    }
    std::string payload_;
};

class In {
public:
    // The bytes stay with the caller.
    In(const char* bytes, std::size_t count, Kind kind) : at_(bytes), end_(bytes + count) {
        if (count < HEADER || std::memcmp(bytes, "soacraft", 8) != 0) reject("no saved model or expression of soacraft");
        at_ += 8;
        const std::uint64_t version = word(), found = word(), length = word(), sum = word();
        if (version != VERSION)
            reject("saved in version %llu of the format, and this is version %llu; save it again",
                   static_cast<unsigned long long>(version), static_cast<unsigned long long>(VERSION));
        if (found != kind) reject("it holds no %s", kind == MODEL ? "model" : "expression");
        if (length != static_cast<std::uint64_t>(end_ - at_) || length > MOST_BYTES)
            reject("it has %llu bytes after its header, not the %llu it should have",
                   static_cast<unsigned long long>(end_ - at_), static_cast<unsigned long long>(length));
        if (sum != sum_of(at_, static_cast<std::size_t>(end_ - at_))) reject("its bytes were changed: the sum of them differs");
    }

    void operator()(index& x) {
        const std::uint64_t bits = word();
        std::memcpy(&x, &bits, sizeof x);
    }
    void operator()(int& x) {
        index wide;
        (*this)(wide);
        if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) reject("a whole number is too large");
        x = static_cast<int>(wide);
    }
    void operator()(double& x) {
        const std::uint64_t bits = word();
        std::memcpy(&x, &bits, sizeof x);
        if (!std::isfinite(x)) reject("it holds a number that is not finite");
    }
    void operator()(std::string& text) {
        index count;
        (*this)(count);
        if (count < 0 || count > MOST_LETTERS || (count + 7) / 8 > left())
            reject("a name has %lld letters, more than there are bytes or than %lld", static_cast<long long>(count),
                   static_cast<long long>(MOST_LETTERS));
        text.assign(at_, static_cast<std::size_t>(count));
        at_ += (count + 7) / 8 * 8;
    }
    template <class T, std::size_t N>
    void operator()(T (&x)[N]) {
        for (T& one : x) (*this)(one);
    }
    // Entries are kept as they come: memory grows with what was read, not with what was promised.
    template <class T>
    void operator()(std::vector<T>& list) {
        index count;
        (*this)(count);
        if (count < 0 || count > left()) reject("a list has %lld entries, more than there are bytes", static_cast<long long>(count));
        list.clear();
        for (index i = 0; i < count; ++i) {
            T one = {};
            pass(*this, one);
            list.push_back(std::move(one));
        }
    }

    void end() const {
        if (at_ != end_) reject("%lld bytes are left over", static_cast<long long>(end_ - at_));
    }

private:
    const char *at_, *end_;
    index left() const { return (end_ - at_) / 8; }  // words
    std::uint64_t word() {
        if (end_ - at_ < 8) reject("it ends too early");
        const std::uint64_t x = word_at(at_);
        at_ += 8;
        return x;
    }
};

template <class Archive>
void pass(Archive& a, index& x) { a(x); }
template <class Archive>
void pass(Archive& a, double& x) { a(x); }
template <class Archive, class T>
void pass(Archive& a, std::vector<T>& x) { a(x); }

// A whole file; std::invalid_argument names it where it cannot be read.
inline std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0) throw std::invalid_argument(path + ": cannot be read");
    if (static_cast<unsigned long long>(size) > MOST_BYTES) throw std::invalid_argument(path + ": is too large");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    file.seekg(0);
    if (size > 0 && !file.read(&bytes[0], size)) throw std::invalid_argument(path + ": cannot be read");
    return bytes;
}

// What `read` makes of the bytes of a file, which it names in what is refused.
template <class Read>
auto load(const std::string& path, const Read& read) -> decltype(read(std::string())) {
    const std::string bytes = bytes_of(path);
    try {
        return read(bytes);
    } catch (const std::invalid_argument& fault) {
        throw std::invalid_argument(path + ": " + fault.what());
    }
}

}  // namespace files
}  // namespace soacraft
