//! Where a site listens.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use super::bounds::SiteBounds;
use crate::recorder::new_token;

/// Connections that the system holds until they are accepted.
const BACKLOG: u32 = 1024;

/// A loopback port and the path of the one endpoint on it (HTTP-24, HTTP-25).
#[derive(Debug)]
pub struct SiteSocket {
    door: Door,
    address: SocketAddr,
    pub(super) path: String,
    pub(super) bounds: SiteBounds,
    /// How many connections are open.
    pub(super) open: watch::Sender<usize>,
}

#[derive(Debug)]
enum Door {
    Open(TcpListener),
    /// The port is kept, and whoever comes is refused.
    Shut(TcpSocket),
    /// Neither: the system did not let us have the port again.
    Lost,
}

impl SiteSocket {
    /// Listens on this port of the loopback interface, 0 for one that the system chooses. Without a path the endpoint has one that
    /// nobody can guess. To be called within a runtime.
    ///
    /// # Errors
    /// When the port is taken, or the system has no random numbers.
    pub fn bind(port: u16, path: Option<String>, bounds: SiteBounds) -> io::Result<Self> {
        let path = match path {
            Some(path) => path,
            None => format!("/{}/mcp", new_token()?),
        };
        let listener = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?.listen(BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Self { door: Door::Open(listener), address, path, bounds, open: watch::Sender::new(0) })
    }

    /// The endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// How many connections are open, as long as the site is served.
    pub fn connections(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        match &self.door {
            Door::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            Door::Shut(_) | Door::Lost => std::future::pending().await,
        }
    }

    /// From here on connections are refused. The port stays ours.
    pub(super) fn shut(&mut self) {
        self.door = Door::Lost;
        if let Ok(socket) = bound(self.address) {
            self.door = Door::Shut(socket);
        }
    }

    /// Listens again.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        let socket = match std::mem::replace(&mut self.door, Door::Lost) {
            Door::Open(listener) => {
                self.door = Door::Open(listener);
                return Ok(());
            }
            Door::Shut(socket) => socket,
            Door::Lost => bound(self.address)?,
        };
        self.door = Door::Open(socket.listen(BACKLOG)?);
        Ok(())
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Otherwise connections of the process before would hold the port for a minute. On Windows it would mean another thing.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
