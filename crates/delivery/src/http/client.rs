//! The client for all outgoing requests: it connects only where the target guard allows and reads no more of an answer than is kept.
//!
//! Redirects are not followed, a proxy of the environment is not used (it would resolve names elsewhere), nothing is decompressed, no
//! cookie is kept. Connections are kept alive and pinned to addresses that were judged when they were opened. One deadline covers
//! resolving, connecting, TLS, headers and body, because a slow drip resets every idle time-out.
//!
//! Rate limits are about what arrives, but are applied to what leaves: a request on a new connection arrives later, by resolving, connecting
//! and TLS (100 to 500 ms), than one on a kept connection, so that after an idle time a window may see one request more than the limit. The
//! client offers no point between having a connection and writing to it at which the slot could be judged again.

use std::{sync::Arc, time::Duration};

use model::exchange::{BodySize, Timing};
use model::text::{EXCERPT_CHARS, sanitise, sanitise_bytes};
use reqwest::Method;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout_at};

use super::answer::Answer;
use super::dial::{Dial, Dialling};
use super::exchange::{Outgoing, millis};
use super::failure::SendFailure;
use super::mask::Mask;
use super::target_guard::{self, TargetGuard, Transport};

/// After so much of an answer's body the connection is dropped.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// For HTTP/2; HTTP/1 has hyper's own limits: 100 headers, about 400 kB.
const MAX_HEADER_BYTES: u32 = 64 * 1024;
/// Applies together with the attempt's own deadline.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle connections are closed before most servers close them.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);
const IDLE_PER_HOST: usize = 32;

/// One request, ready to go: the body is the very bytes that were signed.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// POST, PUT, PATCH or DELETE.
    pub method: Method,
    /// Absolute.
    pub url: String,
    /// All headers except those of the connection.
    pub headers: HeaderMap,
    /// The bytes that were signed.
    pub body: Vec<u8>,
    /// Removes secrets from the excerpt of an answer.
    pub mask: Mask,
}

impl Request {
    /// What is needed of the request if it fails. `jobs`: how many it carries.
    pub(crate) fn outgoing(&self, jobs: usize) -> Outgoing {
        Outgoing {
            method: self.method.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            body_bytes: self.body.len(),
            mask: self.mask.clone(),
            jobs,
        }
    }
}

/// The result of sending, with those parts of [`Timing`] that the client measures.
pub(crate) struct Sent {
    pub(crate) result: Result<Answer, SendFailure>,
    pub(crate) timing: Timing,
}

/// Sends requests.
#[derive(Clone)]
pub(crate) struct Client {
    guard: TargetGuard,
    tls: reqwest::Client,
    plain: reqwest::Client,
}

impl Client {
    /// A client that connects where the guard allows.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub(crate) fn new(guard: TargetGuard, user_agent: &str) -> Result<Self, reqwest::Error> {
        let build = |transport| {
            reqwest::Client::builder()
                .dns_resolver(Arc::new(GuardedResolver { guard: guard.clone(), transport }))
                .https_only(transport == Transport::Tls)
                .redirect(Policy::none())
                .no_proxy()
                .referer(false)
                .user_agent(user_agent)
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .http2_max_header_list_size(MAX_HEADER_BYTES)
                .connector_layer(Dialling)
                .build()
        };
        Ok(Self { tls: build(Transport::Tls)?, plain: build(Transport::Plain)?, guard })
    }

    /// The guard of this client.
    #[must_use]
    pub(crate) fn guard(&self) -> &TargetGuard {
        &self.guard
    }

    /// Sends one request and reads the beginning of its answer, all before `within` has passed.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn send(&self, request: Request, within: Duration) -> Result<Answer, SendFailure> {
        self.send_measured(request, within).await.result
    }

    /// As [`Self::send`], with the timing.
    pub(crate) async fn send_measured(&self, request: Request, within: Duration) -> Sent {
        let mut timing = Timing::default();
        let result = self.try_to_send(request, within, &mut timing).await;
        Sent { result, timing }
    }

    async fn try_to_send(
        &self,
        request: Request,
        within: Duration,
        timing: &mut Timing,
    ) -> Result<Answer, SendFailure> {
        let begun = Instant::now();
        let deadline = begun + within;
        let url = target_guard::parse(&request.url).map_err(|_| SendFailure::Refused)?;
        let client = match self.guard.judge_url(&url) {
            Ok(Transport::Tls) => &self.tls,
            Ok(Transport::Plain) => &self.plain,
            Err(target_guard::Refused) => return Err(SendFailure::Refused),
        };
        let dial = Arc::new(Dial::default());
        let sent = client.request(request.method, url).headers(request.headers).body(request.body).send();
        let answered = dial.watch(timeout_at(deadline, sent)).await;
        let at = Instant::now();
        let has_answer = matches!(answered, Ok(Ok(_)));
        let connecting = if has_answer { dial.took() } else { dial.took_by(at) };
        timing.connect_ms = connecting.map(millis);
        timing.answer_ms = (has_answer || dial.had_connection())
            .then(|| millis((at - begun).saturating_sub(connecting.unwrap_or_default())));
        let mut response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(SendFailure::of(&error)),
            Err(_) => return Err(SendFailure::NoAnswer { within }),
        };
        let status = response.status().as_u16();
        let headers = std::mem::take(response.headers_mut());
        let retry_after = headers.get(RETRY_AFTER).map(|value| sanitise_bytes(value.as_bytes(), 100));
        let (excerpt, body) = read_excerpt(response, deadline, &request.mask).await;
        timing.body_ms = Some(millis(at.elapsed()));
        Ok(Answer { status, retry_after, excerpt, body, headers, duration: begun.elapsed() })
    }
}

/// Reads the beginning of the body. The status line has already said whether the request was accepted, so a body that breaks off or does not
/// end changes nothing: what came is kept, and the connection is dropped.
async fn read_excerpt(mut response: reqwest::Response, deadline: Instant, mask: &Mask) -> (String, BodySize) {
    let mut body = Vec::new();
    let goes_on = loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                let room = MAX_BODY_BYTES - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if body.len() == MAX_BODY_BYTES {
                    break true;
                }
            }
            Ok(Ok(None)) => break false,
            Ok(Err(_)) | Err(_) => break true,
        }
    };
    // Masked before it is cut: a part of a secret would not be found.
    let excerpt = sanitise(&mask.apply(&String::from_utf8_lossy(&body)), EXCERPT_CHARS);
    let is_cut = excerpt.chars().count() > EXCERPT_CHARS;
    (excerpt, BodySize { bytes: body.len() as u64, goes_on, is_cut })
}

/// Resolves a name once and returns its addresses only when the guard admits them; the connection goes to exactly those.
struct GuardedResolver {
    guard: TargetGuard,
    transport: Transport,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (guard, transport) = (self.guard.clone(), self.transport);
        Box::pin(async move {
            // Port 0 is replaced by the URL's.
            let resolved = target_guard::resolve(name.as_str(), 0).await?;
            let admitted = guard.admit(name.as_str(), resolved, transport)?;
            let addresses: Addrs = Box::new(admitted.into_iter());
            Ok(addresses)
        })
    }
}
