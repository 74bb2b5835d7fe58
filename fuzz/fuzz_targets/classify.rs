//! libFuzzer's entry to [`mcp_parley_fuzz::classify`]; built without it, replays the files named on the command line.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|input: &[u8]| mcp_parley_fuzz::classify(input));

#[cfg(not(fuzzing))]
fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        mcp_parley_fuzz::classify(&std::fs::read(path)?);
    }
    Ok(())
}
