//! The one exchange that an odd client has open.

use mcp_parley_negotiation::http::{Exchange, HttpHead};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exchange::{Endpoint, ExchangeNotice, exchange};
use crate::site::MAX_HEADERS;

const NOTICES: usize = 16;

/// An exchange under way. Dropping it closes its connection.
#[derive(Debug)]
pub(super) struct Posting {
    pub(super) exchange: Exchange,
    notices: mpsc::Receiver<ExchangeNotice>,
    task: JoinHandle<()>,
}

impl Posting {
    pub(super) fn begin(endpoint: &Endpoint, number: Exchange, head: Vec<u8>, body: Vec<u8>) -> Self {
        let (sender, notices) = mpsc::channel(NOTICES);
        let endpoint = endpoint.clone();
        let task = tokio::spawn(async move { exchange(&endpoint, &head, &body, &sender).await });
        Self { exchange: number, notices, task }
    }

    pub(super) async fn next(&mut self) -> Option<ExchangeNotice> {
        self.notices.recv().await
    }
}

impl Drop for Posting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Hands a head that was received to `take`, in parts; false if it cannot be read.
pub(super) fn read_head(bytes: &[u8], take: impl FnOnce(HttpHead<'_>)) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    if !matches!(response.parse(bytes), Ok(httparse::Status::Complete(_))) {
        return false;
    }
    let headers: Vec<(&[u8], &[u8])> =
        response.headers.iter().map(|header| (header.name.as_bytes(), header.value)).collect();
    take(HttpHead { status: response.code.unwrap_or(0), headers: &headers });
    true
}
