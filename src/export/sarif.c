/* A check as SARIF 2.1.0, for code scanning. A result is a dangerous or unknown global,
 * a finding, or a file that could not be judged. Files are binary, so every result is
 * in line 1; where the file is a single pickle it also has a byte offset. */
#include <string.h>

#include "base/base.h"
#include "base/sha256.h"
#include "export/export_in.h"
#include "facts/check_text.h"
#include "facts/notes.h"
#include "text/escape.h"

/* Rules for findings come first, under the codes of the findings. */
enum {
    RULE_UNSAFE = FINDING_COUNT,
    RULE_NEEDS_CODE,
    RULE_INCONCLUSIVE,
    RULE_COUNT,
};

struct rule {
    const char *name, *text;
    const char *level;
    const char *severity; /* GitHub's "security-severity"; or NULL */
};

static const struct rule rules[RULE_COUNT] = {
    [FINDING_TRUNCATED] = {NULL, "The file is truncated", "error", NULL},
    [FINDING_DAMAGED] = {NULL, "Bytes that cannot be decoded", "error", NULL},
    [FINDING_TRAILING] = {NULL, "Unused bytes after the end", "warning", "5.0"},
    [FINDING_LIMIT] = {NULL, "Larger than a limit; the rest was not read", "warning",
                       NULL},
    [FINDING_UNSUPPORTED] = {NULL, "An unsupported part", "warning", NULL},
    [FINDING_BAD_TENSOR] = {NULL, "A tensor whose description contradicts the file",
                            "error", "7.0"},
    [FINDING_SIZE_MISMATCH] = {NULL, "Two sizes in the file disagree", "error", "5.0"},
    [FINDING_MISSING_RECORD] = {NULL, "Data is missing", "error", NULL},
    [FINDING_MISSING_SHARD] = {NULL, "A file of the model is missing", "error", NULL},
    [FINDING_SHARD_MISMATCH] = {NULL, "The index and the files disagree", "error",
                                NULL},
    [FINDING_UNSAFE_PATH] = {NULL, "A path leads out of its folder", "error", "8.0"},
    [FINDING_DUPLICATE] = {NULL, "The same name twice", "error", "5.0"},
    [FINDING_OVERLAP] = {NULL, "Two parts overlap", "error", "5.0"},
    [FINDING_HOLE] = {NULL, "Bytes that belong to nothing", "warning", "3.0"},
    [FINDING_CHECKSUM] = {NULL, "A checksum does not match", "error", "5.0"},
    [FINDING_ENCRYPTED] = {NULL, "A member that is, or claims to be, encrypted",
                           "error", "7.0"},
    [FINDING_ZIP_TRICK] = {NULL, "Headers that programs read differently", "error",
                           "8.0"},
    [FINDING_PICKLE_MALFORMED] = {NULL, "A malformed or truncated pickle", "error",
                                  "7.0"},
    [FINDING_PICKLE_OVERRIDE] = {NULL, "A pickle replaces attributes of code", "error",
                                 "9.0"},
    [FINDING_PICKLE_NESTED] = {NULL, "A pickle inside another, or after it", "warning",
                               "5.0"},
    [FINDING_BAD_TEXT] = {NULL, "A name that is not text or hides characters",
                          "warning", "3.0"},
    [FINDING_BIG_ENDIAN] = {NULL, "Written on a big-endian machine", "note", NULL},
    [FINDING_NATIVE_CODE] = {NULL, "Machine code that loading the file would run",
                             "error", "9.5"},
    [FINDING_NON_FINITE] = {NULL, "NaN or infinities among the values", "error", NULL},
    [FINDING_UNEXPECTED] = {NULL, "A name, shape or dtype is not as expected", "error",
                            NULL},
    [FINDING_TRAINING] = {NULL, "Training went wrong at this step", "warning", NULL},
    [RULE_UNSAFE] = {"unsafe", "Loading the file would run something", "error", "9.5"},
    [RULE_NEEDS_CODE] = {"needs-code",
                         "The file names code outside the allow-list; look at it, or "
                         "vouch for it with --allow",
                         "warning", "5.0"},
    [RULE_INCONCLUSIVE] = {"inconclusive",
                           "The file could not be judged, so it is not called safe",
                           "error", "6.0"},
};

static const char *rule_name(int rule)
{
    return rule < FINDING_COUNT ? finding_name((enum finding_code)rule)
                                : rules[rule].name;
}

/* ---- pieces ---- */

