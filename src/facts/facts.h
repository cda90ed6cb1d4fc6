/* facts.h - facts about a file or a recording. `info` prints them and the Details panel
 * of the root shows them, so the two cannot disagree.
 *
 *     format    torch zip (326 entries, data.pkl protocol 2), little-endian, 97.8MB
 *     holds     a state_dict: 320 tensors, float32 and int64, 151 modules, from cpu
 *     safety    ✓ SAFE: 4 globals, all on the allow-list; they build tensors, dicts */
/* The tour of the room. One producer per subject appends facts; views render them:
 *   fact.h        a fact: id, label, typed values, role, target; facts as lines
 *   facts.h       a file or a recording            summary.h     verdict, counts
 *   details.h     one place                        calls_text.h  the calls of a module
 *   notes.h       findings, alarms and gaps        check_text.h  results of a check
 *   run_text.h    passes and cost of a run         performance.h where its time went
 *   memory_text.h where its memory went            op_words.h    one operation
 *   ops_text.h    sums of its operations
 *   statistics.h  statistics of one tensor         stats_table.h the same of many
 *   flow.h        how values flow between calls    printed.h     a whole tree as text
 *   histogram_lines.h, objects/value_grid.h, heatmap.h, sheet.h   values in pictures
 *   objects/code.h  source with shapes beside its lines; objects/attribute_tree.h  the
 *   attributes of an object; objects/kept_text.h  a kept result
 *   training.h    the verdict on a training run
 *   totals.h      the closing lines of a tree      ops_table.h   operations used */
#ifndef FACTS_FACTS_H
#define FACTS_FACTS_H

#include "base/err.h"
#include "facts/fact.h"
#include "rows/show.h"

struct file_facts {
    const struct show *show;
    struct facts *to;
    const char *all; /* option that shows the rest of a long list: "--json" */
    bool brief;      /* for a panel: omit minor facts */
    unsigned cells;  /* width of a line after its label; 0: no limit */
};

/* The first facts of `info`: format, contents, counts, the run, the verdict. */
int facts_file(struct file_facts *facts, struct err *err);

/* Each appends the facts of one kind; nothing if unknown. */
void facts_format(struct file_facts *facts);
void facts_holds(struct file_facts *facts);
void facts_gguf(struct file_facts *facts);   /* architecture, quantisation, tokenizer */
void facts_beside(struct file_facts *facts); /* the same for files beside the model */
/* Inputs and outputs declared by the file, and other sentences about it. */
void facts_ends(struct file_facts *facts);
void facts_params(struct file_facts *facts);
void facts_memory(struct file_facts *facts);
void facts_trained(struct file_facts *facts);
void facts_buffers(struct file_facts *facts);
void facts_safety(struct file_facts *facts);
void facts_meaning(struct file_facts *facts); /* appends the reason for the verdict */
void facts_verdict(struct file_facts *facts); /* the verdict and its reason as a
                                                 heading */
void facts_calls(struct file_facts *facts);   /* calls that a load would run, and
                                                 where */
void facts_globals(struct file_facts *facts); /* every global with its uses */
void facts_metadata(struct file_facts *facts);
/* When and by which software a recording was made, how long it took, where its time
 * went. */
int facts_run(struct file_facts *facts, struct err *err);
/* The history of a training run: steps, newest loss, alarms, missing parts. Nothing if
 * the file has none. */
void facts_history(struct file_facts *facts);

#endif
