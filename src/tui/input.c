/* Routes a key: to the prompt, menu or help first, then to the table of keys. */
#include <string.h>

#include "tui/keys.h"
#include "tui/tui_in.h"

/* --- The prompt */

static void end_prompt(struct tui *tui)
{
    tui->prompt.kind = PROMPT_NONE;
    if (tui->menu_of == ACTION_COMMAND)
        menu_clear(&tui->menu);
}

static void search_typed(struct tui *tui)
{
    struct err err = {0};

    if (tui->files) {
        tui->prompt.bad = files_filter(tui, buf_span(&tui->prompt.text), &err) < 0;
        if (tui->prompt.bad)
            tui_say(tui, "%s", err.text);
        return;
    }
    tui->prompt.bad =
        browse_search(tui->explorer.browse, buf_span(&tui->prompt.text), &err) < 0;
    if (tui->prompt.bad)
        explorer_say(&tui->explorer, "%s", err.text);
    tui_changed(tui);
}

static void run_command(struct tui *tui, struct str line)
{
    struct buf copy = BUF_INIT; /* the line may be the prompt's own text */
    struct err err = {0};

    buf_str(&copy, line);
    if (tui_command(tui, buf_span(&copy), &err) < 0)
        tui_trouble(tui, &err, NULL);
    tui_changed(tui);
    buf_release(&copy);
}

static void offer(struct tui *tui)
{
    menu_clear(&tui->menu);
    tui->menu_of = ACTION_COMMAND;
    tui_complete(tui, buf_span(&tui->prompt.text), &tui->menu);
    tui->menu.title = tui->menu.n ? ": Command" : NULL;
}

void tui_slice(struct tui *tui, struct str text)
{
    struct panel_state *state = &tui->explorer.panels[PANEL_STATISTICS];

    if (text.len >= sizeof(state->slice)) {
        explorer_say(&tui->explorer, "a slice has at most %d characters",
                     (int)sizeof(state->slice) - 1);
        return;
    }
    memset(state->slice, 0, sizeof(state->slice));
    if (text.len)
        memcpy(state->slice, text.at, text.len);
    if (tui->view.focus != PANEL_STATISTICS)
        tui_focus(tui, PANEL_STATISTICS);
    tui_changed(tui);
}

/* The highlighted choice if it differs from the line; else empty. */
static void highlighted(const struct tui *tui, struct buf *to)
{
    struct str choice = STR("");

    if (tui->menu_of == ACTION_COMMAND && tui->menu.n > 0)
        choice = menu_text(&tui->menu, tui->menu.selected);
    for (uint32_t i = 0; i < tui->menu.n; i++)
        if (str_eq(str_trim(menu_text(&tui->menu, i)),
                   str_trim(buf_span(&tui->prompt.text))))
            return;
    buf_str(to, choice);
}

/* Does a choice expect more input ("sort ", "models/")? */
static bool leads_on(struct str choice)
{
    return str_ends(choice, STR(" ")) || str_ends(choice, STR("/"));
}

/* Run the typed line if it is valid, else the highlighted choice. */
static void run_line(struct tui *tui, struct str line, struct str choice)
{
    struct err err = {0};

    if (tui_command(tui, line, &err) == 0)
        ;
    else if (choice.len == 0)
        tui_trouble(tui, &err, NULL);
    else if (leads_on(choice)) {
        tui_prompt(tui, PROMPT_COMMAND, choice);
    } else {
        prompt_set(&tui->prompt, choice);
        prompt_remember(&tui->prompt);
        run_command(tui, choice);
    }
    tui_changed(tui);
}

/* Enter on a completed choice that expects more input. */
static bool goes_on(struct tui *tui)
{
    struct str line = buf_span(&tui->prompt.text);

    if (tui->prompt.kind != PROMPT_COMMAND || tui->menu.n == 0 || !leads_on(line) ||
        !str_eq(line, menu_text(&tui->menu, tui->menu.selected)))
        return false;
    offer(tui);
    return tui->menu.n > 0 &&
           !str_eq(buf_span(&tui->prompt.text), menu_text(&tui->menu, 0));
}

