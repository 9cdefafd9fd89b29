import { beforeEach, describe, expect, test } from 'vitest';
import { Unreachable } from '../../../../src/domain/errors.ts';
import { visitForEvidence } from '../../../../src/actors/tasks/evidence.ts';
import { agentAnswer, startAgent } from '../../../support/agent-start.ts';
import { device, ladderRow, machineRow, SLOT, slotFacts } from '../../../support/facts.ts';
import { advance, settled } from '../../../doubles/simulated-clock.ts';
import { anotherStage, EVIDENCE, MINUTE, onRung, setStage, stage, stand } from './stage.ts';

setStage();

const AGENT = '/root/agent';
/** What programs of the machine print; the others do not exist. */
let prints: Record<string, string>;
const plays = (argv: readonly string[], stdin: Buffer) => {
  if (argv[0] === AGENT) return agentAnswer(stdin);
  const text = Object.entries(prints).find(([begin]) => argv.join(' ').startsWith(begin))?.[1];
  return text === undefined
    ? { exitCode: 127, stderr: Buffer.from(`${argv[0]}: not found`) }
    : { stdout: Buffer.from(text) };
};
beforeEach(() => {
  prints = { 'journalctl -k -n 200': 'sda: I/O error', uptime: 'up 9 days', systemctl: '' };
  stand.host.run = plays;
});

const lines = () => stand.bmdb.tables.caseLines.map(({ kind, text }) => ({ kind, text }));
const taken = () => stand.done.filter((what) => EVIDENCE.test(what));
/** Asks for a reboot. @returns milliseconds until the request. */
async function rebooted(): Promise<number> {
  await stage.claim();
  const beganAtMs = stand.clock.now();
  let askedAtMs: number | null = null;
  stand.reboot = async () => {
    askedAtMs = stand.clock.now();
    return 'operation-1';
  };
  const asking = stage.run('askReboot');
  await settled();
  await advance(stand.clock, MINUTE);
  await asking;
  await stage.giveUp({ code: 'timed-out', message: 'no evidence' });
  return askedAtMs! - beganAtMs;
}

describe('before the first reboot', () => {
  test('a machine that answers tells what it knows, without secrets', async () => {
    prints['journalctl -k -n 200'] = 'mount https://jo:hunter2@nfs.example/x failed';
    onRung('rebooting');
    await rebooted();
    expect(lines()).toEqual([
      {
        kind: 'evidence-before',
        text: [
          ...['$ cat /proc/sys/kernel/random/boot_id', stand.host.bootId, ''],
          '$ journalctl -k -n 200 --no-pager',
          ...['mount https://jo:[secret]@nfs.example/x failed', ''],
          ...['$ uptime', 'up 9 days', '', '$ systemctl --failed --no-legend', '', ''],
        ].join('\n'),
      },
    ]);
    expect(stand.done.at(-1)).toBe('reboot graceful');
  });

  test('the end of a long output is kept', async () => {
    prints['journalctl -k -n 200'] = `first ${'x'.repeat(20_000)} last`;
    onRung('rebooting');
    await rebooted();
    const [{ text } = expect.fail()] = lines();
    expect(text).toMatch(/\$ journalctl -k -n 200 --no-pager\nx+ last\n/);
    expect(text.length).toBeLessThan(17_000);
  });

  test('a machine without journalctl gives what it has', async () => {
    prints = { 'sh -c dmesg | tail': 'sda: I/O error' };
    onRung('rebooting');
    await rebooted();
    const [{ text } = expect.fail()] = lines();
    expect(text).toContain(
      '$ journalctl -k -n 200 --no-pager\njournalctl: not found (exit code 127)\n',
    );
    expect(text).toContain('$ sh -c dmesg | tail -n 200\nsda: I/O error\n');
  });

  test('it is taken once in an episode, also by a later attempt that reaches the machine', async () => {
    stand.host.unreachable = true;
    onRung('rebooting');
    await rebooted();
    expect(lines()).toEqual([]);
    stand.host.unreachable = false;
    for (const _ of [1, 2]) {
      await advance(stand.clock, 20 * MINUTE);
      await rebooted();
    }
    expect(lines()).toHaveLength(1);
    expect(taken()).toHaveLength(3);
  });

  test('a machine that hangs delays its reboot by at most 20 s', async () => {
    stand.host.run = () => new Promise(() => undefined);
    onRung('rebooting');
    expect(await rebooted()).toBeLessThanOrEqual(20_000);
    expect(stand.done.at(-1)).toBe('reboot graceful');
    expect(lines()).toMatchObject([{ text: expect.stringContaining('no end after 4000 ms') }]);
  });

  test('a database that does not keep the evidence does not stop the reboot', async () => {
    await anotherStage(({ cases }) => ({
      cases: { ...cases, addLine: () => Promise.reject(new Unreachable('no database')) },
    }));
    stand.host.run = plays;
    onRung('rebooting');
    await rebooted();
    expect(stand.done.at(-1)).toBe('reboot graceful');
  });

  test('an order of a person takes none', async () => {
    stage.silent(stand.host.bootId);
    await stage.order('reboot');
    await rebooted();
    expect(taken()).toEqual([]);
  });
});

