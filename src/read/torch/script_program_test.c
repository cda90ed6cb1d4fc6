#include <string.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/test.h"
#include "read/file/test_zip_in.h"
#include "read/read.h"

/* An archive with one object of the class Net, whose attribute `size` is 7. */
struct script_scene {
    struct test_zip zip;
    const struct model *model;
    const struct program *program; /* may be NULL */
};

static void begin(struct script_scene *s, const char *code)
{
    static const char object[] = "\x80\x02"
                                 "c__torch__\nNet\n)\x81}X\x04\x00\x00\x00"
                                 "sizeK\x07sb.";

    *s = (struct script_scene){0};
    test_zip_add(&s->zip, &(struct test_member){.name = "m/data.pkl",
                                                .content = object,
                                                .content_len = sizeof object - 1});
    test_zip_add(&s->zip, &(struct test_member){.name = "m/code/__torch__.py",
                                                .content = code,
                                                .deflate = true});
    test_zip_add(&s->zip, &(struct test_member){.name = "m/constants.pkl",
                                                .content = "\x80\x02).",
                                                .content_len = 4});
    test_zip_end(&s->zip, &(struct test_end){0});
    s->model = read_model_memory(s->zip.bytes.at, s->zip.bytes.len, "m.pt", NULL, NULL);
    CHECK(s->model && s->model->n_places == 1);
    CHECK(!s->model->partial && s->model->n_findings == 0);
    s->program = s->model->program;
}

static void end(struct script_scene *s)
{
    model_free(s->model);
    test_zip_release(&s->zip);
}

/* A class whose forward has these lines, followed by `more`. */
#define NET(lines)                                                                     \
    "class Net(Module):\n"                                                             \
    "  def forward(self: __torch__.Net,\n"                                             \
    "    x: Tensor,\n"                                                                 \
    "    flag: bool=True) -> Tensor:\n" lines

static void add_name(struct buf *to, const struct script_scene *s, uint32_t op)
{
    struct str name = model_string(s->model, s->program->ops[op].name);

    buf_str(to, str_starts(name, STR("aten::")) ? str_from(name, 6) : name);
}

/* All operations with the producers of their inputs: "mul() add(mul mul)". An input of
 * the program is shown by name, an unknown producer as "?". */
static void check_flow(struct script_scene *s, const char *wanted)
{
    const struct program *program = s->program;
    struct program_walk walk;
    struct buf text = BUF_INIT;
    struct arena arena;

    arena_init(&arena, 0);
    CHECK(program && program_walk_init(&walk, program, &arena) == 0);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const struct program_op *op = &program->ops[i];

        buf_text(&text, i ? " " : "");
        add_name(&text, s, i);
        buf_char(&text, '(');
        for (uint32_t k = 0; k < op->n_in; k++) {
            uint32_t value = program->ios[op->io + k].value;
            uint32_t n = program_walk(&walk, value);

            buf_text(&text, k ? " " : "");
            for (uint32_t f = 0; f < n; f++) {
                buf_text(&text, f ? "|" : "");
                add_name(&text, s, walk.found[f]);
            }
            if (n == 0 && program->values[value].kind == PROGRAM_INPUT)
                buf_str(&text, model_string(s->model, program->values[value].name));
            else if (n == 0)
                buf_char(&text, '?');
        }
        buf_char(&text, ')');
    }
    CHECK_STR(buf_cstr(&text), wanted);
    buf_release(&text);
    arena_release(&arena);
}

