import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { buildAgentExecutable } from '../../scripts/agent-executable.ts';
import { buildAgent } from '../../src/agent-bundle.ts';
import { loadOrCreateSshKey } from '../../src/adapters/ssh/key-file.ts';
import { mayMakeMachines } from '../e2e/own-machine.ts';
import { isProvided } from '../support/programs.ts';
import { buildGuest } from './guest.ts';

const PROGRAMS = 'qemu-system-x86_64 grub-mkrescue dropbear mke2fs mformat xorriso libvirtd virsh';
const found = spawnSync('which', PROGRAMS.split(' '), { encoding: 'utf8' });

/** For `test.runIf`. */
export const hasMachines =
  mayMakeMachines() &&
  isProvided(found.status === 0, {
    tested: 'the life of a virtual machine',
    by: 'what .ci/packages has for the night',
  });

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
      const options =
        '-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null';
      const login = ['-i', join(dir, 'ssh-key'), '-p', String(port), 'root@127.0.0.1'];
      const ssh = promisify(execFile)('ssh', [...options.split(' '), ...login, command]);
      return (await ssh).stdout;
    },
  };
}
