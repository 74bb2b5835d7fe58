//! Client driver for the Rust SDK: connect once, list the tools once, print one JSON line. The contract is docs/driver.md.
//!
//! The SDK runs in a runtime of its own. The watchdog and the signals have a thread each, so that they hold even when
//! the SDK never yields.

mod options;
mod report;

use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::ClientInitializeError;
use rmcp::service::RunningService;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientServiceExt, RoleClient};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use options::{Options, Target};
use report::Report;

/// The SDK's own close takes up to 6 s: end of input, 3 s, SIGTERM, 3 s, SIGKILL.
const LEFTOVER_GRACE: Duration = Duration::from_secs(7);
const EXIT_BROKEN: i32 = 1;

type Client = RunningService<RoleClient, ClientConfig>;

fn main() {
    let started = Instant::now();
    let options = Options::read();
    let report = Arc::new(Report::new());
    start_watchdog(started + options.timeout, options.timeout, Arc::clone(&report));
    start_signals(Arc::clone(&report));
    // A panic in a task of the SDK ends the task and would be seen by nobody.
    let seen = Arc::clone(&report);
    std::panic::set_hook(Box::new(move |panic| seen.fail(&format!("uncaught: {panic}"))));

    let work = Arc::clone(&report);
    let sdk = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| give_up(EXIT_BROKEN, &format!("no runtime: {error}")));
        runtime.block_on(drive(&options, &work));
        // What the SDK leaves to its tasks, such as killing a server, goes on until the runtime is dropped.
        work.wait_for_children(LEFTOVER_GRACE);
    });
    // A panic has been reported by the hook.
    let _ = sdk.join();
    report.print_and_exit();
}

async fn drive(options: &Options, report: &Report) {
    let connected = match &options.target {
        Target::Server(program, arguments) => {
            let mut command = tokio::process::Command::new(program);
            command.args(arguments);
            match TokioChildProcess::new(command) {
                Ok(transport) => {
                    report.started(transport.id());
                    connect(transport, options).await.map_err(|error| describe(&error))
                }
                Err(error) => Err(format!("io::Error {:?}: {error}", error.kind())),
            }
        }
        Target::Url(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            connect(transport, options).await.map_err(|error| describe(&error))
        }
    };
    match connected {
        Ok(client) => list_and_close(client, report).await,
        Err(message) => report.fail(&message),
    }
}

async fn connect<T, E, A>(transport: T, options: &Options) -> Result<Client, ClientInitializeError>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let info =
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("mcp-parley-driver", "0"));

    info.serve_with_lifecycle(transport, options.lifecycle.clone()).await
}

async fn list_and_close(mut client: Client, report: &Report) {
    if let Some(server) = client.peer_info() {
        let version = &server.protocol_version;
        report.connected(if version.has_initialize() { "legacy" } else { "modern" }, version.as_str());
    }
    // One page: `list_all_tools` follows a cursor that repeats for ever, and a run without an end shows nothing but that.
    match client.list_tools(None).await {
        Ok(page) => report.listed(page.tools.len()),
        Err(error) => report.fail(&describe(&error)),
    }
    report.enter("close");
    if let Err(error) = client.close().await {
        report.fail(&format!("JoinError: {error}"));
    }
}

/// The error's variant, and what it says with its causes.
fn describe<E: std::error::Error>(error: &E) -> String {
    let debug = format!("{error:?}");
    let kind: String = debug.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    let mut message = format!("{kind}: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        message.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    message
}

fn start_watchdog(deadline: Instant, timeout: Duration, report: Arc<Report>) {
    thread::spawn(move || {
        thread::sleep(deadline.saturating_duration_since(Instant::now()));
        report.time_out(timeout);
    });
}

fn start_signals(report: Arc<Report>) {
    match Signals::new([SIGHUP, SIGINT, SIGTERM]) {
        Ok(mut signals) => {
            thread::spawn(move || {
                if let Some(signal) = signals.forever().next() {
                    report.kill_children();
                    exit(128 + signal);
                }
            });
        }
        Err(error) => give_up(EXIT_BROKEN, &format!("no signal handler: {error}")),
    }
}

fn give_up(code: i32, message: &str) -> ! {
    eprintln!("rust driver: {message}");
    exit(code)
}
