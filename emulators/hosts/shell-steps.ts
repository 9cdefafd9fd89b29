import { createHash } from 'node:crypto';
import { chmod, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { lookup } from '../../src/lib/data.ts';
import type { Play, Played } from './commands.ts';
import { containedPath, homeDirectory } from './paths.ts';

export interface ShellStepsDeps {
  readonly root: string;
  /** Ends the agent on request over SSH. */
  stopAgent(): Promise<unknown>;
}

/**
 * Machines offer no shell, so nothing reaches the real system. Instead, the daemon's shell scripts
 * are played: each script has a name, `sh -c <script> <name> <arguments>`, and its arguments say
 * everything. Undefined for other commands.
 */
export function playShellStep(argv: readonly string[], deps: ShellStepsDeps): Play | undefined {
  return stepIn(homeDirectory, argv, deps);
}

function stepIn(
  directory: string,
  argv: readonly string[],
  deps: ShellStepsDeps,
): Play | undefined {
  const [shell, option, , name = '', ...args] = argv;
  if (shell !== 'sh' || option !== '-c') return undefined;
  if (name === 'enter') {
    const [inner = '', ...rest] = args;
    return stepIn(inner === '' ? homeDirectory : inner, withoutElevation(rest), deps);
  }
  if (name === 'stop-agent') return () => deps.stopAgent().then(() => said(''));
  const step = lookup(steps, name);
  if (!step) return undefined;
  const at = (path: string) => containedPath(deps.root, posix.resolve(directory, path));
  return () => answered(() => step({ args, directory, at }));
}

/** Everything on a machine runs as root, so `sudo -n` changes nothing. */
const withoutElevation = (argv: readonly string[]) => argv.slice(Math.max(0, argv.indexOf('sh')));

/** A step's input. */
interface StepContext {
  readonly args: readonly string[];
  /** The machine's path. */
  readonly directory: string;
  /** The real path of a path relative to the directory. @throws {Error} EACCES. */
  at(path: string): Promise<string>;
}

const said = (stdout: string): Played => ({ stdout, exitCode: 0 });

async function answered(run: () => Promise<string>): Promise<Played> {
  try {
    return said(await run());
  } catch (error) {
    return { stderr: `${(error as Error).message}\n`, exitCode: 1 };
  }
}

const steps: Readonly<Record<string, (scene: StepContext) => Promise<string>>> = {
  'upload-prepare': prepare,
  'upload-install': install,
  async 'upload-abandon'({ args, at }) {
    await rm(await at(args[0]!), { force: true });
    return 'Filesystem 1024-blocks Used Available Capacity Mounted on\ndisk 9999999 0 9999999 0% /\n';
  },
};

/** `stem parts own … target size sum mode`: tells whether the file exists, whole or in part. */
async function prepare({ args, directory, at }: StepContext): Promise<string> {
  const [stem = '', parts = '', own = ''] = args;
  const [target = '', size = '', sum = '', mode = ''] = args.slice(-4);
  const present = await contentOf(await at(target));
  if (present?.length === Number(size) && digest(present) === sum) {
    await chmod(await at(target), Number.parseInt(mode, 8));
    await removeAll(stem, { directory, at });
    return 'same\n';
  }
  let best: { readonly name: string; readonly sizeBytes: number } | undefined;
  for (const name of await namesFrom(parts, { directory, at })) {
    const { size: sizeBytes } = await stat(await at(name));
    if (sizeBytes > (best?.sizeBytes ?? 0)) best = { name, sizeBytes };
  }
  if (!best) return 'none\n';
  await rename(await at(best.name), await at(own));
  return `part ${best.sizeBytes} ${digest((await contentOf(await at(own)))!)}\n`;
}

/** `stem own target mode sum copy`: installs the file if its content is right. */
async function install({ args, directory, at }: StepContext): Promise<string> {
  const [stem = '', own = '', target = '', mode = '', sum = ''] = args;
  const written = await contentOf(await at(own));
  if (!written || digest(written) !== sum) {
    await rm(await at(own), { force: true });
    throw new Error('what is there differs from what was sent');
  }
  await chmod(await at(own), Number.parseInt(mode, 8));
  await rename(await at(own), await at(target));
  await removeAll(stem, { directory, at });
  return '';
}

/** Names in the directory with this prefix. */
async function namesFrom(prefix: string, { directory, at }: Pick<StepContext, 'directory' | 'at'>) {
  const names = await readdir(await at(directory));
  return names.filter((name) => prefix !== '' && name.startsWith(prefix));
}

async function removeAll(
  prefix: string,
  scene: Pick<StepContext, 'directory' | 'at'>,
): Promise<void> {
  for (const name of await namesFrom(prefix, scene))
    await rm(await scene.at(name), { force: true });
}

/** Undefined: the file does not exist. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');
