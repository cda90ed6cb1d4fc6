/* A parcel is a sequence of records: a byte for the type, the fields in native byte
 * order, and length-prefixed texts. */
#include "history/parcel.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"

enum {
    PARCEL_POINT = 'p',
    PARCEL_SCALAR = 's',
    PARCEL_ALARM = 'a',
    PARCEL_FLAGS = 'f'
};

/* The fields of a point and its series that have a fixed size. */
struct parcel_fields {
    uint32_t place, call, merged;
    uint8_t kind, phase;
    uint64_t units;
    struct stats stats;
    struct history_number extra[EXTRA_COUNT];
};

/* Those of an alarm; its step is that of the parcel. */
struct alarm_fields {
    uint64_t step;
    uint32_t place;
    uint8_t severity;
    struct stats stats;
};

static void add_text(struct buf *parcel, struct str text)
{
    uint64_t len = text.len;

    buf_add(parcel, &len, sizeof len);
    buf_str(parcel, text);
}

static struct str take_text(struct bytes *in)
{
    uint64_t len = 0;
    struct str raw = bytes_take(in, sizeof len);

    if (raw.at)
        memcpy(&len, raw.at, sizeof len);
    return bytes_take(in, len);
}

void parcel_point(struct buf *parcel, const struct history_series *series,
                  const struct history_point *point)
{
    struct parcel_fields fields;

    memset(&fields, 0, sizeof fields); /* padding too: the raw bytes are sent */
    fields.place = series->place;
    fields.call = series->call;
    fields.kind = series->kind;
    fields.phase = series->phase;
    fields.merged = point->merged;
    fields.units = point->units;
    fields.stats = point->stats;
    memcpy(fields.extra, point->extra, sizeof fields.extra);
    buf_char(parcel, PARCEL_POINT);
    buf_add(parcel, &fields, sizeof fields);
    add_text(parcel, series->name);
    add_text(parcel, series->path);
    add_text(parcel, point->histogram);
}

void parcel_scalar(struct buf *parcel, struct str name, double value)
{
    buf_char(parcel, PARCEL_SCALAR);
    buf_add(parcel, &value, sizeof value);
    add_text(parcel, name);
}

void parcel_alarm(struct buf *parcel, const struct history_alarm *alarm)
{
    struct alarm_fields fields;

    memset(&fields, 0, sizeof fields);
    fields.step = alarm->step;
    fields.place = alarm->place;
    fields.severity = alarm->severity;
    fields.stats = alarm->stats;
    buf_char(parcel, PARCEL_ALARM);
    buf_add(parcel, &fields, sizeof fields);
    add_text(parcel, alarm->kind);
    add_text(parcel, alarm->name);
    add_text(parcel, alarm->line);
    add_text(parcel, alarm->text);
}

void parcel_flags(struct buf *parcel, uint8_t flags)
{
    buf_char(parcel, PARCEL_FLAGS);
    buf_add(parcel, &flags, sizeof flags);
}

static void take_point(struct bytes *in, struct history_writer *writer)
{
    struct history_series series = {0};
    struct history_point point = {0};
    struct parcel_fields fields;
    struct str raw = bytes_take(in, sizeof fields);

    series.name = take_text(in);
    series.path = take_text(in);
    point.histogram = take_text(in);
    if (in->bad)
        return;
    memcpy(&fields, raw.at, sizeof fields);
    series.place = fields.place;
    series.call = fields.call;
    series.kind = fields.kind;
    series.phase = fields.phase;
    in->bad = series.kind >= HISTORY_KINDS || series.phase >= HISTORY_PHASES;
    if (in->bad)
        return;
    point.series = history_writer_series(writer, &series);
    point.merged = fields.merged;
    point.units = fields.units;
    point.stats = fields.stats;
    memcpy(point.extra, fields.extra, sizeof point.extra);
    history_writer_point(writer, &point);
}

static void take_scalar(struct bytes *in, struct history_writer *writer)
{
    struct str raw = bytes_take(in, sizeof(double));
    struct str name = take_text(in);
    double value;

    if (in->bad)
        return;
    memcpy(&value, raw.at, sizeof value);
    history_writer_scalar(writer, history_writer_name(writer, name), value);
}

static void take_alarm(struct bytes *in, uint32_t rank, uint64_t number,
                       struct history_writer *writer)
{
    struct history_alarm alarm = {0};
    struct alarm_fields fields;
    struct str raw = bytes_take(in, sizeof fields);
    struct buf text = BUF_INIT;

    alarm.kind = take_text(in);
    alarm.name = take_text(in);
    alarm.line = take_text(in);
    alarm.text = take_text(in);
    if (in->bad)
        return;
    memcpy(&fields, raw.at, sizeof fields);
    alarm.place = fields.place;
    alarm.severity = fields.severity;
    alarm.stats = fields.stats;
    if (rank > 0)
        buf_printf(&text, "rank %u: ", rank);
    if (fields.step != number)
        buf_printf(&text, "step %" PRIu64 ": ", fields.step);
    buf_str(&text, alarm.text);
    if (!text.bad)
        alarm.text = buf_span(&text);
    history_writer_alarm(writer, &alarm);
    buf_release(&text);
}

int parcel_write(struct str parcel, uint32_t rank, uint64_t number,
                 struct history_writer *writer, unsigned *flags, struct err *err)
{
    struct bytes in = bytes_of(parcel.at, parcel.len);

    while (bytes_left(&in) > 0 && !in.bad) {
        uint8_t which = bytes_u8(&in);

        if (which == PARCEL_POINT)
            take_point(&in, writer);
        else if (which == PARCEL_SCALAR)
            take_scalar(&in, writer);
        else if (which == PARCEL_ALARM)
            take_alarm(&in, rank, number, writer);
        else if (which == PARCEL_FLAGS)
            *flags |= bytes_u8(&in);
        else
            in.bad = true;
    }
    if (in.bad)
        return err_set(err, ERR_FORMAT, "the step of another rank is damaged");
    return 0;
}
