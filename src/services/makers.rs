//! Who makes a service: one function for each name, from those who drive the core.

use super::plan::Plan;
use super::registry::{Registry, Unit};
use super::rule::Rule;
use thiserror::Error;

/// Makes a service and puts it into the program `A` under construction. What stands for `@` in its name is given.
pub type Make<A, E> = fn(&mut A, Option<&str>) -> Result<(), E>;

/// All makers of a program.
pub struct Makers<A: 'static, E: 'static> {
    /// By the name of the rule, which ends in `@` for a template.
    pub compiled_in: &'static [(&'static str, Make<A, E>)],
    /// Puts a program of its own into `A`: its rule, and what stands for `@`.
    pub program: fn(&mut A, &Rule, Option<&str>) -> Result<(), E>,
}

/// Why a program could not be put together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuildError<E> {
    /// A rule names what is neither compiled in nor a program.
    #[error("{place}: {module} is not compiled in; a program of its own says `exec = true`")]
    NotCompiledIn {
        /// Where the rule stands.
        place: String,
        /// What it names.
        module: String,
    },
    /// It could not be made.
    #[error("{service}: {problem}")]
    Make {
        /// Which.
        service: String,
        /// Why.
        problem: Box<E>,
    },
}

/// The services that were made, in the order in which they were.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Built(pub Vec<String>);

impl<A, E> Makers<A, E> {
    /// Makes what a plan says, in its order; the first that fails ends it.
    ///
    /// # Errors
    /// A service could not be made.
    pub fn build(&self, registry: &Registry, plan: &Plan, program: &mut A) -> Result<Built, BuildError<E>> {
        let mut built = Built::default();
        for id in plan.order() {
            let unit = registry.unit(id);
            self.make(unit, program)?;
            built.0.push(unit.name().to_owned());
        }
        Ok(built)
    }

    fn make(&self, unit: &Unit, program: &mut A) -> Result<(), BuildError<E>> {
        let instance = unit.instance.as_deref();
        let made = if unit.rule.exec {
            (self.program)(program, &unit.rule, instance)
        } else {
            let module = unit.rule.module.as_ref().unwrap_or(&unit.template);
            let maker = self.compiled_in.iter().find(|(name, _)| name == module);
            let (_, make) = maker
                .ok_or_else(|| BuildError::NotCompiledIn { place: unit.rule.place.clone(), module: module.clone() })?;
            make(program, instance)
        };
        let problem = |problem| BuildError::Make { service: unit.name().to_owned(), problem: Box::new(problem) };
        made.map_err(problem)
    }
}
