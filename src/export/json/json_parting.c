/* Where two training runs part: "training" of the document `diff`. */
#include "export/export_in.h"

#include <math.h>

#include "study/diverge/parting.h"

static const char *phase_name(uint8_t phase)
{
    return phase == HISTORY_EVAL ? "eval" : "train";
}

static void write_tensor(struct json *json, const struct parting *parting)
{
    const struct history_series *tensor = &parting->tensor;
    static const char *const sides[] = {"left", "right"};

    if (!parting->tensor_differs) {
        json_null(json, "first");
        return;
    }
    json_object(json, "first");
    json_u64(json, "step", parting->tensor_step);
    json_str(json, "name", tensor->name);
    json_text(json, "kind", history_kind_name(tensor->kind));
    json_u64(json, "call", tensor->call);
    json_str(json, "path", tensor->path);
    json_text(json, "phase", phase_name(tensor->phase));
    if (isnan(parting->distance))
        json_null(json, "distance");
    else
        json_real(json, "distance", parting->distance);
    json_u64(json, "together", parting->together);
    for (int side = 0; side < 2; side++) {
        json_object(json, sides[side]);
        export_stats_members(json, &parting->stats[side], DTYPE_FLOAT64, NULL, 0);
        json_object_end(json);
    }
    json_object_end(json);
}

static void write_scalar(struct json *json, const struct parting *parting)
{
    if (!parting->scalar_differs) {
        json_null(json, "scalar");
        return;
    }
    json_object(json, "scalar");
    json_u64(json, "step", parting->scalar_step);
    json_str(json, "name", parting->scalar);
    json_text(json, "phase", phase_name(parting->scalar_phase));
    json_real(json, "left", parting->values[0]);
    json_real(json, "right", parting->values[1]);
    json_object_end(json);
}

static void write_two(struct json *json, const char *key, uint64_t left, uint64_t right)
{
    json_object(json, key);
    json_u64(json, "left", left);
    json_u64(json, "right", right);
    json_object_end(json);
}

void export_parting(struct json *json, const struct parting *parting)
{
    json_object(json, "training");
    json_bool(json, "agree", parting_agrees(parting));
    json_real(json, "tolerance", parting->tolerance);
    json_u64(json, "common_steps", parting->common);
    if (parting->common > 0) {
        json_u64(json, "first_step", parting->first);
        json_u64(json, "last_step", parting->last);
    }
    json_u64(json, "tensor_steps", parting->with_tensors);
    write_two(json, "steps", parting->steps[0], parting->steps[1]);
    write_two(json, "merged_steps", parting->merged[0], parting->merged[1]);
    json_u64(json, "series", parting->series);
    write_two(json, "only_series", parting->only_series[0], parting->only_series[1]);
    json_u64(json, "scalars", parting->scalars);
    write_two(json, "only_scalars", parting->only_scalars[0], parting->only_scalars[1]);
    write_tensor(json, parting);
    write_scalar(json, parting);
    json_object_end(json);
}
