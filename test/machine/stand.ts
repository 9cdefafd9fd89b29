import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { buildAgentExecutable } from '../../scripts/agent-executable.ts';
import { buildAgent } from '../../src/agent-bundle.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { isProvided } from '../support/programs.ts';
import { buildGuest } from './guest.ts';

const PROGRAMS = [
  'qemu-system-x86_64',
  'grub-mkrescue',
  'dropbear',
  'mke2fs',
  'mformat',
  'xorriso',
];

/** For `test.runIf`. */
export const hasMachines = isProvided(
  PROGRAMS.every((name) => hasProgram(name)),
  {
    tested: 'the life of a virtual machine',
    by: 'qemu-system-x86 ovmf dropbear-bin e2fsprogs mtools xorriso grub-pc-bin grub-efi-amd64-bin grub-common',
  },
);

function hasProgram(name: string): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v "$1"', 'sh', name]);
    return true;
  } catch {
    return false;
  }
}

/** What the machines of a test are made of, in a directory that ends with the test. */
export async function openStand() {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-machine-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const agent = join(dir, 'agent');
  const { content } = await buildAgent();
  buildAgentExecutable({ script: content, outFile: agent, arch: 'x64' });
  const key = await loadOrCreateSshKey(join(dir, 'ssh-key'));
  const guest = buildGuest(dir);
  return {
    ...{ dir, agent, guest, key },
    /** Runs a command on the machine as root. @throws {Error} it fails. */
    async onMachine(port: number, command: string): Promise<string> {
      const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null'];
      const args = [...options.flatMap((each) => ['-o', each]), '-i', join(dir, 'ssh-key')];
      const ssh = promisify(execFile)('ssh', [
        ...args,
        '-p',
        String(port),
        'root@127.0.0.1',
        command,
      ]);
      return (await ssh).stdout;
    },
  };
}
