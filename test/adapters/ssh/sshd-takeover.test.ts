import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fromPromise } from 'xstate';
import { agentStartServices } from '../../../src/actors/tasks/agent-start.ts';
import type { HostKeyPolicy } from '../../../src/domain/policy.ts';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { loadAgentProgram, type AgentProgram } from '../../../src/agent-bundle.ts';
import { AGENT_START_BACKOFF } from '../../../src/domain/backoff.ts';
import type { ProviderMachine } from '../../../src/domain/machine.ts';
import type { MachineView } from '../../../src/domain/view.ts';
import { takeover } from '../../../src/machines/takeover.ts';
import type { Job } from '../../../src/machines/task.ts';
import { device } from '../../support/facts.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { commandOf, createSshdStand, namesIn, patient } from './sshd-stand.ts';
import { type Sshd, newHostKey } from './sshd.ts';

/** The services of a takeover, as they ship, against OpenSSH's real server and with the real agent. */
let program: AgentProgram;
beforeAll(async () => {
  program = await loadAgentProgram();
});
let ssh: ReturnType<typeof createSshdStand>;
beforeEach(() => void (ssh = createSshdStand()));
afterEach(() => ssh.close());

/** One machine with its database in memory. */
async function taskStand(): Promise<TaskStand> {
  const stand = createTaskStand();
  await stand.openSession();
  stand.given();
  return stand;
}

const agentOn = ({ home }: Sshd) => join(home, 'agent');
/** Nobody listens there; the agent goes on trying. */
const ENDPOINT = '127.0.0.1:9';

function takeOver(
  stand: TaskStand,
  sshd: Sshd,
  policy: HostKeyPolicy = 'tofu',
  seen: Partial<ProviderMachine> = {},
) {
  const { host, port, username } = sshd.target;
  stand.whereIs = async () => device({ address: `${host}:${port}`, remoteUser: username, ...seen });
  const services = agentStartServices({
    ...stand.deps(policy),
    shell: ssh.shellWith(),
    agent: { file: { ...program, mode: 0o755 }, targetPath: agentOn(sshd) },
    protocol: createTakeoverProtocol({ endpoint: ENDPOINT, caCertificate: new Uint8Array(0) }),
    backoff: AGENT_START_BACKOFF,
  });
  const reread = fromPromise<MachineView | null, Job>(async () => null);
  return stand.runTask('agentStart', takeover.provide({ actors: { ...services, reread } }));
}

/** The agent's process, as its own record says. */
async function agentPid(sshd: Sshd): Promise<number> {
  const { pid } = JSON.parse(await readFile(`${agentOn(sshd)}.pid`, 'utf8')) as { pid: number };
  return pid;
}
const agents = (sshd: Sshd) =>
  sshd.pids().filter((pid) => commandOf(pid).includes(`${agentOn(sshd)}\0`));

const sessionsOf = ({ log }: Sshd) =>
  log.filter((line) => line.startsWith('Starting session')).length;

async function endAgent(sshd: Sshd): Promise<void> {
  process.kill(await agentPid(sshd), 'SIGTERM');
  await expect.poll(() => agents(sshd), patient).toEqual([]);
}