/* "KEY": {"text": TEXT} */
static void write_message(struct json *json, const char *key, struct str text)
{
    json_object(json, key);
    json_str(json, "text", text);
    json_object_end(json);
}

/* Escapes the characters of links and placeholders, which our messages never have. A
 * newline becomes a colon: the position of the call follows it. */
static void add_plain(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];

        if (c == '[' || c == ']' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c == '{' || c == '}')
            buf_printf(to, "%c%c", c, c);
        else
            buf_char(to, c);
    }
}

/* A path as a URI: relative to the working directory, or file:///... */
static void add_uri(struct buf *to, const char *path)
{
    static const char digits[] = "0123456789ABCDEF";

    while (path[0] == '.' && path[1] == '/')
        for (path += 2; *path == '/';)
            path++;
    if (*path == '/')
        buf_text(to, "file://");
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c >= '0' && c <= '9') || strchr("-._~/", c)) {
            buf_char(to, *path);
        } else {
            buf_char(to, '%');
            buf_char(to, digits[c >> 4]);
            buf_char(to, digits[c & 15]);
        }
    }
}

/* ---- the run ---- */

static void write_rule(struct json *json, int rule)
{
    json_object(json, NULL);
    json_text(json, "id", rule_name(rule));
    json_text(json, "name", rule_name(rule));
    write_message(json, "shortDescription", str_of(rules[rule].text));
    write_message(json, "fullDescription", str_of(rules[rule].text));
    json_object(json, "defaultConfiguration");
    json_text(json, "level", rules[rule].level);
    json_object_end(json);
    write_message(json, "help",
                  STR("For more, run torchoscope check FILE or man torchoscope."));
    json_object(json, "properties");
    json_array(json, "tags");
    json_text(json, NULL, rules[rule].severity ? "security" : "correctness");
    json_array_end(json);
    if (rules[rule].severity)
        json_text(json, "security-severity", rules[rule].severity);
    json_object_end(json);
    json_object_end(json);
}

void export_sarif_begin(struct json *json, const char *version)
{
    json_object(json, NULL);
    json_text(json, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json_text(json, "version", "2.1.0");
    json_array(json, "runs");
    json_object(json, NULL);
    json_object(json, "tool");
    json_object(json, "driver");
    json_text(json, "name", "torchoscope");
    json_text(json, "version", version);
    json_text(json, "semanticVersion", version);
    json_array(json, "rules");
    for (int rule = 0; rule < RULE_COUNT; rule++)
        write_rule(json, rule);
    json_array_end(json);
    json_object_end(json);
    json_object_end(json);
    json_array(json, "results");
}

/* ---- results ---- */

struct sarif_result {
    int rule;
    const char *level, *path;
    struct str text; /* for people */
    struct str name; /* of the place or global: "fc.weight"; or empty */
    bool is_global;
    const char *kind; /* what `name` is */
    bool has_byte;    /* `byte` is an offset in the file */
    uint64_t byte;
};

static void write_physical(struct json *json, const struct sarif_result *result,
                           struct str uri)
{
    json_object(json, "physicalLocation");
    json_object(json, "artifactLocation");
    json_str(json, "uri", uri);
    if (result->path[0] != '/')
        json_text(json, "uriBaseId", "%SRCROOT%");
    json_object_end(json);
    json_object(json, "region");
    json_u64(json, "startLine", 1);
    if (result->has_byte) {
        json_u64(json, "byteOffset", result->byte);
        json_u64(json, "byteLength", 1);
    }
    json_object_end(json);
    json_object_end(json);
}

static void write_logical(struct json *json, const struct sarif_result *result)
{
    if (result->name.len == 0)
        return;
    json_array(json, "logicalLocations");
    json_object(json, NULL);
    json_str(
        json, "name",
        str_from(result->name, (size_t)(str_find_last_char(result->name, '.') + 1)));
    json_str(json, "fullyQualifiedName", result->name);
    json_text(json, "kind", result->kind);
    json_object_end(json);
    json_array_end(json);
}

/* Independent of byte offsets, so that a result keeps its fingerprint between runs. */
static void write_fingerprint(struct json *json, const struct sarif_result *result,
                              struct str uri)
{
    struct str parts[] = {str_of(rule_name(result->rule)), uri,
                          result->is_global ? result->name : result->text};
    struct sha256 sha;
    char hex[65];

    sha256_init(&sha);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        sha256_add(&sha, parts[i].at, parts[i].len);
        sha256_add(&sha, "", 1);
    }
    sha256_hex(&sha, hex);
    json_object(json, "partialFingerprints");
    json_str(json, "torchoscope/v1", str_head(str_of(hex), 32));
    json_object_end(json);
}

