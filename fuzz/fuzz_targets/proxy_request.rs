#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| adjutant_fuzzing::proxy_request(bytes));
