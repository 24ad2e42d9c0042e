//! A proxy of the database that can be switched off.

use sqlx::postgres::PgConnectOptions;
use std::{net::Ipv4Addr, path::PathBuf};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Forwards connections to the server while it is on; cuts them and refuses new ones while it is off.
pub(crate) struct Proxy {
    pub(crate) url: String,
    is_on: watch::Sender<bool>,
}

#[derive(Clone)]
enum Server {
    Socket(PathBuf),
    Host(String, u16),
}

impl Proxy {
    pub(super) async fn start(server: &PgConnectOptions, database: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let user = server.get_username();
        let target = match (server.get_socket(), server.get_host()) {
            (Some(folder), _) => Server::Socket(folder.join(format!(".s.PGSQL.{}", server.get_port()))),
            (None, host) if host.starts_with('/') => {
                Server::Socket(PathBuf::from(host).join(format!(".s.PGSQL.{}", server.get_port())))
            }
            (None, host) => Server::Host(host.to_owned(), server.get_port()),
        };
        let (is_on, state) = watch::channel(true);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                if *state.borrow() {
                    tokio::spawn(forward(connection, target.clone(), state.clone()));
                }
            }
        });
        Self { url: format!("postgres://{user}@127.0.0.1:{port}/{database}?sslmode=disable"), is_on }
    }

    pub(crate) fn set_on(&self, is_on: bool) {
        self.is_on.send_replace(is_on);
    }
}

async fn forward(connection: TcpStream, target: Server, mut state: watch::Receiver<bool>) {
    match target {
        Server::Socket(path) => {
            if let Ok(server) = UnixStream::connect(path).await {
                join(connection, server, &mut state).await;
            }
        }
        Server::Host(host, port) => {
            if let Ok(server) = TcpStream::connect((host, port)).await {
                join(connection, server, &mut state).await;
            }
        }
    }
}

async fn join(
    mut one: TcpStream,
    mut other: impl AsyncRead + AsyncWrite + Unpin,
    state: &mut watch::Receiver<bool>,
) {
    tokio::select! {
        _ = copy_bidirectional(&mut one, &mut other) => {}
        _ = state.wait_for(|is_on| !is_on) => {}
    }
}
