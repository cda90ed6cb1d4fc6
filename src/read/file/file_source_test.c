#include "read/file/file_source_in.h"

#include <pthread.h>
#include <string.h>

#include "base/base.h"
#include "base/test.h"
#include "read/file/inflate_in.h"
#include "read/file/test_zip_in.h"

/* A storage with a stored and a deflated member, text in memory and nothing. */
struct sample {
    struct test_zip made;
    struct build build;
    struct source *source;
    char content[100000];
    uint32_t stored, deflated, memory, missing;
};

static void open_sample(struct sample *s)
{
    struct zip *zip;
    struct blob *blob;
    uint32_t seed = 1;

    for (size_t i = 0; i < sizeof s->content; i++) {
        seed = seed * 1664525 + 1013904223;
        s->content[i] = (char)(seed >> 28);
    }
    test_zip_add(&s->made, &(struct test_member){.name = "m/0",
                                                 .content = s->content,
                                                 .content_len = sizeof s->content,
                                                 .descriptor = true,
                                                 .pad = true});
    test_zip_add(&s->made, &(struct test_member){.name = "m/1",
                                                 .content = s->content,
                                                 .content_len = sizeof s->content,
                                                 .deflate = true});
    test_zip_end(&s->made, &(struct test_end){0});
    blob = test_blob(&s->build, s->made.bytes.at, s->made.bytes.len);
    zip = zip_open(blob, &s->build, NULL);
    CHECK(zip != NULL);
    s->stored = file_source_member(&s->build, zip, 0,
                                   &(struct storage){.bytes = sizeof s->content});
    s->deflated = file_source_member(&s->build, zip, 1,
                                     &(struct storage){.bytes = sizeof s->content + 5});
    s->memory =
        file_source_bytes(&s->build, STR("abcdef"), &(struct storage){.bytes = 6});
    s->missing = file_source_missing(&s->build, &(struct storage){.bytes = 6});
    s->source = s->build.model->source;
}

static void drop_sample(struct sample *s)
{
    build_release(&s->build);
    test_zip_release(&s->made);
}

TEST(members_are_read_anywhere_forwards_and_backwards)
{
    static const uint32_t places[] = {0, 5000, 99000, 40000, 41000, 0};
    struct sample s = {0};
    char got[1000];

    open_sample(&s);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        CHECK(source_bytes(s.source, s.stored, places[i], got, sizeof got, NULL) == 0);
        CHECK_MEM(got, s.content + places[i], sizeof got);
        CHECK(source_bytes(s.source, s.deflated, places[i], got, sizeof got, NULL) ==
              0);
        CHECK_MEM(got, s.content + places[i], sizeof got);
    }
    drop_sample(&s);
}

TEST(a_member_shorter_than_declared_is_partly_readable)
{
    struct sample s = {0};
    const struct storage *storages;
    char got[6];

    open_sample(&s);
    storages = s.build.model->storages;
    CHECK(storages[s.stored].flags == 0 &&
          storage_have(s.build.model, &storages[s.stored]) == 100000);
    CHECK(storages[s.deflated].flags == STORAGE_PARTLY);
    CHECK(storage_have(s.build.model, &storages[s.deflated]) == 100000);
    CHECK(storages[s.missing].flags == STORAGE_MISSING);
    CHECK(source_bytes(s.source, s.deflated, 100000, got, 1, NULL) < 0);
    CHECK(source_bytes(s.source, s.missing, 0, got, 1, NULL) < 0);
    CHECK(source_bytes(s.source, s.memory, 0, got, 6, NULL) == 0);
    CHECK_MEM(got, "abcdef", 6);
    CHECK_MEM(source_direct(s.source, s.memory), "abcdef", 6);
    CHECK(source_direct(s.source, s.stored) == NULL);
    CHECK(!source_changed(s.source));
    drop_sample(&s);
}

TEST(a_plain_storage_beyond_the_end_of_its_file_is_missing_or_cut)
{
    struct build build;
    struct blob *blob = test_blob(&build, "0123456789", 10);
    struct storage whole = {.at = 2, .bytes = 7}, part = {.at = 8, .bytes = 4},
                   gone = {.at = 10, .bytes = 1}, far = {.at = UINT64_MAX, .bytes = 1},
                   empty = {.at = 10, .bytes = 0};
    char got[8];

    CHECK(file_source_plain(&build, blob, &whole) == 0 && whole.flags == 0);
    CHECK(file_source_plain(&build, blob, &part) == 1);
    CHECK(part.flags == STORAGE_PARTLY &&
          storage_have(build.model, &build.model->storages[1]) == 2);
    CHECK(file_source_plain(&build, blob, &gone) == 2 && gone.flags == STORAGE_MISSING);
    CHECK(file_source_plain(&build, blob, &far) == 3 && far.flags == STORAGE_MISSING);
    CHECK(file_source_plain(&build, blob, &empty) == 4 && empty.flags == 0);
    CHECK(source_bytes(build.model->source, 0, 0, got, 7, NULL) == 0);
    CHECK_MEM(got, "2345678", 7);
    CHECK(source_bytes(build.model->source, 0, 0, got, 8, NULL) < 0);
    CHECK(source_bytes(build.model->source, 1, 1, got, 2, NULL) < 0);
    build_release(&build);
}

/* The work of one thread: read both members in pieces and count wrong bytes. */
struct reading {
    struct sample *sample;
    int wrong;
};

static void *read_all(void *user)
{
    struct reading *r = user;
    char got[777];

    for (uint64_t at = 0; at + sizeof got < sizeof r->sample->content; at += 7777)
        for (uint32_t storage = 0; storage < 2; storage++)
            if (source_bytes(r->sample->source, storage, at, got, sizeof got, NULL) <
                    0 ||
                memcmp(got, r->sample->content + at, sizeof got) != 0)
                r->wrong++;
    return NULL;
}

TEST(many_threads_may_read_at_once)
{
    struct sample s = {0};
    struct reading readings[4];
    pthread_t threads[4];

    open_sample(&s);
    for (int i = 0; i < 4; i++) {
        readings[i] = (struct reading){.sample = &s};
        CHECK(pthread_create(&threads[i], NULL, read_all, &readings[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK_INT(readings[i].wrong, 0);
    }
    drop_sample(&s);
}

TEST(a_truncated_stream_gives_the_bytes_before_the_cut)
{
    struct build build;
    /* A stored block of five bytes that is the last, of which two are missing. */
    struct blob *blob = test_blob(&build, "\x01\x05\x00\xfa\xffhel", 8);
    struct inflate *stream = inflate_open(blob, 0, 8, 5, NULL);
    struct err err = {0};
    char got[5] = {0};

    CHECK(stream && inflate_read(stream, got, 5, &err) < 0 && err.code == ERR_FORMAT);
    CHECK_INT(inflate_done(stream), 3);
    CHECK_MEM(got, "hel", 3);
    inflate_close(stream);
    build_release(&build);
}
