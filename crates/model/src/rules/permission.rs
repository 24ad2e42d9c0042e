//! Which role may do what. The API's extractors and the console's server functions ask here and nowhere else.

use crate::actor::Role;

/// Something an actor may be allowed to do. An actor bound to an app is allowed it for that app alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// See apps, integrations, jobs, records, dead letters, re-syncs, gauges.
    Read,
    /// See jobs: of those who make them, their own.
    ReadJobs,
    /// See the audit log, users, keys, workers, rate limits of the deployment.
    ReadDeployment,
    /// Make, change and delete apps and integrations; pause, resume, limits, secrets.
    Configure,
    /// See payloads and answers with the secrets in them: over the API at once, in the console by an act of its own that is recorded.
    ReadUnmasked,
    /// Requeue and cancel jobs and dead letters.
    SteerJobs,
    /// Keep views of the list of jobs, pin them, let them alert.
    SaveViews,
    /// Delete dead letters.
    Purge,
    /// Ask for a re-sync and steer it.
    Resync,
    /// Send events and jobs.
    Produce,
    /// Take assignments and report on them.
    Work,
    /// Users, keys, portal links.
    ManageAccess,
    /// Open the operators' pages.
    OpenConsole,
}

impl Permission {
    /// All.
    pub const ALL: [Self; 13] = [
        Self::Read,
        Self::ReadJobs,
        Self::ReadDeployment,
        Self::Configure,
        Self::ReadUnmasked,
        Self::SteerJobs,
        Self::SaveViews,
        Self::Purge,
        Self::Resync,
        Self::Produce,
        Self::Work,
        Self::ManageAccess,
        Self::OpenConsole,
    ];
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
    fn nobody_but_the_operator_configures_purges_or_manages_access() {
        for role in Role::ALL {
            for permission in [Permission::Configure, Permission::Purge, Permission::ManageAccess] {
                assert_eq!(is_allowed(role, permission), role == Role::Operator, "{role} {permission:?}");
            }
        }
    }

    #[test]
    fn secrets_are_for_operators_and_those_who_sent_them() {
        for role in Role::ALL {
            let may = matches!(role, Role::Operator | Role::Producer);
            assert_eq!(is_allowed(role, Permission::ReadUnmasked), may, "{role}");
        }
    }

    #[test]
    fn an_auditor_changes_nothing() {
        for permission in Permission::ALL {
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
