//! Settings of keys, the first operator, allowed targets and masking.

use super::{error::ConfigError, key::Key, read::networks, secret::Secret, sources::Sources};
use delivery::MasterKey;
use ipnet::IpNet;
use model::{limits::PASSWORD_CHARS, rules::masking};

const MASTER_KEY: Key = Key::secret(
    "HEADGATE_MASTER_KEY",
    "encrypts signing secrets and credentials at rest; unset: with the embedded database, generated in the data directory",
    "32 bytes in base64 (`openssl rand -base64 32` generates some)",
);
const ALLOWED_TARGETS: Key = Key::optional(
    "HEADGATE_ALLOWED_TARGETS",
    "networks that deliveries may reach although they are not public",
    "a list of CIDRs such as 10.1.0.0/16,192.168.7.3/32,fd00::/8",
);
const ALLOW_HTTP: Key =
    Key::with_default("HEADGATE_ALLOW_HTTP", "false", "plain http to public addresses", "true or false");
const MASKED_FIELDS: Key = Key::optional(
    "HEADGATE_MASKED_FIELDS",
    "fields masked in payloads and answers, in addition to those whose names suggest a secret",
    "a list of up to 100 fields such as email,customer.iban,*.phone",
);
const ADMIN_API_KEY: Key = Key::secret(
    "HEADGATE_ADMIN_API_KEY",
    "an operator's key accepted from the start",
    "32 to 1000 visible ASCII characters",
);
const ADMIN_EMAIL: Key =
    Key::optional("HEADGATE_ADMIN_EMAIL", "creates the first operator", "an e-mail address");
const ADMIN_PASSWORD: Key =
    Key::secret("HEADGATE_ADMIN_PASSWORD", "the first operator's password", "8 to 128 characters");

pub(super) const DELIVERY_KEYS: [&Key; 4] = [&MASTER_KEY, &ALLOWED_TARGETS, &ALLOW_HTTP, &MASKED_FIELDS];
pub(super) const OPERATOR_KEYS: [&Key; 3] = [&ADMIN_API_KEY, &ADMIN_EMAIL, &ADMIN_PASSWORD];

#[derive(Clone, Debug)]
pub struct DeliverySettings {
    /// 32 bytes in base64.
    pub master_key: Option<Secret>,
    /// In addition to public addresses.
    pub allowed_targets: Vec<IpNet>,
    /// Whether deliveries to public addresses may use plain http.
    pub allow_http: bool,
    pub masked_fields: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct OperatorSettings {
    /// Accepted as an operator's key.
    pub admin_api_key: Option<Secret>,
    /// E-mail address and password of the first operator.
    pub first_operator: Option<(String, Secret)>,
}

impl DeliverySettings {
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        Ok(Self {
            master_key: sources.secret(&MASTER_KEY, |text| MasterKey::from_base64(text).is_ok())?,
            allowed_targets: sources.optional(&ALLOWED_TARGETS, networks)?.unwrap_or_default(),
            allow_http: sources.required(&ALLOW_HTTP, parse_bool)?,
            masked_fields: sources.optional(&MASKED_FIELDS, fields)?.unwrap_or_default(),
        })
    }
}

impl OperatorSettings {
    /// # Errors
    /// Also when there is an e-mail address without a password, or a password without an e-mail address.
    pub fn read(sources: &Sources) -> Result<Self, ConfigError> {
        let is_visible =
            |text: &str| (32..=1_000).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        let email = sources.optional(&ADMIN_EMAIL, |text| is_email(text).then(|| text.to_owned()))?;
        let password =
            sources.secret(&ADMIN_PASSWORD, |text| PASSWORD_CHARS.contains(&text.chars().count()))?;
        let first_operator = match (email, password) {
            (Some(email), Some(password)) => Some((email, password)),
            (None, None) => None,
            (Some(_), None) => {
                return Err(ConfigError::Contradiction(
                    "HEADGATE_ADMIN_EMAIL is set but HEADGATE_ADMIN_PASSWORD is not: set both or neither"
                        .into(),
                ));
            }
            (None, Some(_)) => {
                return Err(ConfigError::Contradiction(
                    "HEADGATE_ADMIN_PASSWORD is set but HEADGATE_ADMIN_EMAIL is not: set both or neither"
                        .into(),
                ));
            }
        };
        Ok(Self { admin_api_key: sources.secret(&ADMIN_API_KEY, is_visible)?, first_operator })
    }
}

fn is_email(text: &str) -> bool {
    let is_plain = text.len() <= 254 && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    is_plain
        && text
            .split_once('@')
            .is_some_and(|(who, host)| !who.is_empty() && !host.is_empty() && !host.contains('@'))
}

fn fields(text: &str) -> Option<Vec<String>> {
    let fields: Vec<String> = text.split(',').map(|field| field.trim().to_owned()).collect();
    let are_fields =
        fields.len() <= masking::MAX_FIELDS && fields.iter().all(|field| masking::is_field(field));
    are_fields.then_some(fields)
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}
