"""A minimal server on the Python SDK over stdio: one tool, both eras. It is put on trial by `mcp-parley server`."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("mcp-parley-python-server", version="0")


@server.tool()
def echo(text: str) -> str:
    """Returns its text."""
    return text


if __name__ == "__main__":
    server.run(transport="stdio")