static void write_result(struct json *json, const struct sarif_result *result)
{
    struct buf uri = BUF_INIT, text = BUF_INIT;

    add_uri(&uri, result->path);
    add_plain(&text, result->text);
    json_object(json, NULL);
    json_text(json, "ruleId", rule_name(result->rule));
    json_i64(json, "ruleIndex", result->rule);
    json_text(json, "level", result->level);
    write_message(json, "message", buf_span(&text));
    json_array(json, "locations");
    json_object(json, NULL);
    write_physical(json, result, buf_span(&uri));
    write_logical(json, result);
    json_object_end(json);
    json_array_end(json);
    write_fingerprint(json, result, buf_span(&uri));
    json_object_end(json);
    buf_release(&uri);
    buf_release(&text);
}

/* ---- a model ---- */

static const char *level_of(enum severity severity)
{
    switch (severity) {
    case SEVERITY_NOTE:
        return "note";
    case SEVERITY_WARNING:
        return "warning";
    case SEVERITY_ALARM:
        break;
    }
    return "error";
}

/* A global that is dangerous, or outside the allow-list. */
static void write_global_result(struct json *json, const struct model *model,
                                const struct check *check, uint32_t index)
{
    enum trust trust = verdict_judge(model, &check->verdict, index, NULL);
    bool danger = trust == TRUST_DANGER;
    struct check_item item = {CHECK_PICKLE, CHECK_ALARM, CHECK_SAYS_GLOBAL, index};
    struct sarif_result result = {.rule = danger ? RULE_UNSAFE : RULE_NEEDS_CODE,
                                  .level = danger ? "error" : "warning",
                                  .path = model->path,
                                  .is_global = true,
                                  .kind = "function"};
    struct buf text = BUF_INIT;
    struct facts facts = {0};
    struct verdict_use use;

    if (trust == TRUST_KNOWN)
        return;
    result.name = model_string(model, model->pickle.globals[index].name);
    if (verdict_uses(model, index, &use, 1) > 0 &&
        str_is(str_of(model->format), "pickle") && model->pickle.n_streams == 1) {
        result.has_byte = true;
        result.byte = use.offset;
    }
    buf_text(&text,
             danger ? "Loading this file would run " : "Loading this file needs ");
    check_facts(&facts, model, check, &item, 0);
    facts_join(&text, &facts, ": ");
    result.text = buf_span(&text);
    write_result(json, &result);
    buf_release(&text);
    facts_release(&facts);
}

static void write_finding_result(struct json *json, const struct model *model,
                                 const struct finding *finding)
{
    struct sarif_result result = {.rule = finding->code,
                                  .level = level_of(finding->severity),
                                  .path = model->path,
                                  .kind = "member"};
    struct buf name = BUF_INIT;
    struct facts facts = {0};

    if (finding->place < model->n_places)
        place_path(model, finding->place, &name);
    note_finding(&facts, model, finding);
    result.name = buf_span(&name);
    result.text = buf_span(&facts.text);
    write_result(json, &result);
    buf_release(&name);
    facts_release(&facts);
}

void export_sarif_error(struct json *json, const char *path, const char *error)
{
    struct sarif_result result = {
        .rule = RULE_INCONCLUSIVE, .level = "error", .path = path};
    struct buf text = BUF_INIT;

    escape_terminal(&text, str_of(error));
    result.text = buf_span(&text);
    write_result(json, &result);
    buf_release(&text);
}

void export_sarif_model(struct json *json, const struct session *session,
                        const struct check *check)
{
    const struct model *model = session->model;

    for (uint32_t i = 0; i < model->pickle.n_globals; i++)
        write_global_result(json, model, check, i);
    for (uint32_t i = 0; i < check->n_findings; i++)
        write_finding_result(json, model, &check->findings[i]);
    if (check->verdict.verdict == VERDICT_INCONCLUSIVE)
        export_sarif_error(json, model->path,
                           "The file could not be decoded to its end, so it is not "
                           "called safe");
}

void export_sarif_end(struct json *json, const struct export_checked *checked)
{
    json_array_end(json);
    json_array(json, "invocations");
    json_object(json, NULL);
    json_bool(json, "executionSuccessful", checked->complete);
    json_i64(json, "exitCode", checked->status);
    json_object_end(json);
    json_array_end(json);
    json_text(json, "columnKind", "utf16CodeUnits");
    json_object_end(json);
    json_array_end(json);
    json_object_end(json);
}
