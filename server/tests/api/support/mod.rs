//! A server on a port, a client with a verb per call, builders, a receiver.

mod builders;
mod client;
mod lossy;
mod receiver;
mod server;
mod statements;

pub(crate) use builders::{a_job, a_webhook, a_worker, an_app, an_event, an_external, claim};
pub(crate) use client::{Answer, Client};
pub(crate) use lossy::Lossy;
pub(crate) use receiver::Receiver;
pub(crate) use server::{ADMIN_KEY, Server};
pub(crate) use statements::Statements;
