//! The demo agent as a program of its own, for tests: in Parlor it is a hidden command of `parlor`.

fn main() -> std::process::ExitCode {
    parlor_agent::demo::main()
}
