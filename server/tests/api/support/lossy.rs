//! A proxy of the database that loses the answer to a commit.

use sqlx::{PgPool, postgres::PgConnectOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// Forwards connections; while it is lossy, a connection that commits is closed when the database answers.
pub(crate) struct Lossy {
    pub(crate) pool: PgPool,
    is_lossy: Arc<AtomicBool>,
}

impl Lossy {
    pub(crate) async fn before(pool: &PgPool) -> Self {
        let database = PgConnectOptions::clone(&pool.connect_options());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!(
            "postgres://{}@127.0.0.1:{port}/{}?sslmode=disable",
            database.get_username(),
            database.get_database().unwrap()
        );
        let is_lossy = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&is_lossy);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (database, is_lossy) = (database.clone(), Arc::clone(&flag));
                tokio::spawn(async move {
                    let folder = database.get_socket().cloned();
                    let folder = folder
                        .or_else(|| database.get_host().starts_with('/').then(|| database.get_host().into()));
                    match folder {
                        Some(folder) => {
                            let path = folder.join(format!(".s.PGSQL.{}", database.get_port()));
                            forward(client, UnixStream::connect(path).await.unwrap(), &is_lossy).await;
                        }
                        None => {
                            let address = (database.get_host(), database.get_port());
                            forward(client, TcpStream::connect(address).await.unwrap(), &is_lossy).await;
                        }
                    }
                });
            }
        });
        Self { pool: PgPool::connect(&url).await.unwrap(), is_lossy }
    }

    pub(crate) fn set_lossy(&self, is_lossy: bool) {
        self.is_lossy.store(is_lossy, Ordering::Release);
    }
}

async fn forward(client: TcpStream, database: impl AsyncRead + AsyncWrite, is_lossy: &AtomicBool) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_database, mut to_database) = split(database);
    let (mut request, mut response) = ([0; 16_384], [0; 16_384]);
    let mut commits = false;
    loop {
        tokio::select! {
            read = from_client.read(&mut request) => {
                let Ok(n @ 1..) = read else { return };
                commits |= is_lossy.load(Ordering::Acquire) && request[..n].windows(6).any(|word| word == b"COMMIT");
                if to_database.write_all(&request[..n]).await.is_err() {
                    return;
                }
            }
            read = from_database.read(&mut response) => {
                let Ok(n @ 1..) = read else { return };
                if commits || to_client.write_all(&response[..n]).await.is_err() {
                    return;
                }
            }
        }
    }
}
