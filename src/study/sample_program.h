/* sample_program.h - for tests: builds programs of a model, one operation at a time. */
#ifndef STUDY_SAMPLE_PROGRAM_H
#define STUDY_SAMPLE_PROGRAM_H

#include "model/build.h"

struct sample_program {
    struct build build;
    uint32_t call, region; /* where operations are added */
};

/* Begins: the root is in call 0. */
void sample_program_begin(struct sample_program *s);
/* A module below the root; before the first value. */
uint32_t sample_program_module(struct sample_program *s, const char *name,
                               const char *class_name);
/* Ends the tree and begins the program. */
void sample_program_code(struct sample_program *s);
/* An argument of the program. */
uint32_t sample_program_input(struct sample_program *s, const char *name, bool number);
uint32_t sample_program_merge(struct sample_program *s, bool loop);
/* An operation that reads one or two values (PROGRAM_NONE: none); its result. */
uint32_t sample_program_op(struct sample_program *s, const char *name, uint32_t a,
                           uint32_t b);
/* The first items of the list that an operation returned. */
uint32_t sample_program_item(struct sample_program *s, uint32_t list, uint16_t item);
/* Enters and leaves a call of a module; one input, one result. */
uint32_t sample_program_enter(struct sample_program *s, uint32_t module, uint32_t in);
void sample_program_leave(struct sample_program *s, uint32_t out);
uint32_t sample_program_region(struct sample_program *s, enum program_region_kind kind,
                               int taken, uint32_t condition);
void sample_program_region_end(struct sample_program *s);
/* Ends it: the inputs and the result of the program. */
const struct model *sample_program_end(struct sample_program *s, uint32_t in,
                                       uint32_t out);

#endif
