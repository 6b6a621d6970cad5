/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Escapes a task's name, which may contain any bytes. Bytes that are not printable ASCII become \xNN, and a
 * backslash is doubled. core/text.h does the same in a locale that is not UTF-8. */
#ifndef RSSLAG_ESCAPE_BPF_H
#define RSSLAG_ESCAPE_BPF_H

#define TASK_COMM_LEN 16

/* A name has at most 15 bytes, and an escaped byte at most 5. */
#define ESCAPED_COMM_LEN 128

struct escaping {
    char text[ESCAPED_COMM_LEN];
    union {
        char comm[TASK_COMM_LEN];
        u64 words[2];
    };
    u32 used;
    u32 label; /* 1: for a Prometheus label, where each backslash is doubled again and quotes are escaped */
};

/* Bit 7 of each zero byte is set, and may be set in a byte 1 above a zero byte. From "Determine if a word has a zero
 * byte", Bit Twiddling Hacks. */
static __always_inline u64 zero_bytes(u64 word)
{
    return (word - 0x0101010101010101ull) & ~word & 0x8080808080808080ull;
}

static __always_inline u64 has_byte(u64 word, u8 byte)
{
    return zero_bytes(word ^ byte * 0x0101010101010101ull);
}

/* Non-zero if any of 8 bytes has to be escaped. Zero bytes after the end of the name do not. There are no branches,
 * because the verifier would follow each of them for each byte. */
static __always_inline u64 needs_escape(u64 word, u32 label)
{
    u64 text = word | zero_bytes(word) >> 2; /* zeros become spaces */
    u64 control = (text - 0x2020202020202020ull) & ~text & 0x8080808080808080ull;

    return (text & 0x8080808080808080ull) | control | has_byte(text, 0x7f) | has_byte(text, '\\') |
           (label ? has_byte(text, '"') : 0);
}

static __always_inline void put_byte(struct escaping *it, u32 *used, char byte)
{
    it->text[*used & (ESCAPED_COMM_LEN - 1)] = byte;
    ++*used;
}

static __always_inline void put_backslash(struct escaping *it, u32 *used)
{
    put_byte(it, used, '\\');
    if (it->label)
        put_byte(it, used, '\\');
}

static __always_inline char hex_digit(u8 value)
{
    return value < 10 ? '0' + value : 'a' + value - 10;
}

static __always_inline void put_escaped(struct escaping *it, u32 *used, u8 byte)
{
    if (byte < ' ' || byte > '~') {
        put_backslash(it, used);
        put_byte(it, used, 'x');
        put_byte(it, used, hex_digit(byte >> 4));
        put_byte(it, used, hex_digit(byte & 15));
        return;
    }
    if (byte == '\\')
        put_backslash(it, used);
    else if (byte == '"' && it->label)
        put_byte(it, used, '\\');
    if (byte == '\\')
        put_backslash(it, used);
    else
        put_byte(it, used, byte);
}

/* A helper copies `used`, so that the verifier treats it as unknown. Otherwise that of 7.2 tracks each possible
 * value. */
static long escape_byte(u32 i, struct escaping *it)
{
    u8 byte = it->comm[i & (TASK_COMM_LEN - 1)];
    u32 used;

    if (!byte)
        return 1;
    bpf_probe_read_kernel(&used, sizeof(used), &it->used);
    put_escaped(it, &used, byte);
    bpf_probe_read_kernel(&it->used, sizeof(it->used), &used);
    return 0;
}

/* Escapes it->comm, which is padded with zeros, into it->text and sets it->used to the length. */
static __always_inline void escape(struct escaping *it)
{
    if (needs_escape(it->words[0], it->label) | needs_escape(it->words[1], it->label)) {
        it->used = 0;
        bpf_loop(TASK_COMM_LEN - 1, escape_byte, it, 0);
    } else {
        it->used = bpf_probe_read_kernel_str(it->text, TASK_COMM_LEN, it->comm) - 1;
    }
    it->used &= ESCAPED_COMM_LEN - 1;
}

#endif
