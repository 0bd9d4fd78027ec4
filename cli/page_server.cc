#include "cli/page_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using asio::use_awaitable;
using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr std::uint32_t kMostHeaderBytes = 16 * 1024;
constexpr int kMostConnections = 64;
constexpr std::size_t kHandlers = 2;
constexpr std::chrono::milliseconds kLongestNap{16};
constexpr std::chrono::seconds kReadTime{15};
constexpr std::chrono::seconds kWriteTime{30};
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kMostDroppedBytes = 1 << 20;

std::string decoded(std::string_view text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

// "localhost:8080", "127.0.0.1:8080" and "[::1]:8080"; a browser leaves out port 80.
bool is_this_machine(std::string_view host, std::uint16_t port) {
  for (const char* const name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (host == fmt::format("{}:{}", name, port) || (port == 80 && host == name)) {
      return true;
    }
  }
  return false;
}

// Why a request is refused; nothing when it is not.
std::optional<HttpAnswer> refusal(const Request& request, std::uint16_t port) {
  if (request.method() != http::verb::get && request.method() != http::verb::head) {
    return HttpAnswer{405, kPlain, "only GET and HEAD\n"};
  }
  if (request.has_content_length() || request.chunked()) {
    return HttpAnswer{413, kPlain, "a request has no body here\n"};
  }
  if (!is_this_machine(view(request[http::field::host]), port)) {
    return HttpAnswer{421, kPlain, "this server answers for localhost only\n"};
  }
  const std::string_view target = view(request.target());
  const std::string_view site = view(request["Sec-Fetch-Site"]);
  if (!site.empty() && site != "same-origin" && site != "none" && target != "/") {
    return HttpAnswer{403, kPlain, "asked for by another site\n"};
  }
  if (target.empty() || target.front() != '/') {
    return HttpAnswer{400, kPlain, "not a path\n"};
  }
  return std::nullopt;
}

HttpRequest parsed(const Request& request) {
  const std::string_view target = view(request.target());
  const std::size_t mark = target.find('?');
  return {decoded(target.substr(0, mark)), mark == std::string_view::npos
                                               ? std::map<std::string, std::string>()
                                               : parse_query(target.substr(mark + 1))};
}

Response response_of(const Request& request, HttpAnswer answer) {
  Response response{static_cast<http::status>(answer.status), request.version()};
  response.set(http::field::content_type, answer.type);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Referrer-Policy", "no-referrer");
  if (answer.status == 405) {
    response.set(http::field::allow, "GET, HEAD");
  }
  response.content_length(answer.body.size());
  if (request.method() != http::verb::head) {
    response.body() = std::move(answer.body);
  }
  return response;
}

}  // namespace

