#include "cli/model.h"

#include <array>

#include <CLI/App.hpp>

#include "cli/verb.h"

namespace twinrun::cli {
namespace {

constexpr std::array kModelVerbs = {
    Verb{"list", "the models of the catalogue",
         "twinrun model list\ntwinrun model list --format csv", add_model_list},
    Verb{"show", "parameters, FLOPs and activations of every layer, for any batch",
         "twinrun model show resnet50 --batch 64\n"
         "twinrun model show gpt3-175b --seq 1024\n"
         "twinrun model show my-model.json --format json",
         add_model_show},
    Verb{"import", "read a model of another format",
         "twinrun model import --from hf config.json -o model.json", add_model_import},
};

}  // namespace

Run add_model(CLI::App& app) { return add_verbs(app, kModelVerbs); }

}  // namespace twinrun::cli
