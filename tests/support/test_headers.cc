// Compiles the headers of test_headers.h, for all test programs.
