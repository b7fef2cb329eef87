//! Durations in JSON: a whole number of nanoseconds, in a field whose name ends in `_ns`.

use std::time::Duration;

use serde::Serializer;

/// One that is always there.
pub(crate) fn one<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(whole(time))
}

/// One that may be none: `null`.
pub(crate) fn any<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => to.serialize_some(&whole(time)),
        None => to.serialize_none(),
    }
}

/// More than 500 years are 500 years.
fn whole(time: &Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
