//! `parlor convert`: a filter from any format to the messages of one profile, line by line.

use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use parlor_dialect::{Claim, Decoder, Format, Splitter};
use parlor_found::DETECT_LINES;
use parlor_model::entry::Entry;
use parlor_model::line::Line;
use parlor_profile::{Projector, Step};
use parlor_transcript::Transcript;
use serde_json::Value;

use crate::args::{Convert, Input};
use crate::output::remark;

/// How much is read at once; what comes sooner is converted sooner.
const CHUNK: usize = 64 * 1024;

/// Converts stdin to stdout. What a chunk of input says is written before the next one is waited for.
pub(crate) fn run(args: &Convert) -> Result<ExitCode> {
    let mut input = io::stdin().lock();
    let mut output = BufWriter::with_capacity(CHUNK, io::stdout().lock());
    let mut filter = Filter::new(args);
    let mut splitter = Splitter::default();
    let mut chunk = vec![0; CHUNK];
    let mut lines = Vec::new();
    loop {
        let length = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            length => length.context("cannot read stdin")?,
        };
        splitter.push(&chunk[..length], &mut lines);
        if length == 0 {
            lines.extend(splitter.finish());
        }
        for line in lines.drain(..) {
            filter.push(line, &mut output)?;
        }
        if length == 0 {
            break;
        }
        output.flush()?;
    }
    filter.finish(&mut output)?;
    output.flush()?;
    if filter.unclaimed {
        remark("parlor: the first lines are in no format that Parlor knows; say `--from` if you know better");
    }
    Ok(ExitCode::SUCCESS)
}

/// The pipeline, and the lines that wait until the format is known.
struct Filter {
    waiting: Vec<Line>,
    unclaimed: bool,
    decoder: Option<Decoder>,
    transcript: Transcript,
    projector: Box<dyn Projector>,
    seq: u64,
    messages: Vec<Value>,
}

impl Filter {
    fn new(args: &Convert) -> Filter {
        let decoder = match args.from.input {
            Input::Auto => None,
            Input::Known(format) => Some(Decoder::new(Some(format))),
        };
        Filter {
            waiting: Vec::new(),
            unclaimed: false,
            decoder,
            transcript: Transcript::default(),
            projector: args.to.projector(),
            seq: 0,
            messages: Vec::new(),
        }
    }

    fn push(&mut self, line: Line, output: &mut impl Write) -> Result<()> {
        if self.decoder.is_some() {
            return self.step(&line, output);
        }
        let sure = Format::ALL.into_iter().any(|format| format.claim(&line) == Claim::Yes);
        self.waiting.push(line);
        // One line that only one format writes decides, so that a slow stream is not held back.
        if sure || self.waiting.len() >= DETECT_LINES { self.decide(output) } else { Ok(()) }
    }

    /// Chooses the format by the lines that wait, and lets them go. Where nobody claims
    /// them they are kept as unknown, and each line to come goes to the dialect that claims it.
    fn decide(&mut self, output: &mut impl Write) -> Result<()> {
        let format = Format::detect(&self.waiting);
        self.unclaimed = format.is_none() && !self.waiting.is_empty();
        self.decoder = Some(Decoder::new(format));
        for line in std::mem::take(&mut self.waiting) {
            self.step(&line, output)?;
        }
        Ok(())
    }

    fn step(&mut self, line: &Line, output: &mut impl Write) -> Result<()> {
        let Some(decoder) = &mut self.decoder else { return Ok(()) };
        let mut events = Vec::new();
        let reading = decoder.read(line, &mut events);
        let touched = self.transcript.fold(self.seq, line, &reading, events.iter().cloned());
        let touched: Vec<&Entry> =
            touched.iter().filter_map(|index| self.transcript.entries().get(*index)).collect();
        let session = self.transcript.session();
        let step = Step {
            seq: self.seq,
            origin: parlor_model::record::Origin::Agent,
            received: None,
            line,
            reading: &reading,
            events: &events,
            touched: &touched,
            session,
        };
        self.projector.step(&step, &mut self.messages);
        self.seq += 1;
        self.write(output)
    }

    fn finish(&mut self, output: &mut impl Write) -> Result<()> {
        if self.decoder.is_none() {
            self.decide(output)?;
        }
        self.projector.finish(&mut self.messages);
        self.write(output)
    }

    fn write(&mut self, output: &mut impl Write) -> Result<()> {
        for message in self.messages.drain(..) {
            serde_json::to_writer(&mut *output, &message)?;
            output.write_all(b"\n")?;
        }
        Ok(())
    }
}
