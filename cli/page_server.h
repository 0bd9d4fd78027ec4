#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace twinrun::cli {

struct HttpRequest {
  std::string path;                           // "/simulate"
  std::map<std::string, std::string> values;  // of the query, decoded
};

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
};

// Answers a request. Called on threads of its own, several at a time. `is_wanted` says whether
// whoever asked still waits.
using HttpHandler =
    std::function<HttpAnswer(const HttpRequest& request, const std::function<bool()>& is_wanted)>;

// What follows the path of an address: "batch=64&strategy=ddp".
std::map<std::string, std::string> parse_query(std::string_view query);

// HTTP on this machine's loopback addresses alone. GET and HEAD; requests that name another host
// (a page elsewhere whose name was made to point here), come from another site, are too large or
// too slow are refused.
class PageServer {
 public:
  // Listens; port 0 takes a free one. UsageError when the port is taken.
  explicit PageServer(std::uint16_t port);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();

  [[nodiscard]] std::uint16_t port() const;
  // Serves until the process is asked to end (Ctrl-C, SIGTERM), then returns which signal it was.
  int run(const HttpHandler& handler);

 private:
  class Listening;
  std::unique_ptr<Listening> listening_;
};

}  // namespace twinrun::cli
