import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from '../domain/errors.ts';
import { complaintAboutPrivacy } from './file-checks.ts';

/** The environment in which references are resolved. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Base of relative paths in the configuration. */
  readonly baseDirectory: string;
  /** Whether required files are checked. Secret files always are. */
  readonly checkFiles: boolean;
}

/**
 * A value to which the configuration only refers. Printing it as text or JSON shows only its
 * reference.
 */
export interface Secret {
  /** As written: `${NAME}`, `file:<path>`, `credential:<name>`, or a text with references. */
  readonly reference: string;
  /**
   * Resolves the reference again, so that a rotated token needs no restart.
   * @throws {UsageError} the variable or file is gone since the start.
   */
  read(): string;
  toString(): string;
  toJSON(): string;
}

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** True for a text that consists of one reference. */
export const isReference = (text: string): boolean =>
  /^(file|credential):/.test(text) || /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);

/**
 * Makes a secret from a text with references and resolves it once.
 * @throws {UsageError} names the unresolved reference, and never a value.
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
 * The same for a text that may be inline; then it shows only its length. Others may read the file.
 * @throws {UsageError} the file is missing.
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

/** References inside a longer text are parts of a URL, so they are percent-encoded. */
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
  if (value === '')
    throw new UsageError(`refers to ${reference}, which is empty; write the value there`);
  return value;
}

/** A name in systemd's form; no path. */
const CREDENTIAL = /^credential:([A-Za-z0-9_][A-Za-z0-9_.-]*)$/;

/**
 * Reads a credential from the service manager (LoadCredential=, SetCredential=). The manager
 * controls access: it uses a directory for this unit only, with an access list that modes do not
 * show.
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
  if (value === '')
    throw new UsageError(`refers to ${reference}, which is empty; write the value there`);
  return value;
}

/** The owner and writers of the file control the secret. */
function readPrivately(path: string, reference: string): string {
  let file: number | undefined;
  try {
    // Does not wait for the other end of a pipe.
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