std::map<std::string, std::string> parse_query(std::string_view query) {
  std::map<std::string, std::string> values;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (!pair.empty()) {
      values[decoded(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : decoded(pair.substr(equals + 1));
    }
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
  }
  return values;
}

class PageServer::Listening {
 public:
  explicit Listening(std::uint16_t port) {
    listen({asio::ip::address_v4::loopback(), port}, acceptor4_);
    beast::error_code ignored;  // a machine without IPv6 is fine
    try {
      listen({asio::ip::address_v6::loopback(), this->port()}, acceptor6_);
    } catch (const UsageError&) {
      acceptor6_.close(ignored);
    }
  }

  [[nodiscard]] std::uint16_t port() const { return acceptor4_.local_endpoint().port(); }

  void run(const HttpHandler& handler, const std::function<void()>& on_ready) {
    asio::signal_set signals(io_, SIGINT, SIGTERM);
    signals.async_wait([&](beast::error_code error, int /*signal*/) {
      if (!error) {
        is_ending_ = true;
        io_.stop();
      }
    });
    asio::co_spawn(io_, accept(acceptor4_, handler), asio::detached);
    if (acceptor6_.is_open()) {
      asio::co_spawn(io_, accept(acceptor6_, handler), asio::detached);
    }
    on_ready();
    io_.run();
    pool_.join();
  }

 private:
  void listen(const tcp::endpoint& where, tcp::acceptor& acceptor) {
    beast::error_code error;
    acceptor.open(where.protocol(), error);
    if (!error) {
      acceptor.set_option(tcp::acceptor::reuse_address(true), error);
      acceptor.bind(where, error);
    }
    if (!error) {
      acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
      throw UsageError(fmt::format("cannot listen on port {} of this machine: {}", where.port(),
                                   error.message()),
                       "take another with --port, or leave it out for a free one");
    }
  }

  asio::awaitable<void> accept(tcp::acceptor& acceptor, const HttpHandler& handler) {
    asio::steady_timer pause(io_);
    for (;;) {
      beast::error_code error;
      tcp::socket socket =
          co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
      if (error) {  // such as too many open files: it passes
        pause.expires_after(std::chrono::milliseconds(100));
        co_await pause.async_wait(asio::redirect_error(use_awaitable, error));
      } else if (connections_ < kMostConnections) {
        asio::co_spawn(io_, talk(beast::tcp_stream(std::move(socket)), handler), asio::detached);
      }
    }
  }

  struct Counted {
    explicit Counted(int& count) : count_(count) { ++count_; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --count_; }
    int& count_;
  };

  // One connection, request after request. Whatever goes wrong on the wire ends it.
  asio::awaitable<void> talk(beast::tcp_stream stream, const HttpHandler& handler) {
    const Counted counted(connections_);
    beast::flat_buffer buffer(std::size_t{2} * kMostHeaderBytes);
    beast::error_code error;
    for (bool goes_on = true; goes_on && !error;) {
      http::request_parser<http::empty_body> parser;
      parser.header_limit(kMostHeaderBytes);
      stream.expires_after(kReadTime);
      co_await http::async_read_header(stream, buffer, parser,
                                       asio::redirect_error(use_awaitable, error));
      const std::optional<HttpAnswer> complaint = complaint_about(error);
      if (error && !complaint) {
        break;  // closed, or too slow: nobody to tell
      }
      const Request& request = parser.get();
      HttpAnswer answer;
      if (complaint) {
        answer = *complaint;
      } else {  // no co_await inside ?: — GCC 12 destroys its temporaries twice
        answer = co_await answered(stream.socket(), request, handler);
      }
      Response response = response_of(request, std::move(answer));
      goes_on = !complaint && response.result_int() < 400 && request.keep_alive();
      response.keep_alive(goes_on);
      stream.expires_after(kWriteTime);
      co_await http::async_write(stream, response, asio::redirect_error(use_awaitable, error));
    }
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
    co_await read_to_end(stream);
  }

  // Closing a socket with something unread takes the answer away from who is still sending.
  static asio::awaitable<void> read_to_end(beast::tcp_stream& stream) {
    std::array<char, 4096> dropped{};
    beast::error_code error;
    std::size_t left = kMostDroppedBytes;
    stream.expires_after(kLingerTime);
    while (!error && left > 0) {
      const std::size_t count = co_await stream.async_read_some(
          asio::buffer(dropped), asio::redirect_error(use_awaitable, error));
      left -= std::min(left, count);
    }
  }

  // What to say to one who does not speak HTTP, or too much of it.
  static std::optional<HttpAnswer> complaint_about(beast::error_code error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return HttpAnswer{431, kPlain, "the request is too large\n"};
    }
    const bool is_http =
        error.category() == http::make_error_code(http::error::bad_method).category();
    if (error && is_http && error != http::error::end_of_stream &&
        error != http::error::partial_message) {
      return HttpAnswer{400, kPlain, "not an HTTP request\n"};
    }
    return std::nullopt;
  }

  // The handler works on a thread of its own; meanwhile the connection is watched, so that work for
  // somebody who has gone can stop.
  asio::awaitable<HttpAnswer> answered(tcp::socket& socket,
                                       const Request& request,
                                       const HttpHandler& handler) {
    if (std::optional<HttpAnswer> refused = refusal(request, port())) {
      co_return *std::move(refused);
    }
    struct Work {
      std::atomic<bool> is_gone = false;
      std::optional<HttpAnswer> answer;  // touched by this thread alone
    };
    const auto work = std::make_shared<Work>();
    asio::post(pool_, [this, &handler, work, asked = parsed(request)] {
      HttpAnswer made;
      try {
        made = handler(asked, [&] { return !work->is_gone && !is_ending_; });
      } catch (const std::exception& error) {
        made = {500, kPlain, fmt::format("{}\n", error.what())};
      }
      asio::post(io_, [work, made = std::move(made)]() mutable { work->answer = std::move(made); });
    });
    asio::steady_timer timer(io_);
    for (std::chrono::milliseconds nap{1}; !work->answer; nap = std::min(2 * nap, kLongestNap)) {
      timer.expires_after(nap);
      co_await timer.async_wait(use_awaitable);
      work->is_gone = work->is_gone || has_hung_up(socket);
    }
    co_return *std::move(work->answer);
  }

  static bool has_hung_up(tcp::socket& socket) {
    char byte = 0;
    beast::error_code error;
    socket.non_blocking(true, error);
    socket.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    return error && error != asio::error::would_block;
  }

  std::atomic<bool> is_ending_ = false;
  int connections_ = 0;  // touched by the thread of io_ alone
  asio::io_context io_{1};
  tcp::acceptor acceptor4_{io_};
  tcp::acceptor acceptor6_{io_};
  asio::thread_pool pool_{kHandlers};
};

PageServer::PageServer(std::uint16_t port) : listening_(std::make_unique<Listening>(port)) {}
PageServer::~PageServer() = default;
std::uint16_t PageServer::port() const { return listening_->port(); }
void PageServer::run(const HttpHandler& handler, const std::function<void()>& on_ready) {
  listening_->run(handler, on_ready);
}

}  // namespace twinrun::cli
