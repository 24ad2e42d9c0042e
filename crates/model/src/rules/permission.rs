//! Which role may do what. The API's extractors and the console's server functions decide only by this.

use crate::actor::Role;
use strum::VariantArray;

/// What an actor may be allowed to do. For an actor bound to an app, only for that app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum Permission {
    /// See apps, integrations, jobs, records, dead letters, re-syncs, gauges.
    Read,
    /// See jobs; producers only those of their app.
    ReadJobs,
    /// See the audit log, users, keys, workers, rate limits of the deployment.
    ReadDeployment,
    /// Create, change and delete apps and integrations; pause, resume, limits, secrets.
    Configure,
    /// See payloads and answers unmasked: through the API always, in the console after a step that is recorded in the audit log.
    ReadUnmasked,
    /// Requeue and cancel jobs and dead letters.
    SteerJobs,
    /// Save views of the list of jobs, pin them, set alerts.
    SaveViews,
    /// Purge dead letters.
    Purge,
    /// Start, pause, resume and cancel re-syncs.
    Resync,
    /// Send events and jobs.
    Produce,
    /// Take assignments and report on them. No call asks for it yet: it is reserved for workers that run outside of Headgate.
    Work,
    /// Manage users and keys.
    ManageAccess,
    /// Open the console.
    OpenConsole,
}

impl Permission {
    /// All.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// Whether the role allows it.
#[must_use]
pub fn is_allowed(role: Role, permission: Permission) -> bool {
    use Permission::{
        OpenConsole, Produce, Read, ReadDeployment, ReadJobs, ReadUnmasked, Resync, SaveViews, SteerJobs,
        Work,
    };
    match role {
        Role::Operator => true,
        Role::Support => matches!(permission, Read | ReadJobs | SteerJobs | SaveViews | OpenConsole),
        Role::Auditor => matches!(permission, Read | ReadJobs | ReadDeployment | OpenConsole),
        Role::Producer => matches!(permission, Produce | ReadJobs | ReadUnmasked),
        Role::Worker => permission == Work,
        Role::Portal => matches!(permission, Read | ReadJobs | Resync),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operators_configure_purge_and_manage_access() {
        for &role in Role::ALL {
            for permission in [Permission::Configure, Permission::Purge, Permission::ManageAccess] {
                assert_eq!(is_allowed(role, permission), role == Role::Operator, "{role} {permission:?}");
            }
        }
    }

    #[test]
    fn only_operators_and_producers_see_secrets() {
        for &role in Role::ALL {
            let may = matches!(role, Role::Operator | Role::Producer);
            assert_eq!(is_allowed(role, Permission::ReadUnmasked), may, "{role}");
        }
    }

    #[test]
    fn an_auditor_changes_nothing() {
        for &permission in Permission::ALL {
            let reads = matches!(
                permission,
                Permission::Read
                    | Permission::ReadJobs
                    | Permission::ReadDeployment
                    | Permission::OpenConsole
            );
            assert_eq!(is_allowed(Role::Auditor, permission), reads, "{permission:?}");
        }
    }
}
