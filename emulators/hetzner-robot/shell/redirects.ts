import { posix } from 'node:path';
import { type Expansion, expandText } from './expand.ts';
import { FileError } from './files.ts';
import { emptyInput, type Output, type ShellState, type Streams, textInput } from './process.ts';
import { type Redirect, SyntaxProblem } from './syntax.ts';

/** Undefined: a file cannot be opened, and why was said. */
export async function redirected(
  redirects: readonly Redirect[],
  state: ShellState,
  streams: Streams,
  expansion: Expansion,
): Promise<Streams | undefined> {
  let open = streams;
  try {
    for (const redirect of redirects) open = await redirectOne(redirect, state, open, expansion);
    return open;
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    streams.errors(`${state.name}: cannot open ${error.message}\n`);
    return undefined;
  }
}

async function redirectOne(
  { descriptor, operator, target }: Redirect,
  state: ShellState,
  streams: Streams,
  expansion: Expansion,
): Promise<Streams> {
  const { files } = state.host;
  const text = await expandText(target, expansion);
  const path = posix.resolve(state.directory, text);
  if (operator === '<<') return { ...streams, input: textInput(text) };
  if (operator === '<<<') return { ...streams, input: textInput(`${text}\n`) };
  if (operator === '<') return { ...streams, input: textInput(files.read(path)) };
  if (operator === '<&') return text === '-' ? { ...streams, input: emptyInput } : streams;
  const field = descriptor === 2 ? 'errors' : 'output';
  if (descriptor > 2) throw new SyntaxProblem(`descriptor ${descriptor} is not played here`);
  if (operator === '>&') {
    if (text === '-') return { ...streams, [field]: () => undefined };
    return { ...streams, [field]: text === '2' ? streams.errors : streams.output };
  }
  if (operator !== '>>') files.write(path, '', 0o666 & ~state.umask);
  else files.append(path, '', 0o666 & ~state.umask);
  const output: Output = (written) => files.append(path, written);
  return operator === '&>'
    ? { ...streams, output, errors: output }
    : { ...streams, [field]: output };
}
