#include "read/foreign_in.h"

#include "base/base.h"
#include "base/bytes.h"

static const struct foreign saved_model = {
    "TensorFlow SavedModel", "convert it to ONNX with tf2onnx, or save it as .keras"};
static const struct foreign graph = {"TensorFlow graph",
                                     "convert it to ONNX with tf2onnx"};
static const struct foreign checkpoint = {
    "TensorFlow checkpoint (its index)",
    "load it with tf.train.load_checkpoint() and save the model as .keras"};
static const struct foreign core_ml = {"CoreML model",
                                       "open the model that it was converted from"};
static const struct foreign core_ml_package = {
    "CoreML package", "open the model that it was converted from"};
static const struct foreign runtime = {"model of ONNX Runtime (.ort)",
                                       "open the ONNX file that it was made from"};
static const struct foreign paddle = {"Paddle program",
                                      "convert it to ONNX with paddle2onnx"};
static const struct foreign paddle_weights = {
    "Paddle parameter file", "convert it, with its program, to ONNX with paddle2onnx"};

/* ---- protobuf ---- */

static bool take_varint(struct bytes *in, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = bytes_u8(in);

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret_value = value;
            return !in->bad;
        }
    }
    return false;
}

/* The length of the next field, which must have this key byte. */
static bool take_field(struct bytes *in, uint8_t key, uint64_t *ret_len)
{
    return bytes_u8(in) == key && take_varint(in, ret_len);
}

/* Are the next bytes text, as far as they were read? */
static bool begins_as_text(const struct bytes *in, uint64_t len)
{
    size_t n = len < bytes_left(in) ? (size_t)len : bytes_left(in);

    for (size_t i = 0; i < n; i++)
        if (in->at[i] < 32 && in->at[i] != '\n' && in->at[i] != '\t')
            return false;
    return true;
}

/* A NodeDef: a name and an operation, both text. */
static bool is_node(struct bytes *in)
{
    uint64_t len;

    if (!take_field(in, 0x0a, &len) || len == 0 || len >= bytes_left(in) ||
        !begins_as_text(in, len))
        return false;
    bytes_skip(in, len);
    return take_field(in, 0x12, &len) && len > 0 && len <= bytes_left(in) &&
           begins_as_text(in, len);
}

/* A frozen graph is a sequence of NodeDefs. */
static bool is_graph(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t len;

    return take_field(&in, 0x0a, &len) && len > 4 && len <= input->blob->size &&
           is_node(&in);
}

/* A SavedModel is a version and a MetaGraphDef. */
static bool is_saved_model(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t len;

    return bytes_u8(&in) == 8 && bytes_u8(&in) == 1 && take_field(&in, 0x12, &len) &&
           len > 1 && len <= input->blob->size && bytes_left(&in) > 2 &&
           (in.at[0] == 0x0a || in.at[0] == 0x12) && !begins_as_text(&in, len);
}

/* A version, and a description that begins with an input: its name, and after it a text
 * or its type. */
static bool is_core_ml(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t version, all, one, name;

    if (bytes_u8(&in) != 8 || !take_varint(&in, &version) || version < 1 ||
        version > 20 || !take_field(&in, 0x12, &all) || all > input->blob->size ||
        !take_field(&in, 0x0a, &one) || one >= all || !take_field(&in, 0x0a, &name) ||
        name == 0 || name >= one || name >= bytes_left(&in) ||
        !begins_as_text(&in, name))
        return false;
    bytes_skip(&in, name);
    return in.at[0] == 0x12 || in.at[0] == 0x1a;
}

/* ---- Paddle ---- */

/* A program is a list of blocks; the first is number 0, and has no parent (-1). */
static bool is_paddle(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t len, number;

    return take_field(&in, 0x0a, &len) && len <= input->blob->size &&
           take_field(&in, 0x08, &number) && number == 0 &&
           take_field(&in, 0x10, &number) && (int32_t)number == -1 &&
           bytes_u8(&in) == 0x1a;
}

/* Version, level of detail and version again, all 0; then the size of a description with
 * a dtype and dimensions. */
static bool is_paddle_weights(const struct input *input)
{
    struct bytes in = bytes_of(input->head.at, input->head.len);
    uint64_t size, dtype;

    if (bytes_u32(&in) != 0 || bytes_u64(&in) != 0 || bytes_u32(&in) != 0)
        return false;
    size = bytes_u32(&in);
    return size >= 2 && size < 256 && take_field(&in, 0x08, &dtype) && dtype < 32 &&
           (size == 2 || bytes_u8(&in) == 0x10) && !in.bad;
}

/* ---- */

/* The index of a TensorFlow checkpoint is a table of LevelDB, with a magic number at its
 * end. */
static bool is_checkpoint(const struct input *input)
{
    uint64_t size = input->blob->size;
    char last[8];

    return input->blob->ops && size >= 48 && size < 256 * MIB && input->head.len > 4 &&
           input->head.at[0] == 0 && input->head.at[1] == 0 &&
           blob_read(input->blob, size - 8, last, 8, NULL) == 0 &&
           memcmp(last, "\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8) == 0;
}

/* A flatbuffer with an identifier of its own. */
static bool is_runtime(const struct input *input)
{
    return input->head.len >= 8 && memcmp(input->head.at + 4, "ORTM", 4) == 0;
}

const struct foreign *foreign_format(const struct input *input)
{
    if (is_runtime(input))
        return &runtime;
    if (is_core_ml(input))
        return &core_ml;
    if (is_saved_model(input))
        return &saved_model;
    if (is_paddle(input))
        return &paddle;
    if (is_graph(input))
        return &graph;
    if (is_paddle_weights(input))
        return &paddle_weights;
    return is_checkpoint(input) ? &checkpoint : NULL;
}

static bool has_entry(const struct folder *folder, const char *name)
{
    for (uint32_t i = 0; folder && i < folder->n; i++)
        if (str_is(folder->entries[i].name, name))
            return true;
    return false;
}

const struct foreign *foreign_folder(const struct folder *folder)
{
    if (has_entry(folder, "saved_model.pb"))
        return &saved_model;
    if (has_entry(folder, "Manifest.json") && has_entry(folder, "Data"))
        return &core_ml_package;
    return NULL;
}
