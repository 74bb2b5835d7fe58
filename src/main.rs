//! The command `mcp-parley`: one file a subcommand. Everything that a library user would miss is in the other crates.

mod cli;
mod client;
mod exit;
mod explain;
mod findings;
mod hunt;
mod list;
mod probe;
mod replay;
mod say;
mod serve;
mod server;
mod show;
mod sides;
mod suggest;
mod trial;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    let ended = match cli.command {
        cli::Command::Hunt(args) => hunt::run(&args),
        cli::Command::Replay(args) => replay::run(&args),
        cli::Command::Show(args) => show::run(&args),
        cli::Command::Serve(args) => serve::run(&args),
        cli::Command::Client(args) => client::run(&args),
        cli::Command::Guard => {
            mcp_parley_hosts::guard();
            Ok(exit::Exit::Fine)
        }
        cli::Command::Server(args) => server::run(&args),
        cli::Command::Probe(args) => probe::run(&args),
        cli::Command::List(args) => list::run(&args),
        cli::Command::Explain(args) => explain::run(&args),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "mcp-parley: {error}");
            error.exit.into()
        }
    }
}
