import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { build as Build } from 'esbuild';
import type { UploadFile } from './adapters/ssh/port.ts';
import { Malformed, NotFound } from './domain/errors.ts';

/** The agent as one executable file. Small programs are not compressed. */
export interface AgentProgram extends Pick<UploadFile, 'compressed'> {
  readonly content: Buffer;
  /** Of the content, lower-case hexadecimal. */
  readonly sha256: string;
}

const EXECUTABLE_MODE = 0o755;
/** The prebuilt program in a published package. */
const PREBUILT = join(import.meta.dirname, 'agent', 'shepherd-agent');
const ENTRY = join(import.meta.dirname, 'agent', 'main.ts');

/**
 * A package.json above the file may make it an ES module: this line provides `require` in either
 * case.
 */
const HEAD = `#!/usr/bin/env node
var require = process.getBuiltinModule('node:module').createRequire('/');`;

/**
 * Loads the named program; by default the prebuilt one, or one built from source. Beside a large
 * program, the same one compressed by `npm run build:agent` has the ending `.xz`.
 * @param onStale called if that is of another program, and not used.
 * @throws {NotFound} the file is missing or unreadable.
 */
export async function loadAgentProgram(
  path?: string,
  onStale: (path: string) => void = () => undefined,
): Promise<AgentProgram> {
  const prebuilt = path === undefined ? readIfPresent(PREBUILT) : null;
  if (prebuilt) return asProgram(prebuilt);
  if (path === undefined) return buildAgent();
  try {
    return withCompressed(asProgram(readFileSync(path)), `${path}.xz`, onStale);
  } catch (error) {
    throw new NotFound(`cannot read the agent program ${path}`, { cause: error });
  }
}

/** Number of builds under way; they share the bundler's process. */
let building = 0;

/**
 * Bundles `src/agent` into one file that needs only Node 20.16 or later. The same sources give the
 * same bytes. Writes the file, mode 0755, if a path is given. @throws {Malformed} the sources are
 * broken.
 */
export async function buildAgent(options: { outFile?: string } = {}): Promise<AgentProgram> {
  const { build, stop } = await import('esbuild');
  building += 1;
  try {
    return await bundleBy(build, options);
  } finally {
    building -= 1;
    // Otherwise the bundler's process lives as long as ours. A build still running would hang.
    if (building === 0) void stop();
  }
}

async function bundleBy(
  build: typeof Build,
  { outFile }: { outFile?: string },
): Promise<AgentProgram> {
  const result = await build({
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    write: false,
    platform: 'node',
    target: 'node20',
    format: 'iife',
    banner: { js: HEAD },
    define: { SHEPHERD_VERSION: JSON.stringify(readVersion()) },
    logLevel: 'silent',
  }).catch((error: unknown) => {
    throw new Malformed('cannot bundle the agent', { cause: error });
  });
  const program = asProgram(Buffer.from(result.outputFiles[0]!.contents));
  if (outFile !== undefined) writeProgram(outFile, program);
  return program;
}

const asProgram = (content: Buffer): AgentProgram => ({
  content,
  sha256: createHash('sha256').update(content).digest('hex'),
});

const COMPRESSED_FROM_BYTES = 8_000_000;

/** By xz if that is beside the program; by gzip once a machine needs it, which takes seconds. */
function withCompressed(
  program: AgentProgram,
  path: string,
  onStale: (path: string) => void,
): AgentProgram {
  const { content, sha256 } = program;
  if (content.length < COMPRESSED_FROM_BYTES) return program;
  const xz = readIfPresent(path);
  const isOurs = xz !== null && checkOf(xz) === sha256;
  if (xz && !isOurs) onStale(path);
  let gzipped: Promise<Buffer> | undefined;
  return {
    ...program,
    compressed: new Map([
      ...(isOurs ? [['xz', async () => xz] as const] : []),
      ['gzip', () => (gzipped ??= promisify(gzip)(content))],
    ]),
  };
}

/**
 * The check that `xz --check=sha256` puts before the index of a file with one block: the SHA-256 of
 * the content (https://tukaani.org/xz/xz-file-format.txt, 2.1.2 and 3.4). Meaningless for others.
 */
function checkOf(xz: Buffer): string {
  const indexBytes = xz.length < 12 ? 0 : (xz.readUInt32LE(xz.length - 8) + 1) * 4;
  const end = Math.max(0, xz.length - 12 - indexBytes);
  return xz.subarray(Math.max(0, end - 32), end).toString('hex');
}

function writeProgram(path: string, { content }: AgentProgram): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode: EXECUTABLE_MODE });
  chmodSync(path, EXECUTABLE_MODE);
}

function readVersion(): string {
  const path = findPackageJSON(import.meta.url)!;
  const { version } = JSON.parse(readFileSync(path, 'utf8')) as { version: string };
  return version;
}

function readIfPresent(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
