import { randomUUID } from 'node:crypto';
import ssh2 from 'ssh2';
import type { ParsedKey } from 'ssh2';
import type { StubDevice } from '../device.ts';

/** One machine behind a device: its disk, its keys and its jobs. Changed in place. */
export interface Host {
  /** As of its last boot. */
  device: StubDevice;
  on: boolean;
  /** Epoch milliseconds of the last boot. */
  bootedAtMs: number;
  /** OpenSSH PEM. */
  hostKey: string;
  /** What it shows instead when its key is said to have changed. */
  readonly otherKey: string;
  /** By path. What is below `/run` lasts until the next boot. */
  readonly files: Map<string, string>;
  /** Jobs that run, or whose lock is left. */
  readonly jobs: Map<string, Job>;
  /** Connections so far. */
  connections: number;
}
export interface Job {
  /** Null: it runs. */
  readonly endedAtMs: number | null;
}

export const createHost = (device: StubDevice, hostKey: string): Host => ({
  device,
  on: false,
  bootedAtMs: 0,
  hostKey,
  otherKey: generateHostKey(),
  files: new Map(),
  jobs: new Map(),
  connections: 0,
});

/**
 * OpenSSH PEM. One in 256 keys that ssh2 1.17 makes has a public half that begins with a zero byte,
 * which its generator strips, so that nothing can read the key: those are thrown away.
 */
export function generateHostKey(): string {
  for (;;) {
    const pem = ssh2.utils.generateKeyPairSync('ed25519', { comment: randomUUID() }).private;
    if (!(ssh2.utils.parseKey(pem) instanceof Error)) return pem;
  }
}

/** Wire form of its public half. */
export const publicBlobOf = (pem: string): Buffer => parsed(pem).getPublicSSH();

/** @throws {Error} it is no key. */
export function parsed(text: string): ParsedKey {
  const key = ssh2.utils.parseKey(text);
  if (key instanceof Error) throw key;
  return key;
}

/** What a boot makes of its disk. The first one after an installation runs the script. */
export function bootHost(host: Host, device: StubDevice, nowMs: number): void {
  const isFirst = host.bootedAtMs === 0;
  host.device = device;
  host.on = true;
  host.bootedAtMs = nowMs;
  host.jobs.clear();
  for (const path of host.files.keys()) if (path.startsWith('/run/')) host.files.delete(path);
  if (isFirst) playScript(device.installation.initCommand, host.files);
}

/** Of a first-boot script only what it writes: `printf %s <text> > <path>`, `echo <text> > <path>`. */
function playScript(script: string, files: Map<string, string>): void {
  for (const [, printf, echo, path] of script.matchAll(
    /^(?:printf %s (\S+)|echo (.*?)) > (\/\S+)$/gm,
  )) {
    files.set(path!, printf ?? `${echo}\n`);
  }
}
