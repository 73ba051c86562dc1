//! Telemetry for operators of machines: the event log as OTLP.

mod otlp;

#[cfg(test)]
mod tests;

pub use otlp::OtlpExporter;
