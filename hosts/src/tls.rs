//! TLS as a client, and what its errors mean to whoever meets them.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error, RootCertStore};

/// Trusts what this machine trusts; `SSL_CERT_FILE` names other authorities.
///
/// # Errors
/// Why there is no TLS here at all.
pub(crate) fn system() -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let why = found.errors.first().map_or_else(|| "there are none".to_owned(), ToString::to_string);
        return Err(format!(
            "no certificate authorities of this machine: {why}; SSL_CERT_FILE may name some"
        ));
    }
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> Result<TlsConnector, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// # Errors
/// What is wrong, in words that help.
pub(crate) async fn connect(
    connector: &TlsConnector,
    host: &str,
    stream: TcpStream,
) -> Result<Box<TlsStream<TcpStream>>, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(bare.to_owned()).map_err(|_| format!("{host} is no name of a server"))?;
    connector.connect(name, stream).await.map(Box::new).map_err(|error| explain(host, &error))
}

fn explain(host: &str, error: &io::Error) -> String {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match tls {
        Some(Error::InvalidCertificate(certificate)) => match certificate {
            // The second is that of an authority that has a new key under its old name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
                "nobody whom this machine trusts has signed the certificate of {host}: add its authority to those of the machine, \
                 or name it in SSL_CERT_FILE"
            ),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!("the certificate of {host} has expired")
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                format!("the certificate of {host} is not valid yet: is the clock of this machine right?")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("the certificate is not one for {host}: use the name that it is for")
            }
            other => format!("the certificate of {host} is refused: {other}"),
        },
        Some(Error::InvalidMessage(_)) => format!("{host} does not speak TLS there: is it an http:// URL?"),
        _ => format!("TLS with {host} fails: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

    use super::*;

    /// A server with a certificate for these names that it has signed itself.
    fn server(names: &[&str]) -> (TlsAcceptor, CertificateDer<'static>) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let own = rcgen::generate_simple_self_signed(names).unwrap();
        let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
        let certificate = own.cert.der().clone();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        (TlsAcceptor::from(Arc::new(config)), certificate)
    }

    /// What becomes of a connection to a server that does this.
    async fn met<F: Future<Output = ()>>(
        connector: &TlsConnector,
        host: &str,
        serve: impl FnOnce(TcpStream) -> F,
    ) -> Result<String, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let client = async {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut stream = connect(connector, host, stream).await?;
            let mut text = String::new();
            stream.read_to_string(&mut text).await.map_err(|error| error.to_string())?;
            Ok(text)
        };
        let server = async { serve(listener.accept().await.unwrap().0).await };
        tokio::join!(client, server).0
    }

    async fn greet(acceptor: TlsAcceptor, stream: TcpStream) {
        if let Ok(mut stream) = acceptor.accept(stream).await {
            stream.write_all(b"hello").await.unwrap();
            stream.shutdown().await.unwrap();
        }
    }

    #[tokio::test]
    async fn trusted_certificate_is_taken_and_every_other_is_explained() {
        let (acceptor, certificate) = server(&["localhost", "127.0.0.1"]);
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let connector = trusting(roots).unwrap();
        for host in ["localhost", "127.0.0.1"] {
            let met = met(&connector, host, |stream| greet(acceptor.clone(), stream)).await;
            assert_eq!(met, Ok("hello".into()), "{host}");
        }
        let other = met(&connector, "example.com", |stream| greet(acceptor.clone(), stream)).await;
        assert_eq!(
            other.unwrap_err(),
            "the certificate is not one for example.com: use the name that it is for"
        );

        let nobody = trusting(RootCertStore::empty()).unwrap();
        let unknown = met(&nobody, "localhost", |stream| greet(acceptor.clone(), stream)).await.unwrap_err();
        assert!(unknown.starts_with("nobody whom this machine trusts has signed"), "{unknown}");
        let (stranger, _) = server(&["localhost"]);
        let unknown = met(&connector, "localhost", |stream| greet(stranger.clone(), stream)).await;
        let unknown = unknown.unwrap_err();
        assert!(unknown.contains("or name it in SSL_CERT_FILE"), "{unknown}");

        let plain = met(&connector, "localhost", |mut stream| async move {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            stream.shutdown().await.unwrap();
            let _ = stream.read_to_end(&mut Vec::new()).await;
        });
        assert_eq!(plain.await.unwrap_err(), "localhost does not speak TLS there: is it an http:// URL?");
    }
}
