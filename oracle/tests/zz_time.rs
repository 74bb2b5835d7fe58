#![allow(warnings)]
mod support;
use mcp_parley_oracle::*; use mcp_parley_trace::*; use support::*;
#[test] fn time() {
    let mut takes=vec![];
    for e in std::fs::read_dir("tests/traces").unwrap() { let p=e.unwrap().path(); let t=std::fs::read_to_string(&p).unwrap(); if t.contains("=====") {continue} let s=Script::parse(&t); if s.subject==Subject::Server {continue} let k=s.record(View::Both); takes.push((s,k)); }
    let s=Script::parse("C> $PROBE(1)\nS> $REFUSED(1)\nC> $PROBE(2)\nS> $FOUND(2)\n-- settled modern 2026-07-28\nC> $LIST(3)\nS> $TOOLS(3)\n-- called well\n-- close\n-- exit 0\n");
    let typical=s.record(View::Both);
    println!("typical bytes {} events {}", typical.recording.len_bytes(), typical.recording.events().len());
    let mut j=Judge::new();
    for _ in 0..1 {
    let t=std::time::Instant::now(); let n=20000;
    for _ in 0..n { std::hint::black_box(j.judge(&typical.recording,&s.declared,s.subject,Transport::Stdio)); }
    println!("typical {:?}", t.elapsed()/n);
    let t=std::time::Instant::now(); let n=1;
    for _ in 0..n { for (s,k) in &takes { std::hint::black_box(j.judge(&k.recording,&s.declared,s.subject,Transport::Stdio)); } }
    println!("files {:?}", t.elapsed()/n/takes.len() as u32);
    }
}
