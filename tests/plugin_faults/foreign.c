/* A shared object of somebody else. */
__attribute__((visibility("default"))) int answer(void) { return 42; }
