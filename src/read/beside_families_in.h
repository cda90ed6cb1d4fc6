/* beside_families_in.h - THE TABLE of transformers' classes (beside_families.c): which
 * class each module of a family has. A family has at most 64 rules. */
#ifndef READ_BESIDE_FAMILIES_IN_H
#define READ_BESIDE_FAMILIES_IN_H

#include "read/beside_in.h"

#define FAMILY_RULES_LIMIT 64

enum class_rule_kind {
    RULE_CLASS, /* `word` is the class, without the prefix of the family's classes */
    RULE_PLAIN, /* `word` is the class */
    RULE_NORM,  /* the class is `norm` of the family */
    RULE_ABOVE, /* `word` is the class of the parent, without the prefix */
    RULE_MOE,   /* the class of the parent is `moe` of the family */
    RULE_BLOCK, /* one of `size` blocks */
    RULE_SIZE,  /* a tensor: dimension `dim` has `size` elements */
};

/* A path below the base model. "*" is any number; "a|b" is one of two names. The last
 * matching rule for a class applies. */
struct class_rule {
    const char *path;
    enum class_rule_kind kind;
    const char *word;
    const char *when; /* a boolean of config.json that has to be true, or NULL */
    int dim;
    enum beside_size size;
    enum beside_section section;
};

struct class_family {
    const char *prefix; /* "Llama" of LlamaForCausalLM */
    const char *base;   /* the attribute that holds the base model; NULL: none */
    const struct class_rule *rules;
    size_t n;
    const char *norm;    /* without the prefix; NULL: a LayerNorm of PyTorch */
    const char *moe;     /* the same, of a feed-forward layer with experts */
    const char *classes; /* prefix of the classes; NULL: `prefix` */
    const char *model;   /* the base model's class, without the prefix; NULL: "Model";
                            "": not known, and a file without the attribute `base` has
                            the class in config.json */
    const char *within;  /* the base model is this child in the rules, and its sizes are
                            in config.json itself instead of a section; or NULL */
};

extern const struct class_family class_families[];
extern const size_t n_class_families;

#endif
