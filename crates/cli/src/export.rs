//! `parlor export`: a session as a file that can be kept and passed on.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::args::{Export, ExportFormat};
use crate::conversation::Conversation;
use crate::form::{self, Look};
use crate::input::{self, Meant};
use crate::output::Output;
use crate::terminal::plain;

/// Lines of a text export are this wide where it has rules and tables: it has no terminal.
const WIDTH: usize = 100;

/// Exports a session.
pub(crate) fn run(args: &Export) -> Result<ExitCode> {
    let form = match args.format {
        Some(format) => format,
        None => by_extension(&args.output)?,
    };
    let (conversation, own) = match input::meant(&args.session, &args.house)? {
        Meant::Kept(kept, id) => (kept.conversation(&id)?, None),
        Meant::Source(source) => {
            let format = input::format(&source, args.from.input)?;
            (Conversation::whole(&source, format), source.path)
        }
    };
    let look = Look { form: form.into(), thinking: true, color: false, width: WIDTH };
    if args.output == Path::new("-") {
        let mut output = Output::stdout();
        form::write(&conversation, look, &mut output)?;
        output.finish()?;
    } else {
        write_file(&args.output, own.as_deref(), |output| form::write(&conversation, look, output))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn by_extension(path: &Path) -> Result<ExportFormat> {
    let name = plain(&path.to_string_lossy());
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase).as_deref() {
        Some("html" | "htm") => Ok(ExportFormat::Html),
        Some("md" | "markdown") => Ok(ExportFormat::Markdown),
        Some("txt" | "text") => Ok(ExportFormat::Text),
        Some("json") => Ok(ExportFormat::Json),
        _ => bail!(
            "`{name}` does not say which format; use `.html`, `.md`, `.txt` or `.json`, or say `--format`"
        ),
    }
}

/// Writes beside the file and moves it into place, so that a failure leaves what was there before.
fn write_file(
    path: &Path,
    own: Option<&Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
) -> Result<()> {
    let name = plain(&path.to_string_lossy());
    let same =
        |own: &Path| own.canonicalize().is_ok_and(|own| path.canonicalize().is_ok_and(|path| path == own));
    if own.is_some_and(same) {
        bail!("`{name}` is the session itself; choose another name for the export");
    }
    // A device or a pipe is written to as it is.
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        let file =
            File::options().write(true).open(path).with_context(|| format!("cannot write `{name}`"))?;
        let mut output = BufWriter::new(file);
        write(&mut output)?;
        return output.flush().with_context(|| format!("cannot write `{name}`"));
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = Path::new(&beside);
    let file = File::create(beside)
        .with_context(|| format!("cannot write `{name}`; does its folder exist and allow it?"))?;
    let mut output = BufWriter::new(file);
    let written =
        write(&mut output).and_then(|()| Ok(output.flush()?)).and_then(|()| Ok(fs::rename(beside, path)?));
    if written.is_err() {
        let _ = fs::remove_file(beside);
    }
    written.with_context(|| format!("cannot write `{name}`"))
}
