//! Writing a trace, for generated workloads and for round trips.

use super::{Swf, SwfJob};
use std::io::{self, Write};

impl Swf {
    /// Writes header and jobs as SWF text. Columns 19 to 21 are written for the jobs that have them.
    ///
    /// What is written is [`super::Header::fields`], not the values taken from them. Words that a column cannot hold
    /// (with white space, or empty) are written as unknown.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut text = String::new();
        for (key, value) in self.header.fields() {
            let mut lines = value.split('\n');
            let first = lines.next().unwrap_or_default();
            if key.is_empty() {
                // An empty line keeps this from continuing the field above.
                text.push_str(&format!(";\n; {first}\n"));
            } else {
                text.push_str(&format!("; {key}: {first}\n"));
            }
            for line in lines {
                text.push_str(&format!(";   {line}\n"));
            }
        }
        out.write_all(text.as_bytes())?;
        for job in &self.jobs {
            text.clear();
            job.print(&mut text);
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

impl SwfJob {
    fn print(&self, text: &mut String) {
        use std::fmt::Write as _;
        // 2^63 is the first float that reading refuses.
        let known = self.avg_cpu.abs() < 9_223_372_036_854_775_808.0;
        let avg_cpu = if known { self.avg_cpu } else { -1.0 };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "{} {} {} {} {} {} {}",
            self.id, self.submit, self.wait, self.run, self.procs, avg_cpu, self.used_mem
        );
        let rest = [
            self.req_procs,
            self.req_time,
            self.req_mem,
            self.status,
            self.user,
            self.group,
            self.executable,
            self.queue,
            self.partition,
            self.preceding,
            self.think,
        ];
        for number in rest {
            let _ = write!(text, " {number}");
        }
        if let Some(extra) = &self.extra {
            text.push_str(" {");
            for (i, node) in extra.executed_nodes.iter().enumerate() {
                let _ = write!(text, "{}{node}", if i == 0 { "" } else { "," });
            }
            let _ = write!(text, "}} {} {}", word(&extra.queue_name), word(&extra.node_spec));
        }
        text.push('\n');
    }
}

/// A text that one column can hold.
fn word(text: &Option<String>) -> &str {
    text.as_deref().filter(|text| !text.is_empty() && !text.contains(|c: char| c.is_whitespace())).unwrap_or("-1")
}
