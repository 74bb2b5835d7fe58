//! What is drawn, and how often.

#![expect(clippy::unwrap_used, reason = "helpers of tests may be blunt")]

use std::sync::Arc;

use mcp_parley_mock_servers::{Draft, persona, personas};
use mcp_parley_sim::{Drawer, Seeded, Setup};

/// How many of the first so many seeds draw a persona that writes megabytes.
fn heavy(servers: Vec<Draft>, seeds: u64) -> usize {
    let setup = Setup { servers, ..Setup::default() };
    let mut drawer = Drawer::new(Arc::new(setup));
    let is_heavy = |seed: &u64| drawer.draw(&mut Seeded::new(*seed)).unwrap().0.server.played.is_heavy();
    (0..seeds).filter(is_heavy).count()
}

#[test]
fn what_writes_megabytes_is_drawn_but_rarely() {
    // One choice of three is heavy, and one in 256 of those is kept.
    let count = heavy(vec![persona("long-line").unwrap().clone()], 20_000);
    assert!((10..60).contains(&count), "{count}");
    let count = heavy(personas().to_vec(), 100_000);
    assert!((1..15).contains(&count), "{count}");
}

#[test]
fn what_can_only_be_heavy_is_played_as_it_is() {
    let mut heavy_one = persona("long-line").unwrap().resolve(&[2]).unwrap();
    assert!(heavy_one.quirks[0].act.pad_bytes.unwrap() > 4 << 20);
    assert_eq!(heavy(vec![Draft::of(&heavy_one).unwrap()], 100), 100);
    heavy_one.quirks[0].act.pad_bytes = Some(1 << 16);
    assert_eq!(heavy(vec![Draft::of(&heavy_one).unwrap()], 100), 0);
}