describe('a machine', () => {
  test('is taken over: the agent runs, its key and the host key are recorded', async () => {
    const [stand, sshd] = [await taskStand(), await ssh.sshd()];
    expect(await takeOver(stand, sshd)).toMatchObject({ outcome: 'done', failure: null });
    const row = stand.row();
    expect(row).toMatchObject({ hostKey: sshd.hostKey, quarantine: null, startAttempt: null });
    expect(row.agentStarted?.publicKey).toMatch(/^[0-9a-f]{64}$/);
    const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    expect(row.agentStarted?.bootId).toBe(bootId.trim());
    expect(agents(sshd)).toEqual([await agentPid(sshd)]);
    expect((await readFile(agentOn(sshd))).equals(program.content)).toBe(true);
    expect(sessionsOf(sshd)).toBeGreaterThan(0);
    await endAgent(sshd);
  });

  test('is taken over again while its agent runs: one agent, with a new key', async () => {
    const [stand, sshd] = [await taskStand(), await ssh.sshd()];
    await takeOver(stand, sshd);
    const before = { pid: await agentPid(sshd), key: stand.row().agentStarted!.publicKey };
    stand.given({ hostKey: sshd.hostKey });
    expect((await takeOver(stand, sshd, 'strict')).outcome).toBe('done');
    expect(agents(sshd)).toEqual([await agentPid(sshd)]);
    expect(await agentPid(sshd)).not.toBe(before.pid);
    expect(stand.row().agentStarted!.publicKey).not.toBe(before.key);
    await endAgent(sshd);
  });

  test('whose host key changed is set aside, and nothing is put or run there', async () => {
    const [stand, sshd] = [await taskStand(), await ssh.sshd()];
    const pinned = (await ssh.sshd()).hostKey;
    stand.given({ hostKey: pinned });
    const { outcome, failure } = await takeOver(stand, sshd);
    expect([outcome, failure?.code]).toEqual(['failed', 'host-key-rejected']);
    expect(stand.row()).toMatchObject({
      hostKey: pinned,
      agentStarted: null,
      quarantine: { kind: 'conflict' },
    });
    expect(await namesIn(sshd.home)).toEqual([]);
    expect(sessionsOf(sshd)).toBe(0);
  });

  test('whose host key is the same after it came back is taken over', async () => {
    const stand = await taskStand();
    const hostKey = newHostKey();
    const before = await ssh.sshd({ hostKey });
    await takeOver(stand, before);
    await endAgent(before);
    await before.stop();
    const after = await ssh.sshd({ hostKey });
    stand.given({ hostKey: before.hostKey });
    expect((await takeOver(stand, after, 'strict')).outcome).toBe('done');
    await endAgent(after);
  });

  test.each(['the pin', 'the list'])(
    'B4: with several host keys is asked for the one that %s knows',
    async (who) => {
      const path = join(await ssh.directory(), 'key');
      const args = ['-q', '-N', '', '-t', 'ecdsa', '-f', path];
      await promisify(execFile)('ssh-keygen', args);
      const [, known] = (await readFile(`${path}.pub`, 'utf8')).split(' ');
      const [stand, sshd] = [await taskStand(), await ssh.sshd({ settings: [`HostKey ${path}`] })];
      stand.given({ hostKey: who === 'the pin' ? known! : null });
      const seen = who === 'the list' ? { hostKey: known! } : {};
      expect((await takeOver(stand, sshd, 'strict', seen)).outcome).toBe('done');
      expect(stand.row().hostKey).toBe(known);
      await endAgent(sshd);
    },
  );

  test('that knows none of our keys is Denied, and left alone', async () => {
    const [stand, sshd] = [await taskStand(), await ssh.sshd({ authorizedKeys: [] })];
    const { outcome, failure } = await takeOver(stand, sshd);
    expect([outcome, failure?.code]).toEqual(['failed', 'denied']);
    expect(stand.row()).toMatchObject({ hostKey: null, agentStarted: null, quarantine: null });
    expect(await namesIn(sshd.home)).toEqual([]);
  });

  test('without SFTP is taken over', async () => {
    const [stand, sshd] = [await taskStand(), await ssh.sshd({ sftp: 'absent' })];
    expect((await takeOver(stand, sshd)).outcome).toBe('done');
    await endAgent(sshd);
  });

  test('without room for the agent is a failed upload', async () => {
    const sshd = await ssh.sshd({ fileBytesMax: 10_240 });
    const { outcome, failure } = await takeOver(await taskStand(), sshd);
    expect([outcome, failure?.code]).toEqual(['failed', 'remote-failure']);
    expect(failure?.message).toMatch(/^upload /);
    expect(await namesIn(sshd.home)).toEqual([]);
  });
});

test('several are taken over at once', async () => {
  const fleet = await Promise.all(
    Array.from({ length: 4 }, async () => [await taskStand(), await ssh.sshd()] as const),
  );
  const results = await Promise.all(fleet.map(([stand, sshd]) => takeOver(stand, sshd)));
  expect(results.map(({ outcome }) => outcome)).toEqual(fleet.map(() => 'done'));
  const keys = fleet.map(([stand]) => stand.row().agentStarted!.publicKey);
  expect(new Set(keys).size).toBe(fleet.length);
  for (const [stand, sshd] of fleet) {
    expect(stand.row().hostKey).toBe(sshd.hostKey);
    expect(agents(sshd)).toHaveLength(1);
    await endAgent(sshd);
  }
});