describe('a visit without recovery', () => {
  const visited = (hostKey: string | null, listed = device({ address: '192.0.2.1' })) =>
    visitForEvidence(
      stand.deps(),
      slotFacts({ row: machineRow({ hostKey }), listed }),
      new AbortController().signal,
    );

  test('takes the evidence from a machine with the pinned key', async () => {
    await visited(stand.host.hostKey);
    expect(lines()).toMatchObject([
      { kind: 'evidence-before', text: expect.stringContaining('sda: I/O error') },
    ]);
  });

  test('runs nothing on a machine that cannot prove itself, or is not ours', async () => {
    await visited('another key');
    await visited(null);
    await visited(stand.host.hostKey, device({ address: '192.0.2.1', ownership: 'foreign' }));
    expect([lines(), taken()]).toEqual([[], []]);
  });

  test('ends quietly if the machine cannot be reached', async () => {
    stand.host.unreachable = true;
    await visited(stand.host.hostKey);
    await visited(stand.host.hostKey, device({ address: null }));
    expect(lines()).toEqual([]);
    const told = stand.log.lines.filter(({ message }) => message.includes('visited'));
    expect(told.map(({ level }) => level)).toEqual(['info', 'info']);
  });
});

describe('after the boot', () => {
  /** The agent is started during an episode of recovery, after a boot. */
  const started = async (bootIdBefore: string | null = 'boot-1', isOpen = true) => {
    stand.given({ recovery: ladderRow({ attempts: 1, bootIdBefore }) });
    const beganAtMs = stand.clock.now() - MINUTE;
    if (isOpen && stand.bmdb.tables.episodes.length === 0) {
      stand.bmdb.tables.episodes.push({
        ...{ slot: SLOT, machineId: stand.row().machineId, location: null, rung: 'rebooting' },
        ...{ silentSinceMs: beganAtMs, beganAtMs, attempts: 1, counted: true },
        ...{ healedAtMs: null, endedAtMs: null },
      });
    }
    expect(await startAgent(stand)).toMatchObject({ outcome: 'done' });
  };
  beforeEach(() => {
    prints = { 'journalctl -k -b -1': 'kernel panic', 'sh -c for file': 'dmesg-efi-1:\nOops' };
  });

  test('the log of the previous boot and stored crashes are taken, once in an episode', async () => {
    await started();
    expect(stand.row().agentStarted).not.toBeNull();
    expect(lines()).toEqual([
      { kind: 'evidence-after', text: expect.stringMatching(/kernel panic\n[^]*Oops\n/) },
    ]);
    await started();
    expect(lines()).toHaveLength(1);
  });

  test('a hang delays the record of the agent start by at most 20 s', async () => {
    stand.host.run = (argv, stdin) =>
      argv[0] === AGENT ? agentAnswer(stdin) : new Promise(() => undefined);
    const starting = started();
    await settled();
    await advance(stand.clock, 20_000);
    expect(stand.row().agentStarted).not.toBeNull();
    await starting;
  });

  test('a database that does not keep the evidence does not fail the agent start', async () => {
    const addLine = () => Promise.reject(new Unreachable('no database'));
    Object.assign(stand.bmdb.cases, { addLine });
    await started();
    expect(lines()).toEqual([]);
    expect(stand.row().agentStarted).not.toBeNull();
  });

  test.each<[string, string | null, boolean]>([
    ['without an episode of recovery', 'boot-1', false],
    ['of an agent that was restarted in the same boot', 'same', true],
  ])('an agent start %s takes none', async (_, bootIdBefore, isOpen) => {
    await started(bootIdBefore === 'same' ? stand.host.bootId : bootIdBefore, isOpen);
    expect(lines()).toEqual([]);
    expect(taken()).toEqual([]);
  });
});
