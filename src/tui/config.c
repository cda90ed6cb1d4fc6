#include "tui/config_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "explorer/settings.h"

/* ---- the settings ---- */

const struct option *config_option(size_t i)
{
    for (size_t k = 0; k < n_settings; k++)
        if (settings_table[k].groups & SETTINGS_CONFIG && i-- == 0)
            return &settings_table[k].option;
    return NULL;
}

const char *config_name(const struct option *option, bool *ret_no)
{
    *ret_no = strncmp(option->name, "no-", 3) == 0;
    return option->name + (*ret_no ? 3 : 0);
}

void config_names(struct buf *to)
{
    bool no;

    for (size_t i = 0; config_option(i); i++)
        buf_printf(to, "%s%s", i > 0 ? ", " : "", config_name(config_option(i), &no));
}

/* The config's storage of a setting. */
static void *kept_at(struct config *config, const struct option *option)
{
    switch (option->at) {
    case offsetof(struct settings, theme):
        return config->theme;
    case offsetof(struct settings, colour):
        return config->colour;
    case offsetof(struct settings, ascii):
        return &config->ascii;
    case offsetof(struct settings, plain):
        return &config->plain;
    case offsetof(struct settings, no_mouse):
        return &config->no_mouse;
    case offsetof(struct settings, remember):
        return &config->remember;
    default:
        return NULL;
    }
}

/* ---- setting ---- */

static int set_word(char to[CONFIG_WORD], const char *name, struct str value,
                    const char *allowed, struct err *err)
{
    struct str rest = str_of(allowed), word = STR("auto");

    do {
        if (word.len == value.len && str_starts_word(value, word)) {
            memset(to, 0, CONFIG_WORD);
            if (!str_is(word, "auto"))
                memcpy(to, word.at, word.len);
            return 0;
        }
    } while (str_split(&rest, '|', &word));
    return err_set(err, ERR_USAGE, "%s is one of auto|%s, not \"%.*s\"", name, allowed,
                   STR_ARG(value));
}

static int set_bool(bool *to, const char *name, struct str value, bool yes,
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
    return err_set(err, ERR_USAGE, "%s is yes or no, not \"%.*s\"", name,
                   STR_ARG(value));
}

static int no_setting(struct str name, struct err *err)
{
    struct buf names = BUF_INIT;

    config_names(&names);
    err_set(err, ERR_USAGE, "unknown setting \"%.*s\"; the settings are %s",
            STR_ARG(name), buf_cstr(&names));
    buf_release(&names);
    return -1;
}

int config_set(struct config *config, struct str name, struct str value,
               struct err *err)
{
    for (size_t i = 0; config_option(i); i++) {
        const struct option *option = config_option(i);
        void *to = kept_at(config, option);
        bool no;
        const char *known = config_name(option, &no);

        if (!to || !str_is_word(name, known))
            continue;
        return option->kind == OPTION_FLAG
                   ? set_bool(to, known, value, !no, err)
                   : set_word(to, known, value, option->value, err);
    }
    return no_setting(name, err);
}

/* ---- the file ---- */

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
        return err_set(err, ERR_USAGE, "unknown section [%.*s]", STR_ARG(*section));
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
