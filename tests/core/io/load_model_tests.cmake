# Models of users, and configurations of Hugging Face.
twinrun_test(core_io_model
  FILES core/io/huggingface_test.cc core/io/load_model_test.cc core/io/model_schema_test.cc
  DEPS twinrun::io ValiJSON::valijson)
