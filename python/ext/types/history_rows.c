#include "ext/types/history_rows_in.h"

#include <math.h>

#include "ext/types/answers_in.h"
#include "history/sink.h"

bool dict_real(PyObject *dict, const char *key, double value)
{
    return dict_put(dict, key, PyFloat_FromDouble(value));
}

bool dict_series(PyObject *dict, const void *row)
{
    const struct history_series *series = row;

    return dict_text(dict, "name", series->name) &&
           dict_text(dict, "path", series->path) &&
           dict_number(dict, "call", series->call) &&
           dict_text(dict, "kind", str_of(history_kind_name(series->kind))) &&
           dict_text(dict, "phase", series->phase ? STR("eval") : STR("train"));
}

bool dict_stats(PyObject *dict, const struct stats *stats)
{
    bool known = stats_measured(stats);

    return dict_number(dict, "count", stats->count) &&
           dict_number(dict, "nan", stats->nan) &&
           dict_number(dict, "pos_inf", stats->pos_inf) &&
           dict_number(dict, "neg_inf", stats->neg_inf) &&
           dict_number(dict, "zeros", stats->zeros) &&
           dict_real(dict, "min", known ? stats->min : (double)NAN) &&
           dict_real(dict, "max", known ? stats->max : (double)NAN) &&
           dict_real(dict, "mean", known ? stats->mean : (double)NAN) &&
           dict_real(dict, "std", known ? stats_std(stats) : (double)NAN) &&
           dict_real(dict, "l2", known ? stats_l2(stats) : (double)NAN) &&
           dict_put(dict, "sampled", PyBool_FromLong(stats->sampled));
}

bool dict_alarm(PyObject *dict, const void *row)
{
    static const char *const severities[] = {"note", "warning", "alarm"};
    const struct history_alarm *alarm = row;

    return dict_number(dict, "step", alarm->step) &&
           dict_number(dict, "wall_ns", alarm->wall_ns) &&
           dict_text(dict, "kind", alarm->kind) &&
           dict_text(dict, "severity", str_of(severities[alarm->severity % 3])) &&
           dict_text(dict, "name", alarm->name) &&
           dict_text(dict, "line", alarm->line) && dict_text(dict, "text", alarm->text);
}
