#include <array>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include <mpi.h>

#include "exec/mpi/mpi_table.h"

// The only file that knows MPI. It is called through C function pointers with one thread at a time,
// so that it needs no state but the communicators.

namespace {

static_assert(sizeof(MPI_Request) <= sizeof(std::int64_t));

std::vector<MPI_Comm>& communicators() {
  static std::vector<MPI_Comm> all;
  return all;
}

MPI_Comm communicator_at(int number) { return communicators()[static_cast<std::size_t>(number)]; }

void keep(MPI_Request request, std::int64_t* out) {
  *out = 0;
  std::memcpy(out, &request, sizeof(MPI_Request));  // NOLINT(bugprone-sizeof-expression): a handle
}

bool fits(std::int64_t count) { return count <= std::numeric_limits<int>::max(); }

MPI_Datatype type_of(int is_bytes) { return is_bytes != 0 ? MPI_BYTE : MPI_FLOAT; }

int start() {
  int provided = 0;
  const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  if (code == MPI_SUCCESS) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  return code == MPI_SUCCESS && provided < MPI_THREAD_SERIALIZED ? MPI_ERR_UNSUPPORTED_OPERATION
                                                                 : code;
}

int rank() {
  int out = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &out);
  return out;
}

int size() {
  int out = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &out);
  return out;
}

std::int64_t largest_tag() {
  void* value = nullptr;
  int is_there = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &is_there);
  constexpr std::int64_t kLeastOfAnyMpi = 32767;
  return is_there != 0 ? *static_cast<int*>(value) : kLeastOfAnyMpi;
}

int add_communicator(const int* ranks, int count, int* number) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_SUCCESS;
  if (count == 0) {
    code = MPI_Comm_dup(MPI_COMM_WORLD, &made);
  } else {
    int color = MPI_UNDEFINED;
    int key = 0;
    for (int i = 0; i < count; ++i) {
      if (ranks[i] == rank()) {
        color = 0;
        key = i;
      }
    }
    code = MPI_Comm_split(MPI_COMM_WORLD, color, key, &made);
  }
  *number = -1;
  if (code == MPI_SUCCESS && made != MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    *number = static_cast<int>(communicators().size());
    communicators().push_back(made);
  }
  return code;
}

// NOLINTNEXTLINE(readability-function-size): a row of a C table
int send(const void* data,
         std::int64_t count,
         int is_bytes,
         int to,
         int tag,
         int communicator,
         std::int64_t* request) {
  if (!fits(count)) {
    return MPI_ERR_COUNT;
  }
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, static_cast<int>(count), type_of(is_bytes), to, tag,
                             communicator_at(communicator), &made);
  keep(made, request);
  return code;
}

// NOLINTNEXTLINE(readability-function-size): …
int receive(void* data,
            std::int64_t count,
            int is_bytes,
            int from,
            int tag,
            int communicator,
            std::int64_t* request) {
  if (!fits(count)) {
    return MPI_ERR_COUNT;
  }
  MPI_Request made = MPI_REQUEST_NULL;
  const int code =
      MPI_Irecv(data, static_cast<int>(count), type_of(is_bytes), from < 0 ? MPI_ANY_SOURCE : from,
                tag, communicator_at(communicator), &made);
  keep(made, request);
  return code;
}

int sum_floats(float* in_place, std::int64_t count, int communicator, std::int64_t* request) {
  if (!fits(count)) {
    return MPI_ERR_COUNT;
  }
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Iallreduce(MPI_IN_PLACE, in_place, static_cast<int>(count), MPI_FLOAT,
                                  MPI_SUM, communicator_at(communicator), &made);
  keep(made, request);
  return code;
}

int test(std::int64_t* request, int* done, int* from, std::int64_t* bytes) {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::memcpy(&handle, request, sizeof(MPI_Request));  // NOLINT(bugprone-sizeof-expression)
  MPI_Status status;
  const int code = MPI_Test(&handle, done, &status);
  if (*done != 0) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    *bytes = count;
  }
  keep(handle, request);
  return code;
}

int finish() { return MPI_Finalize(); }

void abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }

void error_text(int code, char* text, int size) {
  std::array<char, MPI_MAX_ERROR_STRING> whole{};
  int length = 0;
  MPI_Error_string(code, whole.data(), &length);
  std::snprintf(text, static_cast<std::size_t>(size), "%s", whole.data());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int twinrun_mpi_open(TwinrunMpiTable* table) {
  *table = {start,      rank, size,   largest_tag, add_communicator, send, receive,
            sum_floats, test, finish, abort,       error_text};
  return kTwinrunMpiVersion;
}
