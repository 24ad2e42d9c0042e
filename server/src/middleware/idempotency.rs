//! `Idempotency-Key` on every POST of the API except [one](KEYLESS_PATH): a repeated call is executed once and gets the same answer.
//!
//! This is a layer and not an extractor, so that no POST can forget it. A call with a key is one transaction, whatever it does: its handler gets an
//! `AppState` whose pools all lead to that transaction ([`OneTransaction`]). The key is written first and the answer last, so a repeat finds
//! either the answer or nothing, whatever failed. Answers are encrypted with the master key, because some contain a secret that is shown only once.

use super::request_memory::Share;
use crate::api::extract::read_body;
use crate::api::problem::Problem;
use crate::state::AppState;
use access::KeyedCall;
use access::idempotency::{CallState, answer, begin};
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Extensions, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use delivery::{DeliveryError, secrets::Place};
use futures::FutureExt as _;
use model::{actor::Actor, etag::etag};
use queue::mutex::lock;
use queue::store::lock_timeout::DEFAULT_LOCK_TIMEOUT;
use queue::store::one_transaction::OneTransaction;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore, mpsc};
use tokio::time::timeout;
use tower::ServiceExt as _;
use uuid::Uuid;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The POST without keys: its transaction would be open as long as the external system takes to answer, and sending a sample twice does no harm.
pub(crate) const KEYLESS_PATH: &str = "/integrations/{id}/test";

/// How long a repeat waits while the first call is in progress.
const REPEAT_WAIT: Duration = Duration::from_secs(1);

/// Executes calls with a key, each on a connection of its own; as many at once as the API's pool has connections.
pub(crate) struct KeyedCalls {
    state: AppState,
    actor_shares: ActorShares,
    free: Mutex<mpsc::Receiver<Executor>>,
    freed: mpsc::Sender<Executor>,
}

/// Executes one call at a time.
struct Executor {
    transaction: OneTransaction,
    /// The same routes as without a key, inside the transaction.
    api: Router,
}

impl KeyedCalls {
    /// `api` builds the routes for a state.
    pub(crate) fn new(state: &AppState, api: impl Fn(AppState) -> Router) -> Arc<Self> {
        let executors = state.pools.api.options().get_max_connections().max(1) as usize;
        let (freed, free) = mpsc::channel(executors);
        for _ in 0..executors {
            let transaction = OneTransaction::new(&state.pools.api);
            let api = api(state.with_pool(transaction.pool()));
            // The channel has room for all of them.
            let _ = freed.try_send(Executor { transaction, api });
        }
        Arc::new(Self {
            state: state.clone(),
            actor_shares: ActorShares::of(executors),
            free: Mutex::new(free),
            freed,
        })
    }

    async fn answer(&self, actor: Actor, key: &HeaderValue, request: Request) -> Result<Response, Problem> {
        let key = key
            .to_str()
            .ok()
            .filter(|key| (1..=255).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic()))
            .ok_or_else(|| Problem::fault("Idempotency-Key", "must be 1 to 255 visible ASCII characters"))?;
        let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
        let call = KeyedCall { owner: actor.owner(), method: "POST".to_owned(), path, key: key.to_owned() };
        let share = self.actor_shares.share(&actor);
        let (mut parts, body) = request.into_parts();
        let memory = parts.extensions.get::<Arc<Share>>().cloned();
        let body = read_body(Request::from_parts(parts.clone(), body)).await?;
        // The executor routes the request again, so the extensions set by the first routing must not remain.
        parts.extensions = Extensions::new();
        parts.extensions.insert(actor);
        if let Some(memory) = memory {
            parts.extensions.insert(memory);
        }
        let request = Request::from_parts(parts, Body::from(body.clone()));

