//! A minimal server on the Rust SDK: one tool, both eras. It is put on trial by `mcp-parley server`.
//! Without arguments it speaks over stdio. `--http [PORT]` (0: any) listens on 127.0.0.1 and prints its URL on the first line.

use std::error::Error;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServiceExt, schemars, tool, tool_router};
use serde::Deserialize;

#[derive(Clone)]
struct Server;

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

#[tool_router(server_handler)]
impl Server {
    #[tool(description = "Returns its text.")]
    fn echo(&self, Parameters(Text { text }): Parameters<Text>) -> String {
        text
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            Server.serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        ["--http"] => serve_http(0).await,
        ["--http", port] => serve_http(port.parse()?).await,
        _ => Err("usage: server [--http [PORT]]".into()),
    }
}

async fn serve_http(port: u16) -> Result<(), Box<dyn Error>> {
    let sessions = LocalSessionManager::default().into();
    let service = StreamableHttpService::new(|| Ok(Server), sessions, StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