TEST(operations_are_followed_through_methods_functions_and_tuples)
{
    struct script_scene s;
    const struct program_op *op;
    uint32_t value;

    begin(
        &s,
        NET("    _0 = __torch__.twice\n"
            "    a, b, = (self).both(_0(x, ), )\n"
            "    size = self.size\n"
            "    return torch.conv2d(a, b, None, [1, size], 3)\n"
            "  def both(self: __torch__.Net,\n"
            "    x: Tensor) -> Tuple[Tensor, Tensor]:\n"
            "    return (torch.relu(x), torch.neg(x))\n") "def twice(x: Tensor) -> "
                                                          "Tensor:\n"
                                                          "  return torch.mul(x, 2)\n");
    check_flow(&s, "mul(x) relu(mul) neg(mul) conv2d(relu neg)");
    CHECK_INT(s.program->n_calls, 1);
    CHECK(str_is(model_string(s.model, s.program->method), "forward"));
    op = &s.program->ops[3];
    CHECK_INT(op->line, 8);
    CHECK(str_is(model_string(s.model, op->file), "code/__torch__.py"));
    CHECK(value_get(&s.model->values, op->attributes, "stride", &value));
    CHECK_INT(value_at(&s.model->values, value)->n, 2);
    value = value_items(&s.model->values, value)[1];
    CHECK_INT(value_at(&s.model->values, value)->integer, 7);
    CHECK(value_get(&s.model->values, op->attributes, "padding", &value));
    CHECK(str_is(model_string(s.model, s.program->ios[op->io].arg), "input"));
    end(&s);
}

TEST(after_a_condition_a_value_may_come_from_either_branch)
{
    struct script_scene s;

    begin(&s, NET("    if flag:\n"
                  "      y = torch.relu(x)\n"
                  "    else:\n"
                  "      y = torch.neg(x)\n"
                  "    if torch.lt(1, 2):\n"
                  "      z = torch.exp(y)\n"
                  "    else:\n"
                  "      z = torch.log(y)\n"
                  "    return torch.add(y, z)\n"));
    check_flow(&s, "relu(x) neg(x) lt() exp(relu|neg) log(relu|neg) add(relu|neg exp)");
    CHECK_INT(s.program->n_regions, 4);
    CHECK_INT(s.program->regions[0].taken, -1);
    CHECK_INT(s.program->regions[2].taken, 1);
    CHECK_INT(program_region_flags(s.program, s.program->ops[4].region),
              PROGRAM_CONDITIONAL | PROGRAM_DEAD);
    end(&s);
}

TEST(a_loop_reads_the_values_of_its_previous_iteration)
{
    struct script_scene s;

    begin(&s, NET("    parts = annotate(List[Tensor], [])\n"
                  "    y = x\n"
                  "    for i in range(3):\n"
                  "      y0 = torch.mul(y, i)\n"
                  "      _1 = torch.append(parts, y0)\n"
                  "      y = y0\n"
                  "    return torch.cat(parts, torch.size(y))\n"));
    check_flow(&s, "mul(mul ?) append(append mul) size(mul) cat(append size)");
    CHECK_INT(s.program->regions[0].kind, PROGRAM_LOOP);
    CHECK_INT(program_region_flags(s.program, s.program->ops[0].region),
              PROGRAM_REPEATED);
    CHECK_INT(program_region_flags(s.program, s.program->ops[3].region), 0);
    end(&s);
}

TEST(a_write_in_place_is_seen_through_all_views)
{
    struct script_scene s;

    begin(&s, NET("    y = torch.exp(x)\n"
                  "    row = torch.select(y, 0, 0)\n"
                  "    _0 = torch.copy_(row, x)\n"
                  "    a, b, = torch.chunk(y, 2)\n"
                  "    _1 = torch.neg_(a)\n"
                  "    return torch.add(a, b)\n"));
    check_flow(&s, "exp(x) select(exp) copy_(select x) chunk(copy_) neg_(chunk) "
                   "add(neg_ chunk)");
    end(&s);
}

TEST(objects_and_attributes_that_the_code_sets_are_followed)
{
    struct script_scene s;

    begin(&s,
          NET("    p = __torch__.Point.__new__(__torch__.Point)\n"
              "    _0 = (p).__init__(torch.exp(x), )\n"
              "    self.size = torch.neg(x)\n"
              "    return torch.add((p).get(), self.size)\n") "class Point:\n"
                                                              "  x : Tensor\n"
                                                              "  def __init__(self: "
                                                              "__torch__.Point,\n"
                                                              "    x: Tensor) -> "
                                                              "NoneType:\n"
                                                              "    self.x = x\n"
                                                              "    return None\n"
                                                              "  def get(self: "
                                                              "__torch__.Point) -> "
                                                              "Tensor:\n"
                                                              "    x = self.x\n"
                                                              "    return x\n");
    check_flow(&s, "exp(x) neg(x) add(exp neg)");
    end(&s);
}

