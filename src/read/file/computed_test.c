#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/file_source_in.h"
#include "read/file/test_zip_in.h"

#define PLAIN 1000 /* bytes of the storage that the computed ones read */

/* Repeats each byte of the plain storage `times` times. */
struct repeated {
    struct computed computed;
    uint32_t of, times;
    atomic_int *odd; /* counts calls that do not ask for whole units */
};

static int repeat(const struct computed *computed, struct source *source, uint64_t at,
                  void *to, size_t n, struct err *err)
{
    const struct repeated *self = (const struct repeated *)computed;
    uint8_t window[64], *next = to;

    if (computed->unit && (at % computed->unit > 0 ||
                           (n % computed->unit > 0 && at + n < PLAIN * self->times)))
        atomic_fetch_add(self->odd, 1);
    for (uint64_t done = 0; done < n;) {
        uint64_t first = (at + done) / self->times;
        size_t have = PLAIN - first < sizeof window ? PLAIN - first : sizeof window;

        if (source_bytes(source, self->of, first, window, have, err) < 0)
            return -1;
        for (; done < n && (at + done) / self->times < first + have; done++)
            *next++ = window[(at + done) / self->times - first];
    }
    return 0;
}

struct computed_sample {
    struct build build;
    uint8_t content[PLAIN];
    atomic_int odd;
    uint32_t plain, any, units, twice, cut;
};

static uint32_t add(struct computed_sample *s, uint32_t of, uint32_t times,
                    uint32_t unit, uint64_t have)
{
    struct repeated *made = arena_alloc(&s->build.model->arena, sizeof *made);

    *made = (struct repeated){
        .computed = {repeat, unit}, .of = of, .times = times, .odd = &s->odd};
    return file_source_computed(&s->build, &made->computed, have,
                                &(struct storage){.bytes = PLAIN * (uint64_t)times});
}

static void open_computed(struct computed_sample *s)
{
    struct blob *blob;

    for (size_t i = 0; i < PLAIN; i++)
        s->content[i] = (uint8_t)(i * 7 + i / 256);
    blob = test_blob(&s->build, s->content, PLAIN);
    s->plain = file_source_plain(&s->build, blob, &(struct storage){.bytes = PLAIN});
    s->any = add(s, s->plain, 3, 0, UINT64_MAX);
    s->units = add(s, s->plain, 3, 7, UINT64_MAX);
    s->twice = add(s, s->units, 1, 5, UINT64_MAX);
    s->cut = add(s, s->plain, 3, 7, 100);
}

/* The bytes of `storage` are those of the plain one, each `times` times. Returns how
 * many parts were wrong. */
static int wrong_parts(struct computed_sample *s, uint32_t storage, uint32_t times,
                       uint64_t size)
{
    static const size_t sizes[] = {1, 6, 7, 8, 20, 63, 500};
    uint8_t got[500];
    int wrong = 0;

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (uint64_t at = 0; at + sizes[i] <= size; at += 13) {
            memset(got, 0xee, sizeof got);
            if (source_bytes(s->build.model->source, storage, at, got, sizes[i], NULL) <
                0) {
                wrong++;
                continue;
            }
            for (size_t k = 0; k < sizes[i]; k++)
                wrong += got[k] != s->content[(at + k) / times];
            wrong += sizes[i] < sizeof got && got[sizes[i]] != 0xee;
        }
    return wrong;
}

TEST(any_window_of_a_computed_storage_can_be_read)
{
    struct computed_sample s = {0};

    open_computed(&s);
    CHECK_INT(s.build.model->storages[s.any].flags, 0);
    CHECK_INT(wrong_parts(&s, s.any, 3, PLAIN * 3), 0);
    CHECK_INT(wrong_parts(&s, s.units, 3, PLAIN * 3), 0);
    CHECK_INT(atomic_load(&s.odd), 0);
    CHECK(source_direct(s.build.model->source, s.any) == NULL);
    build_release(&s.build);
}

TEST(a_computed_storage_may_read_a_computed_one)
{
    struct computed_sample s = {0};

    open_computed(&s);
    CHECK_INT(wrong_parts(&s, s.twice, 3, PLAIN), 0);
    CHECK_INT(atomic_load(&s.odd), 0);
    build_release(&s.build);
}

TEST(a_computed_storage_with_missing_parts_gives_the_bytes_before_them)
{
    struct computed_sample s = {0};
    const struct storage *storages;
    struct err err = {0};
    uint8_t got[8];

    open_computed(&s);
    storages = s.build.model->storages;
    CHECK_INT(storages[s.cut].flags, STORAGE_PARTLY);
    CHECK_INT(storage_have(s.build.model, &storages[s.cut]), 100);
    CHECK(source_bytes(s.build.model->source, s.cut, 93, got, 8, &err) < 0);
    CHECK(err.code == ERR_FORMAT && strstr(err.text, "bytes 93 to 101"));
    CHECK(source_bytes(s.build.model->source, s.cut, 93, got, 7, NULL) == 0);
    for (size_t i = 0; i < 7; i++)
        CHECK_INT(got[i], s.content[(93 + i) / 3]);
    s.cut = add(&s, s.plain, 3, 7, 0);
    CHECK_INT(s.build.model->storages[s.cut].flags, STORAGE_MISSING);
    CHECK(source_bytes(s.build.model->source, s.cut, 0, got, 1, NULL) < 0);
    build_release(&s.build);
}

TEST(a_computed_storage_passes_on_the_error_of_its_input)
{
    struct computed_sample s = {0};
    struct err err = {0};
    uint8_t got[30];
    uint32_t gone, of_gone;

    open_computed(&s);
    gone = file_source_missing(&s.build, &(struct storage){.bytes = PLAIN});
    of_gone = add(&s, gone, 3, 7, UINT64_MAX);
    CHECK(source_bytes(s.build.model->source, of_gone, 1, got, sizeof got, &err) < 0);
    CHECK_INT(err.code, ERR_NOT_FOUND);
    build_release(&s.build);
}

struct part_reading {
    struct computed_sample *sample;
    int wrong;
};

static void *read_parts(void *user)
{
    struct part_reading *r = user;

    r->wrong = wrong_parts(r->sample, r->sample->units, 3, PLAIN * 3) +
               wrong_parts(r->sample, r->sample->twice, 3, PLAIN);
    return NULL;
}

TEST(many_threads_may_read_a_computed_storage)
{
    struct computed_sample s = {0};
    struct part_reading readings[4];
    pthread_t threads[4];

    open_computed(&s);
    for (int i = 0; i < 4; i++) {
        readings[i] = (struct part_reading){.sample = &s};
        CHECK(pthread_create(&threads[i], NULL, read_parts, &readings[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(readings[i].wrong, 0);
    }
    build_release(&s.build);
}
