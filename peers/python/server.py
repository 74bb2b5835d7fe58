"""A minimal server on the Python SDK: one tool, both eras. It is put on trial by `mcp-parley server`.

Without options it speaks over stdio. `--http [PORT]` (0: any) listens on 127.0.0.1 and prints its URL on the first line.
"""

import argparse
import socket

from mcp.server.mcpserver import MCPServer

server = MCPServer("mcp-parley-python-server", version="0")


@server.tool()
def echo(text: str) -> str:
    """Returns its text."""
    return text


def serve_http(port: int) -> None:
    import uvicorn

    # Not the SDK's run(): it cannot say which port it was given.
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning", timeout_graceful_shutdown=1)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A minimal server on the Python SDK", allow_abbrev=False)
    parser.add_argument("--http", type=int, nargs="?", const=0, metavar="PORT", help="over Streamable HTTP")
    options = parser.parse_args()
    if options.http is None:
        server.run(transport="stdio")
    else:
        serve_http(options.http)
