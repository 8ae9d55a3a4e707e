/* Runs an artefact once and prints the first element of each output: a whole user of the C runtime,
 * in C99. cc -std=c99 run.c -ltenon_runtime -o run && ./run artefact */
#include <stdio.h>
#include <string.h>

#include "tenon/c/runtime.h"

static int fail(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tn_last_error());
  return 1;
}

static int run(tn_model* model, tn_context* context) {
  uint32_t i;
  for (i = 0; i < tn_model_inputs(model); ++i) {
    tn_tensor_info t = {sizeof t, 0, TN_F32, 0, 0, 0, 0, 0};
    void* memory = NULL;
    if (tn_model_input(model, i, &t) || tn_input_memory(context, i, &memory)) return fail("input");
    memset(memory, 0, (size_t)t.bytes); /* your data goes here: nothing is copied */
  }
  if (tn_run(context)) return fail("run");
  for (i = 0; i < tn_model_outputs(model); ++i) {
    tn_tensor_info t = {sizeof t, 0, TN_F32, 0, 0, 0, 0, 0};
    const void* memory = NULL;
    if (tn_model_output(model, i, &t) || tn_output(context, i, &memory)) return fail("output");
    printf("%s: %lu bytes", t.name, (unsigned long)t.bytes);
    if (t.dtype == TN_F32 && t.bytes > 0) printf(", first %g", (double)*(const float*)memory);
    printf("\n");
  }
  return 0;
}

int main(int argc, char** argv) {
  tn_model* model = NULL;
  tn_context* context = NULL;
  int code;
  if (argc != 2) {
    fprintf(stderr, "usage: run ARTEFACT\n");
    return 2;
  }
  if (tn_model_load(argv[1], &model)) return fail("load");
  code = tn_context_create(model, NULL, &context) ? fail("context") : run(model, context);
  tn_context_free(context);
  tn_model_free(model);
  return code;
}
