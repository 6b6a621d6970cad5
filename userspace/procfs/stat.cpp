// SPDX-License-Identifier: BSD-2-Clause
// /proc/PID/stat and statm: one line of numbers each, and the name in stat, which may contain any bytes.
#include <fmt/format.h>

#include <optional>

#include "procfs/files.h"
#include "text.h"

namespace rsslag::procfs {

namespace {

/// Reads words that are separated by single spaces, in order. Keeps the first error.
class Fields {
  public:
    Fields(std::string_view file, std::size_t line, std::string_view rest, int first_field)
        : file_(file), line_(line), rest_(rest), field_(first_field) {}

    /// The next word must be an unsigned number.
    template <class T>
    void number(const char *name, T &out) {
        std::string_view word;
        if (!take(name, word)) return;
        if (ParseError error = read_number(word, out); error != ParseError::None) refuse(name, describe(error));
    }

    /// The next word must be one letter.
    void letter(const char *name, char &out) {
        std::string_view word;
        if (!take(name, word)) return;
        bool is_letter = word.size() == 1 && ((word[0] >= 'A' && word[0] <= 'Z') || (word[0] >= 'a' && word[0] <= 'z'));
        if (!is_letter) return refuse(name, "is not a letter");
        out = word[0];
    }

    /// Skips unused fields, which must still be numbers; some of them are negative (tpgid, nice).
    void skip(int count) {
        for (int i = 0; i < count; ++i) {
            std::string_view word;
            if (!take("unused", word)) return;
            if (word.starts_with('-')) word.remove_prefix(1);
            if (word.empty() || word.find_first_not_of("0123456789") != std::string_view::npos) {
                return refuse("unused", "is not a number");
            }
        }
    }

    bool at_end() const { return rest_.empty(); }
    void refuse_rest(const char *what) {
        if (!error_) error_ = corrupt(file_, line_, what);
    }
    const std::optional<core::Error> &error() const { return error_; }

  private:
    bool take(const char *name, std::string_view &word) {
        if (error_) return false;
        if (rest_.empty()) {
            error_ = corrupt(file_, line_, fmt::format("ends before field {} ({})", field_, name));
            return false;
        }
        std::size_t space = rest_.find(' ');
        word = rest_.substr(0, space);
        rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space + 1);
        ++field_;
        return true;
    }

    void refuse(const char *name, const char *what) {
        error_ = corrupt(file_, line_, fmt::format("field {} ({}) {}", field_ - 1, name, what));
    }

    std::string_view file_;
    std::size_t line_;
    std::string_view rest_;
    int field_;  ///< number of the next field as in man 5 proc
    std::optional<core::Error> error_;
};

}  // namespace

core::Result<Stat> parse_stat(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off("stat", text);
    Stat stat;
    std::string_view rest = text.substr(0, text.size() - 1);
    if (ParseError error = take_number(rest, stat.pid); error != ParseError::None) {
        return corrupt("stat", 1, fmt::format("field 1 (pid) {}", describe(error)));
    }
    // do_task_stat() does not escape the name, which may contain ')'. Later fields cannot: the last ')' ends the name.
    std::size_t close = rest.rfind(')');
    if (!rest.starts_with(" (") || close == std::string_view::npos) {
        return corrupt("stat", 1, "no command name in parentheses after the pid");
    }
    stat.comm = rest.substr(2, close - 2);
    rest.remove_prefix(close + 1);
    if (!rest.starts_with(' ')) return corrupt("stat", last_line(text), "ends after the command name");

    Fields fields("stat", last_line(text), rest.substr(1), 3);
    fields.letter("state", stat.state);
    fields.number("ppid", stat.ppid);
    fields.skip(4);  // pgrp, session, tty_nr, tpgid
    fields.number("flags", stat.flags);
    fields.number("minflt", stat.min_flt);
    fields.skip(1);  // cminflt
    fields.number("majflt", stat.maj_flt);
    fields.skip(7);  // cmajflt, utime, stime, cutime, cstime, priority, nice
    fields.number("num_threads", stat.num_threads);
    fields.skip(1);  // itrealvalue
    fields.number("starttime", stat.start_ticks);
    fields.number("vsize", stat.vsize_bytes);
    fields.number("rss", stat.rss.n);
    while (!fields.at_end() && !fields.error())
        fields.skip(1);  // later fields; kernels have added some
    if (fields.error()) return *fields.error();
    return stat;
}

core::Result<Statm> parse_statm(std::string_view text) {
    if (!ends_in_newline(text)) return cut_off("statm", text);
    Statm statm;
    Fields fields("statm", last_line(text), text.substr(0, text.size() - 1), 1);
    fields.number("size", statm.size.n);
    fields.number("resident", statm.resident.n);
    fields.number("shared", statm.shared.n);
    fields.number("text", statm.text.n);
    fields.number("lib", statm.lib.n);
    fields.number("data", statm.data.n);
    fields.number("dirty", statm.dirty.n);
    if (!fields.at_end()) fields.refuse_rest("more than seven fields");
    if (fields.error()) return *fields.error();
    return statm;
}

}  // namespace rsslag::procfs
