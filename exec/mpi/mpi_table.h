#pragma once

#include <cstdint>

// What the plugin libtwinrun-mpi.so has: MPI, in words that need no header of MPI's. The program
// opens it on demand, so it starts as quickly as without, and runs where no MPI is installed.
// Functions return MPI's error code, 0 for success. One thread at a time.

extern "C" {

struct TwinrunMpiTable {
  int (*start)();
  int (*rank)();
  int (*size)();
  std::int64_t (*largest_tag)();
  // Of these ranks in this order, by all processes together; its number comes back, or -1 in those
  // that are no part of it. No ranks: all.
  int (*add_communicator)(const int* ranks, int count, int* number);
  // Elements of four bytes, or bytes. A request is taken back by test, when it is done.
  int (*send)(const void* data,
              std::int64_t count,
              int is_bytes,
              int to,
              int tag,
              int communicator,
              std::int64_t* request);
  // From -1: anybody.
  int (*receive)(void* data,
                 std::int64_t count,
                 int is_bytes,
                 int from,
                 int tag,
                 int communicator,
                 std::int64_t* request);
  int (*sum_floats)(float* in_place, std::int64_t count, int communicator, std::int64_t* request);
  // done: 0 or 1; then also who sent it, and how many bytes.
  int (*test)(std::int64_t* request, int* done, int* from, std::int64_t* bytes);
  int (*finish)();
  void (*abort)(int exit_code);
  void (*error_text)(int code, char* text, int size);
};

// Fills the table; returns the version of this header that the plugin was built with.
int twinrun_mpi_open(TwinrunMpiTable* table);
}

inline constexpr int kTwinrunMpiVersion = 1;
