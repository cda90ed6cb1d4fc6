#include "read/pickle/pickle_machine_in.h"

#include "read/pickle/pickle_fold_in.h"

/* The finding about a joblib array, whose raw elements end the run. */
static void report_raw(const struct machine *m)
{
    const struct pickle *p = m->pickle;
    node_id state = node_state(p, node_at(m, m->raw));
    struct str shape = pickle_key_text(p, pickle_dict_get(p, state, "shape"));
    node_id dtype = pickle_dict_get(p, state, "dtype");
    struct str type = pickle_text(p, pickle_arg(p, dtype, 0));

    build_finding(
        m->build, FINDING_UNSUPPORTED, SEVERITY_WARNING, FINDING_NOWHERE,
        "%.*s: a joblib file: the raw elements of an array of shape %.*s and dtype "
        "%.*s begin at byte %llu; the rest is not read",
        STR_ARG(m->name), STR_ARG(shape), STR_ARG(type),
        (unsigned long long)(uint64_t)(m->at - m->begin));
}

/* The finding about a run that ended early. */
static void report_end(struct machine *m)
{
    const char *opcode = NULL;
    unsigned long long at = machine_offset(m);

    if (m->cancelled)
        return;
    if (m->opcode < m->end)
        opcode = pickle_opcodes[*m->opcode].name;
    if (m->raw != NO_NODE)
        report_raw(m);
    else if (m->spent)
        build_finding(m->build, FINDING_LIMIT, SEVERITY_ALARM, FINDING_NOWHERE,
                      "%.*s: at byte %llu this pickle needs %s", STR_ARG(m->name), at,
                      m->spent);
    else if (m->opcode == m->end)
        build_finding(
            m->build, FINDING_PICKLE_MALFORMED, SEVERITY_ALARM, FINDING_NOWHERE,
            "%.*s: the pickle ends at byte %llu without a STOP", STR_ARG(m->name), at);
    else if (opcode)
        build_finding(m->build, FINDING_PICKLE_MALFORMED, SEVERITY_ALARM,
                      FINDING_NOWHERE, "%.*s: opcode %s at byte %llu: %s",
                      STR_ARG(m->name), opcode, at, m->fault);
    else
        build_finding(m->build, FINDING_PICKLE_MALFORMED, SEVERITY_ALARM,
                      FINDING_NOWHERE,
                      "%.*s: 0x%02x at byte %llu is not an opcode of any pickle",
                      STR_ARG(m->name), *m->opcode, at);
}

/* Complete the stream's entry in the log. */
static void finish_stream(const struct machine *m, bool complete)
{
    struct pickle_log *log = &m->build->model->pickle;
    struct pickle_stream *stream;

    if (m->pickle->stream >= log->n_streams)
        return;
    stream = &log->streams[m->pickle->stream];
    stream->size = m->pickle->size;
    stream->opcodes = m->opcodes;
    stream->protocol = m->protocol;
    stream->complete = complete;
}

/* Fail: there is no result at all. */
static int nothing_made(const struct machine *m, struct err *err)
{
    if (m->cancelled)
        return err_set(err, ERR_CANCELLED, "%.*s: stopped", STR_ARG(m->name));
    if (m->spent)
        return err_set(err, ERR_LIMIT, "%.*s: this pickle needs %s", STR_ARG(m->name),
                       m->spent);
    return err_set(err, ERR_FORMAT,
                   "%.*s: the pickle is truncated or damaged at byte %llu: %s",
                   STR_ARG(m->name), (unsigned long long)machine_offset(m),
                   m->fault ? m->fault : "no value was read");
}

static int make_notes(struct pickle *pickle, struct err *err)
{
    struct arena *scratch = &pickle->build->scratch;

    pickle->notes = arena_alloc(scratch, sizeof *pickle->notes);
    if (!pickle->notes)
        return arena_err(scratch, "a pickle", err);
    map_init(&pickle->notes->keys, scratch);
    map_init(&pickle->notes->values, scratch);
    pickle->notes->values_left = VALUE_MAX_NODES;
    return 0;
}

static int run(struct pickle *pickle, struct build *build, struct bytes *in,
               struct str name, struct pickle_load *load, bool drops, struct err *err)
{
    struct machine *m;
    int status = -1;

    memset(pickle, 0, sizeof *pickle);
    pickle->build = build;
    pickle->result = NO_NODE;
    pickle->stream = build_pickle_stream(build, name, bytes_left(in));
    if (make_notes(pickle, err) < 0)
        return -1;
    m = arena_alloc(&build->scratch, sizeof *m);
    if (!m)
        return arena_err(&build->scratch, "a pickle", err);
    if (machine_init(m, pickle, build, in, name, load, drops) == 0)
        status = machine_run(m);
    if (status == 0) {
        pickle->result = machine_pop(m);
        pickle->complete = true;
    } else {
        report_end(m);
        pickle->result = machine_salvage(m);
    }
    in->at = m->at;
    pickle->size = (uint64_t)(m->at - m->begin);
    finish_stream(m, pickle->complete);
    arena_release(&m->arena);
    pickle->notes->finished = true;
    if (m->cancelled || pickle->result == NO_NODE)
        return nothing_made(m, err);
    return 0;
}

int pickle_run(struct pickle *pickle, struct build *build, struct bytes *in,
               struct str name, struct err *err)
{
    return run(pickle, build, in, name, NULL, false, err);
}

int pickle_run_dropping(struct pickle *pickle, struct build *build, struct bytes *in,
                        struct str name, struct err *err)
{
    return run(pickle, build, in, name, NULL, bytes_left(in) >= PICKLE_DROP, err);
}

int pickle_run_joblib(struct pickle *pickle, struct build *build, struct bytes *in,
                      struct str name, struct pickle_load *load, struct err *err)
{
    return run(pickle, build, in, name, load, false, err);
}
