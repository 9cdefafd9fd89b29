/**
 * Builds one executable file from the agent's script and a Node runtime: Node's single executable
 * application. All parts come from the npm registry.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const PACKAGES = join(import.meta.dirname, '..', 'node_modules');
const NODE = join(PACKAGES, 'node', 'bin', 'node');
const POSTJECT = join(PACKAGES, 'postject', 'dist', 'cli.js');
/** Where the runtime looks for the embedded blob: fixed by Node. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const EXECUTABLE_MODE = 0o755;

/** Processors for which executables are built, as Node names them. */
export const ARCHITECTURES = ['x64', 'arm64'];

/** The target platform of an executable, as in its name. */
export const platformOf = (arch: string): string => `${process.platform}-${arch}`;

export interface ExecutableOptions {
  readonly script: Uint8Array;
  readonly outFile: string;
  /** One of {@link ARCHITECTURES}; the runtime of another architecture comes from the registry. */
  readonly arch: string;
}

/**
 * Writes the executable, mode 0755, as a whole or not at all. The same script and packages give the
 * same bytes wherever they are built.
 * @throws {Error} a step failed.
 */
export function buildAgentExecutable(options: ExecutableOptions): void {
  const scratch = mkdtempSync(join(tmpdir(), 'shepherd-agent-'));
  mkdirSync(dirname(options.outFile), { recursive: true });
  const draft = `${options.outFile}.${process.pid}.new`;
  try {
    const blob = prepareBlob(scratch, options.script);
    const runtime = readFileSync(runtimeFor(options.arch, scratch));
    writeFileSync(draft, withoutSymbols(runtime), { mode: EXECUTABLE_MODE });
    const injection = [draft, RESOURCE, blob, '--sentinel-fuse', FUSE];
    run([POSTJECT, ...injection]);
    renameSync(draft, options.outFile);
  } finally {
    rmSync(draft, { force: true });
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * The part of a 64-bit ELF file that a process loads. Debugging information and symbols follow it,
 * with the table of sections; `strip` of one architecture cannot remove those of another.
 */
function withoutSymbols(elf: Buffer): Buffer {
  const [first, size] = [Number(elf.readBigUInt64LE(32)), elf.readUInt16LE(54)];
  const ends = Array.from({ length: elf.readUInt16LE(56) }, (_, index) => {
    const at = first + index * size;
    return Number(elf.readBigUInt64LE(at + 8) + elf.readBigUInt64LE(at + 32));
  });
  const loaded = Buffer.from(elf.subarray(0, Math.max(...ends)));
  // Its place, and the number of sections and the index of their names.
  loaded.fill(0, 40, 48).fill(0, 60, 64);
  return loaded;
}

/** Writes `<path>.xz`, in which the daemon finds the SHA-256 of the content. */
export function compressExecutable(path: string): void {
  // One block of 8 MiB windows: any machine can unpack it in 10 MB of memory.
  execFileSync('xz', ['-6', '-T1', '--check=sha256', '--keep', '--force', path]);
}

/** The same Node version for this architecture. */
function runtimeFor(arch: string, scratch: string): string {
  if (arch === process.arch) return NODE;
  const name = `node-${platformOf(arch)}`;
  const { version } = JSON.parse(readFileSync(join(PACKAGES, 'node', 'package.json'), 'utf8')) as {
    version: string;
  };
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  const pack = ['pack', `${name}@${version}`, '--silent', '--pack-destination', scratch];
  const archive = execFileSync('npm', pack, { stdio: [...stdio], encoding: 'utf8' }).trim();
  execFileSync('tar', ['-xzf', archive], { cwd: scratch, stdio: [...stdio] });
  return join(scratch, 'package', 'bin', 'node');
}

/** The file names are part of the blob, so they are constant. */
function prepareBlob(scratch: string, script: Uint8Array): string {
  const [main, output, config] = ['agent.js', 'agent.blob', 'sea-config.json'];
  writeFileSync(join(scratch, main), script);
  const choices = { disableExperimentalSEAWarning: true, useSnapshot: false, useCodeCache: false };
  writeFileSync(join(scratch, config), JSON.stringify({ main, output, ...choices }));
  run(['--experimental-sea-config', config], scratch);
  return join(scratch, output);
}

/**
 * Runs the runtime that goes into the file, because both must have one version. A failure's error
 * contains its standard error.
 */
function run(args: readonly string[], cwd?: string): void {
  execFileSync(NODE, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
}