TEST(unsupported_code_becomes_a_region_with_its_text)
{
    struct script_scene s;
    const struct program_region *region;

    begin(&s, NET("    y = torch.exp(x)\n"
                  "    z = lambda q: q + 1\n"
                  "      more of it\n"
                  "    return torch.neg(y)\n"));
    check_flow(&s, "exp(x) neg(exp)");
    CHECK_INT(s.program->n_regions, 1);
    region = &s.program->regions[0];
    CHECK_INT(region->kind, PROGRAM_UNCLEAR);
    CHECK_INT(region->line, 6);
    CHECK(str_is(model_string(s.model, region->text), "z = lambda q: q + 1"));
    CHECK(!s.program->cut);
    end(&s);
}

/* `n` functions; each calls the one before it twice. */
TEST(an_exponential_number_of_calls_stops_at_a_limit)
{
    struct buf code = BUF_INIT;
    struct script_scene s;

    buf_text(&code, NET("    return __torch__.f40(x, )\n"));
    buf_text(&code, "def f0(x: Tensor) -> Tensor:\n  return torch.neg(x)\n");
    for (int i = 1; i <= 40; i++)
        buf_printf(&code,
                   "def f%d(x: Tensor) -> Tensor:\n"
                   "  y = __torch__.f%d(x, )\n"
                   "  return __torch__.f%d(y, )\n",
                   i, i - 1, i - 1);
    begin(&s, buf_cstr(&code));
    CHECK(s.program && s.program->cut && s.program->n_ops > 1000);
    end(&s);
    buf_release(&code);

    begin(&s, NET("    return (self).forward(torch.neg(x), flag, )\n"));
    CHECK(s.program && s.program->cut);
    end(&s);
}

/* Data that double in size with each line. */
TEST(data_that_double_and_deep_brackets_stay_small)
{
    struct buf code = BUF_INIT;
    struct script_scene s;

    buf_text(&code, NET("    y = [x, x]\n"));
    for (int i = 0; i < 200; i++)
        buf_text(&code, "    y = [y, y]\n");
    buf_text(&code, "    z = torch.cat(y)\n    w = ");
    for (int i = 0; i < 100000; i++)
        buf_char(&code, "(["[i % 2]);
    buf_text(&code, "\n    return torch.neg(z)\n");
    begin(&s, buf_cstr(&code));
    CHECK(s.program && !s.program->cut);
    CHECK_INT(s.program->n_ops, 2);
    CHECK(s.program->ops[0].n_in < 10000);
    end(&s);
    buf_release(&code);
}

TEST(blocks_that_are_too_deep_are_skipped)
{
    struct buf code = BUF_INIT;
    struct script_scene s;

    buf_text(&code, NET(""));
    for (int i = 0; i < 500; i++) {
        buf_printf(&code, "%*s", 4 + i, "");
        buf_text(&code, i % 2 ? "while flag:\n" : "if flag:\n");
    }
    buf_text(&code, "    return torch.neg(x)\n");
    begin(&s, buf_cstr(&code));
    CHECK(s.program && !s.program->cut);
    CHECK_INT(s.program->n_ops, 1);
    end(&s);
    buf_release(&code);
}

/* Code cut at any byte still gives a model. */
TEST(code_may_end_anywhere)
{
    static const char whole[] = NET("    a, b, = torch.chunk(x, 2)\n"
                                    "    d = {\"a\": [a, (b)[0:1]], \"b\": -inf}\n"
                                    "    if bool(torch.gt(a, 1e-05)):\n"
                                    "      setattr(self, \"s\", getattr(self, \"t\"))\n"
                                    "    else:\n"
                                    "      while flag:\n"
                                    "        y, z = torch.max(d[\"a\"], 1, dim=0)\n"
                                    "    return (d[\"a\"],)\n");
    char part[sizeof whole];

    for (size_t n = 0; n < sizeof whole; n++) {
        struct script_scene s;

        memcpy(part, whole, n);
        part[n] = '\0';
        begin(&s, part);
        end(&s);
    }
}
