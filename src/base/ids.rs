//! Identifiers: one newtype for everything that names something.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($repr:ty)) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The number as an index into a dense array.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$repr> for $name {
            fn from(raw: $repr) -> Self {
                Self(raw)
            }
        }
    };
}

id!(
    /// A job (RFC 19 FLUID, or the job number of a trace): a 64-bit number, in time order.
    JobId(u64)
);
id!(
    /// A queue by identity, not by name: a queue created again under an old name gets a new id. Never reused.
    QueueId(u32)
);
id!(
    /// A vertex of one version of the resource graph: its position in depth-first order of the containment tree.
    VertexId(u32)
);
id!(
    /// An execution target (RFC 28), the unit of ownership and of up and down. Stable for the life of the instance,
    /// never reused; the number of a target and its rank need not agree.
    TargetId(u32)
);
id!(
    /// A number that grows with every up and down sent to a scheduler, so that late answers can be told from current ones.
    Epoch(u64)
);
id!(
    /// A request of a queue for a set of targets all at once.
    GroupId(u32)
);
id!(
    /// Scheduling priority, higher first: a job's own (RFC 27, 0 to 4294967295), or what the order of a scheduler goes by,
    /// which has the boost of the job's queue in it and may be outside of that.
    Priority(i64)
);
