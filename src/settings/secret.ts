import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../domain/errors.ts';
import { complaintAboutPrivacy } from './file-checks.ts';

/** Where references are looked up. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Relative paths of the configuration start here. */
  readonly baseDirectory: string;
  /** Whether files that must exist at start are looked at. Files of secrets always are. */
  readonly checkFiles: boolean;
}

/**
 * A value the configuration only refers to. Nothing that prints an object can show it: as text and
 * as JSON it is its reference.
 */
export interface Secret {
  /** As written in the configuration: `${NAME}`, `file:<path>`, `credential:<name>`, or a text around references. */
  readonly reference: string;
  /**
   * Looks the reference up again, so that a rotated token is found without a restart.
   * @throws {UsageError} the variable or file has gone since the start.
   */
  read(): string;
  toString(): string;
  toJSON(): string;
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** True for a text that is one reference and nothing else. */
export const isReference = (text: string): boolean =>
  /^(file|credential):/.test(text) || /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);

/**
 * Makes a secret of a text with references and looks it up once.
 * @throws {UsageError} saying which reference leads nowhere, and never a value.
 */
export function createSecret(text: string, around: Surroundings): Secret {
  const read = () => {
    if (text.startsWith('credential:')) return readCredential(text, around);
    return text.startsWith('file:') ? readSecretFile(text, around) : expand(text, around);
  };
  read();
  return Object.freeze({ reference: text, read, toString: () => text, toJSON: () => text });
}

/**
 * As a secret, of a text that may also stand in the configuration itself and then shows its length.
 * Others may read the file.
 * @throws {UsageError} the file is not there.
 */
export function createScript(text: string, { baseDirectory }: Surroundings): Secret {
  const isFile = text.startsWith('file:');
  const reference = isFile ? text : `<${text.length} characters>`;
  const path = resolve(baseDirectory, text.slice('file:'.length));
  const read = () => (isFile ? readText(path, text) : text);
  read();
  return Object.freeze({ reference, read, toString: () => reference, toJSON: () => reference });
}

function readText(path: string, reference: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, reference, error);
  }
}

/** References inside a longer text are parts of a URL, hence percent-encoded. */
function expand(text: string, { env }: Surroundings): string {
  const whole = isReference(text);
  return text.replace(REFERENCE, (reference, name: string) => {
    const value = env[name];
    if (value === undefined || value === '') {
      throw new UsageError(`refers to ${reference}, which is not set; set it in the environment`);
    }
    return whole ? value : encodeURIComponent(value);
  });
}

function readSecretFile(reference: string, { baseDirectory }: Surroundings): string {
  const path = resolve(baseDirectory, reference.slice('file:'.length));
  const value = readPrivately(path, reference).trimEnd();
  if (value === '') throw new UsageError(`refers to ${reference}, which is empty; write it there`);
  return value;
}

/** A name as systemd allows it; no path. */
const CREDENTIAL = /^credential:([A-Za-z0-9_][A-Za-z0-9_.-]*)$/;

/**
 * What the service manager passes to the unit, by LoadCredential= or SetCredential=. Who may read it is
 * its business: it lies in a directory for this unit alone, with an access list that modes do not show.
 */
function readCredential(reference: string, { env }: Surroundings): string {
  const [, name] = CREDENTIAL.exec(reference) ?? [];
  if (name === undefined) throw new UsageError(`is ${reference}; give credential: and a name`);
  const directory = env['CREDENTIALS_DIRECTORY'];
  if (directory === undefined || directory === '') {
    throw new UsageError(
      `refers to ${reference}, and no credentials were passed; ` +
        `give the unit LoadCredential=${name}:<path>`,
    );
  }
  const value = readText(resolve(directory, name), reference).trimEnd();
  if (value === '') throw new UsageError(`refers to ${reference}, which is empty; write it there`);
  return value;
}

/** Whoever owns the file, or may write to it, decides what the secret is. */
function readPrivately(path: string, reference: string): string {
  let file: number | undefined;
  try {
    // Without waiting, as for the other end of a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const complaint = complaintAboutPrivacy(path, fstatSync(file));
    if (complaint !== null) throw new UsageError(`refers to ${reference}, which ${complaint}`);
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unreadable(path, reference, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function unreadable(path: string, reference: string, error: unknown): UsageError {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
  const problem = `refers to ${reference}, which cannot be read (${code})`;
  return new UsageError(`${problem}; make ${path} readable`, { cause: error });
}
