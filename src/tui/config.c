#include "tui/config_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"

static int set_word(char *to, size_t room, struct str name, struct str value,
                    const char *allowed, struct err *err)
{
    struct str rest = str_of(allowed), word;

    while (str_split(&rest, '|', &word))
        if (word.len == value.len && str_starts_word(value, word)) {
            memset(to, 0, room);
            if (!str_is(word, "auto"))
                memcpy(to, word.at, word.len);
            return 0;
        }
    return err_set(err, ERR_USAGE, "%.*s is one of %s, not \"%.*s\"", STR_ARG(name),
                   allowed, STR_ARG(value));
}

static int set_bool(bool *to, struct str name, struct str value, bool yes,
                    struct err *err)
{
    static const char *const on[] = {"yes", "true", "on", "1"};
    static const char *const off[] = {"no", "false", "off", "0"};

    for (size_t i = 0; i < COUNT_OF(on); i++) {
        if (str_is_word(value, on[i]) || str_is_word(value, off[i])) {
            *to = str_is_word(value, on[i]) == yes;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE, "%.*s is yes or no, not \"%.*s\"", STR_ARG(name),
                   STR_ARG(value));
}

int config_set(struct config *config, struct str name, struct str value,
               struct err *err)
{
    if (str_is_word(name, "theme"))
        return set_word(config->theme, sizeof(config->theme), name, value,
                        "auto|dark|light", err);
    if (str_is_word(name, "color"))
        return set_word(config->colour, sizeof(config->colour), name, value,
                        "auto|never|always|16|256|true", err);
    if (str_is_word(name, "ascii"))
        return set_bool(&config->ascii, name, value, true, err);
    if (str_is_word(name, "plain"))
        return set_bool(&config->plain, name, value, true, err);
    if (str_is_word(name, "mouse"))
        return set_bool(&config->no_mouse, name, value, false, err);
    if (str_is_word(name, "remember"))
        return set_bool(&config->remember, name, value, true, err);
    return err_set(err, ERR_USAGE,
                   "there is no setting \"%.*s\"; there are theme, color, ascii, "
                   "plain, mouse, remember",
                   STR_ARG(name));
}

static int parse_line(struct config *config, struct keymap *keymap, struct str line,
                      struct str *section, struct err *err)
{
    ptrdiff_t equals;
    struct str name, value;

    line = str_trim(line);
    if (line.len == 0 || line.at[0] == '#' || line.at[0] == ';')
        return 0;
    if (line.at[0] == '[' && line.at[line.len - 1] == ']') {
        *section = str_head(str_from(line, 1), line.len - 2);
        if (section->len == 0 || str_is(*section, "keys") || str_is(*section, "look"))
            return 0;
        return err_set(err, ERR_USAGE, "there is no section [%.*s]", STR_ARG(*section));
    }
    equals = str_find_char(line, '=');
    if (equals <= 0)
        return err_set(err, ERR_USAGE, "\"%.*s\" is not NAME = VALUE", STR_ARG(line));
    name = str_trim(str_head(line, (size_t)equals));
    value = str_trim(str_from(line, (size_t)equals + 1));
    if (str_is(*section, "keys"))
        return keymap_bind(keymap, name, value, err);
    return config_set(config, name, value, err);
}

int config_parse(struct config *config, struct keymap *keymap, struct str text,
                 struct err *err)
{
    struct str line, section = STR("");
    unsigned number = 0;
    int status = 0;

    while (str_split(&text, '\n', &line)) {
        struct err wrong = {0};

        number++;
        if (parse_line(config, keymap, line, &section, &wrong) == 0 || status < 0)
            continue;
        status = err_set(err, ERR_USAGE, "line %u: %s", number, wrong.text);
    }
    return status;
}

#define CONFIG_BYTES (64 * KIB) /* far more than any real config */

static bool read_text(const char *path, struct buf *to)
{
    FILE *file = fopen(path, "re");
    char bytes[4096];
    size_t n;

    if (!file)
        return false;
    while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0 && to->len < CONFIG_BYTES)
        buf_add(to, bytes, n);
    fclose(file);
    return true;
}

int config_read(struct config *config, struct keymap *keymap, struct err *err)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    struct buf path = BUF_INIT, text = BUF_INIT;
    struct err wrong = {0};
    int status = 0;

    if (folder && *folder)
        buf_printf(&path, "%s/torchoscope/config", folder);
    else if (home && *home)
        buf_printf(&path, "%s/.config/torchoscope/config", home);
    if (path.len && read_text(buf_cstr(&path), &text) &&
        config_parse(config, keymap, buf_span(&text), &wrong) < 0)
        status = err_set(err, ERR_USAGE, "%s: %s", buf_cstr(&path), wrong.text);
    buf_release(&path);
    buf_release(&text);
    return status;
}