static void enter_typed(struct tui *tui)
{
    enum prompt_kind kind = tui->prompt.kind;
    struct buf text = BUF_INIT, choice = BUF_INIT;

    if (goes_on(tui))
        return;
    if (kind == PROMPT_SEARCH && tui->prompt.bad) {
        search_typed(tui); /* shows the error again */
        return;
    }
    buf_str(&text, buf_span(&tui->prompt.text));
    if (kind == PROMPT_COMMAND) {
        prompt_remember(&tui->prompt);
        highlighted(tui, &choice);
    }
    end_prompt(tui);
    if (kind == PROMPT_SEARCH && !tui->files)
        tui_focus(tui, FOCUS_TREE);
    if (kind == PROMPT_COMMAND && text.len)
        run_line(tui, buf_span(&text), buf_span(&choice));
    else if (kind == PROMPT_SLICE)
        tui_slice(tui, str_trim(buf_span(&text)));
    buf_release(&text);
    buf_release(&choice);
}

void tui_prompt(struct tui *tui, enum prompt_kind kind, struct str text)
{
    menu_clear(&tui->menu);
    prompt_begin(&tui->prompt, kind, text);
    if (kind == PROMPT_COMMAND)
        offer(tui);
}

/* Tab inserts the selected choice; further Tabs insert the next ones. */
static void complete(struct tui *tui, int by)
{
    struct str choice;

    if (tui->menu.n == 0)
        return;
    choice = menu_text(&tui->menu, tui->menu.selected);
    /* A single choice is inserted and completion continues after it. */
    if (tui->menu.n == 1) {
        bool whole = str_eq(choice, buf_span(&tui->prompt.text));
        struct key blank = {.code = ' '};

        prompt_set(&tui->prompt, choice);
        if (whole && !str_ends(buf_span(&tui->prompt.text), STR(" ")))
            prompt_key(&tui->prompt, &blank);
        offer(tui);
        return;
    }
    if (str_eq(choice, buf_span(&tui->prompt.text))) {
        menu_move(&tui->menu, by);
        choice = menu_text(&tui->menu, tui->menu.selected);
    }
    prompt_set(&tui->prompt, choice);
}

/* Up and down recall older lines if the line is empty or was recalled; otherwise they
 * select a completion. */
static void choose_or_recall(struct tui *tui, int by)
{
    struct prompt *prompt = &tui->prompt;
    bool recalls = prompt->text.len == 0 || prompt->at_history != prompt->n_history;

    if (recalls && prompt_history(prompt, by)) {
        offer(tui);
    } else if (tui->menu.n > 0 && (!recalls || by > 0)) {
        menu_move(&tui->menu, by);
        prompt_set(prompt, menu_text(&tui->menu, tui->menu.selected));
    }
}

static void leave_prompt(struct tui *tui)
{
    if (tui->prompt.kind == PROMPT_SEARCH && tui->files)
        files_filter(tui, STR(""), NULL);
    else if (tui->prompt.kind == PROMPT_SEARCH)
        browse_clear(tui->explorer.browse);
    end_prompt(tui);
    tui_changed(tui);
}

static void type_key(struct tui *tui, const struct key *key)
{
    bool command = tui->prompt.kind == PROMPT_COMMAND;

    if (key->code == KEY_ESCAPE || key->code == KEY_CTRL('C') ||
        (key->code == KEY_BACKSPACE && tui->prompt.text.len == 0)) {
        leave_prompt(tui);
    } else if (key->code == '\r' || key->code == '\n') {
        enter_typed(tui);
    } else if (key->code == '\t' || key->code == KEY_BACK_TAB) {
        if (command)
            complete(tui, key->code == '\t' ? 1 : -1);
    } else if (key->code == KEY_UP || key->code == KEY_DOWN) {
        if (command)
            choose_or_recall(tui, key->code == KEY_UP ? -1 : 1);
        else if (tui->prompt.kind == PROMPT_SEARCH && tui->files)
            files_act(tui, key->code == KEY_UP ? ACTION_UP : ACTION_DOWN);
        else if (tui->prompt.kind == PROMPT_SEARCH) /* moves while typing */
            browse_move(tui->explorer.browse, key->code == KEY_UP ? -1 : 1);
        tui_changed(tui);
    } else if (prompt_key(&tui->prompt, key)) {
        if (tui->prompt.kind == PROMPT_SEARCH)
            search_typed(tui);
        else if (command)
            offer(tui);
    }
}

