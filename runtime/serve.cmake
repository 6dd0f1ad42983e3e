# Requests that come while a job runs: the HTTP server and the model's side of a conversation.
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib>=0.11)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/serve/page.html")
file(READ serve/page.html TPRUN_SERVE_PAGE)
configure_file(serve/page.cc.in "${CMAKE_CURRENT_BINARY_DIR}/serve/page.cc" @ONLY)

# What a request says: text and rules, without a model.
tp_library(tp_requests SOURCES serve/openai_request.cc LINK tp_text)

tp_library(tp_serve
  SOURCES serve/answer.cc serve/client_socket.cc serve/connections.cc serve/http_server.cc serve/openai_answer.cc serve/request_queue.cc serve/run_chat.cc serve/run_serve.cc
    serve/serve_counts.cc serve/shared_source.cc serve/slow_clients.cc "${CMAKE_CURRENT_BINARY_DIR}/serve/page.cc"
  LINK tp_model tp_requests tp_text)
target_link_libraries(tp_serve PRIVATE PkgConfig::HTTPLIB)
