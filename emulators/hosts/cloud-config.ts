import { posix } from 'node:path';
import { parse as parseShell, quote } from 'shell-quote';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { playScript, type ScriptDisk } from './first-boot.ts';
import type { HostsLog } from './options.ts';

/** The disk of a machine that has the files of a configuration. */
export interface CloudDisk extends ScriptDisk {
  /** Undefined: there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** Of a file that need not be there. */
  remove(path: string): Promise<void>;
}

const text = z.string();
const config = z.object({
  write_files: z
    .array(
      z.object({
        path: text,
        content: text.prefault(''),
        encoding: z.enum(['b64', 'base64', 'text/plain']).prefault('text/plain'),
        permissions: z
          .string()
          .regex(/^0?[0-7]{3}$/)
          .prefault('0644'),
      }),
    )
    .nullish(),
  runcmd: z.array(z.union([text, z.array(text)])).nullish(),
});

const HEAD = /^#cloud-config\s*(\n|$)/;

/**
 * Plays what cloud-init finds at a machine's first boot: a script as it is; of a `#cloud-config` the
 * `write_files` and then the `runcmd`, each of which runs a script that is on the disk, removes files,
 * or is played as a line of a script. Everything else is left out, and logged without what it says, as
 * it may hold secrets. Never rejects for what is said.
 */
export async function playUserData(
  userData: string,
  disk: CloudDisk,
  log: HostsLog,
): Promise<void> {
  if (!HEAD.test(userData)) return playScript(userData, disk, log);
  const parsed = config.safeParse(readYaml(userData));
  if (!parsed.success) {
    log.warn({ paths: parsed.error.issues.map(({ path }) => path) }, 'a bad cloud-config');
    return;
  }
  const { write_files: files, runcmd: commands } = parsed.data;
  for (const { path, content, encoding, permissions } of files ?? []) {
    const isEncoded = encoding !== 'text/plain';
    const written = isEncoded ? Buffer.from(content, 'base64').toString() : content;
    try {
      await disk.makeDirectory(posix.dirname(path), 0o755);
      await disk.write(path, written, Number.parseInt(permissions, 8));
    } catch (err) {
      log.warn({ err }, 'a file of a cloud-config was not written');
    }
  }
  for (const command of commands ?? []) await play(command, disk, log);
}

/** As lists of words, or as a line of a shell. */
async function play(command: string | string[], disk: CloudDisk, log: HostsLog): Promise<void> {
  if (typeof command !== 'string') return run(command, disk, log);
  const commands = sequence(command);
  if (!commands) return playScript(`#!/bin/sh\n${command}`, disk, log);
  for (const argv of commands) await run(argv, disk, log);
}

function readYaml(source: string): unknown {
  try {
    return parseYaml(source) ?? {};
  } catch {
    return undefined;
  }
}

/** Simple commands with `;` or `&&` between them; undefined for what is no such thing. */
function sequence(line: string): string[][] | undefined {
  const commands: string[][] = [[]];
  for (const token of parseShell(line, () => ({ op: '$' }))) {
    if (typeof token === 'string') commands.at(-1)!.push(token);
    else if ('op' in token && (token.op === ';' || token.op === '&&')) commands.push([]);
    else return undefined;
  }
  return commands.filter((argv) => argv.length > 0);
}

async function run(argv: readonly string[], disk: CloudDisk, log: HostsLog): Promise<void> {
  const [program = '', ...args] = argv;
  const isShell = /^(\/bin\/)?(ba)?sh$/.test(program);
  if (isShell && args[0] === '-c') return play(args[1] ?? '', disk, log);
  const file = isShell ? (args[0] ?? '') : program;
  if (isShell || program.includes('/')) {
    const script = await disk.read(file);
    if (script === undefined) log.debug({}, 'a program of the cloud-config is not on the machine');
    else await playScript(script, disk, log);
  } else if (program === 'rm') {
    for (const path of args.filter((arg) => !arg.startsWith('-'))) await disk.remove(path);
  } else {
    await playScript(`#!/bin/sh\n${quote([...argv])}`, disk, log);
  }
}
