//! CONFORMANCE.md is true: every rule stands there once, and every test it names is in its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many rules each family has.
const RULES: [(&str, usize); 6] = [("S0", 103), ("S1", 49), ("S2", 99), ("S3", 60), ("S4", 147), ("T", 30)];

/// The parts of Parlor that a rule may wait for.
const PARTS: [&str; 6] = ["agents", "hub", "page", "server", "store", "voice"];

struct Row {
    number: String,
    rule: String,
    tests: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join("CONFORMANCE.md")).unwrap_or_default();
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, rule, tests] = cells.as_slice() else { panic!("not three cells: {line}") };
        Row { number: (*number).into(), rule: (*rule).into(), tests: (*tests).into() }
    };
    let is_row = |line: &&str| RULES.iter().any(|(family, _)| line.starts_with(&format!("| {family}-")));
    page.lines().filter(is_row).map(row).collect()
}

/// The files in which a test of that package and path may be.
fn files(package: &str, path: &str) -> Vec<PathBuf> {
    if package == "web" {
        return vec![root().join(format!("web/tests/{path}.test.mjs"))];
    }
    if package == "browser" {
        return vec![root().join(format!("tests/browser/{path}.test.mjs"))];
    }
    if package == "tests" {
        return vec![root().join(format!("tests/tests/{path}.rs"))];
    }
    let base = root().join("crates").join(package);
    let places = ["src/{}.rs", "src/{}/mod.rs", "src/{}/tests.rs", "tests/{}.rs"];
    places.iter().map(|place| base.join(place.replace("{}", path))).collect()
}

/// How often a source has a test of that name that runs.
fn count(source: &str, name: &str) -> usize {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let (head, waits) = (format!("fn {name}("), format!("async fn {name}("));
    // The page's tests have sentences for names; here their blanks are underscores and their commas are left out.
    let sentence = |line: &str| {
        let head = line.strip_prefix("test(\"").or_else(|| line.strip_prefix("scene(\""));
        let said = head.and_then(|rest| rest.split_once("\", "));
        said.is_some_and(|(said, _)| said.replace([',', ';', ':'], "").replace(' ', "_") == name)
    };
    let runs = |at: usize| {
        let above: Vec<&&str> = lines[..at].iter().rev().take_while(|line| line.starts_with("#[")).collect();
        let test = |line: &str| line == "#[test]" || line.starts_with("#[tokio::test");
        above.iter().any(|line| test(line)) && !above.iter().any(|line| line.starts_with("#[ignore"))
    };
    let rust = |at: usize| (lines[at].starts_with(&head) || lines[at].starts_with(&waits)) && runs(at);
    (0..lines.len()).filter(|at| rust(*at) || sentence(lines[*at])).count()
}

#[test]
fn every_rule_stands_there_once_and_in_order() {
    let rows = rows();
    let expected =
        RULES.iter().flat_map(|(family, count)| (1..=*count).map(move |number| format!("{family}-{number}")));
    let numbers: Vec<String> = rows.iter().map(|row| row.number.clone()).collect();
    assert_eq!(numbers, expected.collect::<Vec<_>>());
    for row in &rows {
        assert!(!row.rule.is_empty() && !row.tests.is_empty(), "{} says nothing", row.number);
    }
}

#[test]
fn every_rule_names_tests_that_exist() {
    let mut sources: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in rows() {
        if let Some(reason) = row.tests.strip_prefix("not yet: ") {
            let part = reason.split(':').next().unwrap_or_default();
            if !PARTS.contains(&part) {
                wrong.push(format!("{} waits for {reason}", row.number));
            }
            continue;
        }
        for test in row.tests.split(", ") {
            let name = test.trim_matches('`');
            let parts: Vec<&str> = name.split("::").collect();
            let [package, path @ .., function] = parts.as_slice() else {
                wrong.push(format!("{}: {name} is no name of a test", row.number));
                continue;
            };
            let mut found = 0;
            for file in files(package, &path.join("/")) {
                let read = || std::fs::read_to_string(&file).unwrap_or_default();
                found += count(sources.entry(file.clone()).or_insert_with(read), function);
            }
            if found != 1 {
                wrong.push(format!("{}: {name} is there {found} times", row.number));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_page_says_how_many_rules_are_covered() {
    let page = std::fs::read_to_string(root().join("CONFORMANCE.md")).unwrap();
    for (family, rules) in RULES {
        let prefix = format!("{family}-");
        let covered = rows()
            .iter()
            .filter(|row| row.number.starts_with(&prefix) && !row.tests.starts_with("not yet"))
            .count();
        let (_, section) = page.split_once(&format!("## {family} ")).unwrap();
        assert!(
            section.lines().nth(2).unwrap().starts_with(&format!("{covered} of {rules} are covered")),
            "{family}"
        );
    }
}
