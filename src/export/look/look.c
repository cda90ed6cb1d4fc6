#include "export/look/look.h"

#include <string.h>

#include "base/sha256.h"

void look_base64(struct buf *to, const uint8_t *bytes, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        uint32_t three = (uint32_t)bytes[i] << 16;

        three |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= i + 2 < n ? bytes[i + 2] : 0;
        buf_char(to, digits[three >> 18 & 63]);
        buf_char(to, digits[three >> 12 & 63]);
        buf_char(to, i + 1 < n ? digits[three >> 6 & 63] : '=');
        buf_char(to, i + 2 < n ? digits[three & 63] : '=');
    }
}

const char look_logo[] =
    "<svg width=\"18\" height=\"18\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">"
    "<circle cx=\"8\" cy=\"8\" r=\"7\" fill=\"none\" stroke=\"var(--accent)\" "
    "stroke-width=\"1.75\"/>"
    "<path d=\"M3.2 10.6C5.6 10.6 6 4.6 8 4.6S10.4 10.6 12.8 10.6\" fill=\"none\" "
    "stroke=\"var(--text)\" stroke-width=\"1.5\" stroke-linecap=\"round\"/></svg>";

void look_script_hash(struct buf *to, const char *script)
{
    struct sha256 sha;
    char hex[65];
    uint8_t bytes[32] = {0};

    sha256_init(&sha);
    sha256_add(&sha, script, strlen(script));
    sha256_hex(&sha, hex);
    for (size_t i = 0; i < 64; i++)
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 |
                                 (hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10));
    look_base64(to, bytes, sizeof(bytes));
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != '<' && c != '>' && c != '&' && c != '"' && c != '\\';
}

void look_json(struct out *out, struct str text)
{
    size_t plain = 0;

    out_char(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (is_plain((unsigned char)text.at[i]))
            continue;
        out_add(out, text.at + plain, i - plain);
        out_printf(out, "\\u%04x", (unsigned char)text.at[i]);
        plain = i + 1;
    }
    if (plain < text.len)
        out_add(out, text.at + plain, text.len - plain);
    out_char(out, '"');
}

void look_document(struct out *out, struct str document)
{
    size_t plain = 0;

    for (size_t i = 0; i < document.len; i++) {
        char c = document.at[i];

        if (c != '<' && c != '>' && c != '&')
            continue;
        out_add(out, document.at + plain, i - plain);
        out_printf(out, "\\u%04x", (unsigned char)c);
        plain = i + 1;
    }
    if (plain < document.len)
        out_add(out, document.at + plain, document.len - plain);
}
