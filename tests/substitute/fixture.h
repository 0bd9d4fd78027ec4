#pragma once

#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/substitute/sample_bodies.h"
#include "tests/substitute/substitute.h"

// A new machine for every test, and short ways to what most of them need.
class SubstituteTest : public testing::Test {
 protected:
  void SetUp() override {
    substitute::reset();
    add_sample_bodies();
  }
  void TearDown() override { substitute::reset(); }

  static void use(int device) { ASSERT_EQ(cudaSetDevice(device), cudaSuccess); }

  static cudaStream_t new_stream(int device = 0) {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    return stream;
  }

  static cudaEvent_t new_event(int device = 0, unsigned flags = cudaEventDefault) {
    cudaEvent_t event = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaEventCreateWithFlags(&event, flags), cudaSuccess);
    return event;
  }

  template <class T>
  static T* new_array(int device, std::size_t count) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&pointer, count * sizeof(T)), cudaSuccess);
    return static_cast<T*>(pointer);
  }

  template <class T>
  static T* new_array(int device, const std::vector<T>& values) {
    T* const array = new_array<T>(device, values.size());
    EXPECT_EQ(cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
    return array;
  }

  template <class T>
  static T* new_pinned(std::size_t count) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocHost(&pointer, count * sizeof(T)), cudaSuccess);
    return static_cast<T*>(pointer);
  }

  // After everything on the stream.
  template <class T>
  static std::vector<T> values_of(const T* array, std::size_t count, cudaStream_t stream) {
    std::vector<T> values(count);
    EXPECT_EQ(
        cudaMemcpyAsync(values.data(), array, count * sizeof(T), cudaMemcpyDeviceToHost, stream),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return values;
  }
};

// For tests that abort: other threads are running, so the test program is started anew for them.
class SubstituteDeathTest : public SubstituteTest {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    SubstituteTest::SetUp();
  }
};
