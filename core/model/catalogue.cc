#include "core/model/catalogue.h"

#include <array>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/model/detail/families.h"

namespace twinrun {
namespace {

constexpr std::array kFamilies = {
    &kAlexNetFamily, &kVggFamily, &kResNetFamily, &kInceptionFamily, &kAmoebaNetFamily,
    &kBertFamily,    &kGptFamily, &kLlamaFamily,  &kMlpFamily,
};

}  // namespace

std::vector<CatalogueModel> catalogue_models() {
  std::vector<CatalogueModel> all;
  for (const ModelFamily* family : kFamilies) {
    std::vector<CatalogueModel> some = family->list();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

std::optional<Model> catalogue_model(std::string_view name, std::int64_t sequence) {
  for (const ModelFamily* family : kFamilies) {
    if (std::optional<Model> found = family->build(name, sequence)) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> dashed_numbers(std::string_view text) {
  constexpr std::int64_t kLargest = 1'000'000;
  constexpr std::size_t kMostNumbers = 1'000;
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc() || number < 1 || number > kLargest || numbers.size() == kMostNumbers) {
      return std::nullopt;
    }
    numbers.push_back(number);
    if (stop == end) {
      return numbers;
    }
    if (*stop != '-') {
      return std::nullopt;
    }
    at = stop + 1;
  }
}

}  // namespace twinrun