/* --- The menu */

static void choose(struct tui *tui, uint32_t choice)
{
    enum action of = tui->menu_of;
    char key = tui->menu.choices[choice].key;

    menu_clear(&tui->menu);
    if (of == ACTION_COPY)
        copy_choose(tui, key);
    else if (of == ACTION_SORT)
        sort_choose(tui, key);
    else if (of == ACTION_FILTER)
        files_filter_choose(tui, key);
    tui_changed(tui);
}

void tui_choose(struct tui *tui, uint32_t choice)
{
    if (tui->menu_of == ACTION_COMMAND) {
        tui->menu.selected = choice;
        prompt_set(&tui->prompt, menu_text(&tui->menu, choice));
    } else if (choice < tui->menu.n) {
        choose(tui, choice);
    }
}

static void menu_key(struct tui *tui, const struct key *key)
{
    uint32_t found = menu_find(&tui->menu, key->code);

    if (found < MENU_MOST)
        choose(tui, found);
    else if (key->code == KEY_UP || key->code == 'k')
        menu_move(&tui->menu, -1);
    else if (key->code == KEY_DOWN || key->code == 'j' || key->code == '\t')
        menu_move(&tui->menu, 1);
    else if (key->code == '\r' && tui->menu.n)
        choose(tui, tui->menu.selected);
    else if (key->code != KEY_UNKNOWN)
        menu_clear(&tui->menu);
}

/* --- All keys */

/* An error stays until the next key; Enter runs the retry it offers. */
static bool trouble_key(struct tui *tui, const struct key *key)
{
    const char *retry = tui->retry;

    if (tui->trouble.len == 0)
        return false;
    buf_clear(&tui->trouble);
    tui->retry = NULL;
    if (key->code == '\r' && retry) {
        run_command(tui, str_of(retry));
        return true;
    }
    return key->code == KEY_ESCAPE || key->code == '\r';
}

/* Drop pending computations of a row that the cursor left. */
static void after_key(struct tui *tui, uint32_t place_before)
{
    struct browse *browse = tui->explorer.browse;
    struct str said;

    if (!tui->exploring || tui->files)
        return;
    if (browse_place(tui->explorer.browse) != place_before)
        explorer_drop(&tui->explorer);
    said = browse_message(browse);
    if (said.len && tui->explorer.message.len == 0)
        explorer_say(&tui->explorer, "%.*s", STR_ARG(said));
}

static void plain_key(struct tui *tui, const struct key *key)
{
    const struct binding *binding = keymap_find(tui->keymap, key->code, tui_where(tui));
    struct buf text = BUF_INIT;
    char name[16];

    if (binding) {
        tui_act(tui, binding->action);
    } else if (key->code != KEY_UNKNOWN && key->code != KEY_PASTE) {
        key_name(name, key->code, tui->config.ascii);
        buf_printf(&text, "%s does nothing here; ? lists the keys", name);
        tui_say(tui, "%s", buf_cstr(&text));
    }
    buf_release(&text);
}

/* No key is bound to Alt. Terminals send Alt+key and Esc followed by a key alike, so
 * treat both as Esc and the key. */
static void escape_first(struct tui *tui, struct key key)
{
    static const struct key escape = {.code = KEY_ESCAPE};

    tui_key(tui, &escape);
    key.alt = false;
    tui_key(tui, &key);
}

void tui_key(struct tui *tui, const struct key *key)
{
    uint32_t place = NO_PLACE;

    if (key->code == KEY_UNKNOWN)
        return;
    if (key->alt && key->code != KEY_MOUSE) {
        escape_first(tui, *key);
        return;
    }
    if (tui->exploring) {
        place = browse_place(tui->explorer.browse);
        buf_clear(&tui->explorer.message);
        browse_hush(tui->explorer.browse);
    }
    if (tui->files)
        files_say(tui, STR(""));
    if (trouble_key(tui, key))
        return;
    if (tui->help.open)
        help_key(tui, key);
    else if (key->code == KEY_MOUSE)
        mouse_key(tui, key);
    else if (tui->prompt.kind)
        type_key(tui, key);
    else if (tui->menu.title)
        menu_key(tui, key);
    else
        plain_key(tui, key);
    after_key(tui, place);
}