        let executor = async {
            let permit = share.acquire().await.ok()?;
            Some((permit, self.free.lock().await.recv().await?))
        };
        // The calls before it may have to wait for a lock.
        let Ok(Some((_permit, executor))) = timeout(DEFAULT_LOCK_TIMEOUT, executor).await else {
            return Err(Problem::busy());
        };
        let answered = AssertUnwindSafe(self.execute(&executor, &call, request, &body)).catch_unwind().await;
        // If it was not committed, for example because a handler panicked.
        executor.transaction.rollback().await;
        let _ = self.freed.try_send(executor);
        answered.unwrap_or_else(|panic| resume_unwind(panic))
    }

    async fn execute(
        &self,
        executor: &Executor,
        call: &KeyedCall,
        request: Request,
        body: &Bytes,
    ) -> Result<Response, Problem> {
        let Executor { transaction, api } = executor;
        transaction.begin(REPEAT_WAIT).await?;
        let mut conn = transaction.pool().acquire().await?;
        let call_state = begin(&mut conn, call, body, DEFAULT_LOCK_TIMEOUT).await?;
        drop(conn);
        match call_state {
            CallState::First => {}
            CallState::Done { status, answer } => return self.replay(call, status, answer),
            CallState::InProgress => return Err(Problem::in_progress()),
            CallState::OtherBody => {
                return Err(Problem::fault("Idempotency-Key", "was used for this path with another body"));
            }
        }
        let response = transaction.run(api.clone().oneshot(request)).await.into_response();
        if !response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        // Answers of POSTs are in memory already, and small.
        let body = to_bytes(body, usize::MAX).await.map_err(|_| Problem::internal())?;
        let sealed = self.state.master_key.seal(place(call), &body).map_err(DeliveryError::from)?;
        let status = i16::try_from(parts.status.as_u16()).unwrap_or(200);
        let mut conn = transaction.pool().acquire().await?;
        answer(&mut conn, call, status, &sealed).await?;
        drop(conn);
        transaction.commit().await?;
        // Wake-ups sent before the commit came too early.
        self.state.headgate.wake();
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    fn replay(&self, call: &KeyedCall, status: i16, answer: Option<Vec<u8>>) -> Result<Response, Problem> {
        let body =
            answer.and_then(|sealed| self.state.master_key.open(place(call), &sealed).ok()).ok_or_else(
                || Problem::conflict("done-already", "The call was executed, but its answer was not kept."),
            )?;
        let status = u16::try_from(status)
            .ok()
            .and_then(|code| StatusCode::from_u16(code).ok())
            .unwrap_or(StatusCode::OK);
        let body = body.into_exposed();
        let tag = (status == StatusCode::CREATED).then(|| tag_of(&body)).flatten();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
        if let Some(tag) = tag {
            headers.insert(header::ETAG, tag);
        }
        Ok(response)
    }
}

/// An app with all of its keys, or a credential that is bound to no app, may use two thirds of the executors. Even if all of its calls wait, there
/// are executors for others.
struct ActorShares {
    each: usize,
    taken: StdMutex<HashMap<String, Arc<Semaphore>>>,
}

impl ActorShares {
    fn of(executors: usize) -> Self {
        Self { each: (executors * 2 / 3).max(1), taken: StdMutex::default() }
    }

    /// Shares that no call waits for or uses are dropped.
    fn share(&self, actor: &Actor) -> Arc<Semaphore> {
        let share_key = actor.app_id.map_or_else(|| actor.owner(), |app| format!("app:{app}"));
        let mut taken = lock(&self.taken);
        taken.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(taken.entry(share_key).or_insert_with(|| Arc::new(Semaphore::new(self.each))))
    }
}

pub(crate) async fn idempotent(
    State(calls): State<Arc<KeyedCalls>>,
    request: Request,
    next: Next,
) -> Response {
    let actor = request.extensions().get::<Actor>().cloned();
    let key = request.headers().get(IDEMPOTENCY_KEY).cloned();
    let (Some(actor), Some(key), &Method::POST) = (actor, key, request.method()) else {
        return next.run(request).await;
    };
    let path = request.extensions().get::<MatchedPath>();
    if path.is_some_and(|path| path.as_str().ends_with(KEYLESS_PATH)) {
        return next.run(request).await;
    }
    calls.answer(actor, &key, request).await.unwrap_or_else(IntoResponse::into_response)
}

/// The etag of the created object, as the first answer had it.
fn tag_of(answer: &[u8]) -> Option<HeaderValue> {
    #[derive(Deserialize)]
    struct Created {
        updated_at: DateTime<Utc>,
    }
    let Created { updated_at } = serde_json::from_slice(answer).ok()?;
    HeaderValue::from_str(&etag(updated_at)).ok()
}

/// Where the encrypted answer belongs: it decrypts for its own call only.
fn place(call: &KeyedCall) -> Place {
    let mut hasher = Sha256::new();
    for part in [&call.owner, &call.method, &call.path, &call.key] {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    Place { table: "idempotency_keys", row: Uuid::from_bytes(id), column: "answer" }
}
